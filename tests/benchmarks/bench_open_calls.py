"""CPU of an event of a live call, by how many calls are open: a worker that keeps up and looks at each answer at once.

    python tests/benchmarks/bench_open_calls.py [--calls 1 10 100 1000 10000]

All calls are half a minute old; then what comes within `BEAT_NS` is read together, as a worker does. Each row is a
process of its own; the bare decoding of the same events, in turn with it, is the baseline. ``at hand``: by
`state.calls_at_hand` as it is by default; ``asleep``: with a tenth of the calls at hand at most.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.monitor import CALLS_A_TICK
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.log.protocol import Entry

sys.path.insert(0, str(Path(__file__).parents[1]))

from demo_calls import HOUR_NS, PERIOD_NS, S, Sent, demo_call

OLD_NS = 30 * S
BEAT_NS = S // 50
BATCH = 2_000
PHASES = 200
EVENTS = 60_000
"""So many are measured at least, but for the fewest calls."""
LONGEST_NS = 15 * PERIOD_NS
A_SECOND = 7.2
"""Events of a call."""


def live_ns_of(calls: int) -> int:
    """How long calls are followed: whole periods of their talk where they are too few to be spread over one."""
    live_ns = round(EVENTS / A_SECOND / calls * S)
    return max(live_ns, 4 * S) if calls >= PHASES else min(-(-live_ns // PERIOD_NS) * PERIOD_NS, LONGEST_NS)


def told(calls: int, live_ns: int) -> Iterator[Sent]:
    """The events of so many calls in the order in which they come. Calls of one phase say the same at the same time."""
    phases = min(calls, PHASES)
    length_s = (OLD_NS + live_ns + PERIOD_NS) / S
    spread = [
        (one.wall_ns, one.payload, n)
        for n in range(phases)
        for one in demo_call(n, HOUR_NS + n * PERIOD_NS // phases, length_s, ended=False)
    ]
    end_ns = HOUR_NS + PERIOD_NS + OLD_NS + live_ns
    names = [[f"call-{number:08d}-7d0c2b1a" for number in range(n, calls, phases)] for n in range(phases)]
    for wall_ns, payload, n in sorted(spread):
        if wall_ns > end_ns:
            return
        mine = names[n][0].encode()
        for name in names[n]:
            yield Sent(wall_ns, payload.replace(mine, name.encode()), name)


class Run:
    """A worker's fold, fed; what it cost."""

    def __init__(self, at_hand: int | None) -> None:
        settings = MonitorSettings() if at_hand is None else MonitorSettings(calls_at_hand=at_hand)
        self.fold = TimelineFold(settings)
        self.fold.lagging = True
        self.decode_s = self.all_s = 0.0
        self.events = 0
        self._ticked_ns = 0

    def read(self, batch: list[Sent]) -> None:
        """Read some events together."""
        began = time.process_time()
        for one in batch:
            decode_event_fast(one.payload)
        decoded = time.process_time()
        fold = self.fold
        for one in batch:
            entry = Entry("events", 0, 0, one.call_id, one.payload, one.wall_ns + S // 20)
            fold.add(entry, decode_event_fast(one.payload))
        fold.settle()
        now_ns = batch[-1].wall_ns + S // 20
        if now_ns >= self._ticked_ns + S:
            self._ticked_ns = now_ns
            fold.advance(now_ns, most=CALLS_A_TICK)
        self.decode_s += decoded - began
        self.all_s += time.process_time() - decoded
        self.events += len(batch)


def measured(calls: int, at_hand: int | None) -> str:
    """CPU of decoding and of everything, us an event, and resident kB a call."""
    live_ns = live_ns_of(calls)
    from_ns = HOUR_NS + PERIOD_NS + OLD_NS
    collect_seldom()
    events = told(calls, live_ns)
    run, batch, before = Run(at_hand), [next(events)], _resident_kb()
    is_live = False
    for one in events:
        if not is_live and one.wall_ns >= from_ns:
            if batch:
                run.read(batch)
            run.fold.lagging, is_live, batch = False, True, []
            run.fold.settle()
            run.fold.settle()
            run.decode_s = run.all_s = run.events = 0
        if batch and (len(batch) == BATCH or (is_live and one.wall_ns > batch[0].wall_ns + BEAT_NS)):
            run.read(batch)
            batch = []
        batch.append(one)
    gc.collect()
    took_kb = _resident_kb() - before
    return f"{run.decode_s / run.events * 1e6} {run.all_s / run.events * 1e6} {run.events} {took_kb / calls}"


def _resident_kb() -> int:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, nargs="+", default=[1, 10, 100, 1_000, 10_000])
    given = parser.parse_args()
    here = str(Path(__file__).parent)
    print(f"live calls, us of CPU an event; {MonitorSettings().calls_at_hand} calls at hand by default")
    print(f"  {'open calls':>10} {'':8} {'events':>8} {'decode':>8} {'all':>8} {'ratio':>8} {'kB a call':>10}")
    for name in ("at hand", "asleep"):
        for calls in given.calls:
            if name == "asleep" and calls < 100:
                continue
            at_hand = None if name == "at hand" else calls // 10
            code = f"import bench_open_calls; print(bench_open_calls.measured({calls}, {at_hand}))"
            ran = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
            decode_us, all_us, events, kb = map(float, ran.stdout.split())
            print(
                f"  {calls:10,} {name:8} {events:8,.0f} {decode_us:8.2f} {all_us:8.2f} {all_us / decode_us:8.1f}"
                f" {kb:10.0f}"
            )
    print("target: flat from 1 to 10,000 open calls")


if __name__ == "__main__":
    main()
