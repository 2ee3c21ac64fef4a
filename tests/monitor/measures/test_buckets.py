"""Settling, moving and dropping buckets changes no sum."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slots_of import value_slots

from earwitness.monitor.measures.buckets import KEPT_STEPS, OPEN_STEPS, WORTH_PACKING, Buckets, Tier
from earwitness.monitor.measures.histogram import default_binning
from earwitness.monitor.measures.journal import worked_in
from earwitness.monitor.measures.running import RunningWindow
from earwitness.monitor.measures.slots import AT_LEAST, CENSORED, COUNT, ELIGIBLE, STRIDE, VALUES
from earwitness.monitor.measures.sums import Pile, Sums, added, packed, summed, unpacked

S = 1_000_000_000
ITEMS = st.lists(st.tuples(st.integers(0, 40_000), st.integers(-3, 3)), max_size=30)
"""Keys of a few series with amounts of either sign."""
PAIRS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from([VALUES, CENSORED, AT_LEAST, ELIGIBLE, COUNT]),
        st.integers(-3 * S // 10, 700 * S),
        st.booleans(),
    ),
    max_size=40,
)
"""Series, slot, amount, and whether it is taken away."""


def sums_of(items: list[tuple[int, int]]) -> Sums:
    pairs = np.array(items, np.int64).reshape(-1, 2)
    return summed(pairs[:, 0], pairs[:, 1])


def content(sums: Sums) -> dict[int, int]:
    found = dict(zip(sums.keys.tolist(), sums.amounts.tolist(), strict=True))
    assert list(found) == sorted(found)
    assert all(found.values())
    return found


def counted(batches: list[list[tuple[int, int]]]) -> dict[int, int]:
    total: Counter[int] = Counter()
    for batch in batches:
        for key, amount in batch:
            total[key] += amount
    return {key: amount for key, amount in total.items() if amount}


@given(st.lists(ITEMS, max_size=8), st.data())
def test_sums_of_sums_are_the_sum_whatever_the_order_and_the_moments_of_reading(
    batches: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    pile = Pile()
    for batch in data.draw(st.permutations(batches)):
        pile.add(sums_of(batch))
        if data.draw(st.booleans()):
            pile.whole()

    assert content(pile.whole()) == counted(batches)
    assert content(added([sums_of(batch) for batch in batches])) == counted(batches)


@given(st.lists(st.integers(0, 5_000), min_size=300, max_size=400), ITEMS)
def test_few_keys_are_looked_up_among_many(keys: list[int], few: list[tuple[int, int]]) -> None:
    many = [(key, 1) for key in keys]

    assert content(added([sums_of(many), sums_of(few)])) == counted([many, few])


@given(PAIRS)
def test_a_journal_amounts_to_what_its_entries_say_one_by_one(pairs: list[tuple[int, int, int, bool]]) -> None:
    binning, total, journal = default_binning(), Counter[int](), list[int]()
    for series, slot, amount, is_taken in pairs:
        place, sign = series * STRIDE + slot, -1 if is_taken else 1
        journal += (~place if is_taken else place, amount)
        if slot == VALUES:
            for at, n in value_slots(amount, binning):
                total[series * STRIDE + at] += n * sign
        elif slot in (CENSORED, AT_LEAST):
            total[place + binning.bin_of(amount)] += sign
        else:
            total[place] += amount * sign

    assert content(worked_in(journal, binning)) == {key: amount for key, amount in total.items() if amount}


@given(
    st.lists(st.tuples(st.integers(0, 30), ITEMS), max_size=12), st.lists(st.integers(0, 40), min_size=1, max_size=12)
)
def test_a_window_that_moved_about_is_the_sum_of_its_buckets(
    batches: list[tuple[int, list[tuple[int, int]]]], ends: list[int]
) -> None:
    window = RunningWindow(6)
    rows = [Tier(10, 60, default_binning(), windows=[window]) for _ in range(2)]
    window.rows += rows
    for n, (step, items) in enumerate(batches):
        rows[n % 2].take(step, sums_of(items))
        rows[n % 2].settle()
        window.move(ends[n % len(ends)])
    for end in ends:
        window.move(end)

    assert content(window.sums()) == counted([b for step, b in batches if ends[-1] - 6 <= step < ends[-1]])


@given(
    st.lists(
        st.tuples(st.integers(0, 60 * 3_600), st.integers(0, 3), st.sampled_from([0, 10, 60, 600, 3_600])),
        min_size=1,
        max_size=40,
    )
)
def test_every_tier_holds_what_was_noted_whenever_it_was_settled(notes: list[tuple[int, int, int]]) -> None:
    """An amount noted at any time, the newest first or last, is in each tier that still keeps its moment."""
    buckets = Buckets(default_binning())
    noted: list[tuple[int, int]] = []
    newest_s = -1
    kept: dict[int, dict[int, int]] = {step_s: {} for step_s in KEPT_STEPS}
    for at_s, series, settled_s in notes:
        newest_s = max(newest_s, at_s)
        journal = buckets.journal(at_s * S, 1)
        if journal is not None:
            journal += (series * STRIDE + COUNT, 1)
            noted.append((at_s, series))
        for step_s, keep in KEPT_STEPS.items():
            counts, oldest = kept[step_s], newest_s // step_s - keep
            if at_s // step_s > oldest:
                counts[at_s // step_s] = counts.get(at_s // step_s, 0) + 1
            kept[step_s] = {step: count for step, count in counts.items() if step > oldest}
        if settled_s:
            buckets.settle(settled_s)

    found: dict[int, dict[int, int]] = {step_s: {} for step_s in KEPT_STEPS}
    for step_s, step, sums in buckets.all_sums():
        if total := sum(content(sums).values()):
            found[step_s][step] = total
    assert found == kept


def test_a_tier_keeps_its_newest_steps_and_says_that_some_went() -> None:
    tier = Tier(10, 3, default_binning())
    for step in (5, 6, 7):
        assert not tier.advance(step)
        tier.take(step, sums_of([(1, 1)]))

    assert tier.advance(9)
    assert not tier.keeps(6)
    assert tier.keeps(7)
    assert tier.steps == [7]


def test_a_closed_bucket_is_packed_and_takes_what_is_late() -> None:
    tier = Tier(60, 60, default_binning())
    keys = range(2, 3 * WORTH_PACKING)
    for amount in (2, 1):
        tier.take(1, sums_of([(key, amount) for key in keys]))
        tier.settle()
    bucket = tier._buckets[1]  # pyright: ignore[reportPrivateUsage]
    tier.advance(OPEN_STEPS + 2)
    assert bucket._packed  # pyright: ignore[reportPrivateUsage]
    assert len(bucket._packed) < 16 * len(keys) // 5  # pyright: ignore[reportPrivateUsage]
    assert content(tier.sums(1)) == dict.fromkeys(keys, 3)
    tier.take(1, sums_of([(5, 1)]))
    tier.settle()

    assert content(tier.sums(1)) == dict.fromkeys(keys, 3) | {5: 4}
    assert tier.changed == {1}
    tier.advance(OPEN_STEPS + 3)
    assert bucket._packed  # pyright: ignore[reportPrivateUsage]
    assert content(tier.sums(1)) == dict.fromkeys(keys, 3) | {5: 4}


@given(st.lists(st.tuples(st.integers(0, 2**50), st.integers(-(2**62), 2**62))))
def test_packing_loses_no_bit(items: list[tuple[int, int]]) -> None:
    sums = sums_of(list(dict(items).items()))

    assert content(unpacked(packed(sums))) == content(sums)


def test_many_notes_are_worked_in_before_they_take_memory() -> None:
    buckets = Buckets(default_binning())
    sizes = []
    for _ in range(70_000):
        journal = buckets.journal(S, 1)
        assert journal is not None
        journal += (COUNT, 1)
        sizes.append(len(journal))

    assert max(sizes) <= 2 * 32_768
    assert [(step_s, content(sums)) for step_s, _, sums in buckets.all_sums()] == [
        (step_s, {COUNT: 70_000}) for step_s in KEPT_STEPS
    ]


def test_what_was_saved_goes_back_to_each_tier_alone() -> None:
    buckets, other = Buckets(default_binning()), Buckets(default_binning())
    for at_s in (0, 5, 61, 4_000, 90_000):
        journal = buckets.journal(at_s * S, 1)
        assert journal is not None
        journal += (COUNT, 1)
    saved = {(step_s, step): sums for step_s, step, sums in buckets.all_sums()}
    assert buckets.newest_ns is not None
    other.put_back(buckets.newest_ns, saved)

    assert {(s, step): content(sums) for s, step, sums in other.all_sums()} == {
        place: content(sums) for place, sums in saved.items()
    }
