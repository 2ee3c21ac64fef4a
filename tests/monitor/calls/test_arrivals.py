"""Which of a call's events came, which are missing, and between which moments."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from earwitness.monitor.calls.arrivals import Arrivals, Torn
from earwitness.monitor.calls.facts import Facts

S = 1_000_000_000


def arrived(*seqs: int, source: str = "bot") -> Arrivals:
    """Events that were made a second apart, one for each number, as they came."""
    arrivals = Arrivals()
    for seq in seqs:
        arrivals.take(source, seq, seq * S)
    return arrivals


@pytest.mark.parametrize(
    ("seqs", "torn"),
    [
        ((0, 1, 2), []),
        ((0, 1, 3), [Torn("bot", 2, 2, 1 * S, 3 * S)]),
        ((0, 3, 4), [Torn("bot", 1, 2, 0, 3 * S)]),
        ((0, 2, 4), [Torn("bot", 1, 1, 0, 2 * S), Torn("bot", 3, 3, 2 * S, 4 * S)]),
        ((2, 3), [Torn("bot", 0, 1, 0, 2 * S)]),
        ((0, 3, 1, 2), []),
    ],
)
def test_a_gap_reaches_from_the_event_before_it_to_the_one_behind(seqs: tuple[int, ...], torn: list[Torn]) -> None:
    assert arrived(*seqs).torn() == torn


def test_a_gap_that_is_filled_in_part_stays_as_wide_as_it_was() -> None:
    arrivals = arrived(0, 5)
    arrivals.take("bot", 2, 2 * S)

    assert arrivals.torn() == [Torn("bot", 1, 1, 0, 5 * S), Torn("bot", 3, 4, 0, 5 * S)]


def test_what_came_too_late_to_be_folded_is_torn_though_it_came() -> None:
    arrivals = arrived(0, 2)
    arrivals.take("bot", 1, 1 * S)
    arrivals.note_late("bot", 1, 1 * S)

    torn = [Torn("bot", 1, 1, 1 * S, 1 * S, late=True)]
    back = Arrivals()
    back.restore(arrivals.state(), 0)
    assert arrivals.torn() == back.torn() == torn


def test_who_is_no_part_of_the_bot_leaves_no_gap() -> None:
    assert arrived(0, 9, source="judge").torn() == []


def test_put_away_and_back_it_says_the_same_of_gaps_that_are_still_there() -> None:
    arrivals = arrived(0, 1, 4, 7)
    known = arrivals.torn()
    back = Arrivals()
    back.restore(arrivals.state(), arrivals.duplicates)

    assert back.torn() == known
    for one in (arrivals, back):
        one.take("bot", 8, 8 * S)
        one.take("bot", 10, 10 * S)
    news = Torn("bot", 9, 9, 8 * S, 10 * S)
    assert back.torn() == arrivals.torn() == [*known, news]
    back.take("bot", 2, 2 * S)
    back.take("bot", 3, 3 * S)
    assert back.torn() == [*known[1:], news]


def test_put_away_without_a_gap_it_knows_when_the_next_one_begins() -> None:
    back = Arrivals()
    back.restore(arrived(0, 1, 2).state(), 0)
    back.take("bot", 5, 5 * S)

    assert back.torn() == [Torn("bot", 3, 4, 2 * S, 5 * S)]


def test_in_whatever_order_they_come_duplicates_are_told_and_gaps_are_those_of_the_numbers() -> None:
    draw = random.Random(7)
    for _ in range(300):
        seqs = [seq for seq in range(12) if draw.random() < 0.7]
        twice = [*seqs, *draw.choices(seqs, k=3)] if seqs else []
        draw.shuffle(twice)
        arrivals = Arrivals()
        news = [arrivals.take("taps", seq, seq * S) for seq in twice]

        assert sum(news) == len(seqs)
        assert arrivals.duplicates == len(twice) - len(seqs)
        torn = arrivals.torn()
        missing = {seq for one in torn for seq in range(one.first_seq, one.last_seq + 1)}
        assert missing == set(range(max(seqs, default=0))) - set(seqs)
        assert all(one.from_ns <= one.first_seq * S and one.to_ns >= one.last_seq * S for one in torn)


def test_what_is_missing_is_what_was_passed_over_and_nobody_reported() -> None:
    draw = random.Random(8)
    for _ in range(500):
        seqs = {seq for seq in range(20) if draw.random() < 0.4}
        dropped = [(draw.randrange(22), draw.randrange(22)) for _ in range(draw.randrange(5))]
        reported = {seq for first, last in dropped for seq in range(first, last + 1)}

        missing = arrived(*draw.sample(sorted(seqs), len(seqs))).missing({"bot": dropped})

        assert missing == len(set(range(max(seqs, default=0))) - seqs - reported)


def test_numbers_far_apart_cost_no_more_than_near_ones() -> None:
    far = 3_000_000
    tracemalloc.start()
    arrivals = arrived(0, far, 1, far + 2)
    found = [arrivals.missing({"bot": ranges}) for ranges in ([], [(5, far)], [(0, far + 5)])]
    torn = arrivals.torn()
    state = arrivals.state()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == [far - 1, 4, 0]
    assert [(one.first_seq, one.last_seq) for one in torn] == [(2, far - 1), (far + 1, far + 1)]
    assert len(state["bot"][2]) == 2
    assert most < 100_000


def test_a_dropped_range_that_ends_before_it_begins_is_none() -> None:
    facts = Facts(dropped={"bot": [(1, 1), (9, 2)]})

    tally = arrived(0, 3).tally(facts, events=2, late=0, stray=0)

    assert (tally.missing, tally.dropped) == (1, 1)
