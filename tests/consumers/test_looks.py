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


def test_calls_noted_in_another_order_are_put_in_that_of_what_they_are_noted_for() -> None:
    looks = Looks()
    looks.wait(call("first"), 9 * S)
    looks.hurry(call("at once"), 15 * S)
    with looks.in_order_of_places():
        for name, place, at_s in (("c", 3, 12), ("a", 0, 10), ("b", 2, 11), ("b2", 1, 11)):
            held, looks.place = call(name), place
            looks.wait(held, at_s * S)
            looks.place = 10 - place
            looks.press(held, (20 - at_s) * S)
        for name, place in (("y", 6), ("x", 5)):
            looks.place = place
            looks.wait(call(name), 12 * S)
        for name, place in (("later", 9), ("now", 8), ("later", 7)):
            looks.place = place
            looks.hurry(call(name), 13 * S)

    assert looks.place == 0
    assert due(looks, 9 * S) == ["at once", "now", "later", "c", "b", "b2"]
    assert due(looks, 12 * S + WAITING_NS) == ["a", "first", "x", "y"]


def test_what_was_noted_is_put_in_order_where_something_breaks() -> None:
    looks = Looks()

    def noted() -> None:
        with looks.in_order_of_places():
            for place, name in ((5, "b"), (4, "a")):
                looks.place = place
                looks.hurry(call(name), 1 * S)
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        noted()
    assert (due(looks, 0), looks.place) == (["a", "b"], 0)
