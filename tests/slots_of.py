"""What one value adds to a series, slot by slot: the definition, for tests to count by."""

from __future__ import annotations

from earwitness.monitor.measures.histogram import Binning
from earwitness.monitor.measures.slots import HIGH_SUM_NS, LOW_SUM_NS, SUM_NS, VALUES


def value_slots(value_ns: int, binning: Binning) -> tuple[tuple[int, int], ...]:
    """A measured value."""
    number = binning.bin_of(value_ns)
    if number == 0:
        return ((VALUES, 1), (SUM_NS, value_ns), (LOW_SUM_NS, value_ns))
    if number == binning.high:
        return ((VALUES + number, 1), (SUM_NS, value_ns), (HIGH_SUM_NS, value_ns))
    return ((VALUES + number, 1), (SUM_NS, value_ns))
