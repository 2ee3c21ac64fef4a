from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.audio.resampling import Resampler


@given(
    st.sampled_from([8_000, 11_025, 22_050, 24_000, 44_100, 48_000]),
    st.sampled_from([8_000, 16_000]),
    st.lists(st.integers(1, 700), min_size=1, max_size=20),
)
def test_chunks_of_any_size_give_the_same_samples_as_the_whole(from_hz: int, to_hz: int, sizes: list[int]) -> None:
    pcm = (8_000 * np.sin(np.arange(sum(sizes)) / 9)).astype(np.int16)
    chunked = Resampler(from_hz, to_hz)
    parts = []
    at = 0
    for size in sizes:
        parts.append(chunked.feed(pcm[at : at + size]))
        at += size

    whole = Resampler(from_hz, to_hz).feed(pcm)

    assert np.abs(np.concatenate(parts).astype(int) - whole).max(initial=0) <= 1
    assert whole.size == pytest.approx(pcm.size * to_hz / from_hz, abs=3)


@pytest.mark.parametrize(("from_hz", "to_hz"), [(48_000, 16_000), (44_100, 16_000), (8_000, 16_000), (24_000, 8_000)])
def test_a_tone_keeps_its_level_and_its_place(from_hz: int, to_hz: int) -> None:
    def tone(rate_hz: int) -> np.ndarray:
        return (10_000 * np.sin(2 * np.pi * 300 * np.arange(rate_hz) / rate_hz)).astype(np.int16)

    made = Resampler(from_hz, to_hz).feed(tone(from_hz)).astype(float)
    wanted = tone(to_hz)[: made.size].astype(float)

    assert np.sqrt((made**2).mean()) == pytest.approx(np.sqrt((wanted**2).mean()), rel=0.03)
    assert np.corrcoef(made, wanted)[0, 1] > 0.99
