"""Events of all calls to records and windows. Pure: no I/O and no clock of its own.

What arrives is timed by the log's append time; an event's own time is its call's wall start plus ``at_ns``. The
passing of time inside a call is read off its own arrivals, so that a bot whose wall clock is wrong does not make its
calls look silent or overdue (definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from operator import sub
from typing import Final

import structlog

from earwitness.consumers.calls_held import CallsHeld
from earwitness.consumers.clock_skew import ClockSkews
from earwitness.consumers.held_call import Change, HeldCall, Timeline
from earwitness.consumers.judge import Judge
from earwitness.consumers.looks import LAGGING_NS, Looks
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_clocks import PartitionClocks
from earwitness.consumers.runs import Failed, by_call, runs
from earwitness.monitor.calls.timeline import APART, LEARNT_LATER, CallTimeline
from earwitness.monitor.contract.decoder import share_names
from earwitness.monitor.contract.events import AnyEvent, CallStarted
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
SWEEP_NS: Final = 60 * S
AT_ONCE: Final = frozenset({"call_started", "call_ended"})
_NOT_JUST_NEXT: Final = LEARNT_LATER | {"call_started"}
TOGETHER: Final = 100
"""Fewer events at once are taken one by one: there are hardly two of one call among them."""
REST_NS: Final = 5 * S
"""How long a busy worker leaves a call alone, once it was judged, if time alone gives reason to look again."""
FINAL_NS: Final = 10 * S
"""How long a record waits at most, on a busy worker, to be called final by the passing of time alone."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class TimelineFold:
    """The state of one timeline worker."""

    def __init__(self, settings: MonitorSettings, new_call: Callable[[str], Timeline] | None = None) -> None:
        self._judge = Judge(settings)
        self.calls = CallsHeld(new_call or partial(CallTimeline, bounds=settings.bounds), settings.call_kept_s * S)
        self.held = self.calls.by_id
        self._clocks = PartitionClocks()
        self.clocks_ns = self._clocks.ns
        """Append time of the newest record of each partition."""
        self.events: Counter[str] = Counter()
        """Events folded, by kind."""
        self.set_aside = 0
        """Events that claim to be further ahead of their arrival than is allowed."""
        self.lagging = False
        """Whether what is read is so old that nobody waits for it."""
        self.put_off = False
        """Whether there are numbers that somebody waits for and that it left for later since it was."""
        self.behind: set[int] = set()
        """Partitions whose past is still being read: what it says of now is not asked."""
        self.skews = ClockSkews()
        self._kept_ns = settings.call_kept_s * S
        self._future_ns = settings.future_s * S
        self._looks = Looks()
        self._turned = False
        """A partition's clock was set back since the last ``settle``."""
        self._judged_early: list[Change] = []
        self._idle = True
        """Nothing came since the last ``settle``."""
        self._swept_ns = 0

    @property
    def windows(self) -> Windows:
        """What its calls count for."""
        return self._judge.windows

    def add(self, entry: Entry, event: AnyEvent) -> None:
        """Give one event to its call; ``settle`` says what that changed."""
        if self._clocks.note(entry.partition, entry.append_ns):
            self._swept_ns = min(self._swept_ns, self._clocks.newest_ns)
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
        if len(entries) < TOGETHER or not self._clocks.note_all(entries[0].partition, times_ns):
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

    def _took_together(
        self, call_id: str, places: Sequence[int], all_events: Sequence[AnyEvent], all_times_ns: Sequence[int]
    ) -> bool:
        """What `_take` does with each event of one call at these places; False, and nothing done, where one of them may
        be more than the next of a call that is held and goes on, or at fault."""
        held = self.held.get(call_id)
        if held is None or held.broken or held.singly or held.offset_ns is None or len(places) == 1:
            return False
        run, times_ns = [all_events[place] for place in places], [all_times_ns[place] for place in places]
        timeline, offset_ns = held.timeline, min(map(sub, times_ns, [event.at_ns for event in run]))
        if not isinstance(timeline, CallTimeline) or timeline.ended or timeline.started_wall_ns is None:
            return False
        if self._clocks.turns and held.turns != self._clocks.turns.get(held.partition, 0):
            return False
        if offset_ns < timeline.started_wall_ns - self._future_ns:
            return False
        offset_ns = min(offset_ns, held.offset_ns)
        if times_ns[-1] - offset_ns - timeline.last_at_ns > self._kept_ns:
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
        held = self.held.get(call_id)
        started_ns = None if held is None else held.timeline.started_wall_ns
        event_ns = event.wall_ns if started_ns is None else started_ns + at_ns
        if held is None or kind in _NOT_JUST_NEXT or event_ns > arrived_ns + self._future_ns:
            held = self._admitted(held, entry, event, event_ns)
            if held is None:
                return
        if self._clocks.turns and held.turns != (turns := self._clocks.turns.get(partition, 0)):
            # It may have been judged as of a moment that has not come yet.
            held.turns, held.as_of_ns = turns, min(held.as_of_ns, arrived_ns)
        self.events[kind] += 1
        timeline = held.timeline
        if held.broken:
            return
        if held.waits_ns is not None and arrived_ns - (held.offset_ns or 0) - timeline.last_at_ns > self._kept_ns:
            # Read in one go with the call itself: whether that had ended is judged first, as if it had come alone.
            self._judged_early += self._judge.judge(held, arrived_ns)
        if timeline.ended and self.calls.is_over(held, arrived_ns):
            self.calls.refuse(learnt_later=kind in LEARNT_LATER)
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
        held = self.calls.open(event.call_id, entry.partition, learnt_later=learnt_later)
        if held is None:
            self.events[event.kind] += 1
        elif self._clocks.turns:
            held.turns = self._clocks.turns.get(entry.partition, 0)
        return held

    def settle(self) -> list[Change]:
        """What events changed, each judged by the arrival of the newest: those that end a call or open one at once,
        those that give a number which somebody waits for too, others with them or within `WAITING_NS`, all of them
        within `LAGGING_NS` where the worker is behind; and all when nothing came since the last call of this. The
        windows have it already."""
        idle, self._idle, self._turned = self._idle or self._turned, True, False
        changes, self._judged_early = self._judged_early, []
        for held in self._looks.due(self._clocks.newest_ns, lagging=self.lagging, idle=idle):
            changes += self._judge.judge(held, self.clocks_ns[held.partition])
        self.put_off = self._looks.put_off
        self._sweep()
        self._judge.at_hand.lay_aside()
        return changes

    def advance(self, as_of_ns: int, *, most: int | None = None) -> list[Change]:
        """What the passing of time changed: answers overdue, silences, calls that never end; and what events changed
        that were not judged yet.

        ``most``: judge no more open calls than that, those first that were judged longest ago; what events changed is
        left to `settle`, a call that was judged is left alone for `REST_NS` (`LAGGING_NS` by a worker that is behind),
        and what merely becomes final may be late by `FINAL_NS`.
        """
        changes: list[Change] = []
        if most is None:
            for held in self.held.values():
                if held.waits_ns is not None:
                    changes += self._judge.judge(held, as_of_ns)
            self._looks.clear()
        rest_ns, within_ns = (0, 0) if most is None else (LAGGING_NS, 0) if self.lagging else (REST_NS, FINAL_NS)
        due = [
            held
            for held in self.held.values()
            if not held.broken and held.is_due(as_of_ns, rest_ns, within_ns) and held.partition not in self.behind
        ]
        if most is not None and len(due) > most:
            due = sorted(due, key=lambda held: held.as_of_ns)[:most]
        for held in due:
            changes += self._judge.judge(held, as_of_ns)
        self._judge.count_live(self.calls.in_progress())
        return changes

    @property
    def broken_calls(self) -> int:
        """Calls that could not be folded."""
        return self._judge.broken_calls

    def records_of(self, held: HeldCall) -> Sequence[AnyRecord]:
        """See `Judge.records_of`."""
        return self._judge.records_of(held)

    def look_at(self, held: HeldCall, as_of_ns: int) -> list[Change]:
        """What changed of one call as of then."""
        return self._judge.judge(held, as_of_ns)

    def hold(self, held: HeldCall) -> None:
        """Take in a call as it was left somewhere else."""
        self.held[held.call_id] = held
        self._looks.hold(held)
        if held.torn:
            self._judge.note_torn(held)

    def drop(self, partition: int) -> set[str]:
        """Forget all of a partition, which somebody else has now; the ids of its calls."""
        gone = self.calls.drop(partition)
        for held in gone.values():
            self._judge.forget(held)
            self._looks.drop(held)
        self._judged_early = [change for change in self._judged_early if change.new.call_id not in gone]
        self.clocks_ns.pop(partition, None)
        self.behind.discard(partition)
        self.windows.drop(partition)
        return set(gone)

    def _sweep(self) -> None:
        """Let go of calls that nothing may change any more, each by its own partition's clock."""
        newest_ns = self._clocks.newest_ns
        if newest_ns - self._swept_ns < SWEEP_NS:
            return
        self._swept_ns = newest_ns
        self._judge.at_hand.lay_ended_aside()
        for held in self.calls.sweep(self.clocks_ns):
            self._judge.forget(held)


def _tried(take: Callable[[Entry, AnyEvent], None], entry: Entry, event: AnyEvent, failed: Failed) -> None:
    try:
        take(entry, event)
    except Exception as error:  # one record's fault must leave the others their numbers
        failed(entry, error)
