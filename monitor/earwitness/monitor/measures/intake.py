"""What is put into the windows: the revisions of records, each in the place of the one before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.buckets import Buckets, S
from earwitness.monitor.measures.classes import Classes
from earwitness.monitor.measures.contributions import rules_for
from earwitness.monitor.measures.exemplars import WITH_CASES, Cases, Worst, cases
from earwitness.monitor.measures.histogram import UnlikeHistograms, default_binning
from earwitness.monitor.measures.journal import Journal
from earwitness.monitor.measures.label_sets import LabelKeys, LabelSets
from earwitness.monitor.measures.once import gathered
from earwitness.monitor.measures.reading import Labels
from earwitness.monitor.measures.running import RunningWindow, sets_in
from earwitness.monitor.measures.slots import CLASSES, RESTATED, STRIDE
from earwitness.monitor.measures.steps import FINEST_STEP_S, LONG_STEP_S, STEP_OF
from earwitness.monitor.measures.tally import Fields, Tallies, Tally, fields_of

LATE_STEP_S: Final = 60
GRACE_NS: Final = 60 * S
"""A minute is taken as published this long after its end; what changes it later is late."""


class Intake:
    """All that was applied. ``windows_s``: the windows that are kept; the rest as `Windows` says."""

    def __init__(
        self,
        *,
        labels: LabelKeys | None = None,
        bounds: str = "default-1",
        max_label_values: int = 50,
        max_label_sets: int = 2_000,
        windows_s: Iterable[int] = tuple(STEP_OF),
        measures: Collection[str] | None = None,
    ) -> None:
        self.label_sets = LabelSets(labels, max_values=max_label_values, max_sets=max_label_sets)
        self.classes = Classes()
        self.parts: dict[int, Buckets] = {}
        self.bounds = bounds
        self.since_ns: int | None = None
        self.watermark_ns: int | None = None
        self.live: Mapping[Labels, int] = {}
        self.late = 0
        """Changes that came after their minute was published."""
        self.late_by_ns = 0
        """By how much the latest of them was late."""
        self._steps = {window_s: STEP_OF.get(window_s, FINEST_STEP_S) for window_s in windows_s}
        self._windows = {window_s: RunningWindow(window_s // step_s) for window_s, step_s in self._steps.items()}
        self._by_step: dict[int, list[RunningWindow]] = {}
        for window_s, window in self._windows.items():
            self._by_step.setdefault(self._steps[window_s], []).append(window)
        self._worst = {60: Worst(60, 150), LONG_STEP_S: Worst(LONG_STEP_S, 170)}
        self._binning = default_binning()
        self.torn: dict[str, tuple[int | None, Sequence[tuple[int, int]]]] = {}
        """By call what `note_torn` was told."""
        self._rules = rules_for(measures)
        self._shows_cases = measures is None

    @property
    def windows_s(self) -> tuple[int, ...]:
        """The windows that are kept, in seconds."""
        return tuple(self._windows)

    def apply(self, old: AnyRecord | None, new: AnyRecord, *, arrived_ns: int | None = None, part: int = 0) -> None:
        """Put a record's new revision in the place of its old one, None where there is none.

        ``arrived_ns``: the log's clock when that became known; without it nothing is counted late. ``part``: the part
        of the log that the record comes from, the same for all its revisions.
        Raises UnlikeHistograms for a record that was worked out under other bounds.
        """
        rule = self._rules.get(new.kind)
        if rule is None:
            return
        now = fields_of(new)
        if now["bounds"] != self.bounds:
            raise _unlike(now["bounds"], self.bounds)
        buckets = self.parts.get(part) or self.part(part)
        kind, wall_ns, number = now["kind"], now["event_wall_ns"], self.label_sets.number_by(now)
        after = () if now["retracted"] else rule(now)
        was: Fields | None = None
        if old is None:
            if after:
                self._note(buckets, wall_ns, number, after, arrived_ns)
        else:
            was = fields_of(old)
            before, old_number = () if was["retracted"] else rule(was), self.label_sets.number_by(was)
            if was["event_wall_ns"] != wall_ns or old_number != number:
                self._note(buckets, was["event_wall_ns"], old_number, (), arrived_ns, removed=before)
                self._note(buckets, wall_ns, number, after, arrived_ns)
            elif before != after:
                came, gone = _difference(before, after)
                self._note(buckets, wall_ns, number, came, arrived_ns, removed=gone)
        if self._shows_cases and kind in WITH_CASES:
            before_cases: Cases = () if was is None else cases(was)
            after_cases = cases(now)
            if before_cases != after_cases:
                self._change_cases(number, before_cases, after_cases)
        if buckets.lost_longest:
            buckets.lost_longest = False
            self._retain_labels()

    def apply_first(self, records: Iterable[AnyRecord], *, arrived_ns: int | None = None, part: int = 0) -> None:
        """`apply` of first revisions, many at once: those of one call cost two thirds of what they cost one by one.
        Raises UnlikeHistograms; what came before it is counted."""
        buckets, rules, places, number_by = self.part(part), self._rules, self.classes.places, self.label_sets.number_by
        asked: tuple[object, ...] = ()
        number = first = 0
        for record in records:
            now = fields_of(record)
            kind, wall_ns = now["kind"], now["event_wall_ns"]
            rule = rules.get(kind)
            if rule is None:
                continue
            if now["bounds"] != self.bounds:
                raise _unlike(now["bounds"], self.bounds)
            asks = now["call_id"], now["agent"], now["version"], now["mode"], now["labels"]
            if asks != asked:
                asked, number = asks, number_by(now)
                first = number * CLASSES * STRIDE
            added = () if now["retracted"] else rule(now)
            if added:
                is_late = (
                    arrived_ns is not None and arrived_ns - wall_ns > GRACE_NS and self._is_late(wall_ns, arrived_ns)
                )
                journal = buckets.journal(wall_ns, len(added))
                if journal is not None:
                    for name, slot, amount in added:
                        journal += (first + places[name] + slot, amount)
                    if is_late:
                        self._note_late(journal, first, added)
            if self._shows_cases and kind in WITH_CASES:
                self._change_cases(number, (), cases(now))
        if buckets.lost_longest:
            buckets.lost_longest = False
            self._retain_labels()

    def count(self, records: Iterable[AnyRecord], *, part: int = 0) -> None:
        """Put in records of one part of the log that come once each and of which no other revision will be applied: as
        `apply` does one by one, at a third of the price. Raises UnlikeHistograms; what came before it is counted."""
        buckets, places = self.part(part), self.classes.places
        seen = self._remember_cases if self._shows_cases else None
        for wall_ns, piece in gathered(
            records, self._rules, self.label_sets, places, step_ns=buckets.step_ns, bounds=self.bounds, seen=seen
        ):
            journal = buckets.journal(wall_ns, len(piece) // 2)
            if journal is not None:
                journal += piece
            if buckets.lost_longest:
                buckets.lost_longest = False
                self._retain_labels()

    @property
    def worst_kept(self) -> Mapping[int, Worst]:
        """The worst cases that are remembered, by the length of their steps in seconds."""
        return self._worst

    def note_torn(self, call_id: str, number: int | None, spans: Sequence[tuple[int, int]]) -> None:
        """Between which moments of wall time events of a call are missing (none: nowhere any more): windows with any of
        them are not complete. ``number``: its label set; None: any may lack what it has."""
        if spans:
            self.torn[call_id] = number, spans
        else:
            self.torn.pop(call_id, None)

    def forget(self, call_id: str) -> None:
        """No record of this call will be applied any more."""
        self.torn.pop(call_id, None)
        self.label_sets.forget(call_id)

    def part(self, part: int) -> Buckets:
        """The buckets of a part of the log, empty where nothing of it was applied."""
        buckets = self.parts.get(part)
        if buckets is None:
            buckets = self.parts[part] = Buckets(self._binning, only=self.classes.only_long, windows=self._by_step)
            for step_s, windows in self._by_step.items():
                for window in windows:
                    window.reset()
                    window.rows.append(buckets.tiers[step_s])
        return buckets

    def drop(self, part: int) -> None:
        """Forget all that was applied of a part of the log: somebody else has it now."""
        buckets = self.parts.pop(part, None)
        if buckets is not None:
            for step_s, windows in self._by_step.items():
                for window in windows:
                    window.reset()
                    window.rows.remove(buckets.tiers[step_s])

    def _note(
        self,
        buckets: Buckets,
        wall_ns: int,
        number: int,
        added: Tallies,
        arrived_ns: int | None,
        *,
        removed: Tallies = (),
    ) -> None:
        if not added and not removed:
            return
        is_late = arrived_ns is not None and self._is_late(wall_ns, arrived_ns)
        journal = buckets.journal(wall_ns, len(added) + len(removed))
        if journal is None:
            return
        places, first = self.classes.places, number * CLASSES * STRIDE
        for name, slot, amount in added:
            journal += (first + places[name] + slot, amount)
        for name, slot, amount in removed:
            journal += (~(first + places[name] + slot), amount)
        if is_late:
            self._note_late(journal, first, (*added, *removed))

    def _note_late(self, journal: Journal, first: int, tallies: Tallies) -> None:
        places = self.classes.places
        for place in {places[name] for name, _, _ in tallies}:
            journal += (first + place + RESTATED, 1)

    def _is_late(self, wall_ns: int, arrived_ns: int) -> bool:
        if arrived_ns - wall_ns <= GRACE_NS:
            return False
        step_ns = LATE_STEP_S * S
        late_by_ns = arrived_ns - ((wall_ns // step_ns + 1) * step_ns + GRACE_NS)
        if late_by_ns <= 0:
            return False
        self.late += 1
        self.late_by_ns = max(self.late_by_ns, late_by_ns)
        return True

    def _change_cases(self, number: int, before: Cases, after: Cases) -> None:
        for worst in self._worst.values():
            for measure, case in before:
                worst.forget(number, measure, case)
            for measure, case in after:
                worst.remember(number, measure, case)

    def _remember_cases(self, fields: Fields, number: int) -> None:
        if fields["kind"] in WITH_CASES:
            self._change_cases(number, (), cases(fields))

    def _retain_labels(self) -> None:
        used: set[int] = set()
        for buckets in self.parts.values():
            used |= {number for _, _, sums in buckets.all_sums() for number in sets_in(sums.keys)}
        self.label_sets.retain(used)


def _difference(before: Tallies, after: Tallies) -> tuple[Tallies, Tallies]:
    """What a revision brought, and what it took away."""
    gone = list(before)
    came: list[Tally] = []
    for one in after:
        if one in gone:
            gone.remove(one)
        else:
            came.append(one)
    return came, gone


def _unlike(theirs: str, ours: str) -> UnlikeHistograms:
    return UnlikeHistograms(f"a record under bounds {theirs} cannot be added to windows under {ours}")
