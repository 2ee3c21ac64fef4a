"""One call: events in, in any order, each once; records out, as of a moment of the call's own clock."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import msgspec

from earwitness.monitor.calls import timeline_state as states
from earwitness.monitor.calls.arrivals import Arrivals, Torn
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.call_chapters import CallChapters
from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.call_records import CallRecords
from earwitness.monitor.calls.due import due_ns
from earwitness.monitor.calls.end import end_by
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.calls.haste import WAITING, Floor, floor_of
from earwitness.monitor.calls.next_events import in_order
from earwitness.monitor.calls.page import NEVER
from earwitness.monitor.calls.published import Published
from earwitness.monitor.calls.reckon import Reckoning, reckon
from earwitness.monitor.calls.shelf import packed, shelve_events
from earwitness.monitor.calls.unsettled import Unsettled
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.fewer_bytes import squeezed

LEARNT_LATER: Final = frozenset({"verdict", "human_label", "late_fact"})
"""Kinds that may come long after the call's end: no silence makes them stray, and they end no silence."""
APART: Final = LEARNT_LATER | {"call_started", "call_ended"}
"""Kinds that are never simply the next event of their call."""

NO_TALLY: Final = Tally()


class CallTimeline:
    """The fold of one call (definitions, "Time and evidence"): a function of the set of its events and of ``as_of``.

    ``add`` only sorts an event in; ``advance`` works out the records of the chapter that is not settled yet. What lies
    more than the bound of reordering behind is frozen, and its events are let go.
    """

    def __init__(self, call_id: str, *, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.call_id = call_id
        self.bounds = bounds
        self._silent_ns = bounds.silent_call_ns
        self.started_wall_ns: int | None = None
        self.last_at_ns = 0
        self.ended = False
        self.settled = False
        """Nothing but a verdict, a label or a late fact can change the call any more."""
        self.pressing = False
        """An event came since the last ``advance`` that can change what was published of the call."""
        self.due_ns = NEVER
        """The next moment of the call's clock at which time alone changes a record, as of the last ``advance``."""
        self.final_due_ns = NEVER
        """The next moment at which time alone makes a record final."""
        self._floor = Floor()
        self._plain = True
        """No event ended the call, and none came after a long silence: where it ends needs no search."""
        self._learnt: list[Entry] = []
        self._arrivals = Arrivals()
        self._offsets: dict[str, int] = {}
        self._late = 0
        self._records = CallRecords(call_id, bounds)
        self._unsettled = Unsettled()
        self._entries = self._unsettled.entries
        """Of the chapter that is not settled yet. What is simply the next event is appended right here."""
        self._chapters = CallChapters(self._unsettled, self._records, bounds)

    def add(self, event: AnyEvent) -> bool:
        """Take in an event. False: it was a duplicate or came too late to be folded; both are counted."""
        source, seq, at, kind = event.source, event.seq, event.at_ns, event.kind
        if not self._arrivals.take(source, seq, at):
            self.pressing = self.pressing or self.ended
            return False
        last_ns = self.last_at_ns
        if kind in APART or self._offsets or not self._entries or not last_ns < at <= last_ns + self._silent_ns:
            return self._add_apart(event)
        if at <= self._chapters.looked_ns:
            self._chapters.undo(at)
        self._entries.append((at, source, seq, event))
        self.last_at_ns = at
        if not self.pressing and (kind not in WAITING or self.ended):
            self._look_for_haste(event, at)
        return True

    def add_all(self, events: Sequence[AnyEvent]) -> int | None:
        """`add` events, none of them ``APART``, that are simply the next of the call. How many of them came before the
        first that is pressing; None, and nothing done, where they may be more than that."""
        if self._offsets or not self._entries or self.ended:
            return None
        newest = self._arrivals.newest_of(events)
        entries = in_order(events, max(self.last_at_ns, self._chapters.looked_ns), self.bounds) if newest else None
        if not newest or not entries or entries[-1][0] - self.last_at_ns > self._silent_ns:
            return None
        # What may be at fault comes before anything is taken.
        calm = 0
        for event in events:
            if not self.pressing and event.kind not in WAITING:
                self._look_for_haste(event, event.at_ns)
            if self.pressing:
                break
            calm += 1
        self._arrivals.take_all(newest)
        self._entries += entries
        self.last_at_ns = entries[-1][0]
        return calm

    def _add_apart(self, event: AnyEvent) -> bool:
        """Sort in an event that is not simply the next of the call."""
        if event.kind == "call_started" and not event.owns_clock:
            self._move(event.source, event.clock_offset_ns)
        at = max(event.at_ns + self._offsets.get(event.source, 0), 0) if self._offsets else event.at_ns
        entry: Entry = (at, event.source, event.seq, event)
        if event.kind in LEARNT_LATER:
            insort(self._learnt, entry, key=itemgetter(0, 1, 2))
            self.pressing = True
            return True
        entries, chapters = self._entries, self._chapters
        if entries and at <= self.last_at_ns and chapters.is_late(at, self.last_at_ns):
            self._late += 1
            self._arrivals.note_late(event.source, event.seq, at)
            self.pressing = self.pressing or self.ended
            return False
        if self.started_wall_ns is None or (event.kind == "call_started" and event.owns_clock):
            self.started_wall_ns = event.wall_ns - event.at_ns
        if event.kind == "call_ended" or (entries and at - self.last_at_ns > self._silent_ns):
            self._plain = False
        if at <= chapters.looked_ns:
            chapters.undo(at)
        if not entries or at > self.last_at_ns or entries[-1][:3] < entry[:3]:
            entries.append(entry)
        else:
            self._unsettled.sort_in(entry)
        self.last_at_ns = max(self.last_at_ns, at)
        if not self.pressing and (event.kind not in WAITING or self.ended):
            self._look_for_haste(event, at)
        return True

    def _look_for_haste(self, event: AnyEvent, at: int) -> None:
        floor = self._floor
        if floor.is_overlap(event):
            self.due_ns = min(self.due_ns, at + self.bounds.stop_silence_ns)
        self.pressing = self.ended or floor.is_pressing(event)

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        """The records that are new or changed as of that moment, each with the next revision."""
        self.pressing, self.due_ns, self.final_due_ns = False, NEVER, NEVER
        chapters, entries = self._chapters, self._entries
        carry = chapters.kept[-1].carry
        over_at, stray_from, stray = end_by(entries, carry.last_at_ns, as_of_ns, self._silent_ns, plain=self._plain)
        if not entries and carry.first:
            return []
        upto_ns = as_of_ns if over_at is None else min(as_of_ns, over_at - 1)
        chapters.cut(upto_ns, self.last_at_ns, self.started_wall_ns or 0)
        carry = chapters.kept[-1].carry
        horizon = as_of_ns if over_at is None else over_at
        own, facts = self._unsettled.facts_of(carry, as_of_ns if stray_from is None else min(as_of_ns, stray_from - 1))
        if not own and carry.first:
            self.due_ns = entries[0][0]
            return []
        learnt = [e for e in self._learnt if over_at is not None or e[0] <= as_of_ns]
        if learnt:
            gather(learnt, facts)
            self._unsettled.forget()
        wall = facts.started_wall_ns if facts.started_wall_ns is not None else self.started_wall_ns or 0
        tally = NO_TALLY
        if over_at is not None:
            tally = self._arrivals.tally(facts, events=carry.events + own, late=self._late, stray=stray)
        found = reckon(facts, carry, self.bounds, as_of_ns=horizon, over=over_at is not None, wall_ns=wall, tally=tally)
        self.ended = over_at is not None
        self.settled = over_at is not None and as_of_ns - horizon > self.bounds.silent_call_ns
        changed = self._records.publish(chapters.kept[:-1], found.page.drafts, facts)
        chapters.let_go(self.last_at_ns - self.bounds.reorder_ns)
        self._look_ahead(found, as_of_ns)
        return changed

    def records(self, *, retracted: bool = False) -> list[AnyRecord]:
        """The latest revision of every record that stands, as of the last ``advance``; with those that were taken
        back only where asked for."""
        return list(self._records.published.records(retracted=retracted))

    def replaced(self, record_id: str) -> AnyRecord | None:
        """What a change of the last ``advance`` took the place of; None for a record's first revision."""
        return self._records.published.replaced(record_id)

    def counts_alike(self, record_id: str) -> bool:
        """Whether a change of the last ``advance`` differs from what it replaced in nothing that is counted."""
        return self._records.published.counts_alike(record_id)

    def torn(self) -> list[Torn]:
        """Where events of the bot are missing, or came too late to be folded."""
        return self._arrivals.torn()

    def dump(self) -> bytes:
        """All of it as bytes, to go on from with `load`. What the last ``advance`` replaced is left out."""
        own = [shelve_events(self._entries, squeezed), shelve_events(self._learnt, squeezed)]
        own += [chapter.events for chapter in self._chapters.kept if chapter.events is not None]
        published, shelves = self._records.published.state()
        rest = states.TimelineState(
            self._plain, self._late, self._chapters.looked_ns, self._arrivals.state(), self._arrivals.duplicates,
            [list(events.moments_ns) for events in own], [chapter.state() for chapter in self._chapters.kept],
            self._records.standing, self._records.overlaps, published,
        )  # fmt: skip
        head = states.TimelineHead(
            states.FORMAT, self.call_id, self.bounds.id, self.started_wall_ns, self.last_at_ns, self._offsets,
            self.ended, self.settled, self.pressing, self.due_ns, self.final_due_ns, self._floor,
            states.written(rest, [states.event_bytes(events) for events in own], shelves),
        )  # fmt: skip
        return packed(head)

    @classmethod
    def load(cls, dumped: bytes, *, bounds: Bounds = DEFAULT_BOUNDS) -> CallTimeline:
        """The call that was dumped. Raises NotAState, also where it was judged by other bounds."""
        head = states.read_head(dumped)
        if head.bounds != bounds.id:
            raise states.NotAState(f"it was judged by bounds {head.bounds}, not {bounds.id}")
        call, (rest, bodies, shelves) = cls(head.call_id, bounds=bounds), states.read(head.body)
        call.started_wall_ns, call.last_at_ns, call._late = head.started_wall_ns, head.last_at_ns, rest.late
        call.ended, call.settled, call.pressing = head.ended, head.settled, head.pressing
        call.due_ns, call.final_due_ns = head.due_ns, head.final_due_ns
        call._floor, call._plain, call._offsets = head.floor, rest.plain, head.offsets
        call._arrivals.restore(rest.sources, rest.duplicates)
        try:
            own = iter(map(states.shelved_events, rest.moments_ns, bodies))
            call._entries += next(own).entries()
            call._learnt += next(own).entries()
            call._chapters.restore(rest.chapters, own, rest.looked_ns)
            call._records.restore(Published.restored(rest.published, shelves), rest.standing, rest.overlaps)
        except (ValueError, LookupError, StopIteration, msgspec.MsgspecError, UnreadableRecord) as error:
            raise states.NotAState(str(error)) from error
        return call

    def _look_ahead(self, found: Reckoning, as_of_ns: int) -> None:
        """What is to come if nothing comes: when to look again, and what to hurry for."""
        entries, read = self._entries, self._unsettled.read
        ahead = [e[0] for e in (*entries[read : read + 1], *self._learnt) if e[0] > as_of_ns]
        last_ns = entries[read - 1][0] if read else found.page.carry.last_at_ns or 0
        self.due_ns = min(due_ns(found, last_ns), *ahead, NEVER)
        self.final_due_ns = found.page.final_at_ns
        self._floor = floor_of(found)

    def _move(self, source: str, offset_ns: int) -> None:
        """Move another process's events onto the clock of the process that owns the call."""
        self._chapters.undo_all()
        self._offsets[source] = offset_ns
        earliest = self._unsettled.move(source, offset_ns)
        if earliest is not None:
            self.last_at_ns, self._plain = self._entries[-1][0], False
            self._chapters.undo(earliest)
