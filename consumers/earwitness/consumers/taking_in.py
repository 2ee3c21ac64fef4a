"""Events given to their calls, one by one, or those of a call together.

What arrives is timed by the log's append time; an event's own time is its call's wall start plus ``at_ns``. The
passing of time inside a call is read off its own arrivals, so that a bot whose wall clock is wrong does not make its
calls look silent or overdue (definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from operator import sub
from typing import Final

import structlog

from earwitness.consumers.calls_held import CallsHeld
from earwitness.consumers.clock_skew import ClockSkews
from earwitness.consumers.failed import Failed
from earwitness.consumers.held_call import Change, HeldCall
from earwitness.consumers.judge import Judge
from earwitness.consumers.looks import Looks
from earwitness.consumers.partition_clocks import PartitionClocks
from earwitness.consumers.runs import by_call, runs
from earwitness.monitor.calls.timeline import APART, LEARNT_LATER, CallTimeline
from earwitness.monitor.contract.decoder import share_names
from earwitness.monitor.contract.events import AnyEvent, CallStarted
from earwitness.monitor.log.protocol import Entry

AT_ONCE: Final = frozenset({"call_started", "call_ended"})
MAY_NOT_BE_HELD: Final = LEARNT_LATER | {"call_started"}
"""Kinds that may be of a call that is not held yet, or not any more, though others of it came."""
TOGETHER: Final = 100
"""Fewer events at once are taken one by one: there are hardly two of one call among them."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class TakingIn:
    """Gives events to ``calls`` and notes with ``looks`` which of these are to be looked at. ``future_ns``: how far an
    event may claim to be ahead of its arrival."""

    def __init__(self, calls: CallsHeld, looks: Looks, judge: Judge, future_ns: int) -> None:
        self.clocks = PartitionClocks()
        self.events: Counter[str] = Counter()
        """Events taken in, by kind."""
        self.set_aside = 0
        """Events that claim to be further ahead of their arrival than is allowed."""
        self.skews = ClockSkews()
        self._calls = calls
        self._looks = looks
        self._judge = judge
        self._future_ns = future_ns
        self._turned = False
        self._judged_early: list[Change] = []
        self._idle = True

    def add(self, entry: Entry, event: AnyEvent) -> None:
        """Give one event to its call."""
        if self.clocks.note(entry.partition, entry.append_ns):
            self._turned = True
        if event.kind == "call_started":
            self._note_skew(entry, event)
        self._take(entry, event)

    def _note_skew(self, entry: Entry, event: CallStarted) -> None:
        self.skews.note(event.agent, event.wall_ns - entry.append_ns, entry.append_ns)

    def add_all(self, entries: Sequence[Entry], events: Sequence[AnyEvent], failed: Failed) -> None:
        """`add` the events of one partition, in their order: those of a call that are simply its next ones together,
        at about half the price. ``failed`` is told what `add` would raise, and of which entry."""
        times_ns = [entry.append_ns for entry in entries]
        if len(entries) < TOGETHER or not self.clocks.note_all(entries[0].partition, times_ns):
            for entry, event in zip(entries, events, strict=True):
                _tried(self.add, entry, event, failed)
            return
        for entry, event in zip(entries, events, strict=True):
            if event.kind == "call_started":
                self._note_skew(entry, event)
        with self._looks.in_order_of_places():
            for call_id, places in by_call(events).items():
                for run in runs(events, places, APART):
                    if not self._took_together(call_id, run, events, times_ns):
                        for place in run:
                            self._looks.place = place
                            _tried(self._take, entries[place], events[place], failed)

    def since_last(self) -> tuple[bool, list[Change]]:
        """Whether nothing came since this was asked last, or a partition's clock was set back; and what changed of
        calls that were judged before more of them was taken."""
        idle, self._idle, self._turned = self._idle or self._turned, True, False
        changes, self._judged_early = self._judged_early, []
        return idle, changes

    def drop(self, partition: int, gone: Collection[str]) -> None:
        """Forget a partition, and what changed of its calls."""
        self._judged_early = [change for change in self._judged_early if change.new.call_id not in gone]
        self.clocks.ns.pop(partition, None)

    def _took_together(
        self, call_id: str, places: Sequence[int], all_events: Sequence[AnyEvent], all_times_ns: Sequence[int]
    ) -> bool:
        """What `_take` does with each event of one call at these places; False, and nothing done, where one of them may
        be more than the next of a call that is held and goes on, or at fault."""
        held = self._calls.by_id.get(call_id)
        if held is None or held.broken or held.singly or held.offset_ns is None or len(places) == 1:
            return False
        run, times_ns = [all_events[place] for place in places], [all_times_ns[place] for place in places]
        timeline, offset_ns = held.timeline, min(map(sub, times_ns, [event.at_ns for event in run]))
        if not isinstance(timeline, CallTimeline) or timeline.ended or timeline.started_wall_ns is None:
            return False
        if self.clocks.turns and held.turns != self.clocks.turns.get(held.partition, 0):
            return False
        if offset_ns < timeline.started_wall_ns - self._future_ns:
            return False
        offset_ns = min(offset_ns, held.offset_ns)
        if times_ns[-1] - offset_ns - timeline.last_at_ns > self._calls.kept_ns:
            return False
        try:
            share_names(run, held.call_id)
            calm = timeline.add_all(run)
        except Exception:
            _log.exception("a call's events are taken one by one", call_id=call_id)
            held.singly = True  # it is seen whose fault it is
            return False
        if calm is None:
            return False
        held.offset_ns = offset_ns
        self.events.update([event.kind for event in run])
        held.note(run)
        self._idle = False
        if held.waits_ns is None:
            self._looks.place = places[0]
            self._looks.wait(held, times_ns[0])
        if held.presses_ns is None and calm < len(run):
            self._looks.place = places[calm]
            self._looks.press(held, times_ns[calm])
        return True

    def _take(self, entry: Entry, event: AnyEvent) -> None:
        _, partition, _, _, _, arrived_ns = entry
        kind, call_id, at_ns = event.kind, event.call_id, event.at_ns
        held = self._calls.by_id.get(call_id)
        started_ns = None if held is None else held.timeline.started_wall_ns
        event_ns = event.wall_ns if started_ns is None else started_ns + at_ns
        if held is None or kind in MAY_NOT_BE_HELD or event_ns > arrived_ns + self._future_ns:
            held = self._admitted(held, entry, event, event_ns)
            if held is None:
                return
        if self.clocks.turns and held.turns != (turns := self.clocks.turns.get(partition, 0)):
            # It may have been judged as of a moment that has not come yet.
            held.turns, held.as_of_ns = turns, min(held.as_of_ns, arrived_ns)
        self.events[kind] += 1
        timeline = held.timeline
        if held.broken:
            return
        if held.waits_ns is not None and arrived_ns - (held.offset_ns or 0) - timeline.last_at_ns > self._calls.kept_ns:
            # Read in one go with the call itself: whether that had ended is judged first, as if it had come alone.
            self._judged_early += self._judge.judge(held, arrived_ns)
        if timeline.ended and self._calls.is_over(held, arrived_ns):
            self._calls.refuse(learnt_later=kind in LEARNT_LATER)
            return
        if kind not in LEARNT_LATER:
            offset_ns = arrived_ns - at_ns
            if held.offset_ns is None or offset_ns < held.offset_ns:
                held.offset_ns = offset_ns
        share_names((event,), held.call_id)
        timeline.add(event)
        held.note((event,))
        self._idle = False
        if held.waits_ns is None:
            self._looks.wait(held, arrived_ns)
        if kind in AT_ONCE:
            self._looks.hurry(held, arrived_ns)
        elif held.presses_ns is None and timeline.pressing:
            self._looks.press(held, arrived_ns)

    def _admitted(self, held: HeldCall | None, entry: Entry, event: AnyEvent, event_ns: int) -> HeldCall | None:
        """The call of an event that is not simply one more of a held call; None where it is set aside or refused."""
        learnt_later = event.kind in LEARNT_LATER
        if event_ns > entry.append_ns + self._future_ns and not learnt_later:
            self.set_aside += 1
            return None
        if held is not None:
            return held
        held = self._calls.open(event.call_id, entry.partition, learnt_later=learnt_later)
        if held is None:
            self.events[event.kind] += 1
        elif self.clocks.turns:
            held.turns = self.clocks.turns.get(entry.partition, 0)
        return held


def _tried(take: Callable[[Entry, AnyEvent], None], entry: Entry, event: AnyEvent, failed: Failed) -> None:
    try:
        take(entry, event)
    except Exception as error:  # one record's fault must leave the others their numbers
        failed(entry, error)
