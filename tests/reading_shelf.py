"""Readings held in memory, settable by hand: what alerts are evaluated over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from earwitness.monitor.measures.reading import Exemplar, Labels, Quantile, Reading

START_NS = 1_800_000_000 * 1_000_000_000
"""A whole minute: 2027-01-15 08:00:00 UTC."""


class Shelf:
    """``put`` what is to be read for a measure and group from now on; nothing put reads as nothing measured."""

    def __init__(self) -> None:
        self.readings: dict[tuple[str, Labels], Reading] = {}
        self.earlier: dict[tuple[str, Labels], Reading] = {}
        self.exemplars: list[Exemplar] = []
        self.seen_today: set[Labels] = set()
        self.versions_before: list[Labels] = []
        self.now_ns = START_NS

    def put(self, measure: str, group: Labels, reading: Reading | None) -> None:
        self.readings.pop((measure, group), None)
        if reading is not None:
            self.readings[measure, group] = reading
            self.seen_today.add(group)

    def p95(
        self,
        value_s: float | None,
        n: int,
        group: Labels,
        *,
        more_than_s: float | None = None,
        sum_s: float | None = None,
    ) -> None:
        found = {"p95": Quantile(value_s, more_than_s)} if n else {}
        share = 1.0 if n else None
        self.put("response_latency", group, Reading("", 0, 0, n=n, coverage=share, quantiles=found, sum_s=sum_s))

    def rate(self, measure: str, count: int, denominator: int, group: Labels) -> None:
        share = count / denominator if denominator else None
        self.put(measure, group, Reading("", 0, 0, n=denominator, count=count, denominator=denominator, rate=share))

    def groups(self, by: Sequence[str], *, window_s: int, as_of_ns: int) -> list[Labels]:
        if as_of_ns < self.now_ns:
            return self.versions_before
        known = (
            self.seen_today
            if window_s >= 86_400
            else {group for (_, group), r in self.readings.items() if r.n or r.count}
        )
        return sorted({tuple((k, v) for k, v in group if k in by) for group in known})

    def read(self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = ()) -> Reading:
        shelf = self.earlier if as_of_ns < self.now_ns else self.readings
        found = shelf.get((measure, where)) or Reading(measure, window_s, as_of_ns, where)
        return replace(found, measure=measure, window_s=window_s, as_of_ns=as_of_ns, labels=where)

    def worst(
        self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = (), limit: int = 3
    ) -> list[Exemplar]:
        return self.exemplars[:limit]
