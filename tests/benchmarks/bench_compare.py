"""CPU of a comparison: 2,000 resamples of whole calls, against one percentile of each set computed once by numpy.

Run as a script; prints, judges nothing. ``--calls N`` for another size (a side), ``--turns N`` of each call.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from earwitness.monitor.measures.call_sample import CallSample
from earwitness.monitor.measures.comparison import RESAMPLES, compare


def calls(count: int, turns: int, mean_s: float, seed: int) -> list[CallSample]:
    """Calls whose turns lie around a mean of their own, one in fifty never answered."""
    rng = np.random.default_rng(seed)
    made: list[CallSample] = []
    for n in range(count):
        own = mean_s * rng.lognormal(0, 0.2) * rng.lognormal(0, 0.2, turns)
        waits = int(rng.binomial(turns, 0.02))
        answered = tuple(float(v) for v in own[: turns - waits])
        sums = {"ranked": turns, "unanswered": waits, "eligible": turns, "caller_turns": turns, "TP": 1, "talk": 60}
        made.append(CallSample(f"c{n}", answered, (12.0,) * waits, sums=sums | {"talk_agent": 20 + rng.random()}))
    return made


def cpu_s(work: Callable[[], object], rounds: int) -> float:
    """Median process time of a round."""
    took: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=10)
    given = parser.parse_args()
    a = calls(given.calls, given.turns, 0.9, 1)
    b = calls(given.calls, given.turns, 1.0, 2)
    values = [np.array([v for call in side for v in call.latencies]) for side in (a, b)]
    once = cpu_s(lambda: [np.percentile(v, [50, 90, 95]) for v in values], 20)
    whole = cpu_s(lambda: compare(a, b), 3)
    print(f"two sets of {given.calls:,} calls, {given.turns} turns each, {RESAMPLES:,} resamples, 18 numbers")
    print(f"  compare                      {whole:8.2f} s")
    print(f"  numpy, three percentiles once {once * 1000:7.3f} ms; as often as resampled {once * RESAMPLES:.2f} s")
    print(f"  ratio                        {whole / (once * RESAMPLES):8.2f}")


if __name__ == "__main__":
    main()
