"""Which of a call's events came, which are missing, and between which moments."""

from __future__ import annotations

import random

import pytest

from earwitness.monitor.calls.arrivals import Arrivals, Torn

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
    assert arrived(*seqs).torn((), 9 * S) == torn


def test_a_gap_that_is_filled_in_part_stays_as_wide_as_it_was() -> None:
    arrivals = arrived(0, 5)
    arrivals.take("bot", 2, 2 * S)

    assert arrivals.torn((), 9 * S) == [Torn("bot", 1, 1, 0, 5 * S), Torn("bot", 3, 4, 0, 5 * S)]


def test_what_came_too_late_to_be_folded_is_torn_though_it_came() -> None:
    arrivals = arrived(0, 2)
    arrivals.take("bot", 1, 1 * S)
    arrivals.note_late("bot", 1, 1 * S)

    assert arrivals.torn((), 9 * S) == [Torn("bot", 1, 1, 1 * S, 1 * S, late=True)]


def test_who_is_no_part_of_the_bot_leaves_no_gap() -> None:
    assert arrived(0, 9, source="judge").torn((), 9 * S) == []


def test_put_away_and_back_it_says_the_same_of_gaps_that_are_still_there() -> None:
    arrivals = arrived(0, 1, 4, 7)
    known = arrivals.torn((), 9 * S)
    back = Arrivals()
    back.restore(arrivals.state(), arrivals.duplicates)

    assert back.torn(known, 9 * S) == known
    for one in (arrivals, back):
        one.take("bot", 8, 8 * S)
        one.take("bot", 10, 10 * S)
    news = Torn("bot", 9, 9, 8 * S, 10 * S)
    assert back.torn(known, 10 * S) == arrivals.torn((), 10 * S) == [*known, news]
    back.take("bot", 2, 2 * S)
    back.take("bot", 3, 3 * S)
    assert back.torn(known, 10 * S) == [*known[1:], news]


def test_put_away_without_a_gap_it_knows_when_the_next_one_begins() -> None:
    back = Arrivals()
    back.restore(arrived(0, 1, 2).state(), 0)
    back.take("bot", 5, 5 * S)

    assert back.torn((), 9 * S) == [Torn("bot", 3, 4, 2 * S, 5 * S)]


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
        torn = arrivals.torn((), 20 * S)
        missing = {seq for one in torn for seq in range(one.first_seq, one.last_seq + 1)}
        assert missing == set(range(max(seqs, default=0))) - set(seqs)
        assert all(one.from_ns <= one.first_seq * S and one.to_ns >= one.last_seq * S for one in torn)
