"""The chapters of a call that goes on: where each look at it cuts it, what a late event undoes, and what is let go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.call_records import CallRecords
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.chapter import Chapter
from earwitness.monitor.calls.chapters import LOOK_AHEAD_NS, cut_here
from earwitness.monitor.calls.onsets import Onset
from earwitness.monitor.calls.shelf import ShelvedEvents
from earwitness.monitor.calls.strides import ahead_of, bearings, learnt_of_all, reaches_back
from earwitness.monitor.calls.timeline_state import ChapterState
from earwitness.monitor.calls.unsettled import Unsettled

PATIENCE_NS: Final = S
"""How long after its moment a cut is looked for, while no later event has come: those that are a little late would only
undo it. Behind a later event it is looked for at once, since what is read beyond a cut's moment has to be read again
for it."""


class CallChapters:
    """The chapters of one call. ``unsettled`` has the events of the current one, ``records`` what was published."""

    def __init__(self, unsettled: Unsettled, records: CallRecords, bounds: Bounds) -> None:
        self.kept = [Chapter(Carry())]
        """Those that an event can still reach, in order; the last is the current one."""
        self.looked_ns = -1
        """Up to which moment cuts were looked for: an event from before that may `undo` what was found."""
        self._step_by_step_ns = -1
        """Up to which onset each is looked at by itself."""
        self._unsettled = unsettled
        self._records = records
        self._bounds = bounds

    def restore(self, states: Iterable[ChapterState], events: Iterator[ShelvedEvents], looked_ns: int) -> None:
        """Go on from what was dumped; ``events``: of each chapter that has any. Raises StopIteration."""
        self.kept = [Chapter.restored(state, next(events) if state.has_events else None) for state in states]
        self.looked_ns = looked_ns

    def cut(self, upto_ns: int, last_at_ns: int, wall_ns: int) -> None:
        """Begin new chapters wherever the call can be cut by then. ``last_at_ns`` is the moment of its newest event,
        ``wall_ns`` when it began."""
        self.looked_ns = max(self.looked_ns, upto_ns)
        passed_ns = max(upto_ns - PATIENCE_NS, min(upto_ns, last_at_ns - 1))
        upto_ns, entries, match_ns = passed_ns - LOOK_AHEAD_NS, self._unsettled.entries, self._bounds.match_ns
        while (onset := self.kept[-1].next_onset(entries, upto_ns, match_ns)) is not None:
            further = self._further_than(onset, upto_ns)
            if further is None or not self._cut_at(further, wall_ns):
                self._cut_at(onset, wall_ns, last_try=True)

    def is_late(self, at_ns: int, last_at_ns: int) -> bool:
        """Whether an event of a moment is more than 30 s or 1,000 events behind the newest: too late to be folded."""
        if at_ns < last_at_ns - self._bounds.reorder_ns:
            return True
        entries, reach = self._unsettled.entries, self._bounds.reorder_events
        behind = len(entries)
        if behind > reach:
            return at_ns < entries[-reach][0]
        for chapter in reversed(self.kept[:-1]):
            if chapter.events is None:
                break
            behind += len(chapter.events)
            if behind > reach:
                return at_ns < chapter.events.moments_ns[behind - reach]
        return False

    def undo(self, at_ns: int) -> None:
        """An event that came late takes back the cuts that were judged without it."""
        while len(self.kept) > 1 and self.kept[-1].judged_ns >= at_ns:
            self._reopen()
        chapter = self.kept[-1]
        if chapter.tried_ns + LOOK_AHEAD_NS >= at_ns and chapter.tried_ns >= 0:
            chapter.look_anew()
        elif chapter.looked_ns >= at_ns:
            chapter.looked_ns = at_ns - 1

    def undo_all(self) -> None:
        """Take back every cut that an event can still reach."""
        while len(self.kept) > 1:
            self._reopen()

    def let_go(self, before_ns: int) -> None:
        """Forget the events of chapters that none can reach any more of those from a moment on, and put the others'
        away."""
        while len(self.kept) > 1 and self.kept[1].judged_ns < before_ns:
            self.kept.pop(0)
        for chapter in self.kept:
            chapter.put_away()

    def _cut_at(self, onset: Onset, wall_ns: int, *, last_try: bool = False) -> bool:
        """Begin a new chapter at an onset, if the call can be cut there."""
        chapter, judged = self.kept[-1], onset.at_ns + LOOK_AHEAD_NS
        count, facts = self._unsettled.facts_of(chapter.carry, judged)
        if count < chapter.patience:
            return False
        own = self._unsettled.entries[:count]
        found = cut_here(own, facts, chapter.carry, self._bounds, onset.edge_ns, as_of_ns=judged, wall_ns=wall_ns)
        if found is None:
            if last_try:
                chapter.fails(count)
            return False
        carry, chapter.settled = found
        self.kept.append(Chapter(carry, judged))
        self.kept[-1].look_anew()
        chapter.fresh = self._unsettled.cut_off(carry.cut_at_ns)
        self._records.settle(chapter)
        return True

    def _further_than(self, onset: Onset, upto_ns: int) -> Onset | None:
        """An onset behind this one at which a cut makes up for all that could be made before it."""
        if onset.at_ns <= self._step_by_step_ns:
            return None
        chapter, unsettled, bounds = self.kept[-1], self._unsettled, self._bounds
        ahead = ahead_of(unsettled.entries, chapter, onset, upto_ns, bounds)
        if not ahead:
            return None
        last, carry = ahead[-1], chapter.carry
        before = bearings(unsettled.facts_of(carry, onset.at_ns + LOOK_AHEAD_NS)[1])
        _, facts = unsettled.facts_of(carry, last.at_ns + LOOK_AHEAD_NS)
        if learnt_of_all(facts, before):
            return None
        self._step_by_step_ns = last.at_ns
        return None if reaches_back(facts, ahead[:-1], bounds) else last

    def _reopen(self) -> None:
        """Take the last cut back: the chapter before it is the current one again."""
        self.kept.pop()
        chapter = self.kept[-1]
        self._records.take_back(chapter)
        self._unsettled.go_back([] if chapter.events is None else chapter.events.entries())
        chapter.settled, chapter.events, chapter.shelf, chapter.overlaps = [], None, None, ()
        chapter.look_anew()
