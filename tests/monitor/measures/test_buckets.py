"""Packing, moving and dropping buckets changes no sum."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.measures.buckets import Bucket, RunningWindow, Tier
from earwitness.monitor.measures.slots import STRIDE

S = 1_000_000_000
ITEMS = st.lists(st.tuples(st.integers(0, 40_000), st.integers(-3, 3)), max_size=30)
"""Keys of a few series with amounts of either sign."""


def content(bucket: Bucket) -> dict[int, int]:
    total: Counter[int] = Counter()
    for key, amount in bucket.items():
        total[key] += amount
    return {key: amount for key, amount in total.items() if amount}


@given(st.lists(ITEMS, max_size=5), st.data())
def test_sealing_at_any_moment_changes_nothing(batches: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    plain, sealed = Bucket(), Bucket()
    for batch in batches:
        plain.add(batch)
        sealed.add(batch)
        if data.draw(st.booleans()):
            sealed.seal()

    assert content(sealed) == content(plain)


@given(
    st.lists(st.tuples(st.integers(0, 30), ITEMS), max_size=12), st.lists(st.integers(0, 40), min_size=1, max_size=12)
)
def test_a_window_that_moved_about_is_the_sum_of_its_buckets(
    batches: list[tuple[int, list[tuple[int, int]]]], ends: list[int]
) -> None:
    tier = Tier(10, 60)
    window = RunningWindow(tier, 6)
    for step, items in batches:
        tier.bucket(step).add(items)
    for end in ends:
        window.move(end)

    expected: Counter[int] = Counter()
    for step in range(ends[-1] - 6, ends[-1]):
        if step in tier.buckets:
            expected.update(content(tier.buckets[step]))
    found = {
        series * STRIDE + slot: amount for series, slots in window.counts.items() for slot, amount in slots.items()
    }
    assert found == {key: amount for key, amount in expected.items() if amount}


def test_a_tier_keeps_its_newest_steps_and_says_which_went() -> None:
    tier = Tier(10, 3)
    for step in (5, 6, 7):
        assert tier.advance(step) == []
        tier.bucket(step).add([(1, 1)])

    assert tier.advance(9) == [5, 6]
    assert not tier.keeps(6)
    assert tier.keeps(7)
    assert tier.oldest_kept == 7


def test_buckets_behind_the_newest_are_packed_and_take_what_is_late() -> None:
    tier = Tier(10, 60)
    tier.bucket(1).add([(5, 2)])
    tier.advance(9)
    assert not tier.buckets[1].open

    tier.bucket(1).add([(5, 1)])
    tier.advance(12)

    assert not tier.buckets[1].open
    assert content(tier.buckets[1]) == {5: 3}
    assert tier.buckets[1].series() == {0}
