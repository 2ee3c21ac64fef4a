"""What a bot had to say against what became of it: on the log, reported as dropped, or neither."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.events import EVENT_ADAPTER, Health
from earwitness.monitor.contract.records import Call
from earwitness.monitor.log.protocol import Entry, Log
from earwitness.monitor.log.topics import EVENTS, topic_name

HOUR_NS = 3_600 * 1_000_000_000
WITHIN_S = 120.0

Identity = tuple[str, int]
"""Source and ``seq`` of an event of one call."""


@dataclass
class Account:
    """One call. ``made``: when each event was put on its way, on the machine's monotonic clock."""

    made: dict[Identity, int] = field(default_factory=dict[Identity, int])
    arrived: dict[Identity, None] = field(default_factory=dict[Identity, None])
    """In the order of their first coming."""
    repeats: int = 0
    dropped: dict[Identity, str] = field(default_factory=dict[Identity, str])
    values: list[bytes] = field(default_factory=list[bytes])

    @property
    def missing(self) -> list[Identity]:
        """What the bot had to say, and nobody says what became of it."""
        return [identity for identity in self.made if identity not in self.arrived and identity not in self.dropped]

    @property
    def in_order(self) -> bool:
        """Whether each source's events first came in the order of their numbers."""
        last: dict[str, int] = {}
        for source, seq in self.arrived:
            if seq <= last.get(source, -1):
                return False
            last[source] = seq
        return True

    @property
    def both(self) -> list[Identity]:
        """What was said to be dropped and came all the same."""
        return [identity for identity in self.dropped if identity in self.arrived]

    def record(self) -> Call:
        """The call as a reader sees it, long after."""
        timeline = CallTimeline(next(iter(json.loads(value)["call_id"] for value in self.values)))
        for value in self.values:
            timeline.add(EVENT_ADAPTER.validate_json(value))
        timeline.advance(timeline.last_at_ns + 3 * HOUR_NS)
        (found,) = [record for record in timeline.records() if isinstance(record, Call)]
        return found


def account(made: Path, entries: Iterable[Entry]) -> dict[str, Account]:
    """All calls by name, from a bot's own notes and what lies on the log, in its order."""
    calls: dict[str, Account] = {}
    for line in made.read_text().splitlines() if made.exists() else ():
        name, source, number, at_ns = line.split()
        calls.setdefault(name, Account()).made[source, int(number)] = int(at_ns)
    for entry in entries:
        value = entry.value or b""
        event = EVENT_ADAPTER.validate_json(value)
        call = calls.setdefault(event.call_id, Account())
        if (event.source, event.seq) in call.arrived:
            call.repeats += 1
            continue
        call.arrived[event.source, event.seq] = None
        call.values.append(value)
        if isinstance(event, Health):
            for lost in event.dropped:
                for seq in range(lost.first_seq, lost.last_seq + 1):
                    call.dropped[lost.source or event.source, seq] = lost.reason
    return calls


async def everything(log: Log) -> list[Entry]:
    """All events on a log."""
    topic = topic_name(log.prefix, EVENTS)
    ends, found = await log.end_positions(topic), list[Entry]()
    reader = await log.reader(topic)
    async with asyncio.timeout(WITHIN_S):
        while any(at < ends.get(partition, 0) for partition, at in reader.positions().items()):
            found += await reader.poll(timeout_s=1.0, max_records=10_000)
    await reader.close()
    return found


async def settled(log: Log, made: Path, names: Iterable[str], within_s: float = WITHIN_S) -> dict[str, Account]:
    """The calls of these names, once nothing of them is missing or so much time has gone by."""
    loop = asyncio.get_running_loop()
    ends_s, wanted = loop.time() + within_s, list(names)
    reader, found = await log.reader(topic_name(log.prefix, EVENTS)), list[Entry]()
    try:
        while True:
            found += await reader.poll(timeout_s=1.0, max_records=10_000)
            calls = account(made, found)
            left = [name for name in wanted if name not in calls or calls[name].missing or not calls[name].arrived]
            if not left or loop.time() > ends_s:
                # Nothing may come behind what was waited for that is not looked at.
                return account(made, await everything(log))
    finally:
        await reader.close()
