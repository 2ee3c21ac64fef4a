"""The events of a call that are not settled yet, in order, and what they say, each read once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Entry, Facts
from earwitness.monitor.calls.parting import goes_on_behind


class Unsettled:
    """The entries of a call's current chapter, and how far they were read."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """In order. The same list all along: an event that is simply the next is appended to it by whoever has it."""
        self.read = 0
        """How many of the entries were read by the last `facts_of`."""
        self._facts: Facts | None = None
        """What these say; None where they are to be read anew."""

    def sort_in(self, entry: Entry) -> None:
        """Put an entry where it belongs."""
        at = bisect_left(self.entries, entry[:3], key=_place)
        self.entries.insert(at, entry)
        if at < self.read:
            self._facts = None

    def facts_of(self, carry: Carry, upto_ns: int) -> tuple[int, Facts]:
        """How many events the chapter has up to a moment, and what they say behind its past; each is read once, unless
        one comes that lies before what was read."""
        entries = self.entries
        last = len(entries) if not entries or entries[-1][0] <= upto_ns else bisect_right(entries, upto_ns, key=_moment)
        facts = self._facts
        if facts is None or self.read > last:
            facts, self.read = carry.begin(), 0
        self._facts = gather(entries[self.read : last], facts)
        self.read = last
        return last, self._facts

    def forget(self) -> None:
        """Read all of it anew the next time: what was given out says more by now than these entries do."""
        self._facts = None

    def cut_off(self, cut_at_ns: int) -> list[Entry]:
        """Go on with the next chapter, which begins with the events of a moment. Those before it, which are gone."""
        entries, facts = self.entries, self._facts
        count = bisect_left(entries, cut_at_ns, key=_moment)
        gone = entries[:count]
        del entries[:count]
        if facts is not None and goes_on_behind(facts, cut_at_ns):
            self.read -= count
        else:
            self._facts, self.read = None, 0
        return gone

    def go_back(self, before: list[Entry]) -> None:
        """Go on with the chapter before again, of which these were the events."""
        self.entries[:0] = before
        self._facts = None

    def move(self, source: str, offset_ns: int) -> int | None:
        """Move a source's events in time. Where the earliest of them lies then; None where there are none."""
        moved = [
            (max(e.at_ns + offset_ns, 0), s, n, e) if s == source else (at, s, n, e) for at, s, n, e in self.entries
        ]
        earliest = min((at for at, s, _, _ in moved if s == source), default=None)
        if earliest is not None:
            self.entries[:] = sorted(moved, key=_place)
            self._facts = None
        return earliest


def _place(entry: Entry) -> tuple[int, str, int]:
    return entry[:3]


def _moment(entry: Entry) -> int:
    return entry[0]
