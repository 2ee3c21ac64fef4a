"""CPU and memory of the timeline worker: events through the fold, records through the windows, open calls held, a read
of 1,000 label sets.

Run as a script; prints, judges nothing. ``--labels N`` and ``--memory-calls N`` for other sizes.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from earwitness.consumers.at_hand import at_hand_of
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor import CALLS_A_TICK
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_state import PartitionState
from earwitness.consumers.state_slots import Slots
from earwitness.consumers.timeline import TimelineHandler
from earwitness.monitor.calls import whole_call
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.records import AnyRecord, Turn
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.windows import Windows

sys.path.insert(0, str(Path(__file__).parents[1]))

from demo_calls import HOUR_NS, S, Sent, demo_call, demo_calls

BEHIND_FROM = 2_000
"""A batch of so many events is what a worker reads that is behind."""
COUNTING = ("apply", "apply_first")
"""What of windows counts."""


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


def synthetic_calls(calls: int) -> list[Sent]:
    """Calls of the plainest kind, in the order in which their events came: ten events a turn."""
    draw = random.Random(1)
    events = [e for c in range(calls) for e in call_events(c, HOUR_NS + draw.randrange(600 * S))]
    return sorted(Sent(e.wall_ns, encode(e), e.call_id) for e in events)


class Spent:
    """What it costs to count in a fold's windows."""

    def __init__(self, windows: Windows) -> None:
        self.s = 0.0
        for name in COUNTING:
            setattr(windows, name, self._timed(getattr(windows, name)))

    def _timed(self, count: Callable[..., None]) -> Callable[..., None]:
        def timed(*args: Any, **named: Any) -> None:
            began = time.process_time()
            count(*args, **named)
            self.s += time.process_time() - began

        return timed


def count_nothing(windows: Windows) -> None:
    """Let windows count nothing."""
    for name in COUNTING:
        setattr(windows, name, lambda *_, **__: None)


def unexpected(entry: Entry, error: Exception) -> None:
    raise AssertionError(entry) from error


def bench_fold(name: str, sent: Sequence[Sent], batch: int) -> None:
    """Events as a timeline worker reads them: decoded, sorted in, judged batch by batch and by the clock of each
    second; full batches are read by a worker that is behind. The bare decoding, in turn with it, is the baseline."""
    fold = TimelineFold(MonitorSettings())
    fold.lagging = batch >= BEHIND_FROM
    windows, counting = fold.windows, Spent(fold.windows)
    for window_s in (60, 300, 3_600, 86_400):
        windows.read("response_latency", window_s=window_s, as_of_ns=sent[0].wall_ns)
    decode_s = all_s = 0.0
    tick_ns, chunk = 0, max(batch, 1_000)
    began = time.process_time()
    for first in range(0, len(sent), batch):
        if first % chunk == 0:
            all_s += (paused := time.process_time()) - began
            for one in sent[first : first + chunk]:
                decode_event_fast(one.payload)
            began = time.process_time()
            decode_s += began - paused
        entries = [
            Entry("events", 0, n, call_id, payload, wall_ns + S // 20)
            for n, (wall_ns, payload, call_id) in enumerate(sent[first : first + batch], first)
        ]
        fold.add_all(entries, [decode_event_fast(one.payload) for one in sent[first : first + batch]], unexpected)
        fold.settle()
        now_ns = sent[min(first + batch, len(sent)) - 1].wall_ns + S // 20
        if now_ns >= tick_ns:
            tick_ns = now_ns + S
            fold.advance(now_ns, most=CALLS_A_TICK)
    fold.advance(sent[-1].wall_ns + S // 20)  # what was put off is part of the price
    all_s += time.process_time() - began
    decode, count, whole = (s / len(sent) * 1e6 for s in (decode_s, counting.s, all_s))
    print(
        f"  {name:34} {batch:6} {len(sent):8} {decode:8.2f} {whole - decode - count:8.2f} {count:8.2f} {whole:8.2f}"
        f" {whole / decode:8.1f}"
    )


def bench_whole(name: str, sent: Sequence[Sent]) -> None:
    """Calls that are over, each decoded and folded at once, as `earwitness analyze` does: records and no windows."""
    calls: dict[str, list[bytes]] = {}
    for one in sent:
        calls.setdefault(one.call_id, []).append(one.payload)
    decode_s = fold_s = 0.0
    for payloads in calls.values():
        began = time.process_time()
        events = [decode_event_fast(payload) for payload in payloads]
        decode_s += (decoded := time.process_time()) - began
        assert whole_call.fold(events)
        fold_s += time.process_time() - decoded
    decode, count, whole = (s / len(sent) * 1e6 for s in (decode_s, 0.0, decode_s + fold_s))
    print(
        f"  {name:34} {'whole':>6} {len(sent):8} {decode:8.2f} {whole - decode:8.2f} {count:8.2f} {whole:8.2f}"
        f" {whole / decode:8.1f}"
    )


def bench_memory(calls: int, length_s: float) -> None:
    """What open calls take, at hand and laid aside, each in a process of its own: resident memory beyond what a few
    calls take, with all that a worker knows of them (what was published, what of it is saved, the events since); and
    by these, what 10,000 take."""
    (at_hand,), (asleep,) = (_in_a_process(f"memory_kb({calls}, {length_s}, {most})") for most in (None, 0))
    most = at_hand_of(10_000, MonitorSettings().calls_at_hand or 0)
    print(
        f"  {calls} open calls of {length_s:.0f} s: {at_hand:.0f} kB a call at hand, {asleep:.0f} kB laid aside;",
        end="",
    )
    print(f" 10,000 of them, {most} at hand: {(most * at_hand + (10_000 - most) * asleep) / 1e3:.0f} MB")


def bench_asleep(calls: int, length_s: float) -> None:
    """What it costs that calls sleep, in a process of its own."""
    awake, asleep = _in_a_process(f"asleep_us({calls}, {length_s})")
    print(f"  {calls} open calls of {length_s:.0f} s, batches of 50: {awake:.1f} us of CPU an event at hand,", end="")
    print(f" {asleep:.1f} us where each sleeps between two looks: {asleep / awake:.2f} times")


def asleep_us(calls: int, length_s: float) -> str:
    """CPU an event with all calls at hand and with none: the same events, turn by turn."""
    collect_seldom()
    sent = demo_calls(calls, length_s, length_s, ended=False)
    spent_s = [0.0, 0.0]
    folds = [TimelineFold(MonitorSettings(calls_at_hand=most)) for most in (None, 0)]
    for first in range(0, len(sent), 50):
        for n, fold in enumerate(folds):
            began = time.process_time()
            for one in sent[first : first + 50]:
                entry = Entry("events", 0, 0, one.call_id, one.payload, one.wall_ns + S // 20)
                fold.add(entry, decode_event_fast(one.payload))
            fold.settle()
            spent_s[n] += time.process_time() - began
    return " ".join(str(s / len(sent) * 1e6) for s in spent_s)


def _in_a_process(expression: str) -> list[float]:
    here = str(Path(__file__).parent)
    code = f"import bench_fold; print(bench_fold.{expression})"
    ran = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
    return [float(one) for one in ran.stdout.split()]


def memory_kb(calls: int, length_s: float, at_hand: int | None) -> float:
    """Resident kB a call, after all were read, judged, published and saved every 15 s, the last time at any moment of
    the last 15."""
    settings = MonitorSettings(calls_at_hand=at_hand)
    fold, ledger, before = TimelineFold(settings), Ledger(), 0
    count_nothing(fold.windows)  # theirs is told apart: it grows with label sets and time, not with calls
    handler = TimelineHandler(fold, prefix="bench", ledger=ledger)
    state, slots = PartitionState(0, 1, fold, ledger, settings.bounds), Slots(0, "bench")
    every_ns = round(settings.keep_every_s * S)
    for number in range(-20, calls):
        if number == 0:
            gc.collect()
            before = _resident_kb()
        # One after the other, so that each is judged at its own events' arrival; none is judged when it is silent.
        begun_ns = HOUR_NS + round((number + 20) * length_s * S)
        sent = demo_call(number + 20, begun_ns, length_s, ended=False)
        save_ns = begun_ns + (number * 7 % 15) * S
        for first in range(0, len(sent), 50):
            for one in sent[first : first + 50]:
                entry = Entry("events", 0, 0, one.call_id, one.payload, one.wall_ns + S // 20)
                fold.add(entry, decode_event_fast(one.payload))
                if one.wall_ns >= save_ns:
                    save_ns += every_ns
                    snapshot = slots.snapshot(state.changes(), offset=0, about=b"")
                    slots.committed(snapshot)
            handler.take()
    gc.collect()
    return (_resident_kb() - before) / calls


def _resident_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def turns_of(labels: int, count: int, *, seed: int = 2) -> list[AnyRecord]:
    draw = random.Random(seed)
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
    """Turns spread over label sets and five minutes, four windows read every 10 s; then every set's percentiles, as
    alerts would read them. Turns are made just before they are applied, as a fold makes them."""
    windows = Windows(max_label_values=labels + 1, max_label_sets=labels + 1)
    turns, as_of_ns = labels * 30, HOUR_NS + 300 * S
    applied_s = read_s = 0.0
    for step in range(30):
        records = turns_of(labels, turns // 30, seed=step)
        for record in records:
            record.__dict__["event_wall_ns"] = HOUR_NS + step * 10 * S
        began = time.process_time()
        for record in records:
            windows.apply(None, record)
        applied_s += (applied := time.process_time()) - began
        for window_s in (60, 300, 3_600, 86_400):
            windows.percentiles("response_latency", 950, window_s=window_s, as_of_ns=HOUR_NS + step * 10 * S + S)
        read_s += time.process_time() - applied
    began = time.process_time()
    groups = windows.groups(["agent", "version"], window_s=300, as_of_ns=as_of_ns)
    for where in groups:
        windows.read("response_latency", window_s=300, as_of_ns=as_of_ns, where=where)
    one_by_one_ms = (time.process_time() - began) * 1e3
    began = time.process_time()
    windows.percentiles("response_latency", 950, window_s=300, as_of_ns=as_of_ns)
    at_once_ms = (time.process_time() - began) * 1e3
    began = time.process_time()
    windows.read("response_latency", window_s=300, as_of_ns=as_of_ns + 10 * S)
    slide_ms = (time.process_time() - began) * 1e3
    print(f"windows of {len(groups)} label sets, {turns} turns")
    print(f"  one turn into all windows   {applied_s / turns * 1e6:8.2f} us")
    print(f"  its share of four windows' p95 of all sets every 10 s {read_s / turns * 1e6:8.2f} us")
    print(f"  read 5 min of every set     {one_by_one_ms:8.2f} ms; p95 of all sets at once {at_once_ms:.2f} ms")
    print(f"  slide by one step, read all {slide_ms:8.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=1_000)
    parser.add_argument("--memory-calls", type=int, default=400)
    given = parser.parse_args()
    collect_seldom()
    print("fold, us of CPU an event (windows of 1 min to 24 h are read; batches of 2000: by a worker that is behind;")
    print("      whole: calls that are over, at once, without windows)")
    print(f"  {'calls':34} {'batch':>6} {'events':>8} {'decode':>8} {'fold':>8} {'windows':>8} {'all':>8} {'ratio':>8}")
    for batch in (1, 50, 2_000):
        bench_fold("demo, 1 call of 1 min", demo_calls(1, 60, 0), batch)
        bench_fold("demo, 1 call of 20 min", demo_calls(1, 1_200, 0), batch)
        bench_fold("demo, 300 open calls, 15 s of each", demo_calls(300, 15, 15, ended=False), batch)
    bench_fold("demo, 100 calls of 1 min in 2 min", demo_calls(100, 60, 60), 2_000)
    bench_fold("demo, 10,000 open calls, 1 s of each", demo_calls(10_000, 1, 2, ended=False), 2_000)
    bench_fold("synthetic, 300 calls in 10 min", synthetic_calls(300), 2_000)
    bench_whole("demo, 100 calls of 2 min", demo_calls(100, 120, 60))
    bench_whole("demo, 10 calls of 20 min", demo_calls(10, 1_200, 60))
    print("memory")
    bench_memory(given.memory_calls, 60)
    bench_memory(given.memory_calls, 120)
    bench_memory(max(given.memory_calls // 10, 10), 1_200)
    bench_asleep(100, 60)
    for labels in (10, given.labels):
        bench_windows(labels)


if __name__ == "__main__":
    main()
