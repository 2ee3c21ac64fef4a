"""How old a number is when it can be read: from an answer's first frame to the window that has its latency.

    python tests/benchmarks/bench_freshness.py [--events-per-s 2000] [--length-s 30]

Calls go on in real time on a real Kafka, at that many events a second; their events are sent in batches of the writer's
linger, by a process of its own, and one monitor reads them. What is told: the age of each answer's latency when the
window has it (a scrape of ``/metrics`` then shows it), the part of it that lies before the log has the event, and how
far the ticks are apart at which alerts may look. Prints, judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import cycle, pairwise
from pathlib import Path

from earwitness.consumers.failed import Failed
from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Entry, Outgoing
from earwitness.monitor.log.topics import EVENTS, topic_name, topic_specs
from earwitness.monitor.measures.windows import Windows
from earwitness.processors.bot_settings import BotSettings

sys.path.insert(0, str(Path(__file__).parents[1]))

from demo_calls import PERIOD_NS, S, Sent, demo_call
from kafka_broker import broker_for_a_bench

EVENTS_A_CALL_S = 7.2
"""So many events a second make up a demo call."""
WRITERS = 8
LEAST_ANSWERS = 0.5
"""So many of the agent's first frames answer somebody, at the least; the others are greetings and what goes on."""
BEGIN_S = 8.0
"""From the start of the sender to the first event: it makes its calls first."""


async def send(url: str, begin_ns: int, calls: int, length_s: float, linger_s: float) -> None:
    """The bots: every event when it happened, in batches of the linger. Of so many writers each has its own beat. Calls
    begin one after the other within `PERIOD_NS`, so that they are not all at the same point of their script."""
    draw = random.Random(3)
    waiting: list[deque[Sent]] = [
        deque(
            sorted(
                one
                for number in range(writer, calls, WRITERS)
                for one in demo_call(number, begin_ns + draw.randrange(PERIOD_NS), length_s, ended=False)
            )
        )
        for writer in range(WRITERS)
    ]
    log = await open_log(url)
    end_ns = begin_ns + round(length_s * S)
    for own in cycle(waiting):
        if time.time_ns() > end_ns:
            break
        await asyncio.sleep(linger_s / WRITERS)
        now_ns, batch = time.time_ns(), list[Outgoing]()
        while own and own[0].wall_ns <= now_ns:
            one = own.popleft()
            batch.append(Outgoing(one.call_id, one.payload))
        if batch:
            await log.append(topic_name(log.prefix, EVENTS), batch)
    await log.close()


class AgesKept:
    """When windows get to know an answer's latency."""

    def __init__(self, windows: Windows) -> None:
        self.found_ns: dict[tuple[str, int], int] = {}
        """When the latency of an answer was there, by its call and the wall time of its first frame."""
        self.known: set[tuple[str, str]] = set()
        self.wall_0_ns: dict[str, int] = {}
        self._apply, self._apply_first = windows.apply, windows.apply_first
        windows.apply = self.apply  # type: ignore[method-assign]
        windows.apply_first = self.apply_first  # type: ignore[method-assign]

    def apply(self, old: AnyRecord | None, new: AnyRecord, *, arrived_ns: int | None = None, part: int = 0) -> None:
        """Apply, and look at the clock."""
        self._apply(old, new, arrived_ns=arrived_ns, part=part)
        self._look_at(new)

    def apply_first(self, records: Iterable[AnyRecord], *, arrived_ns: int | None = None, part: int = 0) -> None:
        """The same of first revisions."""
        told = list(records)
        self._apply_first(told, arrived_ns=arrived_ns, part=part)
        for new in told:
            self._look_at(new)

    def _look_at(self, new: AnyRecord) -> None:
        if new.kind == "call":
            self.wall_0_ns[new.call_id] = new.started_wall_ns
        name = (new.call_id, new.id)
        if new.kind == "turn" and new.response_latency_ns is not None and name not in self.known:
            self.known.add(name)
            begun_ns = self.wall_0_ns.get(new.call_id)
            if begun_ns is not None and new.a_on_ns is not None:
                self.found_ns[new.call_id, begun_ns + new.a_on_ns] = time.time_ns()


def told(what: str, ages_s: list[float]) -> None:
    ordered = sorted(ages_s)
    at = {q: ordered[min(int(q * len(ordered)), len(ordered) - 1)] for q in (0.5, 0.9, 0.99)}
    print(
        f"  {what:44} n {len(ordered):6}   p50 {at[0.5]:6.3f} s   p90 {at[0.9]:6.3f} s   p99 {at[0.99]:6.3f} s"
        f"   max {ordered[-1]:6.3f} s"
    )


async def bench(bootstrap: str, events_per_s: int, length_s: float) -> None:
    prefix = f"f{uuid.uuid4().hex[:10]}"
    url, linger_s = f"kafka://{bootstrap}/{prefix}", float(BotSettings.model_fields["linger_s"].default)
    calls = round(events_per_s / EVENTS_A_CALL_S)
    log = await open_log(url)
    await log.create_topics(topic_specs(prefix, 4))
    stop, ticks_ns = asyncio.Event(), list[int]()

    async def ticked(_: Windows, now_ns: int) -> None:
        ticks_ns.append(now_ns)

    monitor = Monitor(log, MonitorSettings(metrics=False), stop=stop, on_tick=ticked)
    windows = AgesKept(monitor.fold.windows)
    on_log_ns, read_ns, handle_all = (
        dict[tuple[str, int], int](),
        dict[tuple[str, int], int](),
        monitor.handler.handle_all,
    )

    def noted(entries: Sequence[Entry], events: Sequence[AnyEvent], failed: Failed) -> None:
        for entry, event in zip(entries, events, strict=True):
            if event.kind == "playout" and event.phase == "first" and event.edge_ns is not None:
                heard = (event.call_id, event.wall_ns - event.at_ns + event.edge_ns)
                on_log_ns[heard], read_ns[heard] = entry.append_ns, time.time_ns()
        handle_all(entries, events, failed)

    monitor.handler.handle_all = noted  # type: ignore[method-assign, assignment]
    begin_ns = time.time_ns() + round(BEGIN_S * S)
    running = asyncio.create_task(monitor.run())
    whole_s = length_s + PERIOD_NS / S
    call = f"b.send({url!r}, {begin_ns}, {calls}, {whole_s}, {linger_s})"
    code = f"import asyncio, bench_freshness as b; asyncio.run({call})"
    sender = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=Path(__file__).parent)
    await asyncio.sleep(BEGIN_S + PERIOD_NS / S)
    before = sum(monitor.fold.events.values())
    used_s, began = time.process_time(), time.monotonic()
    await sender.wait()
    share = (time.process_time() - used_s) / (time.monotonic() - began)
    await asyncio.sleep(2.0)
    stop.set()
    await running
    await log.close()
    events = sum(monitor.fold.events.values()) - before
    print(
        f"  {calls} calls, {events} events, {events / length_s:.0f} a second; the writer's linger is {linger_s:.2f} s;"
        f" the monitor took {share:.0%} of a core"
    )
    # Of the time in which all calls go on.
    said = [one for one in on_log_ns if one[1] >= begin_ns + PERIOD_NS]
    heard = [one for one in said if one in windows.found_ns]
    print(f"  of {len(said)} first frames {len(heard)} are answers whose latency the window has")
    if len(heard) < LEAST_ANSWERS * len(said):
        raise SystemExit("the bench no longer sees most answers: it measures nothing")
    for where, there_ns in (("log", on_log_ns), ("worker", read_ns), ("window", windows.found_ns)):
        told(f"from an answer's first frame to the {where}", [(there_ns[one] - one[1]) / S for one in heard])
    told("from one tick to the next", [(b - a) / S for a, b in pairwise(ticks_ns)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events-per-s", type=int, default=2_000)
    parser.add_argument("--length-s", type=float, default=30.0)
    given = parser.parse_args()
    with broker_for_a_bench() as bootstrap:
        print("age of an answer's latency when the window has it")
        collect_seldom()  # as `earwitness run` does
        asyncio.run(bench(bootstrap, given.events_per_s, given.length_s))


if __name__ == "__main__":
    main()
