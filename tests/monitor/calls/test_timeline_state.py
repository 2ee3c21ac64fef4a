"""A call that is dumped and loaded goes on as if it had never been away; other bytes are refused."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from demo_calls import HOUR_NS, demo_call
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.anything import any_events
from invented_calls.effort import effort
from invented_calls.mutilated import mutilated_calls
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.timeline_state import NotAState
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import UnreadableRecord, encode

any_call = st.one_of(plausible_calls(8), mutilated_calls(), any_events())
CHANCE = st.randoms(use_true_random=False)


def reloaded(timeline: CallTimeline) -> CallTimeline:
    return CallTimeline.load(timeline.dump())


def told(timeline: CallTimeline) -> tuple[Any, ...]:
    """What a worker looks at."""
    return (
        timeline.started_wall_ns, timeline.last_at_ns, timeline.ended, timeline.settled, timeline.pressing,
        timeline.due_ns, timeline.final_due_ns,
    )  # fmt: skip


def as_read(events: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each event as it was made and as it is read from a log; those that no log could hold are left out."""
    pairs: list[tuple[Any, Any]] = []
    for event in events:
        with suppress(UnreadableRecord):
            pairs.append((event, decode_event_fast(encode(event))))
    return pairs


@effort(40)
@given(any_call, CHANCE, st.booleans())
def test_a_call_goes_on_from_what_was_dumped(events: list[Any], chance: random.Random, read: bool) -> None:
    events = [pair[read] for pair in as_read(events)]
    kept, moved = CallTimeline(CALL_ID), CallTimeline(CALL_ID)
    for event in events:
        assert kept.add(event) == moved.add(event)
        if chance.randrange(6) == 0:
            moved = reloaded(moved)
        if chance.randrange(8) == 0:
            as_of_ns = kept.last_at_ns + chance.randrange(3) * S
            assert [r.model_dump() for r in moved.advance(as_of_ns)] == [r.model_dump() for r in kept.advance(as_of_ns)]
        assert told(moved) == told(kept)
    end_ns = kept.last_at_ns + DEFAULT_BOUNDS.silent_call_ns + 1
    assert moved.advance(end_ns) == kept.advance(end_ns)
    assert reloaded(moved).records(retracted=True) == kept.records(retracted=True)


@pytest.fixture(scope="module")
def dumped() -> bytes:
    timeline = CallTimeline("call-1")
    for one in demo_call(1, HOUR_NS, 60):
        timeline.add(decode_event_fast(one.payload))
    timeline.advance(timeline.last_at_ns)
    return timeline.dump()


@pytest.mark.parametrize("fault", ["nothing", "other JSON", "garbage", "cut short", "another format"])
def test_bytes_that_are_no_state_are_refused(dumped: bytes, fault: str) -> None:
    broken = {
        "nothing": b"",
        "other JSON": b"[]",
        "garbage": b"\x00\xff garbage",
        "cut short": dumped[:-9],
        "another format": dumped[:1] + b"\x7f" + dumped[2:],
    }
    with pytest.raises(NotAState):
        CallTimeline.load(broken[fault])


def test_bytes_with_any_fault_are_refused_or_read(dumped: bytes) -> None:
    chance = random.Random(7)
    refused = 0
    for _ in range(400):
        body = bytearray(dumped)
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        try:
            CallTimeline.load(bytes(body))
        except NotAState:
            refused += 1
    assert refused > 20


def test_a_call_that_was_judged_by_other_bounds_is_refused(dumped: bytes) -> None:
    with pytest.raises(NotAState, match="bounds"):
        CallTimeline.load(dumped, bounds=replace(DEFAULT_BOUNDS, turn_gap_ns=DEFAULT_BOUNDS.turn_gap_ns + 1))


def test_the_clock_of_another_process_is_kept_in_mind() -> None:
    def made(kind: type[Any], source: str, seq: int, at_s: int, **fields: Any) -> Any:
        return kind(call_id=CALL_ID, source=source, seq=seq, at_ns=at_s * S, wall_ns=S, **fields)

    timeline = CallTimeline(CALL_ID)
    timeline.add(made(ev.CallStarted, "bot", 0, 0, agent="a"))
    timeline.add(made(ev.CallStarted, "tools", 0, 1, agent="a", owns_clock=False, clock_offset_ns=5 * S))
    moved = reloaded(timeline)
    for one in (timeline, moved):
        one.add(made(ev.App, "tools", 1, 3, name="outcome", value="callback"))
    assert moved.last_at_ns == timeline.last_at_ns == 8 * S


def test_records_that_lie_stacked_stand_and_come_back_when_a_person_judges_them() -> None:
    """Of a call of many chapters the old ones are put together when it is dumped."""
    sent = [decode_event_fast(one.payload) for one in demo_call(1, HOUR_NS, 300, ended=False)]
    kept, moved = CallTimeline(sent[0].call_id), CallTimeline(sent[0].call_id)
    for first in range(0, len(sent), 60):
        for event in sent[first : first + 60]:
            assert kept.add(event) == moved.add(event)
        moved = reloaded(moved)
        assert kept.advance(kept.last_at_ns) == moved.advance(moved.last_at_ns)
    assert len(moved.dump()) < len(kept.dump()) * 1.1
    assert len(moved._records.published._stacks) > 2
    assert moved.records(retracted=True) == kept.records(retracted=True)
    overlaps = [record.id for record in kept.records() if record.kind == "overlap"]
    assert len(overlaps) > 8

    for seq, overlap in enumerate((overlaps[0], overlaps[1], overlaps[-1])):
        label = ev.HumanLabel(
            call_id=sent[0].call_id, source="label", seq=seq, at_ns=kept.last_at_ns, wall_ns=sent[-1].wall_ns,
            subject=overlap, label="not" if seq else "wanted", author="somebody",
        )  # fmt: skip
        for one in (kept, moved):
            one.add(label)
        changed = kept.advance(kept.last_at_ns)
        assert [record.id for record in changed] == [overlap]
        assert changed == moved.advance(moved.last_at_ns)
        moved = reloaded(moved)

    by_id = {record.id: record for record in kept.records(retracted=True)}
    assert {record.id: record for record in moved.records(retracted=True)} == by_id
