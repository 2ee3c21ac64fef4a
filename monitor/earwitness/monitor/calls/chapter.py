"""A stretch of a call between two cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.chapters import LOOK_AHEAD_NS
from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.calls.onsets import Onset, onsets
from earwitness.monitor.calls.page import Draft
from earwitness.monitor.calls.shelf import ShelvedEvents, shelve_events
from earwitness.monitor.calls.timeline_state import ChapterState

TRIES: Final = 32
"""So many onsets in a row are tried, one by one; speech that alternates like that is no talk."""


@dataclass(slots=True)
class Chapter:
    """A stretch of the call between two cuts. ``settled`` is filled when the next chapter begins."""

    carry: Carry
    judged_ns: int = -1
    """The moment as of which the cut before it was judged: an earlier event that comes later undoes it."""
    looked_ns: int = -1
    """Up to where the next cut was looked for in vain."""
    tried_ns: int = -1
    """When the last onset was noticed at which a cut was tried in vain."""
    edge_ns: int = 0
    """The last onset that was looked at."""
    failed: int = 0
    """How many onsets were no place for a cut."""
    patience: int = 0
    """Before it has so many events, no other is looked for."""
    settled: list[Draft] = field(default_factory=list[Draft])
    """Its records, until they are published and put away."""
    fresh: list[Entry] = field(default_factory=list[Entry])
    """Its events, once the next chapter has begun and until they are put away."""
    events: ShelvedEvents | None = None
    """Its events, put away."""
    shelf: int | None = None
    """Where its records were put away."""
    overlaps: tuple[str, ...] = ()

    def state(self) -> ChapterState:
        """It as plain values, but for its events; its records are published."""
        return ChapterState(
            self.carry, self.judged_ns, self.looked_ns, self.tried_ns, self.edge_ns, self.failed, self.patience,
            self.events is not None, self.shelf, self.overlaps,
        )  # fmt: skip

    @classmethod
    def restored(cls, was: ChapterState, events: ShelvedEvents | None) -> Chapter:
        """The way back of `state`."""
        return cls(
            was.carry, was.judged_ns, was.looked_ns, was.tried_ns, was.edge_ns, was.failed, was.patience,
            events=events, shelf=was.shelf, overlaps=was.overlaps,
        )  # fmt: skip

    def look_anew(self) -> None:
        """Forget at which onsets no cut was found."""
        self.looked_ns = self.tried_ns = max(self.judged_ns - LOOK_AHEAD_NS, -1)
        self.edge_ns = self.carry.cut_ns
        self.failed = self.patience = 0

    def next_onset(self, entries: Sequence[Entry], upto_ns: int, match_ns: int) -> Onset | None:
        """The next onset among its events at which no cut was tried yet."""
        if upto_ns <= self.looked_ns:
            return None
        ahead = onsets(entries, self.looked_ns, upto_ns, edge_ns=self.edge_ns, match_ns=match_ns)
        onset = next(ahead, None)
        if onset is None:
            self.looked_ns = upto_ns
            return None
        self.looked_ns = self.tried_ns = onset.at_ns
        self.edge_ns = onset.edge_ns
        return onset

    def put_away(self) -> None:
        """Put its events away, if they are not."""
        if self.fresh:
            self.events, self.fresh = shelve_events(self.fresh), []

    def fails(self, events: int) -> None:
        """No cut was found with so many events. Each try costs as much as the whole chapter: where many failed, the
        next waits until the chapter has grown by a part of itself, so that all of them cost no more than its events."""
        self.failed += 1
        if self.failed >= TRIES:
            self.patience = events + events // 8
