"""What changed, as a flat list of integers, until it is worked into sums: writing costs next to nothing, and durations
find their bins many at a time.

A pair is a place and an amount. The place is the series and the slot that a contribution is counted in (for durations
the first of their bins); what takes away has ``~place`` for it, since the amount of a duration has a sign of its own.
"""

from __future__ import annotations

import numpy as np

from earwitness.monitor.measures.histogram import Binning
from earwitness.monitor.measures.slots import AT_LEAST, HIGH_SUM_NS, LOW_SUM_NS, STRIDE, SUM_NS, VALUES
from earwitness.monitor.measures.sums import Sums, summed

Journal = list[int]


def worked_in(journal: Journal, binning: Binning) -> Sums:
    """The sums that the pairs of a journal amount to."""
    pairs = np.array(journal, np.int64)
    places, amounts = pairs[0::2], pairs[1::2]
    takes_away = places < 0
    places = np.where(takes_away, ~places, places)
    signs = np.where(takes_away, np.int64(-1), np.int64(1))
    slots = places & (STRIDE - 1)
    is_duration = slots <= AT_LEAST
    is_count = ~is_duration
    durations, bases, ones = amounts[is_duration], places[is_duration], signs[is_duration]
    bins = np.searchsorted(binning.edges_array, durations)
    is_value = slots[is_duration] == VALUES
    values, series, bins_of_values = durations[is_value] * ones[is_value], bases[is_value], bins[is_value]
    is_low, is_high = bins_of_values == 0, bins_of_values == binning.high
    keys = (
        places[is_count],
        bases + bins,
        series + SUM_NS,
        series[is_low] + LOW_SUM_NS,
        series[is_high] + HIGH_SUM_NS,
    )
    return summed(
        np.concatenate(keys),
        np.concatenate((amounts[is_count] * signs[is_count], ones, values, values[is_low], values[is_high])),
    )
