from __future__ import annotations

import pytest

from earwitness.monitor.audio.sample_clock import SampleClock

RATE, CHUNK = 16_000, 320


def clock_of(arrivals_ms: list[float]) -> SampleClock:
    clock = SampleClock(RATE)
    for arrival_ms in arrivals_ms:
        clock.arrived(CHUNK, round(arrival_ms * 1e6))
    return clock


def at_ms(clock: SampleClock, position_ms: float) -> float:
    return clock.at_ns(round(position_ms * RATE / 1000)) / 1e6


def test_punctual_chunks_date_their_samples() -> None:
    clock = clock_of([100 + 20 * i for i in range(1, 51)])

    assert at_ms(clock, 500) == pytest.approx(600)


def test_a_late_chunk_moves_nothing() -> None:
    clock = clock_of([20 * i + (60 if i % 7 == 3 else 0) for i in range(1, 51)])

    assert at_ms(clock, 7 * 20) == pytest.approx(140)
    assert at_ms(clock, 999) == pytest.approx(999)


def test_a_stall_that_is_made_up_for_is_no_gap() -> None:
    punctual = [20.0 * i for i in range(1, 26)]
    burst = [1_000.0] * 25
    clock = clock_of([*punctual, *burst, *(20.0 * i for i in range(51, 76))])

    assert at_ms(clock, 600) == pytest.approx(600)


def test_a_gap_that_stays_dates_both_sides_by_their_own_arrivals() -> None:
    clock = clock_of([*(20.0 * i for i in range(1, 26)), *(2_000 + 20.0 * i for i in range(26, 51))])

    assert at_ms(clock, 480) == pytest.approx(480)
    assert at_ms(clock, 700) == pytest.approx(2_700)


def test_a_sender_whose_clock_runs_slow_is_followed() -> None:
    clock = clock_of([20.0 * i * 1.0005 for i in range(1, 30_001)])

    assert at_ms(clock, 599_990) == pytest.approx(599_990 * 1.0005, abs=5)


def test_memory_does_not_grow() -> None:
    clock = clock_of([20.0 * i for i in range(1, 20_001)])

    assert len(clock._delays) <= 30


def test_without_audio_there_is_no_time() -> None:
    with pytest.raises(ValueError, match="no audio"):
        SampleClock(RATE).at_ns(0)
