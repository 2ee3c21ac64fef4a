"""One call: events in, in any order, each once; records out, as of a moment of the call's own clock."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from typing import Any

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.evidence import Entry, gather
from earwitness.monitor.calls.page import Content, Draft
from earwitness.monitor.calls.reckon import reckon
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord

LEARNT_LATER = frozenset({"verdict", "human_label", "late_fact"})
"""Kinds that may come long after the call's end: no silence makes them stray, and they end no silence."""

BOT_SOURCES = frozenset({"bot", "taps", "app"})
"""Sources whose events ``call_ended.counts`` counts."""


class CallTimeline:
    """The fold of one call (definitions, "Time and evidence"): a function of the set of its events and of ``as_of``.

    ``add`` only sorts an event in; ``advance`` works out the records. Any object with an event's attributes will do.
    """

    def __init__(self, call_id: str, *, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.call_id = call_id
        self.bounds = bounds
        self.started_wall_ns: int | None = None
        self.last_at_ns = 0
        self.ended = False
        self.settled = False
        self._entries: list[Entry] = []
        self._seen: dict[str, _Numbers] = {}
        self._offsets: dict[str, int] = {}
        self._duplicates = 0
        self._late = 0
        self._published: dict[str, tuple[Content, AnyRecord]] = {}
        self._newest_wall_ns: int | None = None

    def add(self, event: AnyEvent) -> bool:
        """Take in an event. False: it was a duplicate or came too late to be folded; both are counted."""
        numbers = self._seen.get(event.source)
        if numbers is None:
            numbers = self._seen[event.source] = _Numbers()
        if not numbers.take(event.seq):
            self._duplicates += 1
            return False
        if event.kind == "call_started" and not event.owns_clock:
            self._offset(event.source, event.clock_offset_ns)
        at = max(event.at_ns + self._offsets.get(event.source, 0), 0)
        if self._is_late(at, event):
            self._late += 1
            return False
        entry: Entry = (at, event.source, event.seq, event)
        if not self._entries or self._entries[-1][:3] < entry[:3]:
            self._entries.append(entry)
        else:
            insort(self._entries, entry, key=_place)
        if event.kind not in LEARNT_LATER:
            self.last_at_ns = max(self.last_at_ns, at)
        if event.kind == "call_started" and event.owns_clock and self.started_wall_ns is None:
            self.started_wall_ns = event.wall_ns - event.at_ns
        elif self._newest_wall_ns is None:
            self._newest_wall_ns = event.wall_ns - event.at_ns
        return True

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        """The records that are new or changed as of that moment, each with the next revision."""
        if not self._entries:
            return []
        entries, over_at, stray = self._within(as_of_ns)
        if not entries:
            return []
        over = over_at is not None
        facts = gather(entries)
        wall = facts.started_wall_ns if facts.started_wall_ns is not None else self._wall()
        self.started_wall_ns = wall
        missing, dropped = self._missing(facts.dropped)
        short = self._short_of_counts(facts.ended)
        tail = over and (facts.ended is None or facts.ended.tail_incomplete or short > missing + dropped)
        tally = Tally(
            len(entries),
            max(missing, short - dropped if over else 0),
            dropped,
            self._late,
            stray,
            self._duplicates,
            tail,
        )
        horizon = over_at if over_at is not None else as_of_ns
        drafts = reckon(facts, Carry(), self.bounds, as_of_ns=horizon, over=over, wall_ns=wall, tally=tally).page.drafts
        self.ended = over
        self.settled = over and as_of_ns - horizon > self.bounds.silent_call_ns
        return self._publish(drafts, facts.started)

    def records(self) -> list[AnyRecord]:
        """The latest revision of every record that stands, as of the last ``advance``."""
        return [record for _, record in self._published.values() if not record.retracted]

    def _is_late(self, at: int, event: AnyEvent) -> bool:
        """More than 30 s or 1,000 events behind the newest: too late to be folded."""
        if event.kind in LEARNT_LATER:
            return False
        if at < self.last_at_ns - self.bounds.reorder_ns:
            return True
        reach = self.bounds.reorder_events
        return len(self._entries) > reach and at < self._entries[-reach][0]

    def _offset(self, source: str, offset_ns: int) -> None:
        """Move another process's events onto the clock of the process that owns the call."""
        self._offsets[source] = offset_ns
        self._entries = sorted(
            ((max(e.at_ns + offset_ns, 0), s, n, e) if s == source else (at, s, n, e) for at, s, n, e in self._entries),
            key=_place,
        )

    def _within(self, as_of_ns: int) -> tuple[list[Entry], int | None, int]:
        """Events up to ``as_of``, where the call ended if it has, and how many came from beyond its silence.

        A call silent for 300 s ended at its last event (A38); what comes after such a silence is stray.
        """
        upto = bisect_right(self._entries, as_of_ns, key=lambda e: e[0])
        kept: list[Entry] = []
        last: int | None = None
        ended: int | None = None
        stray = 0
        for entry in self._entries[:upto]:
            if entry[3].kind in LEARNT_LATER:
                kept.append(entry)
                continue
            if stray or (last is not None and entry[0] - last > self.bounds.silent_call_ns):
                stray += 1
                continue
            last = entry[0]
            kept.append(entry)
            if entry[3].kind == "call_ended" and ended is None:
                ended = entry[0]
        learnt = [e for e in self._entries[upto:] if e[3].kind in LEARNT_LATER]
        if last is None:
            return [], None, 0
        if ended is None and (stray or as_of_ns - last > self.bounds.silent_call_ns):
            ended = last
        return kept + learnt if ended is not None else kept, ended, stray

    def _wall(self) -> int:
        return self._newest_wall_ns if self._newest_wall_ns is not None else 0

    def _missing(self, dropped: dict[str, list[tuple[int, int]]]) -> tuple[int, int]:
        """Events that a gap in ``seq`` shows to be missing, and those that were reported as dropped."""
        gone = sum(last - first + 1 for ranges in dropped.values() for first, last in ranges)
        missing = 0
        for source, numbers in self._seen.items():
            excused = dropped.get(source, [])
            missing += sum(1 for n in numbers.gaps() if not any(lo <= n <= hi for lo, hi in excused))
        return missing, gone

    def _short_of_counts(self, ended: Any) -> int:
        """How many events fewer arrived than the bot says it made."""
        if ended is None or not ended.counts:
            return 0
        made: int = sum(ended.counts.values())
        got = sum(numbers.count for source, numbers in self._seen.items() if source in BOT_SOURCES)
        return max(made - (got - 1), 0)

    def _publish(self, drafts: Iterable[Draft], started: Any) -> list[AnyRecord]:
        shared: Content = {"call_id": self.call_id, "agent": "", "bounds": self.bounds.id}
        if started is not None:
            shared |= {"agent": started.agent, "version": started.version, "mode": started.mode}
            shared["labels"] = dict(started.labels)
        changed: list[AnyRecord] = []
        standing: set[str] = set()
        for kind, record_id, _, content, _ in drafts:
            standing.add(record_id)
            content.update(shared)
            before = self._published.get(record_id)
            if before is not None and before[0] == content:
                continue
            revision = 0 if before is None else before[1].revision + 1
            record: Any = kind(id=record_id, revision=revision, **content)
            self._published[record_id] = (content, record)
            changed.append(record)
        for record_id, (_, record) in self._published.items():
            if record_id in standing or record.retracted:
                continue
            gone: Any = record.model_copy(update={"retracted": True, "revision": record.revision + 1})
            self._published[record_id] = ({}, gone)
            changed.append(gone)
        return changed


class _Numbers:
    """Which sequence numbers of a source were seen: all below a mark, and some above it."""

    __slots__ = ("above", "count", "next")

    def __init__(self) -> None:
        self.next = 0
        self.above: set[int] = set()
        self.count = 0

    def take(self, seq: int) -> bool:
        """Note a number; False if it was seen before."""
        if seq < self.next or seq in self.above:
            return False
        self.count += 1
        if seq != self.next:
            self.above.add(seq)
            return True
        self.next += 1
        while self.next in self.above:
            self.above.discard(self.next)
            self.next += 1
        return True

    def gaps(self) -> Iterable[int]:
        """Numbers below the highest seen one that were not seen."""
        return (n for n in range(self.next, max(self.above, default=self.next)) if n not in self.above)


def _place(entry: Entry) -> tuple[int, str, int]:
    return entry[:3]


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
    end = timeline.last_at_ns + bounds.silent_call_ns + 1
    timeline.advance(end if as_of_ns is None else as_of_ns)
    return timeline.records()
