"""Which of a call's events have come, each once, and which are missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.contract.events import AnyEvent

MOST_LATE: Final = 100
"""Stretches of late events that are told apart."""
BOT_SOURCES: Final = frozenset({"bot", "taps", "app"})
"""Sources whose events ``call_ended.counts`` counts."""


class Torn(NamedTuple):
    """Events of a source that are missing, by their numbers, and between which moments of the call they were made.
    ``late``: they came, too late to be folded."""

    source: str
    first_seq: int
    last_seq: int
    from_ns: int
    to_ns: int
    late: bool = False


class Hole(NamedTuple):
    """Numbers that were passed over, and between which moments their events were made."""

    first: int
    last: int
    from_ns: int
    to_ns: int


class Numbers:
    """Which sequence numbers of a source were seen: all up to the highest, but for some holes. What it costs goes by
    the holes, however wide they are."""

    __slots__ = ("at_ns", "count", "holes", "late", "top")

    def __init__(self) -> None:
        self.top = -1
        """The highest that was seen."""
        self.at_ns = 0
        """The moment of the highest."""
        self.count = 0
        self.holes: list[Hole] = []
        """In order."""
        self.late: list[Hole] = []
        """The same of what came too late to be folded."""

    def take(self, seq: int, at_ns: int) -> bool:
        """Note a number; False if it was seen before."""
        if seq > self.top:
            if seq > self.top + 1:
                self.holes.append(Hole(self.top + 1, seq - 1, min(self.at_ns, at_ns), max(self.at_ns, at_ns)))
            self.top, self.at_ns = seq, at_ns
        else:
            place = bisect_right(self.holes, seq, key=_first) - 1
            if place < 0 or seq > self.holes[place].last:
                return False
            first, last, from_ns, to_ns = self.holes[place]
            halves = Hole(first, seq - 1, from_ns, to_ns), Hole(seq + 1, last, from_ns, to_ns)
            self.holes[place : place + 1] = [half for half in halves if half.first <= half.last]
        self.count += 1
        return True

    def note_late(self, seq: int, at_ns: int) -> None:
        """A number that was taken came too late to be folded."""
        if self.late and (self.late[-1].last + 1 == seq or len(self.late) >= MOST_LATE):
            first, _, from_ns, to_ns = self.late.pop()
            self.late.append(Hole(first, seq, min(from_ns, at_ns), max(to_ns, at_ns)))
        else:
            self.late.append(Hole(seq, seq, at_ns, at_ns))

    def missing(self, excused: Iterable[tuple[int, int]]) -> int:
        """How many numbers below the highest seen one were not seen, ranges reported as dropped apart."""
        found, ranges, holes = 0, sorted(one for one in excused if one[0] <= one[1]), iter(self.holes)
        hole = next(holes, None)
        at, first_known = -1, 0
        while hole is not None:
            at = max(at, hole.first)
            if at > hole.last:
                hole = next(holes, None)
            elif first_known < len(ranges) and ranges[first_known][1] < at:
                first_known += 1
            elif first_known < len(ranges) and ranges[first_known][0] <= hole.last:
                first, last = ranges[first_known]
                found += max(first - at, 0)
                at = last + 1
            else:
                found += hole.last - at + 1
                at = hole.last + 1
        return found


class Arrivals:
    """The identities of a call's events, source by source."""

    def __init__(self) -> None:
        self.duplicates = 0
        self._sources: dict[str, Numbers] = {}

    def take(self, source: str, seq: int, at_ns: int = 0) -> bool:
        """Note an event; False, and counted, if it was seen before."""
        numbers = self._sources.get(source)
        if numbers is None:
            numbers = self._sources[source] = Numbers()
        if seq == numbers.top + 1:
            # The next, as nearly always.
            numbers.top, numbers.at_ns = seq, at_ns
            numbers.count += 1
            return True
        if numbers.take(seq, at_ns):
            return True
        self.duplicates += 1
        return False

    def newest_of(self, events: Iterable[AnyEvent]) -> dict[str, AnyEvent]:
        """The last event of each source, where all are the next of their sources; none where one is not."""
        newest: dict[str, AnyEvent] = {}
        tops: dict[str, int] = {}
        for event in events:
            source = event.source
            if source not in tops:
                tops[source] = self._sources[source].top if source in self._sources else -1
            if event.seq != tops[source] + 1:
                return {}
            tops[source] = event.seq
            newest[source] = event
        return newest

    def take_all(self, newest: Mapping[str, AnyEvent]) -> None:
        """Note the events of which these are the newest, as `newest_of` found them."""
        for source, event in newest.items():
            numbers = self._sources.setdefault(source, Numbers())
            numbers.count += event.seq - numbers.top
            numbers.top, numbers.at_ns = event.seq, event.at_ns

    def note_late(self, source: str, seq: int, at_ns: int) -> None:
        """An event that was taken came too late to be folded."""
        self._sources[source].note_late(seq, at_ns)

    def state(self) -> dict[str, tuple[int, int, list[Hole], int, list[Hole]]]:
        """Of each source the highest number, how many events came, the holes, the moment of the highest, and what came
        too late."""
        return {source: (n.top, n.count, n.holes, n.at_ns, n.late) for source, n in self._sources.items()}

    def restore(
        self, state: Mapping[str, tuple[int, int, Sequence[Hole], int, Sequence[Hole]]], duplicates: int
    ) -> None:
        """The way back of `state`."""
        self.duplicates = duplicates
        for source, (top, count, holes, at_ns, late) in state.items():
            numbers = self._sources[source] = Numbers()
            numbers.top, numbers.count, numbers.at_ns = top, count, at_ns
            numbers.holes, numbers.late = list(holes), list(late)

    def tally(self, facts: Facts, *, events: int, late: int, stray: int) -> Tally:
        """What there is to say of an ended call's events: ``events`` were folded, ``late`` and ``stray`` ones not."""
        gone = sum(max(last - first + 1, 0) for ranges in facts.dropped.values() for first, last in ranges)
        missing = self.missing(facts.dropped)
        short = self.short_of(facts.ended)
        tail = facts.ended is None or facts.ended.tail_incomplete or short > missing + gone
        return Tally(events, max(missing, short - gone), gone, late, stray, self.duplicates, tail)

    def missing(self, dropped: Mapping[str, Sequence[tuple[int, int]]]) -> int:
        """Events that a gap in ``seq`` shows to be missing and nobody reported as dropped."""
        return sum(numbers.missing(dropped.get(source, ())) for source, numbers in self._sources.items())

    def torn(self) -> list[Torn]:
        """What is missing of the bot's sources, reported as dropped or not, and what came too late to be folded."""
        found: set[Torn] = set()
        for source in BOT_SOURCES & self._sources.keys():
            numbers = self._sources[source]
            found |= {Torn(source, *one, late=True) for one in numbers.late}
            found |= {Torn(source, *one) for one in numbers.holes}
        return sorted(found)

    def short_of(self, ended: Any) -> int:
        """How many events fewer arrived than the bot says that it made before ``call_ended``."""
        if ended is None or not ended.counts:
            return 0
        made: int = sum(ended.counts.values())
        return max(made - (sum(n.count for n in self._of_bot()) - 1), 0)

    def _of_bot(self) -> Iterable[Numbers]:
        return (numbers for source, numbers in self._sources.items() if source in BOT_SOURCES)


def _first(hole: Hole) -> int:
    return hole.first
