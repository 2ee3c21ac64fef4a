"""Events that are no more than the next of a call, many at once: what nearly all are when a call is read in one go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, starmap
from operator import itemgetter, lt
from typing import Final

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.contract.events import AnyEvent

_place: Final = itemgetter(0, 1, 2)


def in_order(events: Sequence[AnyEvent], behind_ns: int, bounds: Bounds) -> list[Entry] | None:
    """The entries of events of different numbers, in their order. None where one of them is not behind a moment, or may
    be late among the others."""
    entries: list[Entry] = [(event.at_ns, event.source, event.seq, event) for event in events]
    if not all(starmap(lt, pairwise(entries))):
        entries.sort(key=_place)
        if entries[-1][0] - entries[0][0] > bounds.reorder_ns or len(entries) > bounds.reorder_events:
            return None
    return entries if entries[0][0] > behind_ns else None
