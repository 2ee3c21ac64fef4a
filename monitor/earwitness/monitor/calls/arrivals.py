"""Which of a call's events have come, each once, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.facts import Facts

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


class Numbers:
    """Which sequence numbers of a source were seen: all below a mark, and some above it."""

    __slots__ = ("above", "at_ns", "count", "late", "next", "spans", "top")

    def __init__(self) -> None:
        self.next = 0
        self.above: set[int] = set()
        self.count = 0
        self.top = 0
        """The highest that was seen, while some are above."""
        self.at_ns = 0
        """The moment of the highest."""
        self.spans: list[tuple[int, int, int, int]] = []
        """First and last of what was passed over, and between which moments."""
        self.late: list[tuple[int, int, int, int]] = []
        """The same of what came too late to be folded."""

    def take(self, seq: int, at_ns: int) -> bool:
        """Note a number; False if it was seen before."""
        if seq < self.next or seq in self.above:
            return False
        top = self.top if self.above else self.next - 1
        if seq > top:
            if seq > top + 1:
                self.spans.append((top + 1, seq - 1, min(self.at_ns, at_ns), max(self.at_ns, at_ns)))
            self.top, self.at_ns = seq, at_ns
        self.count += 1
        if seq != self.next:
            self.above.add(seq)
            return True
        self.next += 1
        while self.next in self.above:
            self.above.discard(self.next)
            self.next += 1
        if not self.above:
            self.spans.clear()
        return True

    def note_late(self, seq: int, at_ns: int) -> None:
        """A number that was taken came too late to be folded."""
        if self.late and (self.late[-1][1] + 1 == seq or len(self.late) >= MOST_LATE):
            first, _, from_ns, to_ns = self.late.pop()
            self.late.append((first, seq, min(from_ns, at_ns), max(to_ns, at_ns)))
        else:
            self.late.append((seq, seq, at_ns, at_ns))

    def gaps(self) -> list[tuple[int, int]]:
        """What is missing below the highest: first and last of each stretch."""
        found: list[tuple[int, int]] = []
        expected = self.next
        for seq in sorted(self.above):
            if seq > expected:
                found.append((expected, seq - 1))
            expected = seq + 1
        return found

    def missing(self, excused: Sequence[tuple[int, int]]) -> int:
        """How many numbers below the highest seen one were not seen, ranges reported as dropped apart."""
        if not self.above:
            return 0
        highest = max(self.above)
        gone = highest - self.next - (len(self.above) - 1)
        known = {
            n for lo, hi in excused for n in range(max(lo, self.next), min(hi, highest) + 1) if n not in self.above
        }
        return gone - len(known)


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
        if seq == numbers.next and not numbers.above:
            numbers.next = seq + 1
            numbers.count += 1
            numbers.at_ns = at_ns
            return True
        if numbers.take(seq, at_ns):
            return True
        self.duplicates += 1
        return False

    def note_late(self, source: str, seq: int, at_ns: int) -> None:
        """An event that was taken came too late to be folded."""
        self._sources[source].note_late(seq, at_ns)

    def state(self) -> dict[str, tuple[int, int, list[int], int]]:
        """Of each source its mark, how many events came, the numbers above the mark, and the moment of the highest."""
        return {source: (n.next, n.count, sorted(n.above), n.at_ns) for source, n in self._sources.items()}

    def restore(self, state: Mapping[str, tuple[int, int, Sequence[int], int]], duplicates: int) -> None:
        """The way back of `state`; between which moments something is missing, `torn` is told."""
        self.duplicates = duplicates
        for source, (mark, count, above, at_ns) in state.items():
            numbers = self._sources[source] = Numbers()
            numbers.next, numbers.count, numbers.above, numbers.at_ns = mark, count, set(above), at_ns
            numbers.top = max(above, default=0)

    def tally(self, facts: Facts, *, events: int, late: int, stray: int) -> Tally:
        """What there is to say of an ended call's events: ``events`` were folded, ``late`` and ``stray`` ones not."""
        gone = sum(last - first + 1 for ranges in facts.dropped.values() for first, last in ranges)
        missing = self.missing(facts.dropped)
        short = self.short_of(facts.ended)
        tail = facts.ended is None or facts.ended.tail_incomplete or short > missing + gone
        return Tally(events, max(missing, short - gone), gone, late, stray, self.duplicates, tail)

    def missing(self, dropped: Mapping[str, Sequence[tuple[int, int]]]) -> int:
        """Events that a gap in ``seq`` shows to be missing and nobody reported as dropped."""
        return sum(numbers.missing(dropped.get(source, ())) for source, numbers in self._sources.items())

    def torn(self, known: Iterable[Torn], until_ns: int) -> list[Torn]:
        """What is missing of the bot's sources, reported as dropped or not, of a call that came as far as ``until_ns``.
        ``known``: what this said before it was put away, which takes the moments with it."""
        found = {one for one in known if one.late}
        for source in BOT_SOURCES & self._sources.keys():
            numbers = self._sources[source]
            found |= {Torn(source, *one, late=True) for one in numbers.late}
            if not numbers.above:
                continue
            spans = [*numbers.spans, *(one[1:5] for one in known if one.source == source)]
            for first, last in numbers.gaps():
                around = (one[2:] for one in spans if one[0] <= first and last <= one[1])
                found.add(Torn(source, first, last, *next(around, (0, until_ns))))
        return sorted(found)

    def short_of(self, ended: Any) -> int:
        """How many events fewer arrived than the bot says that it made before ``call_ended``."""
        if ended is None or not ended.counts:
            return 0
        made: int = sum(ended.counts.values())
        return max(made - (sum(n.count for n in self._of_bot()) - 1), 0)

    def _of_bot(self) -> Iterable[Numbers]:
        return (numbers for source, numbers in self._sources.items() if source in BOT_SOURCES)
