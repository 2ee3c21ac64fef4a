"""What was read at once, call by call: events that follow each other in one call are cheaper to take together."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.log.protocol import Entry

_partition: Final = attrgetter("partition")


def by_partition(entries: Sequence[Entry]) -> Iterator[tuple[int, slice]]:
    """Stretches of one partition, and where they lie."""
    start = 0
    for partition, own in groupby(entries, _partition):
        end = start + sum(1 for _ in own)
        yield partition, slice(start, end)
        start = end


def by_call(events: Sequence[AnyEvent]) -> dict[str, list[int]]:
    """The places of each call's events, calls in the order of their first."""
    found: dict[str, list[int]] = {}
    for place, event in enumerate(events):
        own = found.get(event.call_id)
        if own is None:
            found[event.call_id] = [place]
        else:
            own.append(place)
    return found


def runs(events: Sequence[AnyEvent], places: list[int], alone: Container[str]) -> list[list[int]]:
    """The places of one call's events, those whose kind stands alone by themselves."""
    found: list[list[int]] = [[]]
    for place in places:
        if events[place].kind in alone:
            found += [place], []
        else:
            found[-1].append(place)
    return [run for run in found if run]
