"""Counters and histograms since this process began, from final records only: what Prometheus scrapes.

Kept by the numbers of the windows' label sets; a set that the windows let go takes its totals with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.contributions import tallies
from earwitness.monitor.measures.slots import CENSORED, COUNT, VALUES
from earwitness.monitor.measures.tally import fields_of, parted

EDGES_S: Final = (
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0,
)  # fmt: skip
"""Upper edges of the histograms' buckets; fine where objectives usually lie."""
UNSHOWN: Final = frozenset({"stage_sample", "tool_call"})
"""Kinds of records that count for no counter and no histogram; the first are most of all records."""
_EDGES_NS: Final = [round(edge * 1e9) for edge in EDGES_S]


class Key(NamedTuple):
    """One series: label set, measure and class."""

    number: int
    measure: str
    klass: str


@dataclass(slots=True)
class Total:
    """A histogram whose last bucket holds what is over the edges and, where they are ranked, the censored."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(EDGES_S) + 1))
    sum_ns: int = 0


class Totals:
    """Totals by series."""

    def __init__(self) -> None:
        self.histograms: dict[Key, Total] = {}
        self.counts: dict[Key, int] = {}

    def add(self, number: int, record: AnyRecord) -> None:
        """Count a record that has become final."""
        if record.kind in UNSHOWN:
            return
        for name, slot, amount in tallies(fields_of(record)):
            if slot == COUNT:
                key = _key(number, name)
                self.counts[key] = self.counts.get(key, 0) + amount
            elif slot == VALUES:
                total = self._total(_key(number, name))
                total.buckets[bisect_left(_EDGES_NS, amount)] += 1
                total.sum_ns += amount
            elif slot == CENSORED and BY_NAME[(key := _key(number, name)).measure].ranks_censored:
                self._total(key).buckets[-1] += 1

    def retain(self, numbers: Iterable[int]) -> None:
        """Drop the totals of other label sets."""
        kept = set(numbers)
        self.histograms = {key: total for key, total in self.histograms.items() if key.number in kept}
        self.counts = {key: count for key, count in self.counts.items() if key.number in kept}

    def _total(self, key: Key) -> Total:
        total = self.histograms.get(key)
        if total is None:
            total = self.histograms[key] = Total()
        return total


@lru_cache(maxsize=1 << 14)
def _key(number: int, name: str) -> Key:
    return Key(number, *parted(name))
