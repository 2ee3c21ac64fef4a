"""A call folded at once, from all of its events."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord


def fold(
    events: Iterable[AnyEvent], *, as_of_ns: int | None = None, bounds: Bounds = DEFAULT_BOUNDS
) -> list[AnyRecord]:
    """Fold a whole call at once. Without ``as_of_ns`` the log is taken for complete: a call that never ended has.

    Raises ValueError for events of more than one call.
    """
    ordered = sorted(events, key=attrgetter("at_ns", "source", "seq"))
    if not ordered:
        return []
    ids = {e.call_id for e in ordered}
    if len(ids) > 1:
        raise ValueError(f"events of {len(ids)} calls given to the fold of one: {', '.join(sorted(ids)[:3])}")
    timeline = CallTimeline(ordered[0].call_id, bounds=bounds)
    for event in ordered:
        timeline.add(event)
    # Asked once, a timeline has changed nothing yet: what is new are all of its records.
    return timeline.advance(timeline.last_at_ns + bounds.silent_call_ns + 1 if as_of_ns is None else as_of_ns)
