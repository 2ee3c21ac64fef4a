"""When a call is looked at: at once, when somebody waits for it, or when it is its turn."""

from __future__ import annotations

import pytest

from earwitness.consumers.held_call import HeldCall
from earwitness.consumers.looks import LAGGING_NS, WAITING_NS, Looks
from earwitness.monitor.calls.timeline import CallTimeline

S = 1_000_000_000


def call(name: str) -> HeldCall:
    return HeldCall(name, CallTimeline(name), 0)


def due(looks: Looks, newest_ns: int, *, lagging: bool = False, idle: bool = False) -> list[str]:
    """The calls that are judged."""
    found: list[str] = []
    for held in looks.due(newest_ns, lagging=lagging, idle=idle):
        held.waits_ns = held.presses_ns = None
        found.append(held.call_id)
    return found


@pytest.fixture
def looks() -> Looks:
    """Three calls: one began, one presses since 5 s, one only waits since 2 s."""
    made, begun, pressing, waiting = Looks(), call("begun"), call("pressing"), call("waiting")
    made.hurry(begun, 5 * S)
    made.wait(waiting, 2 * S)
    made.wait(pressing, 5 * S)
    made.press(pressing, 5 * S)
    return made


def test_who_keeps_up_looks_at_once_at_what_presses(looks: Looks) -> None:
    assert due(looks, 5 * S) == ["begun", "pressing"]
    assert due(looks, 2 * S + WAITING_NS - 1) == []
    assert due(looks, 2 * S + WAITING_NS) == ["waiting"]
    assert not looks.put_off


def test_who_is_behind_leaves_it_and_says_so(looks: Looks) -> None:
    assert due(looks, 5 * S, lagging=True) == ["begun"]
    assert looks.put_off
    assert due(looks, 2 * S + LAGGING_NS, lagging=True) == ["waiting"]
    assert due(looks, 5 * S + LAGGING_NS, lagging=True) == ["pressing"]
    assert not looks.put_off


def test_where_nothing_comes_all_are_looked_at_once(looks: Looks) -> None:
    assert due(looks, 0, lagging=True, idle=True) == ["begun", "pressing", "waiting"]
    assert due(looks, 10**6 * S, idle=True) == []


def test_who_was_dropped_or_judged_otherwise_is_not_looked_at(looks: Looks) -> None:
    gone = call("gone")
    looks.hurry(gone, 1 * S)
    looks.wait(gone, 1 * S)
    looks.press(gone, 1 * S)
    looks.drop(gone)
    assert (gone.waits_ns, gone.presses_ns) == (None, None)
    assert due(looks, 10**6 * S) == ["begun", "pressing", "waiting"]

    looks.wait(gone, 1 * S)
    looks.clear()
    assert due(looks, 10**6 * S, idle=True) == []


def test_a_call_that_was_left_elsewhere_goes_on_to_wait() -> None:
    looks, both, none = Looks(), call("both"), call("none")
    both.waits_ns, both.presses_ns = 3 * S, 4 * S
    looks.hold(both)
    looks.hold(none)

    assert due(looks, 4 * S - 1) == []
    assert due(looks, 4 * S) == ["both"]


def test_calls_noted_in_another_order_are_put_in_that_of_their_arrival() -> None:
    looks = Looks()
    looks.wait(call("first"), 9 * S)
    looks.hurry(call("at once"), 15 * S)
    counts = looks.counts()
    for name, at_s in (("c", 12), ("a", 10), ("b", 11), ("b2", 11)):
        held = call(name)
        looks.wait(held, at_s * S)
        looks.press(held, (20 - at_s) * S)
    for name, at_s in (("later", 14), ("now", 13), ("later", 12)):
        looks.hurry(call(name), at_s * S)
    looks.sort_from(counts)

    assert due(looks, 9 * S) == ["at once", "now", "later", "c", "b", "b2"]
    assert due(looks, 10 * S + WAITING_NS) == ["a", "first"]
