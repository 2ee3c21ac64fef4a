"""Percentiles within 1 % of the exact ones, and sums that no order, split or replay changes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.monitor.measures.histogram import PERMILLES, Binning, Histogram, default_binning
from earwitness.monitor.measures.journal import worked_in
from earwitness.monitor.measures.reading import Quantile
from earwitness.monitor.measures.slots import AT_LEAST, CENSORED, VALUES
from earwitness.monitor.measures.sums import NOTHING, Sums, added

S = 1_000_000_000
MS = 1_000_000
DURATIONS_NS = st.integers(MS + 1, 600 * S)
MANY = {**PERMILLES, "p999": 999}


def sums_of(values_ns: Sequence[int], waits_ns: Sequence[int] = (), bounds_ns: Sequence[int] = ()) -> Sums:
    """As windows keep them: measured values, waits in vain, lower bounds."""
    noted = [(VALUES, value) for value in values_ns]
    noted += [(CENSORED, wait) for wait in waits_ns] + [(AT_LEAST, bound) for bound in bounds_ns]
    return worked_in([number for pair in noted for number in pair], default_binning())


def read(sums: Sums) -> Histogram:
    return Histogram(dict(zip(sums.keys.tolist(), sums.amounts.tolist(), strict=True)))


def histogram_of(values_ns: Sequence[int], waits_ns: Sequence[int] = ()) -> Histogram:
    return read(sums_of(values_ns, waits_ns))


@given(st.lists(DURATIONS_NS, min_size=1, max_size=300))
def test_percentiles_are_within_one_percent_of_the_exact_ones(values_ns: list[int]) -> None:
    found = histogram_of(values_ns).quantiles(MANY)

    for name, permille in MANY.items():
        exact_s = float(np.percentile(np.array(values_ns, np.float64), permille / 10)) / S
        assert found[name].value_s == pytest.approx(exact_s, rel=0.01 + 1e-9)


def latencies_ns(shape: str, count: int = 20_000) -> list[int]:
    """Latencies as they are met, within the log bins."""
    rng = np.random.default_rng(7)
    slow = count // 4
    seconds = {
        "lognormal": rng.lognormal(-0.1, 0.5, count),
        "bimodal": np.concatenate([rng.normal(0.6, 0.05, count - slow), rng.normal(4, 0.4, slow)]),
        "heavy": rng.pareto(1.5, count) * 0.3 + 0.3,
    }[shape]
    return [int(value) for value in np.clip(seconds * S, MS + 1, 600 * S)]


def exact(values_ns: list[int], waits_ns: list[int], permille: int) -> Quantile:
    """numpy's percentile with those who waited in vain above every value; "more than" where it touches one of them."""
    ranked = np.array([*sorted(values_ns), *([np.inf] * len(waits_ns))])
    with np.errstate(invalid="ignore"):
        found = float(np.percentile(ranked, permille / 10))
    if np.isfinite(found):
        return Quantile(value_s=found / S)
    return Quantile(more_than_s=max(10.0, max(waits_ns) / S))


@pytest.mark.parametrize("unanswered", [0.0, 0.0005, 0.02, 0.3])
@pytest.mark.parametrize("shape", ["lognormal", "bimodal", "heavy"])
def test_percentiles_a_thousand_merges_deep_are_within_one_percent_the_unanswered_among_them(
    shape: str, unanswered: float
) -> None:
    draw = random.Random(5)
    values_ns = draw.sample(latencies_ns(shape), 20_000)
    waits_ns = [round(draw.uniform(1, 90) * S) for _ in range(round(len(values_ns) * unanswered))]
    merged = NOTHING
    for part in range(1_000):
        merged = added((merged, sums_of(values_ns[part::1_000], waits_ns[part::1_000])))
    found = read(merged).quantiles(MANY)

    assert read(merged).n == len(values_ns) + len(waits_ns)
    for name, permille in MANY.items():
        wanted = exact(values_ns, waits_ns, permille)
        if wanted.value_s is not None:
            assert found[name].value_s == pytest.approx(wanted.value_s, rel=0.01 + 1e-9)
        else:
            assert found[name].value_s is None
            assert found[name].more_than_s == pytest.approx(wanted.more_than_s, rel=0.021)


@settings(max_examples=40)
@given(
    st.lists(st.integers(-3 * S // 10, 700 * S), min_size=1, max_size=80), st.lists(st.integers(0, 60 * S)), st.data()
)
def test_order_and_split_change_no_bit(values_ns: list[int], waits_ns: list[int], data: st.DataObject) -> None:
    whole = histogram_of(values_ns, waits_ns)
    shuffled = data.draw(st.permutations(values_ns))
    cut = data.draw(st.integers(0, len(values_ns)))
    parts = read(added((sums_of(shuffled[cut:]), sums_of(shuffled[:cut], waits_ns))))

    assert parts.counts == whole.counts
    assert parts.quantiles() == whole.quantiles()


@given(st.lists(st.integers(-3 * S // 10, 700 * S)), st.lists(st.integers(-3 * S // 10, 700 * S)))
def test_what_was_merged_can_be_taken_out_exactly(kept_ns: list[int], passing_ns: list[int]) -> None:
    passing = sums_of(passing_ns)
    both = added((sums_of(kept_ns), passing))

    assert read(added((both, passing.negated()))).counts == histogram_of(kept_ns).counts


def test_a_thousand_merges_deep_nothing_is_lost() -> None:
    draw = random.Random(3)
    values_ns = [draw.randint(1, 650 * S) for _ in range(3_000)]
    merged = NOTHING
    for i in range(1_000):
        merged = added((merged, sums_of(values_ns[i::1_000])))

    assert read(merged).counts == histogram_of(values_ns).counts
    assert read(merged).sum_ns == sum(values_ns)


def test_d18_pooled_percentiles_are_of_the_pooled_values_not_means_of_percentiles() -> None:
    pooled = added((sums_of([S // 2] * 99 + [5 * S]), sums_of([4 * S] * 10)))

    assert read(pooled).quantiles()["p95"].value_s == pytest.approx(4.0, rel=0.01)


def test_d19_nothing_measured_is_not_zero() -> None:
    assert Histogram({}).quantiles() == {name: Quantile() for name in PERMILLES}
    assert Histogram({}).n == 0


def test_a_percentile_that_touches_a_censored_rank_is_more_than_ten_seconds() -> None:
    found = histogram_of([S] * 9, [4 * S]).quantiles()

    assert found["p50"].value_s == pytest.approx(1.0, rel=0.01)
    assert found["p95"] == Quantile(more_than_s=10.0)


def test_more_than_grows_with_the_longest_wait() -> None:
    found = histogram_of([], [4 * S, 42 * S]).quantiles()["p50"]

    assert found.more_than_s == pytest.approx(42, rel=0.021)
    assert found.more_than_s is not None
    assert found.more_than_s <= 42


def test_a_percentile_that_falls_on_a_measured_rank_needs_no_other() -> None:
    """Of 11 values p90 is exactly the tenth; the censored eleventh does not touch it."""
    found = histogram_of([S] * 10, [S]).quantiles()

    assert found["p90"].value_s == pytest.approx(1.0, rel=0.01)
    assert found["p95"].more_than_s == 10.0


def test_answered_only_leaves_the_unanswered_out() -> None:
    found = histogram_of([S] * 9, [4 * S]).quantiles(answered_only=True)

    assert found["p99"].value_s == pytest.approx(1.0, rel=0.01)


def test_values_outside_the_log_bins_stand_for_themselves() -> None:
    assert histogram_of([-3 * S // 10]).quantiles()["p50"].value_s == pytest.approx(-0.3)
    assert histogram_of([900 * S]).quantiles()["p50"].value_s == pytest.approx(900)


def test_misses_of_a_threshold_count_the_unanswered_and_lower_bounds() -> None:
    histogram = read(sums_of([S, 2 * S, 3 * S], [S], [5 * S]))

    assert histogram.over(5 * S // 2) == 3
    assert histogram.over(20 * S) == 1


def test_the_bins_fit_a_series() -> None:
    assert default_binning().high == 667
    with pytest.raises(ValueError, match="bins are more than"):
        Binning("0.001")
