"""CPU of the timeline worker: one event through the fold, one record through the windows, a read of 1,000 label sets.

Run as a script; prints, judges nothing. ``--calls N`` and ``--labels N`` for other sizes.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.records import AnyRecord, Turn
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
HOUR_NS = 1_700_006_400 * S
BATCH = 2_000


def call_events(call: int, start_ns: int, turns: int = 6) -> list[Any]:
    """A cascade call of a few exchanges of 8 s."""
    made: list[Any] = []

    def add(kind: type[Any], at_s: float, **fields: Any) -> None:
        at_ns = round(at_s * S)
        base: dict[str, Any] = {"call_id": f"call-{call}", "source": "bot", "seq": len(made), "at_ns": at_ns}
        made.append(kind(**base, wall_ns=start_ns + at_ns, **fields))

    add(
        ev.CallStarted,
        0,
        agent=f"a{call % 10}",
        version="1",
        recogniser=True,
        caller_edges=("vad",),
        agent_edges=("playout",),
    )
    add(ev.Connected, 0)
    for turn in range(turns):
        at, run = 2 + 8.0 * turn, f"r{turn}"
        add(ev.SpeechStarted, at + 0.2, party="caller", evidence="vad", edge_ns=round(at * S))
        add(ev.SpeechEnded, at + 1.2, party="caller", evidence="vad", edge_ns=round((at + 1) * S), voiced_ns=S)
        add(ev.Transcript, at + 1.25, party="caller", text="can you move it to Friday please", final=True)
        add(ev.TurnEnded, at + 1.3)
        add(ev.Response, at + 1.31, response_id=run, phase="requested", why="user_turn", cause_turn=turn + 1)
        add(ev.Stage, at + 1.7, service="llm", metric="ttfb", value_s=0.4, response_id=run)
        add(ev.Response, at + 1.7, response_id=run, phase="first_token")
        add(ev.Response, at + 1.8, response_id=run, phase="first_audio")
        add(ev.Playout, at + 1.9, phase="first", edge_ns=round((at + 1.9) * S), response_id=run)
        add(ev.Playout, at + 4.9, phase="last", edge_ns=round((at + 4.9) * S), response_id=run, truncated=False)
    add(ev.CallEnded, 2 + 8.0 * turns, cause="caller", terminal="end")
    return made


def bench_fold(calls: int) -> None:
    """Calls that overlap, read in batches as a worker that catches up reads them."""
    draw = random.Random(1)
    events = [e for c in range(calls) for e in call_events(c, HOUR_NS + draw.randrange(600 * S))]
    events.sort(key=lambda e: e.wall_ns)
    payloads = [(encode(e), e.call_id, e.wall_ns) for e in events]
    fold = TimelineFold(MonitorSettings())
    decode_s = add_s = settle_s = 0.0
    for first in range(0, len(payloads), BATCH):
        batch = payloads[first : first + BATCH]
        t0 = time.process_time()
        decoded = [decode_event_fast(payload) for payload, _, _ in batch]
        t1 = time.process_time()
        for i, ((payload, key, wall_ns), event) in enumerate(zip(batch, decoded, strict=True)):
            fold.add(Entry("events", 0, first + i, key, payload, wall_ns + S // 10), event)
        t2 = time.process_time()
        fold.settle()
        decode_s, add_s, settle_s = decode_s + t1 - t0, add_s + t2 - t1, settle_s + time.process_time() - t2
    n = len(payloads)
    print(f"fold of {n} events of {calls} calls in batches of {BATCH}, us of CPU an event")
    for name, seconds in (("decode", decode_s), ("sort in", add_s), ("judge and count", settle_s)):
        print(f"  {name:18} {seconds / n * 1e6:8.2f}")
    print(f"  {'together':18} {(decode_s + add_s + settle_s) / n * 1e6:8.2f}")


def turns_of(labels: int, count: int) -> list[AnyRecord]:
    draw = random.Random(2)
    made: list[AnyRecord] = []
    for i in range(count):
        latency_ns = round(draw.lognormvariate(0, 0.5) * S)
        common: dict[str, Any] = {"call_id": f"c{i % (labels * 10)}", "agent": f"a{i % labels}", "version": "1"}
        parts = {"endpointing": latency_ns // 3, "llm": latency_ns // 3, "tts": latency_ns - 2 * (latency_ns // 3)}
        made.append(
            Turn(**common, id=f"t{i}", event_wall_ns=HOUR_NS + draw.randrange(300) * S, u_on_ns=0, u_off_ns=S,
                 a_on_ns=900 * S, response_latency_ns=latency_ns, endpoint_delay_ns=latency_ns // 3, parts_ns=parts)
        )  # fmt: skip
    return made


def bench_windows(labels: int) -> None:
    """Turns spread over label sets and five minutes; then every label set's percentiles, as alerts would read them."""
    records = turns_of(labels, labels * 30)
    windows = Windows(max_label_values=labels + 1, max_label_sets=labels + 1)
    as_of_ns = HOUR_NS + 300 * S
    windows.read("response_latency", window_s=300, as_of_ns=as_of_ns)
    began = time.process_time()
    for record in records:
        windows.apply(None, record)
    apply_us = (time.process_time() - began) / len(records) * 1e6
    began = time.process_time()
    groups = windows.groups(["agent", "version"], window_s=300, as_of_ns=as_of_ns)
    for where in groups:
        windows.read("response_latency", window_s=300, as_of_ns=as_of_ns, where=where)
    read_ms = (time.process_time() - began) * 1e3
    began = time.process_time()
    windows.read("response_latency", window_s=300, as_of_ns=as_of_ns + 10 * S)
    slide_ms = (time.process_time() - began) * 1e3
    print(f"windows of {len(groups)} label sets, {len(records)} turns")
    print(f"  one turn into all windows   {apply_us:8.2f} us")
    print(f"  read 5 min of every set     {read_ms:8.2f} ms")
    print(f"  slide by one step, read all {slide_ms:8.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--labels", type=int, default=1_000)
    given = parser.parse_args()
    bench_fold(given.calls)
    bench_windows(given.labels)


if __name__ == "__main__":
    main()
