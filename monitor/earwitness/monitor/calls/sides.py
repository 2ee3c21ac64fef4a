"""A whole call's events sorted by what they speak of, and when each side was audible: what a picture is drawn from.

Offline: all events are at hand, so nothing is late and nothing has to be let go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Entry, Facts
from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.calls.scene import build_scene
from earwitness.monitor.calls.timeline import LEARNT_LATER
from earwitness.monitor.contract.events import AnyEvent


@dataclass(frozen=True, slots=True)
class Sides:
    """When who was audible, on the call's clock, by the best evidence of each edge (definitions, "Time and evidence").

    ``others``: somebody else on the caller's side. Spans are sorted and disjoint within a side.
    """

    length_ns: int
    caller: tuple[Span, ...] = ()
    agent: tuple[Span, ...] = ()
    others: tuple[Span, ...] = ()


def facts_of(events: Iterable[AnyEvent]) -> tuple[Facts, int]:
    """The facts of one call and where it ended, or its last event. Each event counts once, and those of another process
    are moved to the clock of the one that owns the call."""
    in_order = sorted(events, key=lambda e: (e.at_ns, e.source, e.seq))
    given = list({(e.source, e.seq): e for e in reversed(in_order)}.values())
    offsets = {e.source: e.clock_offset_ns for e in given if e.kind == "call_started" and not e.owns_clock}
    entries: list[Entry] = [(max(e.at_ns + offsets.get(e.source, 0), 0), e.source, e.seq, e) for e in given]
    entries.sort(key=lambda entry: entry[:3])
    facts = gather(entries)
    last = max((at for at, _, _, e in entries if e.kind not in LEARNT_LATER), default=0)
    return facts, last if facts.ended_ns is None else facts.ended_ns


def sides_of(events: Iterable[AnyEvent], *, until_ns: int | None = None, bounds: Bounds = DEFAULT_BOUNDS) -> Sides:
    """Both sides of one call. ``until_ns``: where the call ends or the present lies; by default its end."""
    facts, end_ns = facts_of(events)
    horizon = end_ns if until_ns is None else until_ns
    scene = build_scene(facts, bounds, as_of_ns=horizon, over=until_ns is None or facts.ended_ns is not None)
    return Sides(
        horizon, tuple(scene.caller_spans()), tuple(scene.agent_spans()), tuple(scene.caller_spans(other=True))
    )
