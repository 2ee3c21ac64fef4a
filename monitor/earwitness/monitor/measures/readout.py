"""From the integers of a window to what it says: percentiles, rates, coverage. Pure.

``by_class`` holds the summed slots of each class of one measure (definitions, "Latency", "Interruptions").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from earwitness.monitor.measures.histogram import Histogram, S
from earwitness.monitor.measures.measure import Measure
from earwitness.monitor.measures.slots import COUNT, DENOMINATOR, ELIGIBLE, INVALID, RESTATED, UNMEASURED
from earwitness.monitor.measures.talk_rules import PREMATURE

LEAST_DENOMINATOR: Final = 10
"""A rate with fewer below the line is shown as counts only."""

Slots = Mapping[int, int]
ByClass = Mapping[str, Slots]
Fields = dict[str, Any]
"""Fields of a `Reading`."""


def read_out(measure: Measure, klass: str | None, by_class: ByClass) -> Fields:
    """What the reading of a measure, or of one class of it, says beside window, labels and completeness."""
    if measure.name == "coverage":
        found = _coverage(by_class)
    elif measure.kind in ("latency", "distribution"):
        found = _durations(measure, klass, by_class)
    elif measure.kind == "rate":
        found = _rate(measure, klass, by_class)
    else:
        found = _count(klass, by_class)
    found["restated"] = max((slots.get(RESTATED, 0) for slots in by_class.values()), default=0)
    return found


def rate(count: int, denominator: int) -> float | None:
    """A rate, or None where the denominator is too small to show one."""
    return count / denominator if denominator >= LEAST_DENOMINATOR else None


def _durations(measure: Measure, klass: str | None, by_class: ByClass) -> Fields:
    slots = _own_slots(measure, klass, by_class)
    histogram = Histogram(slots)
    answered, censored = histogram.answered, histogram.censored
    n = answered + censored if measure.ranks_censored else answered
    if measure.name == "latency_part" and klass is None:
        n = slots.get(COUNT, 0)
    eligible = slots.get(ELIGIBLE, 0)
    answered_only = histogram.quantiles(answered_only=True)
    greatest_ns = histogram.greatest_ns()
    return {
        "n": n,
        "count": n,
        "censored": censored,
        "eligible": eligible,
        "coverage": n / eligible if eligible else None,
        "quantiles": histogram.quantiles() if measure.ranks_censored else answered_only,
        "answered_only": answered_only if measure.ranks_censored else {},
        "sum_s": histogram.sum_ns / S if answered else None,
        "max_s": None if greatest_ns is None else greatest_ns / S,
        "by_class": _duration_classes(measure, by_class, slots),
    }


def _own_slots(measure: Measure, klass: str | None, by_class: ByClass) -> Slots:
    if measure.name == "response_latency_all" and klass is None:
        total = dict(by_class.get("", {}))
        for slot, amount in by_class.get(PREMATURE, {}).items():
            if slot != COUNT:
                total[slot] = total.get(slot, 0) + amount
        return total
    return by_class.get(klass or "", {})


def _duration_classes(measure: Measure, by_class: ByClass, slots: Slots) -> dict[str, int]:
    """Medians in ms for parts and services, sums in ms for owners of dead air, else counts."""
    found: dict[str, int] = {}
    for name, own in by_class.items():
        if not name:
            continue
        if measure.class_key in ("part", "service"):
            middle = Histogram(own).quantiles({"p50": 500}, answered_only=True)["p50"].value_s
            if middle is not None:
                found[name] = round(middle * 1000)
        elif measure.class_key == "owner":
            if not own.keys() - {RESTATED}:
                continue  # what was taken back leaves no trace but that
            found[name] = round(Histogram(own).sum_ns / 1_000_000)
        elif COUNT in own:
            found[name.removeprefix("reason/")] = own[COUNT]
    for name, slot in (("invalid", INVALID), ("unmeasured", UNMEASURED)):
        if slot in slots:
            found[name] = slots[slot]
    return found


def _rate(measure: Measure, klass: str | None, by_class: ByClass) -> Fields:
    if measure.name == "selectivity":
        return _selectivity(klass, by_class)
    count = by_class.get(klass or "", {}).get(COUNT, 0)
    # Only the numerator has classes: causes of one interruption rate share its turns.
    denominator = by_class.get("", {}).get(DENOMINATOR, 0)
    return {
        "n": denominator,
        "eligible": denominator,
        "count": count,
        "denominator": denominator,
        "rate": rate(count, denominator),
        "by_class": {name: own[COUNT] for name, own in by_class.items() if name and COUNT in own},
    }


def _selectivity(klass: str | None, by_class: ByClass) -> Fields:
    chosen = by_class if klass is None else {klass: by_class.get(klass, {})}
    pairs = [(own.get(COUNT, 0), own.get(DENOMINATOR, 0)) for own in chosen.values()]
    rates = [found for pair in pairs if (found := rate(*pair)) is not None]
    denominator = sum(below for _, below in pairs)
    return {
        "n": denominator,
        "eligible": denominator,
        "count": sum(above for above, _ in pairs),
        "denominator": denominator,
        "rate": sum(rates) / len(rates) if rates else None,
        "by_class": {name: own.get(COUNT, 0) for name, own in by_class.items() if name and DENOMINATOR in own},
    }


def _count(klass: str | None, by_class: ByClass) -> Fields:
    """Counts by class, and by what stands before a slash in it: ``FP`` beside ``FP/noise``."""
    counts: dict[str, int] = {}
    for name, own in by_class.items():
        if name and COUNT in own:
            counts[name] = counts.get(name, 0) + own[COUNT]
            if "/" in name:
                head = name.split("/")[0]
                counts[head] = counts.get(head, 0) + own[COUNT]
    total = sum(own.get(COUNT, 0) for own in by_class.values())
    count = total if klass is None else counts.get(klass, 0)
    return {"n": count, "count": count, "by_class": counts}


def _coverage(by_class: ByClass) -> Fields:
    slots = by_class.get("", {})
    n, eligible = Histogram(slots).n, slots.get(ELIGIBLE, 0)
    share = n / eligible if eligible else None
    return {"n": n, "eligible": eligible, "coverage": share, "count": n, "denominator": eligible, "rate": share}
