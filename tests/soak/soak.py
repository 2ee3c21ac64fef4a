"""A soak: live calls at 1,000 events a second through a real log and a real monitor, for half an hour.

``make soak``; ``SOAK_S=60`` shortens it, ``SOAK_LOG=embedded`` takes the embedded log and not Kafka. It prints a line
a minute and ends by itself: 0, or 1 where an event was lost or handled twice, a call is not what was sent of it, or
memory did not stay flat. Ended calls are kept for two minutes here instead of two hours, so that the state has its full
size early and whatever still grows is a leak.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

# ruff: noqa: E402 - the tests' own modules lie beside
import aiohttp
from calls_of import sample_call
from prometheus_client.parser import text_string_to_metric_families

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.cli.composing import run_async
from earwitness.monitor.contract.decoder import decode_record_fast
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_name, topic_specs
from earwitness.monitor.logging import configure

S = 1_000_000_000
RATE, TICK_S, PARTITIONS = 1_000, 0.05, 6
KEPT_S = 120
JUDGED_FROM_S = 600
"""Shorter soaks tell their memory and pass no verdict on it: it has not had the time to be level."""
GROWN_BY, GROWN_BYTES = 1.10, 10_000_000
WITHIN_S = 120.0
TEMPLATES = 40


@dataclass(slots=True)
class Going:
    """A call on the air."""

    call_id: str
    events: list[Any]
    began_ns: int
    sent: int = 0


@dataclass(slots=True)
class Feed:
    """Calls one after the other and beside each other, so many that they make ``RATE`` events a second together."""

    log: Log
    rng: random.Random
    sent: int = 0
    longest_append_s: float = 0.0
    of_call: dict[str, int] = field(default_factory=dict[str, int])
    """Events sent of each call that is over."""
    _due: list[tuple[int, int, Going]] = field(default_factory=list[tuple[int, int, Going]])
    _templates: list[list[Any]] = field(default_factory=list[list[Any]])
    _number: int = 0

    def __post_init__(self) -> None:
        self._templates = [sample_call(self.rng, agent=f"agent-{n % 5}").events() for n in range(TEMPLATES)]

    @property
    def calls(self) -> int:
        """How many are on the air."""
        return len(self._due)

    def wanted(self) -> int:
        """How many must be, for the rate."""
        events = sum(len(one) for one in self._templates)
        seconds = sum(one[-1].at_ns for one in self._templates) / S
        return int(RATE * seconds / events)

    async def run(self, seconds: float) -> None:
        """Send what is due, tick by tick; at the end every call is hung up."""
        topic, end_s = topic_name(self.log.prefix, "events"), time.monotonic() + seconds
        while (now_s := time.monotonic()) < end_s:
            self._start_calls()
            await self._send(topic, self._take(time.time_ns()))
            await asyncio.sleep(max(0.0, TICK_S - (time.monotonic() - now_s)))
        await self._send(topic, [self._hang_up(going) for _, _, going in self._due])

    def _start_calls(self) -> None:
        now_ns = time.time_ns()
        while len(self._due) < self.wanted():
            self._number += 1
            events = self.rng.choice(self._templates)
            # The first ones begin over ten seconds, so that they do not all say the same at the same moment.
            began_ns = now_ns + (self.rng.randrange(10 * S) if self._number <= self.wanted() else 0)
            going = Going(f"soak-{self._number:07d}-{uuid.uuid4().hex[:8]}", events, began_ns)
            heapq.heappush(self._due, (began_ns + events[0].at_ns, self._number, going))

    def _take(self, now_ns: int) -> list[Outgoing]:
        """What is due by now, in the order of its time."""
        found: list[Outgoing] = []
        while self._due and self._due[0][0] <= now_ns:
            _, number, going = heapq.heappop(self._due)
            found.append(self._next(going))
            if going.sent < len(going.events):
                heapq.heappush(self._due, (going.began_ns + going.events[going.sent].at_ns, number, going))
            else:
                self.of_call[going.call_id] = going.sent
        return found

    def _next(self, going: Going) -> Outgoing:
        event = going.events[going.sent]
        going.sent += 1
        told = {"call_id": going.call_id, "wall_ns": going.began_ns + event.at_ns}
        return Outgoing(going.call_id, encode(event.model_copy(update=told)))

    def _hang_up(self, going: Going) -> Outgoing:
        """The last event of the template, now."""
        last, at_ns = going.events[-1], max(0, time.time_ns() - going.began_ns)
        told = {
            "call_id": going.call_id,
            "seq": going.sent,
            "at_ns": at_ns,
            "wall_ns": going.began_ns + at_ns,
            "counts": {},
        }
        going.sent += 1
        self.of_call[going.call_id] = going.sent
        return Outgoing(going.call_id, encode(last.model_copy(update=told)))

    async def _send(self, topic: str, records: list[Outgoing]) -> None:
        if records:
            began_s = time.monotonic()
            await self.log.append(topic, records)
            self.longest_append_s = max(self.longest_append_s, time.monotonic() - began_s)
            self.sent += len(records)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the monitor says of itself, and its memory."""

    handled: int
    lag_records: int
    silent: float
    dead: int
    lost: int
    calls: int
    rss_bytes: int


async def look(session: aiohttp.ClientSession, port: int, pid: int) -> Seen:
    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        text = await answer.text()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value

    def number(name: str) -> int:
        return round(found.get(f"earwitness_{name}", 0))

    return Seen(
        number("events_total"), number("lag_records"), found.get("earwitness_position_stalled_seconds", 0.0),
        number("dead_letters_total"), number("events_lost_total"), number("calls_in_progress"), rss_of(pid),
    )  # fmt: skip


def rss_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


@asynccontextmanager
async def a_log(kind: str, folder: Path) -> AsyncGenerator[str]:
    """The URL of a log of its own."""
    if kind == "embedded":
        yield f"sqlite://{folder / 'log.db'}"
        return
    environ = {**os.environ, "EARWITNESS_TEST_KAFKA_RUN": str(folder / "kafka")}
    tool = [sys.executable, str(ROOT / "tools" / "kafka.py")]
    up = await asyncio.to_thread(
        subprocess.run, [*tool, "up"], env=environ, stdout=subprocess.PIPE, text=True, check=True
    )
    try:
        yield f"kafka://{up.stdout.strip()}/soak"
    finally:
        await asyncio.to_thread(subprocess.run, [*tool, "down"], env=environ, check=False)


async def soak(seconds: float, kind: str, folder: Path) -> int:
    """The whole; the exit code."""
    async with a_log(kind, folder) as url:
        log = await open_log(url)
        if kind != "embedded":
            await log.create_topics(topic_specs(log.prefix, PARTITIONS))
        process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "monitor", url, stdout=asyncio.subprocess.PIPE, cwd=folder
        )
        feed = Feed(log, random.Random(7))
        print(
            f"{kind}: {feed.wanted():,} calls at a time, {RATE:,} events/s, {seconds:,.0f} s; monitor is {process.pid}"
        )
        feeding: asyncio.Task[None] | None = None
        memory: list[tuple[float, int]] = []
        try:
            assert process.stdout is not None
            port = int(await asyncio.wait_for(process.stdout.readline(), WITHIN_S))
            feeding = asyncio.create_task(feed.run(seconds))
            async with aiohttp.ClientSession() as session:
                looked = partial(look, session, port, process.pid)
                await _watch(looked, feed, feeding, memory)
                await feeding
                faults = await _settle(looked, feed) + await _published(log, feed)
        finally:
            if feeding is not None:
                feeding.cancel()
            if process.returncode is None:
                process.terminate()
            code = await process.wait()
        faults += [] if code == 0 else [f"the monitor ended with {code}"]
        await log.close()
    faults += _judge(memory, seconds)
    for fault in faults:
        print(f"FAULT  {fault}")
    print("nothing lost, nothing twice" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


async def _watch(
    looked: Callable[[], Awaitable[Seen]], feed: Feed, feeding: asyncio.Task[None], memory: list[tuple[float, int]]
) -> None:
    """A line a minute, and one at the end."""
    began_s, told_s, told_sent = time.monotonic(), time.monotonic(), 0
    while not feeding.done():
        await asyncio.wait({feeding}, timeout=5.0)
        now_s = time.monotonic()
        seen = await looked()
        memory.append((now_s - began_s, seen.rss_bytes))
        if now_s - told_s >= 60 or feeding.done():
            rate = (feed.sent - told_sent) / (now_s - told_s)
            print(
                f"{(now_s - began_s) / 60:5.1f} min  {feed.sent:>9,} sent  {rate:>6,.0f}/s  {seen.handled:>9,} handled "
                f" {seen.lag_records:>6,} behind  {seen.calls:>5,} calls open  {seen.rss_bytes / 1e6:>6.1f} MB  "
                f"{seen.dead} dead  {seen.lost} lost  longest append {feed.longest_append_s * 1e3:,.0f} ms",
                flush=True,
            )
            told_s, told_sent, feed.longest_append_s = now_s, feed.sent, 0.0


async def _settle(looked: Callable[[], Awaitable[Seen]], feed: Feed) -> list[str]:
    """Wait until all is handled, for as long as that comes nearer; what is wrong then."""
    seen, moved_s = await looked(), time.monotonic()
    while seen.handled < feed.sent and time.monotonic() - moved_s < WITHIN_S:
        await asyncio.sleep(0.5)
        before, seen = seen, await looked()
        if seen.handled > before.handled:
            moved_s = time.monotonic()
    faults: list[str] = []
    if seen.handled != feed.sent:
        faults.append(f"{feed.sent:,} events sent and {seen.handled:,} handled")
    if seen.dead or seen.lost:
        faults.append(f"{seen.dead} dead letters, {seen.lost} events lost to retention")
    return faults


async def _published(log: Log, feed: Feed) -> list[str]:
    """What is wrong with the published calls: the passing of time makes the last of them final a little later."""
    deadline_s = time.monotonic() + WITHIN_S
    while (faults := await _compare(log, feed)) and time.monotonic() < deadline_s:  # noqa: ASYNC110 - as above
        await asyncio.sleep(5.0)
    print(f"{len(feed.of_call):,} calls sent, {len(feed.of_call) if not faults else 'not all'} published as they were")
    return faults


async def _compare(log: Log, feed: Feed) -> list[str]:
    """Hold the published calls against what was sent of each."""
    records = topic_name(log.prefix, "records")
    ends = await log.end_positions(records)
    reader, found = await log.reader(records), dict[str, Any]()
    while any(at < ends[p] for p, at in reader.positions().items()):
        for entry in await reader.poll(timeout_s=1.0):
            record = decode_record_fast(entry.value or b"")
            if record.kind == "call" and record.revision >= getattr(found.get(record.call_id), "revision", 0):
                found[record.call_id] = record
    await reader.close()
    events, before = topic_name(log.prefix, "events"), await log.start_positions(topic_name(log.prefix, "events"))
    kept = sum((await log.end_positions(events)).values()) - sum(before.values())
    faults = [] if kept == feed.sent else [f"{feed.sent:,} events sent and {kept:,} on the log"]
    wrong = [
        call_id
        for call_id, sent in feed.of_call.items()
        if (call := found.get(call_id)) is None
        or (call.events, call.missing_events, call.duplicates, call.final) != (sent, 0, 0, True)
    ]
    if wrong or len(found) != len(feed.of_call):
        faults.append(f"{len(wrong):,} calls are not what was sent of them, such as {wrong[:3]}")
    return faults


def _judge(memory: list[tuple[float, int]], seconds: float) -> list[str]:
    """Whether memory stayed flat: the last quarter against the second."""

    def mean(from_s: float, until_s: float) -> float:
        inside = [rss for at_s, rss in memory if from_s <= at_s <= until_s]
        return sum(inside) / len(inside) if inside else 0.0

    early, late = mean(seconds / 4, seconds / 2), mean(seconds * 3 / 4, seconds + 10)
    print(f"memory: {early / 1e6:.1f} MB in the second quarter, {late / 1e6:.1f} MB in the last")
    if seconds < JUDGED_FROM_S:
        print("too short to say whether memory stays flat")
        return []
    grown = late > early * GROWN_BY + GROWN_BYTES
    return [f"memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB"] if grown else []


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["monitor"]:
        return _monitor(arguments[1])
    seconds, kind = float(os.environ.get("SOAK_S") or 1_800), os.environ.get("SOAK_LOG", "kafka")
    with tempfile.TemporaryDirectory(prefix="earwitness-soak-") as folder:
        return run_async(lambda _: soak(seconds, kind, Path(folder)))


def _monitor(url: str) -> int:
    """The monitor's process: prints the port of its page, and runs until a signal."""
    settings = MonitorSettings(metrics_port=0, call_kept_s=KEPT_S, longest_call_s=KEPT_S)

    async def run(stop: asyncio.Event) -> None:
        log = await open_log(url)
        running = Monitor(log, settings, stop=stop)
        working, ready = asyncio.create_task(running.run()), asyncio.create_task(running.ready.wait())
        await asyncio.wait({working, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.page is not None:
            print(running.page.port, flush=True)
        await working
        await log.close()

    configure(level="warning")
    run_async(run, patience_s=60.0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
