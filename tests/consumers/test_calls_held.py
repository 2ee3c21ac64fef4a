"""Which calls are held: when one begins to be, when it is let go, and what is counted of those that are not."""

from __future__ import annotations

import pytest

from earwitness.consumers import calls_held
from earwitness.consumers.calls_held import CallsHeld
from earwitness.consumers.held_call import HeldCall
from earwitness.monitor.calls.timeline import CallTimeline

S = 1_000_000_000
KEPT_S = 60


@pytest.fixture
def calls() -> CallsHeld:
    return CallsHeld(CallTimeline, KEPT_S * S)


def opened(calls: CallsHeld, call_id: str, partition: int = 0, *, ended: bool = False) -> HeldCall:
    held = calls.open(call_id, partition, learnt_later=False)
    assert held is not None
    held.offset_ns, held.timeline.last_at_ns, held.timeline.ended = 100 * S, 20 * S, ended
    return held


def test_the_first_event_of_a_call_opens_it(calls: CallsHeld) -> None:
    held = opened(calls, "c1", 3)

    assert calls.by_id == {"c1": held}
    assert (held.call_id, held.partition, held.timeline.ended) == ("c1", 3, False)
    assert (calls.stray, calls.late_facts) == (0, 0)


def test_what_is_learnt_of_a_call_that_is_not_held_opens_none(calls: CallsHeld) -> None:
    assert calls.open("c1", 0, learnt_later=True) is None
    assert (calls.by_id, calls.stray, calls.late_facts) == ({}, 0, 1)


def test_only_calls_that_have_not_ended_are_in_progress(calls: CallsHeld) -> None:
    going_on, broken = opened(calls, "going on"), opened(calls, "broken")
    opened(calls, "ended", ended=True)
    broken.broken = True

    assert list(calls.in_progress()) == [going_on]


def test_a_call_is_let_go_when_it_ended_long_ago_by_its_own_partitions_clock(calls: CallsHeld) -> None:
    ended, elsewhere = opened(calls, "ended", 0, ended=True), opened(calls, "elsewhere", 1, ended=True)
    opened(calls, "going on", 0)
    last_ns = (100 + 20 + KEPT_S) * S

    assert calls.sweep({0: last_ns, 1: last_ns}) == []
    assert calls.sweep({0: last_ns + 1, 1: last_ns}) == [ended]

    assert calls.by_id.keys() == {"elsewhere", "going on"}
    assert (calls.let_go, calls.forgotten, calls.newly_forgotten) == ({"ended"}, {"ended": 0}, [("ended", 0)])
    assert calls.is_over(elsewhere, last_ns + 1)


def test_a_straggler_of_a_call_that_is_over_for_good_opens_none(calls: CallsHeld) -> None:
    opened(calls, "c1", ended=True)
    calls.sweep({0: 10**6 * S})

    assert calls.open("c1", 0, learnt_later=False) is None
    assert (calls.by_id, calls.stray, calls.late_facts) == ({}, 1, 0)


def test_no_more_ids_are_remembered_than_is_said(calls: CallsHeld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_held, "FORGOTTEN", 2)
    for name in "abc":
        opened(calls, name, ended=True)

    assert len(calls.sweep({0: 10**6 * S})) == 3

    assert list(calls.forgotten) == ["b", "c"]
    assert [call_id for call_id, _ in calls.newly_forgotten] == ["a", "b", "c"]


def test_of_a_partition_that_somebody_else_has_nothing_is_left(calls: CallsHeld) -> None:
    for partition in (0, 1):
        opened(calls, f"over {partition}", partition, ended=True)
        opened(calls, f"open {partition}", partition)
    calls.sweep({0: 10**6 * S, 1: 10**6 * S})

    gone = calls.drop(0)

    assert gone.keys() == {"open 0"}
    assert calls.by_id.keys() == {"open 1"}
    assert (calls.forgotten, calls.newly_forgotten) == ({"over 1": 1}, [("over 1", 1)])
    assert calls.open("over 0", 0, learnt_later=False) is not None
