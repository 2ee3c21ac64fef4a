"""One percentile of every label set at once: what 1,000 readings say, for the price of a few."""

from __future__ import annotations

import numpy as np

from earwitness.monitor.measures.histogram import Binning, Histogram, S
from earwitness.monitor.measures.reading import Quantile
from earwitness.monitor.measures.slots import AT_LEAST, CENSORED, CLASSES, STRIDE
from earwitness.monitor.measures.sums import Sums


def percentile_by_set(
    sums: Sums, class_number: int, permille: int, binning: Binning, *, answered_only: bool = False
) -> dict[int, Quantile]:
    """A percentile of one class of durations by the number of the label set; the censored rank above every value
    (``answered_only``: not at all). The same numbers as `Histogram.quantiles` gives, bit for bit.
    """
    series, slots = sums.keys // STRIDE, sums.keys % STRIDE
    is_ranked = (series % CLASSES == class_number) & (slots < (CENSORED if answered_only else AT_LEAST))
    sets, slots, amounts = series[is_ranked] // CLASSES, slots[is_ranked], sums.amounts[is_ranked]
    if not len(sets):
        return {}
    begins = np.flatnonzero(np.diff(sets, prepend=-1))
    answered = np.add.reduceat(np.where(slots < CENSORED, amounts, 0), begins)
    passed = np.cumsum(amounts)
    before = passed[begins] - amounts[begins]
    rank, thousandths = np.divmod(permille * (np.add.reduceat(amounts, begins) - 1), 1000)
    above = rank + (thousandths > 0)
    low, high = (
        np.minimum(np.searchsorted(passed, before + ranked, side="right"), len(passed) - 1) for ranked in (rank, above)
    )
    # The outermost bins stand for the mean of what is in them, and a censored rank for the longest wait.
    is_plain = (above < answered) & (slots[low] > 0) & (slots[high] < binning.high)
    lows, highs = (binning.middles[np.minimum(slots[at], binning.high)] for at in (low, high))
    values = (lows + (highs - lows) * thousandths / 1000) / S
    return {
        number: Quantile(value_s=value)
        if plain
        else _alone(sums, number * CLASSES + class_number, permille, answered_only)
        for number, plain, value in zip(sets[begins].tolist(), is_plain.tolist(), values.tolist(), strict=True)
    }


def _alone(sums: Sums, series: int, permille: int, answered_only: bool) -> Quantile:
    first = series * STRIDE
    part = slice(*np.searchsorted(sums.keys, (first, first + STRIDE)).tolist())
    one = Histogram(dict(zip((sums.keys[part] - first).tolist(), sums.amounts[part].tolist(), strict=True)))
    return one.quantiles({"": permille}, answered_only=answered_only)[""]
