"""A call that a worker holds: its fold, and what the worker knows of it besides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from earwitness.monitor.calls.arrivals import Torn
from earwitness.monitor.contract.decoder import pack_events
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.named_tuples import maker_of

MOST_SINCE: Final = 64
"""Events since a call was saved whole, before it is again."""
BLOCK: Final = 8
"""So many of them are packed together."""


class Timeline(Protocol):
    """The fold of one call, as `CallTimeline` is one. ``as_of_ns`` is a moment of the call's own clock."""

    started_wall_ns: int | None
    last_at_ns: int
    ended: bool
    pressing: bool
    due_ns: int
    final_due_ns: int

    def replaced(self, record_id: str) -> AnyRecord | None: ...
    def counts_alike(self, record_id: str) -> bool: ...
    def add(self, event: AnyEvent) -> bool: ...
    def advance(self, as_of_ns: int) -> list[AnyRecord]: ...
    def records(self, *, retracted: bool = False) -> Sequence[AnyRecord]: ...


class Change(NamedTuple):
    """A record's new revision and the one that it takes the place of."""

    old: AnyRecord | None
    new: AnyRecord


change_of: Final = maker_of(Change)


@dataclass(slots=True)
class HeldCall:
    """A call that can still change."""

    call_id: str
    timeline: Timeline
    partition: int
    number: int | None = None
    """The label set of its records, once there are any."""
    offset_ns: int | None = None
    """Least of arrival less ``at_ns``: what wall time the call's own 0 is, by the log's clock."""
    as_of_ns: int = 0
    """Wall time up to which it was judged."""
    turns: int = 0
    """How often its partition's clock had been set back when its last event came."""
    waits_ns: int | None = None
    """Arrival of the first event that was not judged yet; None where all are."""
    presses_ns: int | None = None
    """Arrival of the first of them that can change what was published."""
    broken: bool = False
    """Its fold failed: it is left as it was, and the others go on."""
    singly: bool = False
    """Its events are taken one by one: together they were at fault."""
    torn: list[Torn] = field(default_factory=list[Torn])
    """Where events of its bot are missing, as last judged."""
    changed: bool = True
    """Something came or was judged since somebody last cleared this."""
    since: list[AnyEvent] | None = None
    """The last events that came since it was saved whole; None: it is to be saved whole, be it for the first time or
    since they became too many."""
    packed: list[bytes] = field(default_factory=list[bytes])
    """Those before, in blocks, and how many these are."""
    packed_count: int = 0
    judged: int = 0
    """How many of them were there when it was judged last."""
    judged_at_ns: int | None = None
    """As of which moment of its own clock that was; None: not since it was saved whole."""

    @property
    def open(self) -> bool:
        return not self.timeline.ended and not self.broken

    def note(self, events: Iterable[AnyEvent]) -> None:
        """Events came."""
        self.changed = True
        for event in events:
            if self.since is None:
                return
            self.since.append(event)
            if len(self.since) >= BLOCK:
                self.pack()

    def pack(self) -> None:
        """Put the events since it was saved whole into few bytes, or forget them where they became too many."""
        since = self.since
        if not since:
            return
        self.packed_count += len(since)
        if self.packed_count <= MOST_SINCE:
            try:
                self.packed.append(pack_events(since))
            except (TypeError, OverflowError):
                self.packed_count = MOST_SINCE + 1
        self.since = []
        if self.packed_count > MOST_SINCE:
            self.since, self.packed, self.packed_count = None, [], 0

    def saved_whole(self) -> None:
        """It was saved whole just now."""
        self.since, self.packed, self.packed_count, self.judged, self.judged_at_ns = [], [], 0, 0, None

    def is_due(self, as_of_ns: int, rest_ns: int, final_within_ns: int) -> bool:
        """Whether time alone changes something by then: not within ``rest_ns`` of the last look, and what only becomes
        final may be so long overdue."""
        if self.offset_ns is None or as_of_ns <= self.as_of_ns + rest_ns:
            return False
        timeline, at_ns = self.timeline, as_of_ns - self.offset_ns
        return at_ns >= timeline.due_ns or at_ns >= timeline.final_due_ns + final_within_ns
