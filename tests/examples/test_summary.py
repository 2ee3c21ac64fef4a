"""The summary says what was measured, what was intended, and where the two differ."""

from dataclasses import replace

import pytest
from examples.demo.callers import ALERTS, SCENARIOS
from examples.demo.summary import Figures, compare, far_end, intended, table
from examples.demo.switchboard import Edge, Placed


def placed(scenario: str, *edges: Edge) -> Placed:
    return Placed("c01", "clinic", SCENARIOS[scenario], edges=list(edges))


def test_what_the_scripts_intend_is_counted_over_the_calls() -> None:
    wanted = intended([placed("barge_in"), placed("dead_air"), placed("transfer")], ALERTS)

    assert wanted.calls == 3
    assert wanted.cells == {"TP": 1}
    assert wanted.outcomes == {"contained": 1, "abandoned": 1, "escalated": 1}
    assert (wanted.answered, wanted.unanswered, wanted.dead_air) == (4, 1, 1)


def test_equal_counts_agree_on_every_row() -> None:
    wanted = intended([placed("missed"), placed("talked_through")], ALERTS)
    assert all(line.agrees for line in compare(wanted, wanted))


def test_a_difference_is_said_openly() -> None:
    wanted = intended([placed("missed")], ())
    measured = replace(wanted, cells={"TP": 1}, alerts=frozenset({("slow answers", "clinic", "firing")}))

    differing = [line.what for line in compare(measured, wanted) if not line.agrees]
    assert differing == ["overlaps TP", "overlaps FN", "alert slow answers, clinic, firing"]
    assert sum("differs" in row for row in table(compare(measured, wanted))) == 3


def test_the_callers_stopwatch_runs_from_the_end_of_a_line_to_the_agents_first_sound() -> None:
    call = placed(
        "visit",
        Edge(0.0, "agent", "on", None), Edge(3.0, "agent", "off", None),
        Edge(3.7, "caller", "on", "can i come in on saturday please"), Edge(5.7, "caller", "off", None),
        Edge(6.9, "agent", "on", None), Edge(9.0, "agent", "off", None),
        Edge(9.7, "caller", "on", "thank you very much goodbye"), Edge(11.0, "caller", "off", None),
        Edge(12.0, "agent", "on", None),
    )  # fmt: skip
    assert call.waits_s() == [pytest.approx(1.2), pytest.approx(1.0)]


def test_a_backchannel_starts_no_stopwatch() -> None:
    call = placed(
        "wrong_stop",
        Edge(5.0, "agent", "on", None), Edge(7.0, "caller", "on", "okay yeah"), Edge(7.4, "agent", "off", None),
        Edge(7.6, "caller", "off", None), Edge(8.8, "agent", "on", None),
    )  # fmt: skip
    assert call.waits_s() == []


def test_a_median_far_from_the_stopwatch_differs() -> None:
    call = placed("visit", Edge(1.0, "caller", "off", None), Edge(2.0, "agent", "on", None))
    counts = replace(intended([call], ()), answered=1)
    assert [line.agrees for line in far_end(counts, counts, Figures(1, 1, answered_p50_s=1.02), [call])] == [True] * 3
    assert not far_end(counts, counts, Figures(1, 1, answered_p50_s=1.4), [call])[-1].agrees


def test_dead_air_is_held_against_what_was_heard_and_not_against_the_script() -> None:
    call = placed(
        "visit", Edge(1.0, "caller", "on", None), Edge(2.0, "caller", "off", None), Edge(6.0, "agent", "on", None)
    )
    wanted = intended([call], ())
    (row, *_) = far_end(replace(wanted, dead_air=1), wanted, Figures(0, 0), [call])
    assert (row.measured, row.heard, row.intended, row.agrees) == ("1", "1", "0", True)


def test_silence_is_when_neither_of_the_two_is_heard() -> None:
    call = placed(
        "visit",
        Edge(0.5, "agent", "on", None), Edge(6.0, "caller", "on", "x"), Edge(7.0, "caller", "off", None),
        Edge(9.0, "agent", "off", None),
    )  # fmt: skip
    call.started_s, call.ended_s = 0.0, 13.0
    assert call.dead_air_s() == [4.0]
