"""Which calls a worker holds: from the first event of each until nothing may change it any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from earwitness.consumers.held_call import HeldCall, Timeline

FORGOTTEN: Final = 20_000
"""Ids of calls that are over for good and are remembered, so that a straggler does not open a call anew."""


class CallsHeld:
    """Calls that can still change, and the last of those that cannot. ``kept_ns``: how long a call that has ended may
    still be changed."""

    def __init__(self, new_call: Callable[[str], Timeline], kept_ns: int) -> None:
        self.by_id: Final[dict[str, HeldCall]] = {}
        self.stray = 0
        """Events of calls that are over for good."""
        self.late_facts = 0
        """Facts about calls that are no longer held."""
        self.let_go: Final[set[str]] = set()
        """Calls that are no longer held, until somebody clears it."""
        self.forgotten: Final[dict[str, int]] = {}
        """Calls that are over for good and their partitions, oldest first."""
        self.newly_forgotten: list[tuple[str, int]] = []
        """The last of these, until somebody clears it."""
        self._new_call = new_call
        self.kept_ns = kept_ns

    def open(self, call_id: str, partition: int, *, learnt_later: bool) -> HeldCall | None:
        """Hold the call of an event; None, and the event is counted, where its call is over for good, or it only says
        something of a call that is not held."""
        if learnt_later or call_id in self.forgotten:
            self.refuse(learnt_later=learnt_later)
            return None
        held = self.by_id[call_id] = HeldCall(call_id, self._new_call(call_id), partition)
        return held

    def refuse(self, *, learnt_later: bool) -> None:
        """Count an event that nothing is made of any more."""
        if learnt_later:
            self.late_facts += 1
        else:
            self.stray += 1

    def in_progress(self) -> Iterator[HeldCall]:
        """Calls that have begun and not ended, as last judged."""
        return (held for held in self.by_id.values() if held.open)

    def is_over(self, held: HeldCall, now_ns: int) -> bool:
        """Whether a call ended so long ago that nothing may change it any more."""
        return not held.open and now_ns - (held.offset_ns or 0) - held.timeline.last_at_ns > self.kept_ns

    def sweep(self, clocks_ns: Mapping[int, int]) -> list[HeldCall]:
        """Let go of calls that nothing may change any more, each by its own partition's clock."""
        gone = [held for held in self.by_id.values() if self.is_over(held, clocks_ns[held.partition])]
        for held in gone:
            del self.by_id[held.call_id]
            self.forgotten[held.call_id] = held.partition
            self.newly_forgotten.append((held.call_id, held.partition))
            self.let_go.add(held.call_id)
        while len(self.forgotten) > FORGOTTEN:
            del self.forgotten[next(iter(self.forgotten))]
        return gone

    def drop(self, partition: int) -> dict[str, HeldCall]:
        """Forget all of a partition, which somebody else has now: the calls of it that were held, by id."""
        gone = {held.call_id: held for held in self.by_id.values() if held.partition == partition}
        for call_id in gone:
            del self.by_id[call_id]
        for call_id in [call_id for call_id, p in self.forgotten.items() if p == partition]:
            del self.forgotten[call_id]
        self.newly_forgotten = [one for one in self.newly_forgotten if one[1] != partition]
        return gone
