"""Whose clocks are wrong."""

from __future__ import annotations

from earwitness.consumers.clock_skew import MOST_AGENTS, ClockSkews

S = 1_000_000_000


def test_delay_hides_no_clock_that_is_ahead() -> None:
    skews = ClockSkews()
    for ahead_s in (-40, 5, -0.2):
        skews.note("clinic", round(ahead_s * S), 60 * S)

    assert skews.by_agent(61 * S) == {"clinic": 5.0}


def test_a_clock_that_was_mended_is_right_again_two_minutes_later() -> None:
    skews = ClockSkews()
    for minute, ahead_s in ((1, 5), (2, -1), (3, -1)):
        skews.note("clinic", ahead_s * S, minute * 60 * S)

    assert skews.by_agent(181 * S) == {"clinic": -1.0}


def test_agents_are_bounded() -> None:
    skews = ClockSkews()
    for i in range(1_000):
        skews.note(f"a{i}", 0, 0)

    assert len(skews.by_agent(0)) == MOST_AGENTS


def test_d17_an_agent_without_calls_for_an_hour_has_no_skew_and_makes_room() -> None:
    skews, hour = ClockSkews(), 3_600
    for i in range(MOST_AGENTS):
        skews.note(f"a{i}", S, 0)

    assert len(skews.by_agent(59 * 60 * S)) == MOST_AGENTS
    assert skews.by_agent((hour + 60) * S) == {}
    skews.note("new", S, (hour + 60) * S)
    assert skews.by_agent((hour + 60) * S) == {"new": 1.0}
