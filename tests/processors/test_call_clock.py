"""The call's clock: monotonic for durations, wall only for dates."""

from __future__ import annotations

from earwitness.processors.clock import CallClock

SECOND = 1_000_000_000


def test_it_stands_still_until_it_follows_the_pipeline() -> None:
    clock = CallClock()

    assert not clock.running
    assert clock.now_ns() == 0
    clock.follow(lambda: 7)
    assert clock.now_ns() == 7


def test_only_the_first_clock_counts() -> None:
    clock = CallClock()
    clock.follow(lambda: 7)
    clock.follow(lambda: 8)

    assert clock.now_ns() == 7


def test_a_moment_is_dated_by_how_long_ago_it_was() -> None:
    clock = CallClock(wall_ns=lambda: 1_000 * SECOND)
    clock.follow(lambda: 50 * SECOND)

    assert clock.wall_of(48 * SECOND) == 998 * SECOND
