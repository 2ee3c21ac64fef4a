"""Rolling windows over event time: records in, readings out. No clock: every read says at which moment.

A window of 5 min is the last 30 buckets of 10 s, the one in progress included; it moves in steps of its tier. It
always equals the fold of the latest revisions of all records in it, whatever order, split or replay they came in
(definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.buckets import RunningWindow, Tier
from earwitness.monitor.measures.catalogue import BY_NAME, parse
from earwitness.monitor.measures.contributions import Contribution, What, contributions
from earwitness.monitor.measures.exemplars import SHOWN_BY, Case, Worst, cases
from earwitness.monitor.measures.histogram import UnlikeHistograms, default_binning, value_slots
from earwitness.monitor.measures.label_sets import LabelKeys, LabelSets
from earwitness.monitor.measures.reading import Exemplar, Labels, Reading
from earwitness.monitor.measures.readout import read_out
from earwitness.monitor.measures.slots import RESTATED, STRIDE

S: Final = 1_000_000_000
STEP_OF: Final = {
    60: 10, 300: 10, 1_800: 60, 3_600: 60, 7_200: 60, 21_600: 600, 86_400: 600, 259_200: 3_600, 604_800: 3_600,
}  # fmt: skip
"""Windows in seconds, and the steps in which they move. Those of 3 d and 7 d hold counts and the headline only."""
KEPT_STEPS: Final = {10: 60, 60: 180, 600: 160, 3_600: 174}
"""Buckets kept of each tier: its longest window and room for what comes late."""
LONG_STEP_S: Final = 3_600
LATE_STEP_S: Final = 60
GRACE_NS: Final = 60 * S
"""A minute is taken as published this long after its end; what changes it later is late."""
CLASSES: Final = 1024
"""Classes of all measures together that one process tells apart; the rest is dropped from sight as ``other``."""


class Windows:
    """All rolling windows of one worker: the `Readings` of what was applied.

    ``since_ns``: records before it may be missing (None: none are); ``watermark_ns``: everything that the log took
    until then was applied (None: not to be judged); ``live``: calls in progress by label set. Whoever folds sets them.
    """

    def __init__(
        self,
        *,
        labels: LabelKeys | None = None,
        bounds: str = "default-1",
        max_label_values: int = 50,
        max_label_sets: int = 2_000,
        windows_s: Iterable[int] = tuple(STEP_OF),
    ) -> None:
        self.label_sets = LabelSets(labels, max_values=max_label_values, max_sets=max_label_sets)
        self.bounds = bounds
        self.since_ns: int | None = None
        self.watermark_ns: int | None = None
        self.live: Mapping[Labels, int] = {}
        self.late = 0
        """Changes that came after their minute was published."""
        self.late_by_ns = 0
        """By how much the latest of them was late."""
        self._tiers = {step: Tier(step, keep) for step, keep in KEPT_STEPS.items()}
        self._windows = {s: RunningWindow(self._tiers[STEP_OF[s]], s // STEP_OF[s]) for s in windows_s}
        self._by_tier = {
            step: [window for window in self._windows.values() if window.tier is tier]
            for step, tier in self._tiers.items()
        }
        self._worst = {60: Worst(60, 150), LONG_STEP_S: Worst(LONG_STEP_S, 170)}
        self._places: dict[tuple[str, str], tuple[int, bool]] = {}
        self._classes: dict[str, list[tuple[str, int]]] = {}
        self._binning = default_binning()

    @property
    def windows_s(self) -> tuple[int, ...]:
        """The windows that are kept, in seconds."""
        return tuple(self._windows)

    def apply(self, old: AnyRecord | None, new: AnyRecord, *, arrived_ns: int | None = None) -> None:
        """Put a record's new revision in the place of its old one.

        ``arrived_ns``: the log's clock when that became known; without it nothing is counted late.
        Raises UnlikeHistograms for a record that was worked out under other bounds.
        """
        if new.bounds != self.bounds:
            raise UnlikeHistograms(f"a record under bounds {new.bounds} cannot be added to windows under {self.bounds}")
        number = self.label_sets.number_of(new)
        before = contributions(old) if old is not None else ()
        after = contributions(new)
        if old is None:
            self._change(new.event_wall_ns, number, after, (), arrived_ns)
        elif old.event_wall_ns == new.event_wall_ns and self.label_sets.number_of(old) == number:
            if before != after:
                self._change(new.event_wall_ns, number, after, before, arrived_ns)
        else:
            self._change(old.event_wall_ns, self.label_sets.number_of(old), (), before, arrived_ns)
            self._change(new.event_wall_ns, number, after, (), arrived_ns)
        self._change_cases(old, new, number)

    def forget(self, call_id: str) -> None:
        """No record of this call will be applied any more."""
        self.label_sets.forget(call_id)

    def read(self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = ()) -> Reading:
        """A measure, or one class of it (``latency_part[llm]``), over the label sets that agree with ``where``.

        ``by_class``: counts; for parts and services medians in ms, for owners of dead air sums in ms. Classes of
        response latency are the reasons why it is absent, and ``class/...`` for turns that are not eligible.
        Raises KeyError for a measure that the catalogue does not have or a window that is not kept.
        """
        named = parse(measure)
        begin_ns, end_ns = self.span(window_s, as_of_ns)
        base = Reading(measure, window_s, as_of_ns, where, complete=self._complete(begin_ns, min(end_ns, as_of_ns)))
        if named.measure.name == "calls_in_progress":
            wanted = set(where)
            live = sum(count for labels, count in self.live.items() if wanted <= set(labels))
            return Reading(measure, window_s, as_of_ns, where, n=live, count=live)
        source = named.measure.view_of or named.measure.name
        if STEP_OF[window_s] == LONG_STEP_S and not _kept_long(source):
            raise KeyError(f"{source} is not kept for {window_s} s: windows over 24 h hold counts and the headline")
        return read_out(named.measure, named.klass, self._sums(source, window_s, end_ns, where), base)

    def groups(self, by: Sequence[str], *, window_s: int, as_of_ns: int) -> list[Labels]:
        """The distinct values of the keys ``by`` among label sets seen in the window, sorted."""
        _, end_ns = self.span(window_s, as_of_ns)
        counts = self._moved(window_s, end_ns).counts
        keys = set(by)
        found: set[Labels] = set()
        for number in {series // CLASSES for series in counts}:
            found.add(tuple(pair for pair in self.label_sets.labels_of(number) if pair[0] in keys))
        return sorted(found)

    def worst(
        self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = (), limit: int = 3
    ) -> list[Exemplar]:
        """The worst examples, censored ones first, then by value; none for a measure that keeps none.

        Raises KeyError as `read` does.
        """
        name = parse(measure).measure.name
        begin_ns, end_ns = self.span(window_s, as_of_ns)
        kept = self._worst[60 if window_s <= 7_200 else LONG_STEP_S]
        return kept.find(SHOWN_BY.get(name, name), self.label_sets.matching(where), begin_ns, end_ns, limit)

    def span(self, window_s: int, as_of_ns: int) -> tuple[int, int]:
        """The wall time that a window covers: from, inclusive, to, exclusive. Raises KeyError where it is not kept."""
        if window_s not in self._windows:
            raise KeyError(f"no window of {window_s} s; kept are {', '.join(map(str, self._windows))}")
        step_ns = STEP_OF[window_s] * S
        end_ns = -(-as_of_ns // step_ns) * step_ns
        return end_ns - window_s * S, end_ns

    def _complete(self, begin_ns: int, until_ns: int) -> bool:
        if self.since_ns is not None and begin_ns < self.since_ns:
            return False
        return self.watermark_ns is None or self.watermark_ns >= until_ns

    def _moved(self, window_s: int, end_ns: int) -> RunningWindow:
        window = self._windows[window_s]
        window.move(end_ns // window.tier.step_ns)
        return window

    def _sums(self, measure: str, window_s: int, end_ns: int, where: Labels) -> dict[str, dict[int, int]]:
        counts = self._moved(window_s, end_ns).counts
        numbers = self.label_sets.matching(where)
        found: dict[str, dict[int, int]] = {}
        for klass, class_number in self._classes.get(measure, ()):
            total: dict[int, int] = {}
            for number in numbers:
                for slot, amount in counts.get(number * CLASSES + class_number, {}).items():
                    total[slot] = total.get(slot, 0) + amount
            if total:
                found[klass] = total
        return found

    def _change(
        self,
        wall_ns: int,
        number: int,
        added: Iterable[Contribution],
        removed: Iterable[Contribution],
        arrived_ns: int | None,
    ) -> None:
        items: list[tuple[int, int]] = []
        long_items: list[tuple[int, int]] = []
        first, places = number * CLASSES * STRIDE, self._places
        for sign, batch in ((1, added), (-1, removed)):
            for measure, klass, what, amount in batch:
                place, keep = places.get((measure, klass)) or self._place_of(measure, klass)
                place += first
                if what is What.VALUE:
                    counted = [(place + slot, n * sign) for slot, n in value_slots(amount, self._binning)]
                elif what is What.CENSORED or what is What.AT_LEAST:
                    counted = [(place + what + self._binning.bin_of(amount), sign)]
                else:
                    counted = [(place + what, amount * sign)]
                items += counted
                if keep:
                    long_items += counted
        if not items:
            return
        if self._is_late(wall_ns, arrived_ns):
            for changed in (items, long_items):
                changed += [(series + RESTATED, 1) for series in {key // STRIDE * STRIDE for key, _ in changed}]
        for step, tier in self._tiers.items():
            self._add(tier, wall_ns, long_items if step == LONG_STEP_S else items)

    def _add(self, tier: Tier, wall_ns: int, items: Sequence[tuple[int, int]]) -> None:
        index = wall_ns // tier.step_ns
        windows = self._by_tier[tier.step_s]
        if tier.newest is None or index > tier.newest:
            gone = tier.advance(index)
            for window in windows:
                if any(window.holds(step) for step in gone):
                    window.reset()
            if gone and tier.step_s == LONG_STEP_S:
                self._retain_labels()
        if not items or not tier.keeps(index):
            return
        tier.bucket(index).add(items)
        for window in windows:
            if window.holds(index):
                window.add(items)

    def _is_late(self, wall_ns: int, arrived_ns: int | None) -> bool:
        if arrived_ns is None:
            return False
        step_ns = LATE_STEP_S * S
        late_by_ns = arrived_ns - ((wall_ns // step_ns + 1) * step_ns + GRACE_NS)
        if late_by_ns <= 0:
            return False
        self.late += 1
        self.late_by_ns = max(self.late_by_ns, late_by_ns)
        return True

    def _place_of(self, measure: str, klass: str) -> tuple[int, bool]:
        """Where a class of a measure begins among a label set's slots, and whether the long windows keep it."""
        place = self._places.get((measure, klass))
        if place is None:
            if len(self._places) >= CLASSES - len(BY_NAME) and klass != "other":
                return self._place_of(measure, "other")
            number = len(self._places)
            place = self._places[measure, klass] = (number * STRIDE, _kept_long(measure))
            self._classes.setdefault(measure, []).append((klass, number))
        return place

    def _change_cases(self, old: AnyRecord | None, new: AnyRecord, number: int) -> None:
        before: set[tuple[str, Case]] = set(cases(old)) if old is not None else set()
        after = set(cases(new))
        if before == after:
            return
        for worst in self._worst.values():
            for measure, case in before - after:
                worst.change(number, measure, case, add=False)
            for measure, case in after - before:
                worst.change(number, measure, case, add=True)

    def _retain_labels(self) -> None:
        used = {
            series // CLASSES
            for tier in self._tiers.values()
            for bucket in tier.buckets.values()
            for series in bucket.series()
        }
        self.label_sets.retain(used)


def _kept_long(measure: str) -> bool:
    found = BY_NAME[measure]
    return found.headline or found.kind in ("rate", "count")
