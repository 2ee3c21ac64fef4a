"""Calls that are laid aside between two looks read as if they had been at hand all the time."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from demo_calls import HOUR_NS, Sent, demo_calls

from earwitness.consumers.at_hand import at_hand_of
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import TimelineHandler
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.saved import NotSaved, ResumedCall, SleepingCall, restored, saved
from earwitness.monitor.calls.shelf import packed
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.timeline_state import read_head
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast, decode_record_fast, pack_events
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Entry

S = 1_000_000_000


def folded(sent: list[Sent], at_hand: int | None, batch: int = 60) -> tuple[TimelineFold, list[Any]]:
    fold, changes = TimelineFold(MonitorSettings(calls_at_hand=at_hand)), list[Any]()
    for first in range(0, len(sent), batch):
        for n, one in enumerate(sent[first : first + batch], first):
            fold.add(Entry("events", 0, n, one.call_id, one.payload, one.wall_ns), decode_event_fast(one.payload))
        changes += fold.settle()
        changes += fold.advance(sent[min(first + batch, len(sent)) - 1].wall_ns, most=200)
    return fold, changes


def asleep(fold: TimelineFold) -> int:
    return sum(isinstance(held.timeline, SleepingCall) for held in fold.held.values())


def test_calls_that_sleep_between_looks_change_alike() -> None:
    sent = demo_calls(12, 60, 20)
    kept, all_changes = folded(sent, None)
    few, some_changes = folded(sent, 3)
    assert asleep(kept) == 0
    assert asleep(few) == 9
    assert some_changes == all_changes
    end_ns = sent[-1].wall_ns + 400 * S
    assert few.advance(end_ns) == kept.advance(end_ns)
    for call_id, held in kept.held.items():
        assert few.held[call_id].timeline.records(retracted=True) == held.timeline.records(retracted=True)


@pytest.mark.parametrize(("open_calls", "stay"), [(0, 1_000), (1_000, 1_000), (2_000, 500), (10_000, 100), (10**7, 0)])
def test_the_more_calls_are_open_the_fewer_stay_at_hand(open_calls: int, stay: int) -> None:
    assert at_hand_of(open_calls, 1_000) == stay


def test_calls_that_are_over_are_laid_aside_in_time() -> None:
    sent = demo_calls(2, 30, 0)
    fold, _ = folded(sent, 500)
    assert asleep(fold) == 0
    later = demo_calls(3, 30, 0, ended=False)[-1]
    now_ns = sent[-1].wall_ns + 120 * S
    fold.add(Entry("events", 0, 9_999, "later", later.payload, now_ns), decode_event_fast(later.payload))
    fold.settle()
    assert asleep(fold) == 2


@pytest.mark.parametrize("waiting", [0, 5, 40])
def test_a_call_is_saved_awake_or_asleep(waiting: int) -> None:
    events = [decode_event_fast(one.payload) for one in demo_calls(1, 30, 0)]
    live = CallTimeline(events[0].call_id)
    first = len(events) - waiting
    for event in events[:first]:
        live.add(event)
    live.advance(live.last_at_ns)
    sleeping = SleepingCall.of(live)
    for event in events[first:]:
        assert sleeping.add(event) == live.add(event)
        assert (sleeping.pressing, sleeping.last_at_ns, sleeping.due_ns) == (
            live.pressing, live.last_at_ns, live.due_ns,
        )  # fmt: skip
    end_ns = live.last_at_ns + 400 * S
    changed = live.advance(end_ns)
    for body in (sleeping.saved(), saved(sleeping.woken())):
        again = restored(body, bounds=DEFAULT_BOUNDS)
        assert again.last_at_ns == live.last_at_ns
        assert again.advance(end_ns) == changed


def other_clock(call_id: str, seq: int, at_s: float, kind: type[Any], **fields: Any) -> Any:
    """An event of a process whose clock is 1,000 s ahead of the call's."""
    at_ns = round((1_000 + at_s) * S)
    event = kind(call_id=call_id, source="gateway", seq=seq, at_ns=at_ns, wall_ns=HOUR_NS + at_ns, **fields)
    return decode_event_fast(encode(event))


def shown(call: Any) -> tuple[Any, ...]:
    return call.started_wall_ns, call.last_at_ns, call.ended, call.pressing, call.due_ns, call.final_due_ns


def test_labels_and_other_clocks_move_a_sleeping_calls_end_no_more_than_one_at_hand() -> None:
    events = [decode_event_fast(one.payload) for one in demo_calls(1, 30, 0, ended=False)]
    call_id, live = events[0].call_id, CallTimeline(events[0].call_id)
    begun = {"agent": "clinic", "owns_clock": False, "clock_offset_ns": -1_000 * S}
    for event in (*events, other_clock(call_id, 0, 1, ev.CallStarted, **begun)):
        live.add(event)
    live.advance(live.last_at_ns)
    sleeping = SleepingCall.of(live)
    label = ev.HumanLabel(
        call_id=call_id, source="label", seq=0, at_ns=7_000 * S, wall_ns=HOUR_NS, subject="o1", label="wanted"
    )
    once_more = {**begun, "clock_offset_ns": -995 * S}
    told = [
        other_clock(call_id, 1, 31, ev.Participant, state="joined", participant="p2", role="other"),
        decode_event_fast(encode(label)),
        other_clock(call_id, 2, 32, ev.CallStarted, **once_more),
        other_clock(call_id, 3, 33, ev.Participant, state="left", participant="p2", role="other"),
    ]
    for event in told:
        sleeping.add(event)
        live.add(event)
        assert shown(sleeping) == shown(live)
    assert live.last_at_ns == 38 * S


@pytest.mark.parametrize("resumed", [False, True])
def test_a_call_sleeps_on_when_its_records_are_asked_for_or_saved(resumed: bool) -> None:
    events = [decode_event_fast(one.payload) for one in demo_calls(1, 30, 0)]
    live, first = CallTimeline(events[0].call_id), len(events) - 60
    for event in events[:first]:
        live.add(event)
    live.advance(live.last_at_ns)
    sleeping = SleepingCall.of(live)
    if resumed:
        sleeping = ResumedCall(sleeping, [pack_events(events[first:-30])], judged=30, judged_at_ns=S * 10**3)
        for event in events[first:-30]:
            live.add(event)
        live.advance(S * 10**3)
        live = CallTimeline.load(live.dump())
        sleeping.last_at_ns, sleeping.ended, sleeping.pressing = live.last_at_ns, live.ended, live.pressing
    assert sleeping.records() == live.records()
    saved(sleeping)
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, CallTimeline)] == [live]
    for event in events[-30:]:
        sleeping.add(event)
        live.add(event)
        assert (sleeping.last_at_ns, sleeping.ended, sleeping.pressing) == (live.last_at_ns, live.ended, live.pressing)
    end_ns = live.last_at_ns + 400 * S
    assert sleeping.advance(end_ns) == live.advance(end_ns)
    assert shown(sleeping) == shown(live)


def test_what_is_no_saved_call_is_refused() -> None:
    body = saved(CallTimeline("c1"))
    other = replace(DEFAULT_BOUNDS, turn_gap_ns=DEFAULT_BOUNDS.turn_gap_ns + 1)
    for broken, bounds in ((b"", DEFAULT_BOUNDS), (body[:9], DEFAULT_BOUNDS), (body, other)):
        with pytest.raises(NotSaved):
            restored(broken, bounds=bounds)


def test_a_call_whose_bytes_cannot_be_read_leaves_the_others_their_records() -> None:
    sent = demo_calls(2, 30, 0)
    fold, _ = folded(sent, 0)
    handler = TimelineHandler(fold, prefix="earwitness", ledger=Ledger())
    unreadable, whole = fold.held.values()
    head = read_head(unreadable.timeline.woken().dump())  # type: ignore[attr-defined]
    broken = packed(msgspec.structs.replace(head, body=packed([])))
    unreadable.timeline = SleepingCall(broken, [], bounds=DEFAULT_BOUNDS)

    handler.offer([unreadable.call_id, whole.call_id])

    offered = {decode_record_fast(one.value or b"").id for batch in handler.take() for one in batch.records}
    assert offered == {record.id for record in whole.timeline.records(retracted=True)}
    assert (unreadable.broken, whole.broken, fold.broken_calls) == (True, False, 1)
