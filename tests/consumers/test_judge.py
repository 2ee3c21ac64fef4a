"""One call looked at: what the windows learn of it, and what a fault in it leaves to the others."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.consumers.held_call import HeldCall
from earwitness.consumers.judge import Judge
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.reading import Reading

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


class Broken(CallTimeline):
    """A call whose fold has a fault."""

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        raise ZeroDivisionError

    def records(self, *, retracted: bool = False) -> list[AnyRecord]:
        raise ZeroDivisionError


@pytest.fixture
def judge() -> Judge:
    return Judge(MonitorSettings())


def held_of(events: list[Any], timeline: type[CallTimeline] = CallTimeline) -> HeldCall:
    """A call whose events arrived when they were made."""
    held = HeldCall(events[0].call_id, timeline(events[0].call_id), 0, offset_ns=events[0].wall_ns - events[0].at_ns)
    for event in events:
        held.timeline.add(event)
    held.note(events)
    return held


def read(judge: Judge, name: str, at_s: float) -> Reading:
    return judge.windows.read(name, window_s=300, as_of_ns=NOON_NS + round(at_s * S))


def test_a_first_look_gives_every_record_to_the_windows_and_a_second_none(judge: Judge, make_bot: Any) -> None:
    held = held_of(make_bot("c1").start().asks(2).ends(20).made)

    changes = judge.judge(held, NOON_NS + 30 * S)

    assert {(change.old, change.new.revision) for change in changes} == {(None, 0)}
    assert {"turn", "call"} <= {change.new.kind for change in changes}
    assert (read(judge, "response_latency", 30).n, read(judge, "calls", 30).count) == (1, 1)
    assert judge.judge(held, NOON_NS + 30 * S) == []
    assert [r.id for r in judge.records_of(held)] == [change.new.id for change in changes]


def test_what_was_wrong_is_taken_out_of_the_windows_again(judge: Judge, make_bot: Any) -> None:
    *asked, answered = [e for e in make_bot("c1").start().asks(2).made if e.kind != "playout" or e.phase == "first"]
    assert answered.kind == "playout"
    held = held_of(asked)
    judge.judge(held, NOON_NS + 15 * S)
    assert read(judge, "unanswered", 15).count == 1

    held.timeline.add(answered)
    changes = judge.judge(held, NOON_NS + 15 * S)

    assert [c.new.revision for c in changes if c.new.kind == "turn"] == [1]
    assert all(c.old is not None and c.old.id == c.new.id for c in changes if c.new.revision)
    assert (read(judge, "unanswered", 15).count, read(judge, "response_latency", 15).n) == (0, 1)


def test_time_does_not_go_back_and_a_look_ends_the_waiting(judge: Judge, make_bot: Any) -> None:
    held = held_of(make_bot("c1").start().asks(2).made)
    held.waits_ns = held.presses_ns = NOON_NS + 3 * S

    judge.judge(held, NOON_NS + 15 * S)
    judge.judge(held, NOON_NS + 4 * S)

    assert held.as_of_ns == NOON_NS + 15 * S
    assert held.waits_ns is None
    assert held.presses_ns is None
    assert judge.windows.late == 0


def test_a_call_of_which_only_what_is_learnt_later_came_is_not_judged(judge: Judge, make_bot: Any) -> None:
    held = held_of(make_bot("c1").start().asks(2).made)
    held.offset_ns = None

    assert judge.judge(held, NOON_NS + 15 * S) == []
    assert read(judge, "response_latency", 15).n == 0


def test_a_fault_in_one_call_is_counted_once_and_leaves_the_others_their_numbers(judge: Judge, make_bot: Any) -> None:
    bad = held_of(make_bot("bad").start().asks(2).made, Broken)
    good = held_of(make_bot("good").start().asks(2).made)

    assert judge.judge(bad, NOON_NS + 15 * S) == judge.judge(bad, NOON_NS + 16 * S) == []
    assert judge.records_of(bad) == ()
    assert judge.judge(good, NOON_NS + 15 * S)

    assert (bad.broken, good.broken, judge.broken_calls) == (True, False, 1)
    assert read(judge, "response_latency", 15).n == 1


def test_where_events_are_missing_the_windows_are_not_complete_until_the_call_is_forgotten(
    judge: Judge, make_bot: Any
) -> None:
    events = make_bot("c1").start().asks(2).asks(8).asks(14).made
    del events[len(events) // 2]
    held = held_of(events)

    judge.judge(held, NOON_NS + 25 * S)

    assert held.torn
    assert not read(judge, "response_latency", 25).complete
    assert judge.windows.torn.keys() == {"c1"}
    judge.forget(held)
    assert judge.windows.torn == {}


def test_only_calls_in_progress_are_counted_live(judge: Judge, make_bot: Any) -> None:
    one, unread = held_of(make_bot("c1").start().asks(2).made), held_of(make_bot("c2").start().made)
    judge.judge(one, NOON_NS + 15 * S)

    judge.count_live([one, unread])

    assert list(judge.windows.live.values()) == [1]
    assert judge.at_hand.open_calls == 1
    judge.count_live([])
    assert (judge.windows.live, judge.at_hand.open_calls) == ({}, 1)
