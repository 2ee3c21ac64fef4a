"""Events of all calls to records and windows. Pure: no I/O and no clock of its own.

What arrives is timed by the log's append time; an event's own time is its call's wall start plus ``at_ns``. The
passing of time inside a call is read off its own arrivals, so that a bot whose wall clock is wrong does not make its
calls look silent or overdue (definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import sub
from typing import Final

import structlog

from earwitness.consumers.at_hand import AtHand
from earwitness.consumers.clock_skew import ClockSkews
from earwitness.consumers.held_call import Change, HeldCall, Timeline, change_of
from earwitness.consumers.looks import LAGGING_NS, Looks
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_clocks import PartitionClocks
from earwitness.consumers.runs import Failed, by_call, runs
from earwitness.monitor.calls.timeline import APART, LEARNT_LATER, CallTimeline
from earwitness.monitor.contract.decoder import share_names
from earwitness.monitor.contract.events import AnyEvent, CallStarted
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.reading import Labels
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
FORGOTTEN: Final = 20_000
"""Ids of calls that are over for good and are remembered, so that a straggler does not open a call anew."""
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
        self.windows = Windows(
            labels=settings.label_keys,
            bounds=settings.bounds.id,
            max_label_values=settings.max_label_values,
            max_label_sets=settings.max_label_sets,
        )
        self.held: dict[str, HeldCall] = {}
        self._clocks = PartitionClocks()
        self.clocks_ns = self._clocks.ns
        """Append time of the newest record of each partition."""
        self.events: Counter[str] = Counter()
        """Events folded, by kind."""
        self.set_aside = 0
        """Events that claim to be further ahead of their arrival than is allowed."""
        self.stray = 0
        """Events of calls that are over for good."""
        self.late_facts = 0
        """Facts about calls that are no longer held."""
        self.broken_calls = 0
        self.lagging = False
        """Whether what is read is so old that nobody waits for it."""
        self.put_off = False
        """Whether there are numbers that somebody waits for and that it left for later since it was."""
        self.let_go: set[str] = set()
        """Calls that are no longer held, until somebody clears it."""
        self.forgotten: dict[str, int] = {}
        """Calls that are over for good and their partitions, oldest first."""
        self.newly_forgotten: list[tuple[str, int]] = []
        """The last of these, until somebody clears it."""
        self.behind: set[int] = set()
        """Partitions whose past is still being read: what it says of now is not asked."""
        self.skews = ClockSkews()
        self._new_call: Callable[[str], Timeline] = new_call or partial(CallTimeline, bounds=settings.bounds)
        self._at_hand = AtHand(settings.calls_at_hand)
        self._kept_ns = settings.call_kept_s * S
        self._future_ns = settings.future_s * S
        self._looks = Looks()
        self._turned = False
        """A partition's clock was set back since the last ``settle``."""
        self._judged_early: list[Change] = []
        self._idle = True
        """Nothing came since the last ``settle``."""
        self._swept_ns = 0

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
        which costs a quarter less. ``failed`` is told what `add` would raise, and of which entry; of what was taken
        together, the first."""
        times_ns = [entry.append_ns for entry in entries]
        if len(entries) < TOGETHER or not self._clocks.note_all(entries[0].partition, times_ns):
            for entry, event in zip(entries, events, strict=True):
                _tried(self.add, entry, event, failed)
            return
        for entry, event in zip(entries, events, strict=True):
            if event.kind == "call_started":
                self._note_skew(entry, event)
        counts = self._looks.counts()
        for call_id, places in by_call(events).items():
            for run in runs(events, places, APART):
                try:
                    if self._took_together(call_id, [events[place] for place in run], [times_ns[p] for p in run]):
                        continue
                except Exception as error:  # whatever of them was taken is not to be taken again
                    failed(entries[run[0]], error)
                    continue
                for place in run:
                    _tried(self._take, entries[place], events[place], failed)
        self._looks.sort_from(counts)

    def _took_together(self, call_id: str, run: Sequence[AnyEvent], times_ns: Sequence[int]) -> bool:
        """What `_take` does with each event of one call; False, and nothing done, where one of them may be more than
        the next of a call that is held and goes on."""
        held = self.held.get(call_id)
        if held is None or held.broken or held.offset_ns is None or len(run) == 1:
            return False
        timeline, offset_ns = held.timeline, min(map(sub, times_ns, [event.at_ns for event in run]))
        if not isinstance(timeline, CallTimeline) or timeline.ended or timeline.started_wall_ns is None:
            return False
        if offset_ns < timeline.started_wall_ns - self._future_ns:
            return False
        offset_ns = min(offset_ns, held.offset_ns)
        if times_ns[-1] - offset_ns - timeline.last_at_ns > self._kept_ns:
            return False
        share_names(run, held.call_id)
        calm = timeline.add_all(run)
        if calm is None:
            return False
        held.offset_ns = offset_ns
        self.events.update([event.kind for event in run])
        held.note(run)
        self._idle = False
        if held.waits_ns is None:
            self._looks.wait(held, times_ns[0])
        if held.presses_ns is None and calm < len(run):
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
            self._judged_early += self._judge(held, arrived_ns)
        if timeline.ended and self._is_over(held, arrived_ns):
            self._refuse(kind in LEARNT_LATER)
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
        held = self._open(event.call_id, entry.partition, learnt_later)
        if held is None:
            self.events[event.kind] += 1
        return held

    def settle(self) -> list[Change]:
        """What events changed, each judged by the arrival of the newest: those that end a call or open one at once,
        those that give a number which somebody waits for too, others with them or within `WAITING_NS`, all of them
        within `LAGGING_NS` where the worker is behind; and all when nothing came since the last call of this. The
        windows have it already."""
        idle, self._idle, self._turned = self._idle or self._turned, True, False
        changes, self._judged_early = self._judged_early, []
        for held in self._looks.due(self._clocks.newest_ns, lagging=self.lagging, idle=idle):
            changes += self._judge(held, self.clocks_ns[held.partition])
        self.put_off = self._looks.put_off
        self._sweep()
        self._at_hand.lay_aside()
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
                    changes += self._judge(held, as_of_ns)
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
            changes += self._judge(held, as_of_ns)
        self.windows.live = self._live()
        self._at_hand.open_calls = max(sum(self.windows.live.values()), 1)
        self._at_hand.lay_aside()
        return changes

    def look_at(self, held: HeldCall, as_of_ns: int) -> list[Change]:
        """What changed of one call as of then."""
        return self._judge(held, as_of_ns)

    def hold(self, held: HeldCall) -> None:
        """Take in a call as it was left somewhere else."""
        self.held[held.call_id] = held
        self._looks.hold(held)
        if held.torn:
            self._note_torn(held)

    def drop(self, partition: int) -> set[str]:
        """Forget all of a partition, which somebody else has now; the ids of its calls."""
        gone = {held.call_id: held for held in self.held.values() if held.partition == partition}
        for held in gone.values():
            del self.held[held.call_id]
            self._at_hand.forget(held)
            self.windows.forget(held.call_id)
            self._looks.drop(held)
        self._judged_early = [change for change in self._judged_early if change.new.call_id not in gone]
        self.forgotten = {call_id: p for call_id, p in self.forgotten.items() if p != partition}
        self.newly_forgotten = [(call_id, p) for call_id, p in self.newly_forgotten if p != partition]
        self.clocks_ns.pop(partition, None)
        self.behind.discard(partition)
        self.windows.drop(partition)
        return set(gone)

    def in_progress(self) -> Iterator[HeldCall]:
        """Calls that have begun and not ended, as last judged."""
        return (held for held in self.held.values() if held.open)

    def _open(self, call_id: str, partition: int, learnt_later: bool) -> HeldCall | None:
        if learnt_later or call_id in self.forgotten:
            self._refuse(learnt_later)
            return None
        held = self.held[call_id] = HeldCall(call_id, self._new_call(call_id), partition)
        held.turns = self._clocks.turns.get(partition, 0)
        return held

    def _refuse(self, learnt_later: bool) -> None:
        if learnt_later:
            self.late_facts += 1
        else:
            self.stray += 1

    def _is_over(self, held: HeldCall, now_ns: int) -> bool:
        """Whether a call ended so long ago that nothing may change it any more."""
        return not held.open and now_ns - (held.offset_ns or 0) - held.timeline.last_at_ns > self._kept_ns

    def _judge(self, held: HeldCall, as_of_ns: int) -> list[Change]:
        held.as_of_ns = max(held.as_of_ns, as_of_ns)
        # That it was left to wait makes nothing late that came in time.
        arrived_ns = held.as_of_ns if held.waits_ns is None else held.waits_ns
        held.waits_ns = held.presses_ns = None
        held.changed = True
        if held.broken or held.offset_ns is None:
            return []
        try:
            self._at_hand.wake(held)
            if held.since is not None:
                held.judged = held.packed_count + len(held.since)
                held.judged_at_ns = held.as_of_ns - held.offset_ns
            records = held.timeline.advance(held.as_of_ns - held.offset_ns)
        except Exception:
            self._broke(held)
            return []
        if not records:
            self._note_torn(held)
            return []
        held.number = self.windows.label_sets.number_of(records[-1])
        changes: list[Change] = []
        first: list[AnyRecord] = []
        timeline, part = held.timeline, held.partition
        for record in records:
            if not record.revision:
                first.append(record)
                changes.append(change_of((None, record)))
                continue
            old = timeline.replaced(record.id)
            if old is None or not timeline.counts_alike(record.id):
                self.windows.apply(old, record, arrived_ns=arrived_ns, part=part)
            changes.append(Change(old, record))
        self.windows.apply_first(first, arrived_ns=arrived_ns, part=part)
        self._note_torn(held)
        return changes

    def records_of(self, held: HeldCall) -> Sequence[AnyRecord]:
        """All records of a call, those that were taken back too; none of one that cannot be read."""
        try:
            return held.timeline.records(retracted=True)
        except Exception:
            self._broke(held)
            return ()

    def _broke(self, held: HeldCall) -> None:
        """A fault in one call's fold must leave the others their numbers."""
        if not held.broken:
            held.broken = True
            self.broken_calls += 1
            _log.exception("a call could not be folded and is left as it was", call_id=held.call_id)

    def _note_torn(self, held: HeldCall) -> None:
        """Let the windows know where events of a call are missing, and where they are missing no more."""
        timeline = held.timeline
        torn = timeline.torn() if isinstance(timeline, CallTimeline) else held.torn
        if torn or held.torn:
            held.torn = torn
            begun_ns = timeline.started_wall_ns or 0
            # Without its first event nobody knows whose numbers lack what the call has.
            number = held.number if all(one.first_seq for one in torn) else None
            spans = [(begun_ns + one.from_ns, begun_ns + one.to_ns) for one in torn]
            self.windows.note_torn(held.call_id, number, spans)

    def _live(self) -> dict[Labels, int]:
        found: dict[Labels, int] = {}
        sets = self.windows.label_sets
        for held in self.in_progress():
            if held.number is not None:
                labels = sets.labels_of(held.number)
                found[labels] = found.get(labels, 0) + 1
        return found

    def _sweep(self) -> None:
        """Let go of calls that nothing may change any more, each by its own partition's clock."""
        newest_ns = self._clocks.newest_ns
        if newest_ns - self._swept_ns < SWEEP_NS:
            return
        self._swept_ns = newest_ns
        self._at_hand.lay_ended_aside()
        for held in list(self.held.values()):
            if self._is_over(held, self.clocks_ns[held.partition]):
                del self.held[held.call_id]
                self._at_hand.forget(held)
                self.windows.forget(held.call_id)
                self.forgotten[held.call_id] = held.partition
                self.newly_forgotten.append((held.call_id, held.partition))
                self.let_go.add(held.call_id)
        while len(self.forgotten) > FORGOTTEN:
            del self.forgotten[next(iter(self.forgotten))]


def _tried(take: Callable[[Entry, AnyEvent], None], entry: Entry, event: AnyEvent, failed: Failed) -> None:
    try:
        take(entry, event)
    except Exception as error:  # one record's fault must leave the others their numbers
        failed(entry, error)
