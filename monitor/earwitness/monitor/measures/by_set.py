"""A window's numbers of every label set at once: what 1,000 readings say, for the price of a few."""

from __future__ import annotations

import numpy as np

from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.classes import Classes
from earwitness.monitor.measures.histogram import Binning
from earwitness.monitor.measures.percentiles import percentile_by_set
from earwitness.monitor.measures.reading import Quantile
from earwitness.monitor.measures.readout import rate
from earwitness.monitor.measures.slots import (
    AT_LEAST,
    CENSORED,
    CLASSES,
    COUNT,
    DENOMINATOR,
    ELIGIBLE,
    RESTATED,
    STRIDE,
)
from earwitness.monitor.measures.sums import Sums


class BySet:
    """The sums of one window, asked for all label sets at once; answers are by the number of the set, and sets of which
    there is nothing to say are absent. They say what `Windows.read` says of one set after the other."""

    def __init__(self, sums: Sums, classes: Classes, binning: Binning) -> None:
        self._sums = sums
        self._classes = classes
        self._binning = binning
        self._series, self._slots = np.divmod(sums.keys, STRIDE)
        self._sets, self._numbers = np.divmod(self._series, CLASSES)

    def sets(self) -> list[int]:
        """The sets that the window has something of, as `Windows.groups`."""
        found: list[int] = np.unique(self._sets[self._slots != RESTATED]).tolist()
        return found

    def ranked(self, measure: str) -> dict[int, int]:
        """How many durations are ranked (``n``)."""
        most = AT_LEAST if BY_NAME[measure].ranks_censored else CENSORED
        is_ranked = (self._numbers == self._classes.number(measure, "")) & (self._slots < most)
        sets, amounts = self._sets[is_ranked], self._sums.amounts[is_ranked]
        begins = np.flatnonzero(np.diff(sets, prepend=-1))
        if not len(begins):
            return {}
        return dict(zip(sets[begins].tolist(), np.add.reduceat(amounts, begins).tolist(), strict=True))

    def coverage(self, measure: str) -> dict[int, float]:
        """Measured of what was eligible, of a measure of durations."""
        ranked = self.ranked(measure)
        return {number: ranked.get(number, 0) / n for number, n in self._amounts(measure, "", ELIGIBLE).items()}

    def rates(self, measure: str) -> dict[int, float]:
        """Rates; absent where too few stand below the line."""
        if measure != "selectivity":
            return self._rates(measure, "", "")
        found: dict[int, list[float]] = {}
        for klass, _ in self._classes.of(measure):
            for number, one in self._rates(measure, klass, klass).items():
                found.setdefault(number, []).append(one)
        return {number: sum(rates) / len(rates) for number, rates in found.items()}

    def percentiles(self, measure: str, permille: int) -> dict[int, Quantile]:
        """A percentile of a measure of durations (``permille`` 950: p95)."""
        number, only = self._classes.number(measure, ""), not BY_NAME[measure].ranks_censored
        return percentile_by_set(self._sums, number, permille, self._binning, answered_only=only)

    def restated(self, measure: str) -> dict[int, int]:
        """How many changes came after their minute was published, as a `Reading` counts them."""
        found: dict[int, int] = {}
        for klass in ("", *[klass for klass, _ in self._classes.of(measure)]):
            for number, times in self._amounts(measure, klass, RESTATED).items():
                found[number] = max(found.get(number, 0), times)
        return found

    def _rates(self, measure: str, klass: str, below: str) -> dict[int, float]:
        counts = self._amounts(measure, klass, COUNT)
        shares = {
            number: rate(counts.get(number, 0), n) for number, n in self._amounts(measure, below, DENOMINATOR).items()
        }
        return {number: share for number, share in shares.items() if share is not None}

    def _amounts(self, measure: str, klass: str, slot: int) -> dict[int, int]:
        is_it = (self._slots == slot) & (self._numbers == self._classes.number(measure, klass))
        return dict(zip(self._sets[is_it].tolist(), self._sums.amounts[is_it].tolist(), strict=True))
