"""Durations as integer counts in bins whose width grows with the value: DDSketch's mapping, 1 % relative error.

The bins' edges are worked out in decimal arithmetic, once, so that every machine puts a value into the same bin.
Everything is an integer in a slot: merging is adding, leaving is subtracting, and neither order nor split nor
replay changes a bit (definitions, "Latency"). Beside the bins from 1 ms to 10 min stand one below (-0.3 s to
1 ms), one above, and those who waited in vain (censored): ranked above every value, kept by how long they waited.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from earwitness.monitor.measures.reading import Quantile
from earwitness.monitor.measures.slots import AT_LEAST, CENSORED, HIGH_SUM_NS, LOW_SUM_NS, SUM_NS, VALUES

S: Final = 1_000_000_000
LEAST_MORE_THAN_NS: Final = 10 * S
"""A percentile of a censored rank is "more than" this, or than the longest wait where that is longer."""
PERMILLES: Final = {"p50": 500, "p90": 900, "p95": 950, "p99": 990}
"""The percentiles that a reading carries."""
_QUARTER: Final = 1024


class UnlikeHistograms(ValueError):
    """What was worked out under other bounds was to be added (D18)."""


class Binning:
    """Where a duration's bin is: bin 0 below ``least_ns``, log bins up to ``most_ns``, one above.

    ``alpha`` is the relative error in the log bins, as decimal text. Raises ValueError where that makes more bins
    than a series has slots for.
    """

    def __init__(self, alpha: str = "0.01", least_ns: int = 1_000_000, most_ns: int = 600 * S) -> None:
        self.id = f"log:{alpha}:{least_ns}:{most_ns}"
        self.edges = [least_ns]
        """Greatest value of each bin from bin 0 on; the last bin has none."""
        self._middles = [0.0]
        with localcontext() as context:
            context.prec = 50
            gamma = (1 + Decimal(alpha)) / (1 - Decimal(alpha))
            edge = Decimal(least_ns)
            while self.edges[-1] < most_ns:
                edge *= gamma
                self.edges.append(min(int(edge), most_ns))
                self._middles.append(float(2 * edge / (1 + gamma)))
        self.high = len(self.edges)
        if self.high >= _QUARTER:
            raise ValueError(f"{self.id}: {self.high} bins are more than {_QUARTER - 1}")
        self.middles: npt.NDArray[np.float64] = np.array([*self._middles, 0.0], np.float64)
        """What stands for each bin; 0 for the outer two, see `middle_ns`."""
        self.edges_array: npt.NDArray[np.int64] = np.array(self.edges, np.int64)

    def bin_of(self, value_ns: int) -> int:
        """The bin that holds a value."""
        return bisect_left(self.edges, value_ns)

    def floor_ns(self, number: int) -> int:
        """What every value of a bin is greater than; 0 for the lowest."""
        return self.edges[number - 1] if number else 0

    def middle_ns(self, number: int, counts: Mapping[int, int]) -> float:
        """The value that stands for a bin: in the two outer ones the mean of what is in them."""
        if number == 0:
            return counts.get(LOW_SUM_NS, 0) / counts[VALUES]
        if number == self.high:
            return counts.get(HIGH_SUM_NS, 0) / counts[VALUES + number]
        return self._middles[number]


@cache
def default_binning() -> Binning:
    """1 %, 1 ms to 10 min: 668 bins."""
    return Binning()


class _Ranks(NamedTuple):
    """Where the ranks of measured values lie."""

    bins: list[int]
    passed: list[int]
    """How many values lie in each bin and those before it."""
    answered: int
    censored: int


class Histogram:
    """What the integers of one series say, by slot; none of them is 0."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        self.counts = counts
        self._binning = default_binning()
        self._ranks: _Ranks | None = None

    @property
    def answered(self) -> int:
        """Measured values."""
        return self._ranked().answered

    @property
    def censored(self) -> int:
        """Those who waited in vain."""
        return self._ranked().censored

    @property
    def n(self) -> int:
        """All that is ranked."""
        return self.answered + self.censored

    @property
    def sum_ns(self) -> int:
        """Sum of the measured values, exact."""
        return self.counts.get(SUM_NS, 0)

    def quantiles(
        self, permilles: Mapping[str, int] = PERMILLES, *, answered_only: bool = False
    ) -> dict[str, Quantile]:
        """Percentiles by name, linear between the two neighbouring ranks (definitions, "Latency").

        Neither value nor bound where nothing was counted: never 0.
        """
        ranks = self._ranked()
        n = ranks.answered if answered_only else ranks.answered + ranks.censored
        return {name: self._quantile(permille, n, ranks) for name, permille in permilles.items()}

    def over(self, threshold_ns: int) -> int:
        """How many miss a threshold: values over it (by bin: within 1 %), the censored, and lower bounds over it."""
        limit = self._binning.bin_of(threshold_ns)
        late = sum(
            count
            for slot, count in self.counts.items()
            if VALUES + limit < slot < VALUES + _QUARTER or AT_LEAST + limit < slot < AT_LEAST + _QUARTER
        )
        return late + self.censored

    def greatest_ns(self) -> float | None:
        """The greatest measured value, within the error of its bin; None where there is none."""
        bins = self._ranked().bins
        return self._binning.middle_ns(bins[-1], self.counts) if bins else None

    def more_than_ns(self) -> int:
        """What a censored percentile is at least: 10 s, or the longest wait."""
        waits = [slot - CENSORED for slot in self.counts if CENSORED <= slot < CENSORED + _QUARTER]
        return max(LEAST_MORE_THAN_NS, self._binning.floor_ns(max(waits))) if waits else LEAST_MORE_THAN_NS

    def _quantile(self, permille: int, n: int, ranks: _Ranks) -> Quantile:
        if n == 0:
            return Quantile()
        rank, thousandths = divmod(permille * (n - 1), 1000)
        above = rank + 1 if thousandths else rank
        if above >= ranks.answered:
            return Quantile(more_than_s=self.more_than_ns() / S)
        low, high = self._at_rank(rank, ranks), self._at_rank(above, ranks)
        return Quantile(value_s=(low + (high - low) * thousandths / 1000) / S)

    def _at_rank(self, rank: int, ranks: _Ranks) -> float:
        return self._binning.middle_ns(ranks.bins[bisect_right(ranks.passed, rank)], self.counts)

    def _ranked(self) -> _Ranks:
        if self._ranks is None:
            counts = self.counts
            bins = sorted(slot for slot in counts if slot < _QUARTER)
            passed = list(accumulate(counts[slot] for slot in bins))
            censored = sum(count for slot, count in counts.items() if CENSORED <= slot < CENSORED + _QUARTER)
            self._ranks = _Ranks(bins, passed, passed[-1] if passed else 0, censored)
        return self._ranks
