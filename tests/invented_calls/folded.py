"""Ways to feed a call's events to its fold, and what is compared of the records."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.call_chapters import CallChapters
from earwitness.monitor.calls.timeline import CallTimeline

LONG_AFTER_NS = 100_000 * S
OF_ARRIVAL = frozenset({"revision", "duplicates", "late_in_call"})


def content(records: Iterable[Any], *, without: frozenset[str] = OF_ARRIVAL) -> dict[str, dict[str, Any]]:
    """Standing records by id, without what tells of their arrival."""
    return {
        r.id: {name: value for name, value in r.model_dump().items() if name not in without}
        for r in records
        if not r.retracted
    }


def at_once(events: Iterable[Any], as_of_ns: int = LONG_AFTER_NS, kind: type[CallTimeline] = CallTimeline) -> Any:
    """A timeline that was given all the events and asked once."""
    timeline = kind(CALL_ID)
    for event in events:
        timeline.add(event)
    timeline.advance(as_of_ns)
    return timeline


def shuffled(events: Sequence[Any], chance: random.Random, most_ns: int = DEFAULT_BOUNDS.reorder_ns // 2) -> list[Any]:
    """The events in an order of arrival in which nobody is further behind than the contract allows."""
    return sorted(events, key=lambda e: e.at_ns + chance.randrange(0, most_ns))


class Uncut(CallTimeline):
    """The same fold without chapters."""

    def __init__(self, call_id: str) -> None:
        super().__init__(call_id)
        self._chapters = _One(self._unsettled, self._records, self.bounds)


class _One(CallChapters):
    def cut(self, upto_ns: int, last_at_ns: int, wall_ns: int) -> None:
        return
