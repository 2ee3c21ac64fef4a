"""Which of a call's events have come, each once, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.facts import Facts

BOT_SOURCES: Final = frozenset({"bot", "taps", "app"})
"""Sources whose events ``call_ended.counts`` counts."""


class Numbers:
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

    def take(self, source: str, seq: int) -> bool:
        """Note an event; False, and counted, if it was seen before."""
        numbers = self._sources.get(source)
        if numbers is None:
            numbers = self._sources[source] = Numbers()
        if seq == numbers.next and not numbers.above:
            numbers.next = seq + 1
            numbers.count += 1
            return True
        if numbers.take(seq):
            return True
        self.duplicates += 1
        return False

    def state(self) -> dict[str, tuple[int, int, list[int]]]:
        """Of each source its mark, how many events came, and the numbers above the mark."""
        return {source: (n.next, n.count, sorted(n.above)) for source, n in self._sources.items()}

    def restore(self, state: Mapping[str, tuple[int, int, Sequence[int]]], duplicates: int) -> None:
        """The way back of `state`."""
        self.duplicates = duplicates
        for source, (mark, count, above) in state.items():
            numbers = self._sources[source] = Numbers()
            numbers.next, numbers.count, numbers.above = mark, count, set(above)

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

    def short_of(self, ended: Any) -> int:
        """How many events fewer arrived than the bot says that it made before ``call_ended``."""
        if ended is None or not ended.counts:
            return 0
        made: int = sum(ended.counts.values())
        return max(made - (sum(n.count for n in self._of_bot()) - 1), 0)

    def _of_bot(self) -> Iterable[Numbers]:
        return (numbers for source, numbers in self._sources.items() if source in BOT_SOURCES)
