"""What a worker keeps of the events since a call was saved whole is bounded, and comes back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.consumers.held_call import BLOCK, MOST_SINCE, HeldCall
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import decode_event_fast, unpack_events
from earwitness.monitor.contract.events import Connected
from earwitness.monitor.contract.wire import encode


def event(seq: int, at_ns: int | None = None) -> Any:
    made = Connected(call_id="c", source="bot", seq=seq, at_ns=seq if at_ns is None else at_ns, wall_ns=5)
    return decode_event_fast(encode(made)) if at_ns is None else made


@pytest.fixture
def held() -> HeldCall:
    return HeldCall("c", CallTimeline("c"), 0)


def test_before_it_is_saved_whole_nothing_is_kept(held: HeldCall) -> None:
    held.note([event(0)])

    assert held.since is None
    assert held.packed == []


def test_events_since_it_was_saved_whole_are_kept_in_blocks(held: HeldCall) -> None:
    held.saved_whole()
    events = [event(seq) for seq in range(BLOCK + 3)]
    for one in events:
        held.note([one])

    assert held.since == events[BLOCK:]
    assert held.packed_count == BLOCK
    held.pack()
    assert held.since == []
    assert [one for block in held.packed for one in unpack_events(block)] == events


def test_when_they_are_too_many_they_are_forgotten_and_it_is_saved_whole_again(held: HeldCall) -> None:
    held.saved_whole()
    for seq in range(MOST_SINCE):
        held.note([event(seq)])
    assert held.since is not None
    for seq in range(MOST_SINCE, MOST_SINCE + BLOCK):
        held.note([event(seq)])

    assert held.since is None
    assert held.packed == []
    held.saved_whole()
    held.note([event(0)])
    assert held.since == [event(0)]


def test_what_cannot_be_packed_makes_it_be_saved_whole(held: HeldCall) -> None:
    """Events that were made by hand."""
    held.saved_whole()
    held.note([event(0, at_ns=7)])
    held.pack()

    assert held.since is None
