"""How far time has come, by what the log says itself."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from earwitness.consumers.partition_clocks import TURNED_BACK_NS, TURNS_TOLD, PartitionClocks

S = 1_000_000_000


def test_a_clock_is_that_of_the_newest_record_of_its_partition() -> None:
    clocks = PartitionClocks()
    turned = [clocks.note(*one) for one in ((0, 100 * S), (1, 70 * S), (0, 90 * S), (0, 101 * S), (0, 101 * S))]

    assert not any(turned)
    assert clocks.ns == {0: 101 * S, 1: 70 * S}
    assert clocks.newest_ns == 101 * S


@pytest.mark.parametrize(("back_ns", "turned"), [(TURNED_BACK_NS, False), (TURNED_BACK_NS + 1, True)])
def test_what_comes_long_before_what_was_there_tells_that_it_was_set_back(back_ns: int, turned: bool) -> None:
    clocks = PartitionClocks()
    clocks.note(0, 1_000 * S)
    clocks.note(1, 990 * S)

    assert clocks.note(0, 1_000 * S - back_ns) is turned
    assert clocks.ns[0] == (1_000 * S - back_ns if turned else 1_000 * S)
    assert clocks.newest_ns == (990 * S if turned else 1_000 * S)
    assert clocks.turns == ({0: 1} if turned else {})


def test_it_is_said_a_few_times_and_not_for_ever() -> None:
    clocks = PartitionClocks()
    with capture_logs() as said:
        for n in range(TURNS_TOLD + 5):
            clocks.note(0, (2_000 + n) * S)
            clocks.note(0, 1_000 * S)

    assert clocks.turns == {0: TURNS_TOLD + 5}
    assert [one["by_s"] for one in said] == [1_000 + n for n in range(TURNS_TOLD)]


def test_many_in_order_are_noted_at_once() -> None:
    clocks = PartitionClocks()
    clocks.note(0, 5 * S)

    assert clocks.note_all(0, [5 * S, 6 * S, 6 * S, 7 * S])
    assert clocks.note_all(1, [1 * S])
    assert clocks.ns == {0: 7 * S, 1: 1 * S}
    assert clocks.newest_ns == 7 * S


@pytest.mark.parametrize("times_s", [[4, 6], [6, 8, 7]])
def test_what_is_not_in_order_is_left_to_be_noted_one_by_one(times_s: list[int]) -> None:
    clocks = PartitionClocks()
    clocks.note(0, 5 * S)

    assert not clocks.note_all(0, [at_s * S for at_s in times_s])
    assert clocks.ns == {0: 5 * S}
    assert clocks.newest_ns == 5 * S


def test_a_clock_that_was_set_back_goes_on_from_there() -> None:
    clocks = PartitionClocks()
    clocks.note(0, 1_000 * S)
    clocks.note(0, 5 * S)

    assert not clocks.note_all(0, [4 * S, 6 * S])
    assert clocks.note_all(0, [6 * S, 7 * S])
    assert (clocks.ns, clocks.newest_ns, clocks.turns) == ({0: 7 * S}, 7 * S, {0: 1})
