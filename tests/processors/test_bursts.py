"""Late audio that makes up for its delay, told from audio that stays away."""

from __future__ import annotations

import pytest

from earwitness.processors.bursts import LONGEST_S, Bursts

MS = 1_000_000
CHUNK_S = 0.02


def told(arrivals_ms: list[float]) -> list[bool]:
    bursts = Bursts()
    return [bursts.heard(CHUNK_S, round(at_ms * MS)) for at_ms in arrivals_ms]


def test_audio_in_time_and_small_delays_are_no_burst() -> None:
    assert not any(told([20.0 * i + (70 if i % 9 == 4 else 0) for i in range(1, 200)]))


@pytest.mark.parametrize("blocked_ms", [200, 1_500, 4_000])
def test_a_burst_is_over_once_audio_keeps_its_own_pace(blocked_ms: int) -> None:
    late = [1_000.0 + blocked_ms + i / 10 for i in range(blocked_ms // 20)]
    on = told([*(20.0 * i for i in range(1, 51)), *late, *(1_000.0 + blocked_ms + 20 * i for i in range(1, 20))])

    assert not any(on[:50])
    assert all(on[50 : 50 + len(late)])
    assert on[50 + len(late) :].index(False) <= 10


def test_behind_a_true_gap_there_is_no_burst_beyond_a_look() -> None:
    on = told([20.0, 5_000.0, *(5_000.0 + 20 * i for i in range(1, 20))])

    assert on[1]
    assert on.index(False, 1) <= 6


def test_a_burst_that_nothing_follows_is_over() -> None:
    bursts = Bursts()
    bursts.heard(CHUNK_S, 0)
    assert bursts.heard(CHUNK_S, 2_000 * MS)

    assert bursts.on(2_050 * MS)
    assert not bursts.on(2_100 * MS)


def test_a_sender_that_is_always_too_fast_is_not_waited_for() -> None:
    on = told([0.0, 1_000.0, *(1_000.0 + 5 * i for i in range(1, 1_000))])

    assert on.index(False, 1) * 5 <= (LONGEST_S + 0.2) * 1_000
