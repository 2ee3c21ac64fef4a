"""Rolling windows over event time: records in, readings out. No clock: every read says at which moment.

A window of 5 min is the last 30 buckets of 10 s, the one in progress included; it moves in steps of its tier. It
always equals the fold of the latest revisions of all records in it, whatever order, split or replay they came in
(definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.measures.buckets import S
from earwitness.monitor.measures.by_set import BySet
from earwitness.monitor.measures.catalogue import parse
from earwitness.monitor.measures.classes import kept_long
from earwitness.monitor.measures.exemplars import SHOWN_BY
from earwitness.monitor.measures.intake import Intake
from earwitness.monitor.measures.percentiles import percentile_by_set
from earwitness.monitor.measures.reading import Exemplar, Labels, Quantile, Reading
from earwitness.monitor.measures.readout import read_out
from earwitness.monitor.measures.running import RunningWindow
from earwitness.monitor.measures.steps import LONG_STEP_S


class Windows(Intake):
    """All rolling windows of one worker: the `Readings` of what was applied.

    ``since_ns``: records before it may be missing (None: none are); ``watermark_ns``: everything that the log took
    until then was applied (None: not to be judged); ``live``: calls in progress by label set. Whoever folds sets them.

    ``measures``: only these are kept, and no worst cases, for jobs that need no more (None: all that there are).

    ``parts``: the buckets of each part of the log (a partition, where one says which; a part's newest record alone
    says what is still kept of it), under the numbers of ``label_sets`` and ``classes``. Windows are the sums of all.
    """

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
