"""One call: events in, in any order, each once; records out, as of a moment of the call's own clock."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from earwitness.monitor.calls.arrivals import Arrivals
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds, S
from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.chapters import LOOK_AHEAD_NS, cut_here
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Entry, Facts
from earwitness.monitor.calls.overlap_records import verdict
from earwitness.monitor.calls.page import Content, Draft
from earwitness.monitor.calls.reckon import reckon
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord, Record

LEARNT_LATER: Final = frozenset({"verdict", "human_label", "late_fact"})
"""Kinds that may come long after the call's end: no silence makes them stray, and they end no silence."""

PATIENCE_NS: Final = 2 * S
"""How long after its moment a cut is looked for: events that are a little late would only undo it."""


@dataclass(slots=True)
class _Chapter:
    """A stretch of the call between two cuts. ``settled`` is filled when the next chapter begins."""

    carry: Carry
    judged_ns: int = -1
    """The moment as of which the cut before it was judged: an earlier event that comes later undoes it."""
    tried_ns: int = -1
    """Up to where the next cut was looked for in vain."""
    settled: list[Draft] = field(default_factory=list[Draft])
    published: bool = False


class CallTimeline:
    """The fold of one call (definitions, "Time and evidence"): a function of the set of its events and of ``as_of``.

    ``add`` only sorts an event in; ``advance`` works out the records of the chapter that is not settled yet. What lies
    more than the bound of reordering behind is frozen, and its events are let go.
    """

    def __init__(self, call_id: str, *, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.call_id = call_id
        self.bounds = bounds
        self.started_wall_ns: int | None = None
        self.last_at_ns = 0
        self.ended = False
        self.settled = False
        """Nothing but a verdict, a label or a late fact can change the call any more."""
        self._entries: list[Entry] = []
        self._plain = True
        """No event ended the call, and none came after a long silence: where it ends needs no search."""
        self._learnt: list[Entry] = []
        self._arrivals = Arrivals()
        self._offsets: dict[str, int] = {}
        self._late = 0
        self._chapters = [_Chapter(Carry())]
        self._standing: set[str] = set()
        """Ids of the records that stood at the last ``advance``, the frozen ones apart."""
        self._frozen: set[str] = set()
        """Ids of records whose events were let go."""
        self._overlaps: dict[str, Draft] = {}
        """Overlaps of settled chapters: a label can still change them."""
        self._published: dict[str, tuple[Content, AnyRecord]] = {}

    def add(self, event: AnyEvent) -> bool:
        """Take in an event. False: it was a duplicate or came too late to be folded; both are counted."""
        if not self._arrivals.take(event.source, event.seq):
            return False
        if event.kind == "call_started" and not event.owns_clock:
            self._move(event.source, event.clock_offset_ns)
        at = max(event.at_ns + self._offsets.get(event.source, 0), 0) if self._offsets else event.at_ns
        entry: Entry = (at, event.source, event.seq, event)
        if event.kind in LEARNT_LATER:
            insort(self._learnt, entry, key=_place)
            return True
        if self._is_late(at):
            self._late += 1
            return False
        if self.started_wall_ns is None or (event.kind == "call_started" and event.owns_clock):
            self.started_wall_ns = event.wall_ns - event.at_ns
        if event.kind == "call_ended" or (self._entries and at - self.last_at_ns > self.bounds.silent_call_ns):
            self._plain = False
        if not self._entries or self._entries[-1][:3] < entry[:3]:
            self._entries.append(entry)
        else:
            insort(self._entries, entry, key=_place)
        self.last_at_ns = max(self.last_at_ns, at)
        self._undo_cuts(at)
        return True

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        """The records that are new or changed as of that moment, each with the next revision."""
        over_at, stray_from, stray = self._end(as_of_ns)
        chapter = self._chapters[-1]
        if not self._entries and chapter.carry.first:
            return []
        self._cut(as_of_ns if over_at is None else min(as_of_ns, over_at - 1))
        chapter = self._chapters[-1]
        horizon = as_of_ns if over_at is None else over_at
        own = self._entries_of(chapter.carry, as_of_ns if stray_from is None else min(as_of_ns, stray_from - 1))
        if not own and chapter.carry.first:
            return []
        learnt = (e for e in self._learnt if over_at is not None or e[0] <= as_of_ns)
        facts = gather(learnt, gather(own, chapter.carry.begin()))
        wall = facts.started_wall_ns if facts.started_wall_ns is not None else self.started_wall_ns or 0
        tally = self._tally(facts, chapter.carry.events + len(own), stray, over=over_at is not None)
        found = reckon(
            facts, chapter.carry, self.bounds, as_of_ns=horizon, over=over_at is not None, wall_ns=wall, tally=tally
        )
        self.ended = over_at is not None
        self.settled = over_at is not None and as_of_ns - horizon > self.bounds.silent_call_ns
        changed = self._publish(found.page.drafts, facts)
        self._let_go()
        return changed

    def records(self) -> list[AnyRecord]:
        """The latest revision of every record that stands, as of the last ``advance``."""
        return [record for _, record in self._published.values() if not record.retracted]

    def _is_late(self, at: int) -> bool:
        """More than 30 s or 1,000 events behind the newest: too late to be folded."""
        if at < self.last_at_ns - self.bounds.reorder_ns:
            return True
        reach = self.bounds.reorder_events
        return len(self._entries) > reach and at < self._entries[-reach][0]

    def _move(self, source: str, offset_ns: int) -> None:
        """Move another process's events onto the clock of the process that owns the call."""
        self._offsets[source] = offset_ns
        moved = [
            (max(e.at_ns + offset_ns, 0), s, n, e) if s == source else (at, s, n, e) for at, s, n, e in self._entries
        ]
        earliest = min((at for at, s, _, _ in moved if s == source), default=None)
        if earliest is not None:
            self._entries = sorted(moved, key=_place)
            self._undo_cuts(earliest)

    def _end(self, as_of_ns: int) -> tuple[int | None, int | None, int]:
        """Where the call ended, if it has; where stray events begin, and how many there are.

        A call silent for 300 s ended at its last event (A38); what comes after such a silence is stray.
        """
        upto = bisect_right(self._entries, as_of_ns, key=_moment)
        last, ended = self._chapters[0].carry.last_at_ns, None
        if self._plain:
            last = self._entries[upto - 1][0] if upto else last
            return last if last is not None and as_of_ns - last > self.bounds.silent_call_ns else None, None, 0
        for n in range(upto):
            at, _, _, event = self._entries[n]
            if last is not None and at - last > self.bounds.silent_call_ns:
                return (last if ended is None else ended), at, upto - n
            last = at
            if ended is None and event.kind == "call_ended":
                ended = at
        if ended is None and last is not None and as_of_ns - last > self.bounds.silent_call_ns:
            ended = last
        return ended, None, 0

    def _entries_of(self, carry: Carry, upto_ns: int) -> list[Entry]:
        lo = bisect_left(self._entries, carry.cut_at_ns, key=_moment)
        return self._entries[lo : bisect_right(self._entries, upto_ns, key=_moment)]

    def _cut(self, upto_ns: int) -> None:
        """Begin new chapters wherever the call can be cut by then."""
        while True:
            chapter = self._chapters[-1]
            own = self._entries_of(chapter.carry, upto_ns - LOOK_AHEAD_NS - PATIENCE_NS)
            found = next(
                (cut for at, edge in self._onsets(chapter, own) if (cut := self._try(chapter, at, edge))), None
            )
            if found is None:
                return
            carry, chapter.settled, judged = found
            self._chapters.append(_Chapter(carry, judged, judged - LOOK_AHEAD_NS))
            for draft in chapter.settled:
                if draft.basis is not None:
                    self._overlaps[draft.id] = draft

    def _onsets(self, chapter: _Chapter, own: Sequence[Entry]) -> Iterator[tuple[int, int]]:
        """Onsets of caller speech at which no cut was tried yet; of several kinds of evidence the first."""
        last_edge = chapter.carry.cut_ns
        for at, _, _, event in own:
            if event.kind != "speech_started" or event.party != "caller":
                continue
            edge = event.edge_ns + at - event.at_ns
            if edge <= last_edge + self.bounds.match_ns:
                continue
            last_edge = edge
            if at > chapter.tried_ns:
                chapter.tried_ns = at
                yield at, edge

    def _try(self, chapter: _Chapter, at: int, edge: int) -> tuple[Carry, list[Draft], int] | None:
        judged = at + LOOK_AHEAD_NS
        own = self._entries_of(chapter.carry, judged)
        wall = self.started_wall_ns or 0
        found = cut_here(own, chapter.carry, self.bounds, edge, as_of_ns=judged, wall_ns=wall)
        return None if found is None else (*found, judged)

    def _undo_cuts(self, at: int) -> None:
        """An event that came late takes back the cuts that were judged without it."""
        while len(self._chapters) > 1 and self._chapters[-1].judged_ns >= at:
            self._chapters.pop()
            for draft in self._chapters[-1].settled:
                self._overlaps.pop(draft.id, None)
            self._chapters[-1].settled, self._chapters[-1].published = [], False
            self._chapters[-1].tried_ns = -1
        if self._chapters[-1].tried_ns + LOOK_AHEAD_NS >= at:
            self._chapters[-1].tried_ns = -1

    def _let_go(self) -> None:
        """Forget the events of chapters that no event can reach any more."""
        safe = self.last_at_ns - self.bounds.reorder_ns
        while len(self._chapters) > 1 and self._chapters[1].judged_ns < safe:
            self._frozen.update(draft.id for draft in self._chapters.pop(0).settled)
            del self._entries[: bisect_left(self._entries, self._chapters[0].carry.cut_at_ns, key=_moment)]

    def _tally(self, facts: Facts, events: int, stray: int, *, over: bool) -> Tally:
        gone = sum(last - first + 1 for ranges in facts.dropped.values() for first, last in ranges)
        missing = self._arrivals.missing(facts.dropped)
        short = self._arrivals.short_of(facts.ended) if over else 0
        tail = facts.ended is None or facts.ended.tail_incomplete or short > missing + gone
        return Tally(
            events, max(missing, short - gone), gone, self._late, stray, self._arrivals.duplicates, over and tail
        )

    def _publish(self, tail: Iterable[Draft], facts: Facts) -> list[AnyRecord]:
        started = facts.started
        shared: Content = {"call_id": self.call_id, "agent": "", "bounds": self.bounds.id}
        if started is not None:
            shared |= {"agent": started.agent, "version": started.version, "mode": started.mode}
            shared["labels"] = dict(started.labels)
        changed: list[AnyRecord] = []
        standing: set[str] = set()
        for chapter in self._chapters[:-1]:
            standing.update(draft.id for draft in chapter.settled)
            if not chapter.published:
                self._put((self._labelled(draft, facts) for draft in chapter.settled), shared, changed)
                chapter.published = True
        tail = list(tail)
        standing.update(draft.id for draft in tail)
        self._put(tail, shared, changed)
        if facts.labels or facts.judged:
            self._put((self._labelled(draft, facts) for draft in self._overlaps.values()), shared, changed)
        for record_id in sorted(self._standing - standing - self._frozen):
            record = self._published[record_id][1]
            gone: Any = record.model_copy(update={"retracted": True, "revision": record.revision + 1})
            self._published[record_id] = ({}, gone)
            changed.append(gone)
        self._standing = standing
        return changed

    def _put(self, drafts: Iterable[Draft], shared: Content, changed: list[AnyRecord]) -> None:
        """Publish what differs from what was published before."""
        for draft in drafts:
            content = draft.content | shared
            before = self._published.get(draft.id)
            if before is not None and before[0] == content:
                continue
            revision = 0 if before is None else before[1].revision + 1
            self._published[draft.id] = (content, _record(draft.kind, draft.id, revision, content))
            changed.append(self._published[draft.id][1])

    def _labelled(self, draft: Draft, facts: Facts) -> Draft:
        """A settled record with what a person or a judge says of it."""
        if draft.basis is None or not (facts.labels or facts.judged):
            return draft
        return draft._replace(content=draft.content | verdict(draft.basis, draft.id, facts, self.bounds))


def _record(kind: type[Record], record_id: str, revision: int, content: Content) -> AnyRecord:
    record: Any = kind(id=record_id, revision=revision, **content)
    made: AnyRecord = record
    return made


def _place(entry: Entry) -> tuple[int, str, int]:
    return entry[:3]


def _moment(entry: Entry) -> int:
    return entry[0]


def fold(
    events: Iterable[AnyEvent], *, as_of_ns: int | None = None, bounds: Bounds = DEFAULT_BOUNDS
) -> list[AnyRecord]:
    """Fold a whole call at once. Without ``as_of_ns`` the log is taken for complete: a call that never ended has.

    Raises ValueError for events of more than one call.
    """
    ordered = sorted(events, key=lambda e: (e.at_ns, e.source, e.seq))
    if not ordered:
        return []
    ids = {e.call_id for e in ordered}
    if len(ids) > 1:
        raise ValueError(f"events of {len(ids)} calls given to the fold of one: {', '.join(sorted(ids)[:3])}")
    timeline = CallTimeline(ordered[0].call_id, bounds=bounds)
    for event in ordered:
        timeline.add(event)
    timeline.advance(timeline.last_at_ns + bounds.silent_call_ns + 1 if as_of_ns is None else as_of_ns)
    return timeline.records()
