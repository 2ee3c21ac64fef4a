"""When each side was audible, from a whole call's events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from earwitness.monitor.calls.sides import facts_of, sides_of

S = 1_000_000_000
Call = Callable[..., Any]


def seconds(spans: Any) -> list[tuple[float, float]]:
    return [(a / S, b / S) for a, b in spans]


def test_sides_are_those_of_the_best_evidence(call: Call) -> None:
    story = call(caller_edges=("audio", "vad")).user(1.2, 2.3, "hi").bot(3.0, 5.0, cut=False)
    story.edge(True, 1.0, evidence="audio").edge(False, 2.0, evidence="audio")

    found = sides_of(story.end(8).events())

    assert (seconds(found.caller), seconds(found.agent), found.length_ns) == ([(1.0, 2.0)], [(3.0, 5.0)], 8 * S)


def test_events_come_in_any_order_twice_and_from_several_processes(call: Call) -> None:
    story = call().user(1.0, 2.0, "hi").bot(3.0, 5.0, cut=False)
    story.put(0.0, "call_started", source="tool", agent="clinic", owns_clock=False, clock_offset_ns=2 * S)
    story.put(1.0, "playout", source="tool", phase="first", edge_ns=4 * S, response_id="x")
    story.put(2.0, "playout", source="tool", phase="last", edge_ns=5 * S, response_id="x")
    events = story.end(9).events()

    found = sides_of([*reversed(events), *events])

    assert seconds(found.agent) == [(3.0, 5.0), (6.0, 7.0)]


def test_a_call_that_goes_on_ends_at_the_present(call: Call) -> None:
    events = call().vad_start(1.2).events()

    assert seconds(sides_of(events, until_ns=4 * S).caller) == [(1.0, 4.0)]
    assert facts_of([])[1] == 0
