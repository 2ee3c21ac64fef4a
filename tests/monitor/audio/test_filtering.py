"""Batches of short transforms give what the sums by their definition give."""

from __future__ import annotations

import numpy as np
import pytest

from earwitness.monitor.audio.filtering import BLOCK, filtered, lagged_sums, transform_size


@pytest.mark.parametrize("size", [160, 161, BLOCK - 1, BLOCK, BLOCK + 1, 2_000, 80_319])
def test_a_filter_makes_of_any_length_what_convolution_makes(size: int) -> None:
    draw = np.random.default_rng(size)
    samples, taps = draw.normal(size=size), draw.normal(size=160)

    assert filtered(samples, taps) == pytest.approx(np.convolve(samples, taps, mode="valid"), abs=1e-9)


@pytest.mark.parametrize("size", [1, 159, BLOCK, 5_000])
def test_lagged_sums_are_products_with_what_came_before(size: int) -> None:
    draw = np.random.default_rng(size)
    lags = 160
    samples, signals = draw.normal(size=size + lags - 1), draw.normal(size=(2, size))

    sums = lagged_sums(signals, samples, lags)

    by_definition = [[signal @ samples[lags - 1 - k : lags - 1 - k + size] for k in range(lags)] for signal in signals]
    assert sums == pytest.approx(np.array(by_definition), abs=1e-9)


@pytest.mark.parametrize(
    ("least", "size"), [(1, 1), (4_096, 4_096), (4_097, 6_144), (44_176, 49_152), (49_153, 65_536)]
)
def test_a_transform_is_of_a_power_of_two_or_three_quarters_of_one(least: int, size: int) -> None:
    assert transform_size(least) == size
