"""Resampled percentiles are those of the resampled calls, waits in vain ranked last; levels are Student's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.calls.report import quantile
from earwitness.monitor.measures.bootstrap import CHUNK, Ranked, draws, levels

S = 1_000_000_000
CALLS = st.lists(
    st.tuples(st.lists(st.integers(1, 20_000), max_size=5), st.lists(st.integers(0, 40_000), max_size=2)),
    min_size=1,
    max_size=6,
)


@given(CALLS, st.integers(0, 2**32), st.sampled_from([50, 90, 95, 99]))
def test_a_percentile_of_a_resample_is_that_of_its_calls(
    calls: list[tuple[list[int], list[int]]], seed: int, percent: int
) -> None:
    """In milliseconds; the report's own percentile over the calls as often as each was drawn is the reference."""
    weights = np.random.default_rng(seed).integers(0, 4, size=(7, len(calls)))
    ranked = Ranked([[v / 1000 for v in own] for own, _ in calls], [[w / 1000 for w in waits] for _, waits in calls])

    least, greatest = ranked.quantiles(weights, [percent])

    for row, drawn in enumerate(weights):
        values = [v * 1_000_000 for (own, _), n in zip(calls, drawn, strict=True) for v in own * int(n)]
        waits = [w * 1_000_000 for (_, own), n in zip(calls, drawn, strict=True) for w in own * int(n)]
        value, more_than = quantile(values, waits, percent)
        if value is not None:
            assert least[row, 0] == greatest[row, 0] == pytest.approx(value, abs=2e-6)
        elif more_than is not None:
            assert (least[row, 0], greatest[row, 0]) == (pytest.approx(more_than, abs=2e-6), np.inf)
        else:
            assert (least[row, 0], greatest[row, 0]) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("calls", "t"), [(10, 2.262157), (15, 2.144787), (30, 2.045230), (100, 1.984217), (1000, 1.962341)]
)
def test_levels_are_those_of_students_t(calls: int, t: float) -> None:
    """t from printed tables; the level is the normal share below -sqrt(n / (n - 1)) t."""
    from statistics import NormalDist

    low, high = levels(calls)

    assert low == pytest.approx(NormalDist().cdf(-((calls / (calls - 1)) ** 0.5) * t), rel=0.01)
    assert high == pytest.approx(1 - low)


def test_draws_are_of_whole_calls_and_in_chunks() -> None:
    chunks = list(draws(30, 500, np.random.default_rng(1), CHUNK // 100))

    assert sum(len(c) for c in chunks) == 500
    assert max(len(c) for c in chunks) == 100
    assert all((c.sum(axis=1) == 30).all() for c in chunks)
