"""Records rebuilt from events with today's definitions, into a log of their own beside the live one.

The events of a stretch are folded as a monitor folds them, but at full speed, and of each call the final state of its
records is written once, with revision 1, when nothing can change it any more. The same events give the same records,
so that a replay that was cut short is begun again over what it left: readers fold by (call, id, revision).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import structlog

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.held_call import Change
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import begin_of
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import UnreadableRecord, encode
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import Entry, Log, Outgoing
from earwitness.monitor.log.topics import EVENTS, RECORDS, STATE, topic_name

S: Final = 1_000_000_000
KEY: Final = "replay"
"""Under which the state topic of a rebuilt log says what it is."""
AT_ONCE: Final = 2_000
ADVANCE_NS: Final = 300 * S

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a rebuilt log holds: calls of ``source`` with events that arrived from ``since_ns`` until ``until_ns``,
    folded under these bounds. ``asked``: how that was said; ``ends``: where the events' partitions were left."""

    source: str
    asked: str
    since_ns: int
    until_ns: int
    bounds: str
    ends: Mapping[int, int]
    done: bool = False
    complete_from_ns: int | None = None
    """Wall time from which on windows miss nothing; None: from ever."""
    events: int = 0
    calls: int = 0
    records: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict[str, int])
    broken_calls: int = 0

    def encoded(self) -> bytes:
        """As it lies on the log."""
        return json.dumps({"v": 1, **asdict(self)}).encode()

    def asks_the_same(self, other: Manifest) -> bool:
        """Whether both were asked for in the same words, of one log under the same bounds: "7 days ago" is another
        moment when it is said again, and means that one."""
        mine, theirs = ((m.source, m.asked, m.bounds) for m in (self, other))
        return mine == theirs


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is. ``reached_ns``: the arrival of what is folded now."""

    events: int
    total: int
    calls: int
    reached_ns: int


async def manifest_on(log: Log) -> Manifest | None:
    """What a log says that it was rebuilt from; None where it was not. Raises LogError."""
    topic = topic_name(log.prefix, STATE)
    ends = await log.end_positions(topic)
    reader = await log.reader(topic)
    found: Manifest | None = None
    try:
        while any(at < ends.get(p, 0) for p, at in reader.positions().items()):
            for entry in await reader.poll(timeout_s=1.0):
                if entry.key == KEY and entry.value is not None:
                    found = _manifest(entry.value)
    finally:
        await reader.close()
    return found


def _manifest(value: bytes) -> Manifest | None:
    try:
        body: dict[str, Any] = json.loads(value)
        body.pop("v")
        body["ends"] = {int(p): int(at) for p, at in body["ends"].items()}
        return Manifest(**body)
    except (ValueError, KeyError, TypeError):
        return None


async def plan(source: Log, settings: MonitorSettings, asked: str, *, since_ns: int, until_ns: int) -> Manifest:
    """What a replay of a stretch will fold. Raises LogError."""
    ends = await source.positions_by_time(topic_name(source.prefix, EVENTS), until_ns)
    begin = await begin_of(source, settings, since_ns - settings.longest_call_s * S)
    bounds = settings.bounds.id
    return Manifest(source.url, asked, since_ns, until_ns, bounds, ends, complete_from_ns=begin.complete_from_ns)


async def claim(target: Log, wanted: Manifest) -> Manifest:
    """Say on the target what will be in it; the plan to follow: an earlier one of the same question, where that was cut
    short. Raises BadInput where the target holds anything else, LogError."""
    known = await manifest_on(target)
    if known is not None and known.done:
        raise BadInput(f"holds a finished replay of {known.source}; choose another name", where=target.url)
    if known is not None and not known.asks_the_same(wanted):
        raise BadInput(
            f"holds the beginning of another replay, of {known.source}; choose another name", where=target.url
        )
    if known is not None:
        return known
    for kind in (EVENTS, RECORDS, STATE):
        topic = topic_name(target.prefix, kind)
        starts, ends = await target.start_positions(topic), await target.end_positions(topic)
        if any(ends[p] > starts.get(p, 0) for p in ends):
            raise BadInput(
                "holds something else than a replay; nothing was written: choose a new one", where=target.url
            )
    await target.append(topic_name(target.prefix, STATE), [Outgoing(KEY, wanted.encoded())])
    return wanted


class Replay:
    """One replay: events of ``source`` into records of ``target``, which has been claimed for the manifest."""

    def __init__(self, source: Log, target: Log, settings: MonitorSettings, manifest: Manifest) -> None:
        self.fold = TimelineFold(settings)
        self.fold.lagging = True
        self._source = source
        self._target = target
        self._settings = settings
        self._manifest = manifest
        self._topic = topic_name(source.prefix, EVENTS)
        self._records = topic_name(target.prefix, RECORDS)
        self._latest: dict[str, dict[str, AnyRecord]] = {}
        self._last_ns: dict[str, int] = {}
        """Wall time of each call's last event, by the log's clock."""
        self._outgoing: list[Outgoing] = []
        self._unreadable: Counter[str] = Counter()
        self._events = self._calls = self._written = 0
        self._advanced_ns = 0

    async def run(self, progress: Callable[[Progress], None]) -> Manifest:
        """To the end; what was done, as it is written to the target last. Raises LogError."""
        since_ns = self._manifest.since_ns - self._settings.longest_call_s * S
        begin = await begin_of(self._source, self._settings, since_ns)
        ends = self._manifest.ends
        total = sum(max(0, end - begin.positions.get(p, 0)) for p, end in ends.items())
        reader = await self._source.reader(self._topic, start=begin.positions)
        try:
            while behind := [p for p, at in reader.positions().items() if at < ends.get(p, 0)]:
                self._take_in(await reader.poll(timeout_s=1.0, max_records=AT_ONCE))
                self._note(self.fold.settle())
                self._advance(behind)
                await self._let_go(self.fold.calls.let_go)
                progress(Progress(self._events, total, self._calls, self._reached_ns(behind)))
        finally:
            await reader.close()
        self._note(self.fold.settle())
        self._note(self.fold.advance(self._manifest.until_ns))
        await self._let_go(set(self._latest))
        await self._send(least=0)
        done = replace(
            self._manifest, done=True, events=self._events, calls=self._calls, records=self._written,
            unreadable=dict(self._unreadable), broken_calls=self.fold.broken_calls,
        )  # fmt: skip
        await self._target.append(topic_name(self._target.prefix, STATE), [Outgoing(KEY, done.encoded())])
        return done

    def _take_in(self, entries: Sequence[Entry]) -> None:
        ends = self._manifest.ends
        for entry in entries:
            if entry.offset >= ends.get(entry.partition, 0):
                continue
            self._events += 1
            try:
                event = decode_event_fast(entry.value or b"")
            except UnreadableRecord as error:
                self._unreadable[error.reason] += 1
                continue
            try:
                self.fold.add(entry, event)
            except Exception:
                # One event's fault must not end a replay of millions.
                self._unreadable["handler_error"] += 1
                _log.exception("event could not be handled", partition=entry.partition, offset=entry.offset)

    def _note(self, changes: Sequence[Change]) -> None:
        for _, record in changes:
            own = self._latest.setdefault(record.call_id, {})
            held = self.fold.held.get(record.call_id)
            if held is not None:
                self._last_ns[record.call_id] = (held.offset_ns or 0) + held.timeline.last_at_ns
            if record.retracted:
                own.pop(record.id, None)
            else:
                own[record.id] = record

    def _advance(self, behind: Sequence[int]) -> None:
        """Judge by the passing of time now and then, so that calls that never end do not pile up; by the slowest
        partition, since others may have been read far ahead of it."""
        clocks = self.fold.clocks_ns
        slowest_ns = min((clocks.get(partition, 0) for partition in behind), default=0)
        if slowest_ns - self._advanced_ns >= ADVANCE_NS:
            self._advanced_ns = slowest_ns
            self._note(self.fold.advance(slowest_ns))

    async def _let_go(self, call_ids: set[str]) -> None:
        """Write the records of calls that nothing can change any more; what was over before the stretch began was read
        only for those that reach into it."""
        for call_id in sorted(call_ids):
            own = self._latest.pop(call_id, {})
            if self._last_ns.pop(call_id, self._manifest.since_ns) < self._manifest.since_ns:
                continue
            self._calls += bool(own)
            for _, record in sorted(own.items()):
                self._outgoing.append(Outgoing(call_id, encode(record.model_copy(update={"revision": 1}))))
                self._written += 1
        call_ids.clear()
        await self._send(least=AT_ONCE)

    async def _send(self, *, least: int) -> None:
        if self._outgoing and len(self._outgoing) >= least:
            await self._target.append(self._records, self._outgoing)
            self._outgoing = []

    def _reached_ns(self, behind: Sequence[int]) -> int:
        return min((self.fold.clocks_ns.get(partition, self._manifest.since_ns) for partition in behind), default=0)
