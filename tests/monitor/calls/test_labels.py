"""Labels of people: the last one wins in whatever order they arrive, and can be taken back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from earwitness.monitor.calls.labels import Word, in_force, label_event
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.whole_call import fold

Call = Callable[..., Any]
S = 1_000_000_000


def a_call(call: Call) -> list[Any]:
    """The caller says "mhm" while the agent speaks, which talks on."""
    told = call().bot(10.0, 20.0, cut=False).user(13.0, 13.5, "mhm").end(30.0)
    events: list[Any] = told.events()
    return events


def add(events: list[Any], label: str, token: str, **more: Any) -> None:
    """A label as the command writes it, by somebody who has seen all that is there."""
    word = Word("o1", label, **more)
    events.append(label_event(word, "c1", events, u_on_ns=13 * S, wall_ns=0, token=token))


def overlap(events: list[Any]) -> Any:
    (found,) = [r for r in fold(events) if r.kind == "overlap"]
    return found


def test_a_label_decides_before_every_rule(call: Call) -> None:
    events = a_call(call)
    assert (overlap(events).cell, overlap(events).decided_by) == ("TN", "backchannel")

    add(events, "wanted", "a", author="anna")

    assert (overlap(events).cell, overlap(events).decided_by) == ("FN", "human")
    assert (overlap(events).labelled_by, overlap(events).want_class) == ("anna", None)


def test_the_class_of_a_false_want_is_the_persons(call: Call) -> None:
    events = a_call(call)
    add(events, "not", "a")
    assert overlap(events).want_class == "backchannel"

    add(events, "not", "b", want_class="not_addressed")

    assert (overlap(events).cell, overlap(events).want_class) == ("TN", "not_addressed")


def test_the_last_label_wins_in_whatever_order_they_arrive(call: Call) -> None:
    events = a_call(call)
    add(events, "wanted", "f")
    add(events, "not", "e", want_class="noise")
    add(events, "wanted", "b", author="ben")
    labels, others = events[-3:], events[:-3]

    for order in itertools.permutations(labels):
        timeline = CallTimeline("c1")
        for event in [*others, *order]:
            timeline.add(event)
            timeline.advance(60 * S)
        assert [(r.cell, r.labelled_by) for r in timeline.records() if r.kind == "overlap"] == [("FN", "ben")]
    assert in_force(events, "o1") == Word("o1", "wanted", None, "ben")


def test_a_label_that_is_taken_back_leaves_what_the_rules_say(call: Call) -> None:
    events = a_call(call)
    before = overlap(events)
    add(events, "wanted", "z", author="anna")
    add(events, "cleared", "a")

    assert overlap(events).model_copy(update={"revision": 0}) == before
    assert in_force(events, "o1") is None


def test_people_who_label_at_once_do_not_collide_and_a_label_written_twice_is_one(call: Call) -> None:
    events = a_call(call)
    first = label_event(Word("o1", "wanted", author="anna"), "c1", events, u_on_ns=13 * S, wall_ns=0, token="a")
    second = label_event(Word("o1", "not", author="ben"), "c1", events, u_on_ns=13 * S, wall_ns=0, token="b")
    timeline = CallTimeline("c1")
    taken = [timeline.add(event) for event in [*events, second, first, second]]

    timeline.advance(60 * S)

    assert taken[-3:] == [True, True, False]
    records = timeline.records()
    assert [r.labelled_by for r in records if r.kind == "overlap"] == ["ben"]
    assert [(r.missing_events, r.duplicates) for r in records if r.kind == "call"] == [(0, 1)]


def test_a_label_during_the_call_holds_at_once(call: Call) -> None:
    events = a_call(call)[:-1]
    add(events, "wanted", "a")
    timeline = CallTimeline("c1")
    for event in events:
        timeline.add(event)
    timeline.advance(25 * S)
    assert [r.cell for r in timeline.records() if r.kind == "overlap"] == ["FN"]
