"""Rolling windows over event time: records in, readings out. No clock: every read says at which moment.

A window of 5 min is the last 30 buckets of 10 s, the one in progress included; it moves in steps of its tier. It
always equals the fold of the latest revisions of all records in it, whatever order, split or replay they came in
(definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.buckets import Buckets, S
from earwitness.monitor.measures.by_set import BySet
from earwitness.monitor.measures.catalogue import parse
from earwitness.monitor.measures.classes import Classes, kept_long
from earwitness.monitor.measures.contributions import rules_for
from earwitness.monitor.measures.exemplars import SHOWN_BY, WITH_CASES, Cases, Worst, cases
from earwitness.monitor.measures.histogram import UnlikeHistograms, default_binning
from earwitness.monitor.measures.label_sets import LabelKeys, LabelSets
from earwitness.monitor.measures.once import gathered
from earwitness.monitor.measures.percentiles import percentile_by_set
from earwitness.monitor.measures.reading import Exemplar, Labels, Quantile, Reading
from earwitness.monitor.measures.readout import read_out
from earwitness.monitor.measures.running import RunningWindow, sets_in
from earwitness.monitor.measures.slots import CLASSES, RESTATED, STRIDE
from earwitness.monitor.measures.tally import Fields, Tallies, Tally, fields_of

STEP_OF: Final = {
    60: 10, 300: 10, 1_800: 60, 3_600: 60, 7_200: 60, 21_600: 600, 86_400: 600, 259_200: 3_600, 604_800: 3_600,
}  # fmt: skip
"""Windows in seconds, and the steps in which they move. Those of 3 d and 7 d hold counts and the headline only."""
FINEST_STEP_S: Final = 10
"""Other windows, of up to 5 min, move in steps of these."""
LONG_STEP_S: Final = 3_600
LATE_STEP_S: Final = 60
GRACE_NS: Final = 60 * S
"""A minute is taken as published this long after its end; what changes it later is late."""


class Windows:
    """All rolling windows of one worker: the `Readings` of what was applied.

    ``since_ns``: records before it may be missing (None: none are); ``watermark_ns``: everything that the log took
    until then was applied (None: not to be judged); ``live``: calls in progress by label set. Whoever folds sets them.

    ``measures``: only these are kept, and no worst cases, for jobs that need no more (None: all that there are).

    ``parts``: the buckets of each part of the log (a partition, where one says which; a part's newest record alone
    says what is still kept of it), under the numbers of ``label_sets`` and ``classes``. Windows are the sums of all.
    """

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
            raise UnlikeHistograms(f"a record under bounds {new.bounds} cannot be added to windows under {self.bounds}")
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

    def read(self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = ()) -> Reading:
        """A measure, or one class of it (``latency_part[llm]``), over the label sets that agree with ``where``.

        ``by_class``: counts; for parts and services medians in ms, for owners of dead air sums in ms. Classes of
        response latency are the reasons why it is absent, and ``class/...`` for turns that are not eligible.
        Raises KeyError for a measure that the catalogue does not have or a window that is not kept.
        """
        named = parse(measure)
        begin_ns, end_ns = self.span(window_s, as_of_ns)
        complete = self._complete(begin_ns, min(end_ns, as_of_ns), where)
        if named.measure.name == "calls_in_progress":
            wanted = set(where)
            live = sum(count for labels, count in self.live.items() if wanted <= set(labels))
            return Reading(measure, window_s, as_of_ns, where, n=live, count=live)
        source = named.measure.view_of or named.measure.name
        if self._steps[window_s] == LONG_STEP_S and not kept_long(source):
            raise KeyError(f"{source} is not kept for {window_s} s: windows over 24 h hold counts and the headline")
        found = read_out(named.measure, named.klass, self._sums(source, window_s, end_ns, where))
        return Reading(measure, window_s, as_of_ns, where, complete=complete, **found)

    def percentiles(self, measure: str, permille: int, *, window_s: int, as_of_ns: int) -> dict[Labels, Quantile]:
        """A percentile (``permille`` 950: p95) of a measure, or of one class of it, for every label set that has any:
        what `read` says of them one by one. Raises KeyError as `read` does."""
        named = parse(measure)
        _, end_ns = self.span(window_s, as_of_ns)
        sums, binning = self._moved(window_s, end_ns).sums(), self._binning
        number, only = self.classes.number(named.measure.name, named.klass or ""), not named.measure.ranks_censored
        found = percentile_by_set(sums, number, permille, binning, answered_only=only)
        return {self.label_sets.labels_of(label_set): quantile for label_set, quantile in found.items()}

    def by_set(self, *, window_s: int, as_of_ns: int) -> BySet:
        """A window's numbers of every label set at once, until something is applied. Raises KeyError as `read` does."""
        _, end_ns = self.span(window_s, as_of_ns)
        return BySet(self._moved(window_s, end_ns).sums(), self.classes, self._binning)

    def lacking(self, *, window_s: int, as_of_ns: int) -> set[int | None]:
        """The label sets of which events of a window are missing, as far as the log was read; with None: any may lack
        some. Raises KeyError as `read` does."""
        begin_ns, end_ns = self.span(window_s, as_of_ns)
        return self._lacking(begin_ns, min(end_ns, as_of_ns))

    def groups(self, by: Sequence[str], *, window_s: int, as_of_ns: int) -> list[Labels]:
        """The distinct values of the keys ``by`` among label sets seen in the window, sorted."""
        _, end_ns = self.span(window_s, as_of_ns)
        keys = set(by)
        found: set[Labels] = set()
        for number in self._moved(window_s, end_ns).sets():
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
        step_ns = self._steps[window_s] * S
        end_ns = -(-as_of_ns // step_ns) * step_ns
        return end_ns - window_s * S, end_ns

    def _complete(self, begin_ns: int, until_ns: int, where: Labels) -> bool:
        if self.watermark_ns is not None and self.watermark_ns < until_ns:
            return False
        lacking = self._lacking(begin_ns, until_ns)
        return not lacking or (None not in lacking and lacking.isdisjoint(self.label_sets.matching(where)))

    def _lacking(self, begin_ns: int, until_ns: int) -> set[int | None]:
        """The label sets of which events between two moments are missing; with None: any may lack some."""
        if self.since_ns is not None and begin_ns < self.since_ns:
            return {None}
        return {
            number
            for number, spans in self.torn.values()
            if any(from_ns < until_ns and to_ns >= begin_ns for from_ns, to_ns in spans)
        }

    def _moved(self, window_s: int, end_ns: int) -> RunningWindow:
        window, step_s = self._windows[window_s], self._steps[window_s]
        for buckets in self.parts.values():
            buckets.settle(step_s)
        window.move(end_ns // (step_s * S))
        return window

    def _sums(self, measure: str, window_s: int, end_ns: int, where: Labels) -> dict[str, dict[int, int]]:
        window, classes = self._moved(window_s, end_ns), self.classes.of(measure)
        found = window.of_sets(self.label_sets.matching(where), [number for _, number in classes])
        return {klass: found[number] for klass, number in classes if number in found}

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
        # None is late that came within the grace of it.
        is_late = arrived_ns is not None and arrived_ns - wall_ns > GRACE_NS and self._is_late(wall_ns, arrived_ns)
        journal = buckets.journal(wall_ns, len(added) + len(removed))
        if journal is None:
            return
        note, places, first = journal.extend, self.classes.places, number * CLASSES * STRIDE
        for name, slot, amount in added:
            note((first + places[name] + slot, amount))
        for name, slot, amount in removed:
            note((~(first + places[name] + slot), amount))
        if is_late:
            for place in {places[name] for name, _, _ in (*added, *removed)}:
                note((first + place + RESTATED, 1))

    def _is_late(self, wall_ns: int, arrived_ns: int) -> bool:
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
