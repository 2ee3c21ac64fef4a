"""Losses are ranges by call, source and reason."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from earwitness.processors.losses import Losses
from earwitness.processors.sink import Outbound


def item(seq: int, call_id: str = "call", source: str = "bot") -> Outbound:
    return Outbound(call_id, source, seq, "stage", 100 + seq, 200 + seq, b"{}")


def test_neighbours_are_one_range_and_others_are_not() -> None:
    losses = Losses()
    for seq in (5, 3, 4, 9, 1):
        losses.note(item(seq), "buffer_full")
    losses.note(item(2), "too_large")
    (call,) = losses.take()
    assert [(r.first_seq, r.last_seq, r.reason, r.source) for r in call.ranges] == [
        (1, 1, "buffer_full", "bot"), (3, 5, "buffer_full", "bot"), (9, 9, "buffer_full", "bot"),
        (2, 2, "too_large", "bot"),
    ]  # fmt: skip
    assert (call.at_ns, call.wall_ns, call.count) == (109, 209, 6)
    assert not losses
    assert losses.take() == []


def test_calls_and_sources_are_kept_apart() -> None:
    losses = Losses()
    losses.note(item(0), "buffer_full")
    losses.note(item(1, source="taps"), "buffer_full")
    losses.note(item(2, call_id="other"), "buffer_full")
    assert [(call.call_id, len(call.ranges)) for call in losses.take()] == [("call", 2), ("other", 1)]
    assert losses.total == 3


@given(st.lists(st.integers(0, 40), unique=True))
def test_the_ranges_hold_exactly_what_was_lost(seqs: list[int]) -> None:
    losses = Losses()
    for seq in seqs:
        losses.note(item(seq), "buffer_full")
    ranges = [(r.first_seq, r.last_seq) for call in losses.take() for r in call.ranges]
    assert [seq for first, last in ranges for seq in range(first, last + 1)] == sorted(seqs)
    assert all(after > last + 1 for (_, last), (after, _) in pairwise(ranges))
