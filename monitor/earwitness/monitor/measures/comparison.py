"""Two sets of calls, number by number: what differs, by how much, and whether that can be told.

The interval is a bootstrap over calls (``bootstrap.py``), seeded: the same calls give the same interval. A number says
better or worse only where its interval leaves out 0; where it does not, where a side has too few calls or values, or
where both sides reach turns that were never answered, it says "cannot tell" and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from earwitness.monitor.measures.bootstrap import Floats, Ints, Ranked, draws, levels
from earwitness.monitor.measures.call_sample import CallSample

Verdict = Literal["better", "worse", "higher", "lower", "cannot_tell"]
Doubt = Literal["covers_zero", "few_calls", "few_values", "censored", "never_varied", "not_measured"]
Better = Literal["lower", "higher"] | None

LEAST_CALLS: Final = 10
"""A side with fewer calls that have the number is no sample of anything."""
RESAMPLES: Final = 2_000
SEED: Final = 20_240_229


@dataclass(frozen=True, slots=True)
class Number:
    """One number: a percentile of ``source``, or the sum ``top`` over the sum ``base``.

    ``least``: with fewer values (ratio: smaller ``base``) on a side nothing can be told (definitions, "Latency" and
    "Interruptions").
    """

    name: str
    unit: Literal["s", "ratio", "per_call", "s_per_call", "per_turn"]
    better: Better
    least: int
    source: Literal["latency", "answered", "stop"] | None = None
    percent: int = 0
    top: str = ""
    base: str = ""


NUMBERS: Final[tuple[Number, ...]] = (
    Number("response_latency_p50", "s", "lower", 1, "latency", 50),
    Number("response_latency_p90", "s", "lower", 10, "latency", 90),
    Number("response_latency_p95", "s", "lower", 20, "latency", 95),
    Number("answered_only_p50", "s", "lower", 1, "answered", 50),
    Number("answered_only_p95", "s", "lower", 20, "answered", 95),
    Number("unanswered", "ratio", "lower", 10, top="unanswered", base="ranked"),
    Number("coverage", "ratio", "higher", 10, top="ranked", base="eligible"),
    Number("missed_rate", "ratio", "lower", 10, top="FN", base="wanted"),
    Number("false_yield_rate", "ratio", "lower", 10, top="FP", base="unwanted"),
    Number("stop_latency_p50", "s", "lower", 10, "stop", 50),
    Number("agent_interruptions", "per_turn", "lower", 10, top="agent_interruptions", base="caller_turns"),
    Number("dead_air_per_call", "per_call", "lower", 1, top="dead_air", base="observed_calls"),
    Number("dead_air_owed_per_call", "s_per_call", "lower", 1, top="dead_air_owed_s", base="observed_calls"),
    Number("talk_caller", "ratio", None, 1, top="talk_caller", base="talk"),
    Number("talk_agent", "ratio", None, 1, top="talk_agent", base="talk"),
    Number("talk_both", "ratio", None, 1, top="talk_both", base="talk"),
    Number("talk_nobody", "ratio", None, 1, top="talk_nobody", base="talk"),
    Number("contained", "ratio", "higher", 10, top="contained", base="in_scope"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """A number on one side. ``value`` None with ``more_than``: the percentile touches waits in vain; both None: nothing
    measured. ``n``: values ranked, or the ratio's denominator; ``calls``: how many calls have any."""

    value: float | None
    more_than: float | None
    n: float
    calls: int


@dataclass(frozen=True, slots=True)
class Difference:
    """B - A of one number.

    ``low`` and ``high`` bound it with 95 % confidence; None: no bound on that side. ``interval`` False: none was made.
    ``more_than`` or ``less_than`` stands for ``value`` where one side is censored.
    """

    number: Number
    a: Side
    b: Side
    value: float | None
    more_than: float | None
    less_than: float | None
    interval: bool
    low: float | None
    high: float | None
    verdict: Verdict
    doubt: Doubt | None


def compare(
    a: Sequence[CallSample], b: Sequence[CallSample], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Difference]:
    """Every number of two sets of calls. The order of the calls does not matter."""
    sides = [_Set(a), _Set(b)]
    spreads = [s.spread(resamples, np.random.default_rng((seed, n))) for n, s in enumerate(sides)]
    # How often what was never seen on a side would be seen in a set of calls in which it is to be expected once.
    once = np.random.default_rng((seed, 2)).poisson(1.0, size=(2, resamples))
    return [_difference(number, n, sides, spreads, once) for n, number in enumerate(NUMBERS)]


class _Set:
    """One set of calls, laid out for resampling."""

    def __init__(self, calls: Sequence[CallSample]) -> None:
        self.calls = sorted(calls, key=lambda c: (c.call_id, c.latencies, sorted(c.sums.items())))
        nothing: list[tuple[float, ...]] = [()] * len(self.calls)
        self.ranked = {
            "latency": Ranked([c.latencies for c in self.calls], [c.waits for c in self.calls]),
            "answered": Ranked([c.latencies for c in self.calls], nothing),
            "stop": Ranked([c.stops for c in self.calls], [c.never_stopped for c in self.calls]),
        }
        names = sorted({name for number in NUMBERS for name in (number.top, number.base) if name})
        self.sums = {name: np.array([_sum(c, name) for c in self.calls], np.float64) for name in names}
        self.width = max((r.values.size + r.waits.size for r in self.ranked.values()), default=1)

    def numbers(self, weights: Ints) -> tuple[Floats, Floats]:
        """The least and greatest that each number can be, [rows x numbers]."""
        least = np.empty((len(weights), len(NUMBERS)))
        greatest = np.empty_like(least)
        for source, ranked in self.ranked.items():
            columns = [n for n, number in enumerate(NUMBERS) if number.source == source]
            least[:, columns], greatest[:, columns] = ranked.quantiles(weights, [NUMBERS[n].percent for n in columns])
        for n, number in enumerate(NUMBERS):
            if number.source is not None:
                continue
            top, base = weights @ self.sums[number.top], weights @ self.sums[number.base]
            known = base > 0
            ratio = np.divide(top, base, out=np.zeros_like(top), where=known)
            least[:, n] = np.where(known, ratio, -np.inf)
            greatest[:, n] = np.where(known, ratio, np.inf)
        return least, greatest

    def spread(self, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats] | None:
        """The same of every resample; None for too few calls."""
        if len(self.calls) < LEAST_CALLS:
            return None
        found = [self.numbers(weights) for weights in draws(len(self.calls), resamples, rng, self.width)]
        return np.concatenate([low for low, _ in found]), np.concatenate([high for _, high in found])

    def side(self, number: Number, column: int) -> Side:
        """The number over all calls."""
        if number.source is not None:
            ranked = self.ranked[number.source]
            n: float = ranked.values.size + ranked.waits.size
            calls = len({*ranked.owner.tolist(), *ranked.waiting.tolist()})
        else:
            n, calls = float(self.sums[number.base].sum()), int((self.sums[number.base] > 0).sum())
        if not n:
            return Side(None, None, 0, 0)
        low, high = (float(bound[0, column]) for bound in self.numbers(np.ones((1, len(self.calls)), np.int64)))
        return Side(low, None, n, calls) if low == high else Side(None, low, n, calls)


def _sum(call: CallSample, name: str) -> float:
    if name == "wanted":
        return call.sums.get("TP", 0) + call.sums.get("FN", 0)
    if name == "unwanted":
        return call.sums.get("FP", 0) + call.sums.get("TN", 0)
    return call.sums.get(name, 0)


def _difference(
    number: Number, column: int, sides: Sequence[_Set], spreads: Sequence[tuple[Floats, Floats] | None], once: Ints
) -> Difference:
    a, b = (side.side(number, column) for side in sides)
    value = b.value - a.value if a.value is not None and b.value is not None else None
    more_than = b.more_than - a.value if b.more_than is not None and a.value is not None else None
    less_than = b.value - a.more_than if a.more_than is not None and b.value is not None else None

    def told(verdict: Verdict, doubt: Doubt | None, bounds: tuple[float, float] | None = None) -> Difference:
        low, high = (None, None) if bounds is None else (_finite(bounds[0]), _finite(bounds[1]))
        return Difference(number, a, b, value, more_than, less_than, bounds is not None, low, high, verdict, doubt)

    if not a.calls or not b.calls:
        return told("cannot_tell", "not_measured")
    calls = min(a.calls, b.calls)
    if calls < LEAST_CALLS or spreads[0] is None or spreads[1] is None:
        return told("cannot_tell", "few_calls")
    if min(a.n, b.n) < number.least:
        return told("cannot_tell", "few_values")
    (a_least, a_greatest), (b_least, b_greatest) = (
        _never_seen(number, sides[n], sides[1 - n], (low[:, column], high[:, column]), once[n])
        for n, (low, high) in enumerate((spreads[0], spreads[1]))
    )
    lows, highs = b_least - a_greatest, b_greatest - a_least
    if lows.min() == highs.max() == 0:
        return told("cannot_tell", "never_varied")
    from_level, to_level = levels(calls)
    low = float(np.quantile(lows, from_level, method="lower"))
    high = float(np.quantile(highs, to_level, method="higher"))
    if low > 0 or high < 0:
        return told(_verdict(number.better, up=low > 0), None, (low, high))
    unknown = a.more_than is not None and b.more_than is not None
    return told("cannot_tell", "censored" if unknown else "covers_zero", (low, high))


def _never_seen(
    number: Number, own: _Set, other: _Set, bounds: tuple[Floats, Floats], once: Ints
) -> tuple[Floats, Floats]:
    """The resampled ratio of a side on which something never happened, or always did.

    Calls that all lack it give resamples that all lack it, as if it could not happen at all. It was only not seen: so
    it is put in as often as a thing expected once in so many calls, each time as it is where the other side has it.
    """
    if number.source is not None:
        return bounds
    top, base = own.sums[number.top], own.sums[number.base]
    there, there_base = other.sums[number.top], other.sums[number.base]
    none, every = not top.any(), number.unit == "ratio" and bool((top == base).all())
    if every:
        there = there_base - there
    has = there > 0
    if not (none or every) or not has.any():
        return bounds
    amount, width = float(there[has].mean()), float(there_base[has].mean())
    ratio = once * amount / (base.sum() + once * width)
    ratio = ratio if none else 1 - ratio
    return ratio, ratio


def _verdict(better: Better, *, up: bool) -> Verdict:
    if better is None:
        return "higher" if up else "lower"
    return "better" if (better == "higher") == up else "worse"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
