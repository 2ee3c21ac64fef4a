"""The worst cases, few and in order."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.exemplars import KEPT, Case, Worst, cases

S = 1_000_000_000


def case(value_s: float, *, censored: bool = False, wall_s: float = 0.0, subject: str = "t") -> Case:
    return censored, round(value_s * S), "c", subject, 0, round(wall_s * S)


def cases_of(record: AnyRecord) -> dict[str, Case]:
    return dict(cases(record.__dict__))


def test_the_censored_come_first_and_then_the_slowest() -> None:
    worst = Worst(60, 10)
    for one in (case(1), case(5), case(0.5, censored=True)):
        worst.remember(0, "m", one)

    found = worst.find("m", [0], 0, 60 * S, 2)

    assert [(e.value_s, e.censored) for e in found] == [(0.5, True), (5.0, False)]


def test_a_step_keeps_few_whatever_the_order() -> None:
    for order in (range(50), range(49, -1, -1)):
        worst = Worst(60, 10)
        for i in order:
            worst.remember(0, "m", case(i))

        assert [e.value_s for e in worst.find("m", [0], 0, 60 * S, 99)] == [float(49 - i) for i in range(KEPT)]


def test_only_what_lies_in_the_time_asked_for_is_found() -> None:
    worst = Worst(60, 10)
    for wall_s in (10, 50, 70):
        worst.remember(0, "m", case(wall_s, wall_s=wall_s))

    assert [e.value_s for e in worst.find("m", [0], 20 * S, 70 * S, 9)] == [50.0]


def test_steps_that_are_past_keeping_go() -> None:
    worst = Worst(60, 2)
    worst.remember(0, "m", case(1, wall_s=0))
    worst.remember(0, "m", case(2, wall_s=600))
    worst.remember(0, "m", case(3, wall_s=1))

    assert [e.value_s for e in worst.find("m", [0], 0, 10**15, 9)] == [2.0]


def test_a_turn_that_can_be_no_latency_is_no_example(turn: Any) -> None:
    assert cases_of(turn(response_latency_ns=10**18)) == {}
    assert cases_of(turn(latency_s=1.0, premature_endpoint=True)) == {}
    assert cases_of(turn(latency_s=1.0, retracted=True)) == {}


def test_a_missed_barge_in_is_an_example_of_two_measures(overlap: Any) -> None:
    found = cases_of(overlap(cell="FN", wanted="yes", gave_way=False, talk_over_ns=3 * S))

    assert set(found) == {"missed_barge_in", "stop_latency"}
    assert found["stop_latency"][0]


def test_a_case_that_turned_out_to_be_none_makes_room() -> None:
    worst = Worst(60, 10)
    for i in range(KEPT + 1):
        worst.remember(0, "m", case(i))
    worst.forget(0, "m", case(3))
    worst.forget(0, "m", case(99))
    worst.remember(0, "m", case(0.5))

    assert [e.value_s for e in worst.find("m", [0], 0, 60 * S, 9)] == [5.0, 4.0, 2.0, 1.0, 0.5]
