"""What is put away comes back as it was, whatever an event claims."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.shelf import shelve_events
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import encode

S = 1_000_000_000
Call = Callable[..., Any]


@pytest.mark.parametrize("claimed", [0, 2**63 - 1, 2**63, 2**64, 10**30, -(10**30)])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("speech_started", "correction_ns"), ("call_started", "clock_offset_ns"), ("health", "frames_seen")],
)
def test_a_number_that_no_machine_word_holds_stops_no_fold(call: Call, kind: str, name: str, claimed: int) -> None:
    story = call(caller_edges=("vad",), agent_edges=("playout",))
    story.put(1.0, "health", frames_seen=1)
    for n in range(6):
        at = 10.0 * n + 1
        story.user(at, at + 2, "my order number is four two one").turn_end(at + 2.3)
        story.bot(at + 3.0, at + 7.0, "It is on its way.", cut=False)
    told = [json.loads(encode(event)) for event in story.events()]
    for one in told:
        if one["kind"] == kind:
            one[name] = claimed
            one.update({"owns_clock": False} if kind == "call_started" else {})
    events = [decode_event_fast(json.dumps(one).encode()) for one in told]
    timeline = CallTimeline("c1")

    for event in events:
        timeline.add(event)
        timeline.advance(timeline.last_at_ns)

    entries = [(max(e.at_ns + claimed, 0), e.source, e.seq, e) for e in events]
    assert shelve_events(entries).entries() == entries
