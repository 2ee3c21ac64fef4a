"""Many events taken at once leave a call as it is when they come one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.altered import later, lived
from invented_calls.effort import effort
from invented_calls.mutilated import mutilate
from invented_calls.plausible import Teller
from invented_calls.script import CALL_ID, WALL_NS, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.next_events import in_order
from earwitness.monitor.calls.timeline import APART, CallTimeline
from earwitness.monitor.contract import events as ev

CHANCE = st.randoms(use_true_random=False)


def story(chance: random.Random) -> list[Any]:
    """A call as it arrives, often well: with a silence in it, with things that come late or never."""
    script = Teller(chance).tell(6)
    if chance.randrange(4) == 0:
        return lived(mutilate(chance, script.raw()))
    events = lived(script.events())
    if chance.randrange(3) == 0:
        place, by_ns = chance.randrange(len(events)), chance.choice([40, 299, 301, 900]) * S
        events[place:] = [later(event, by_ns) for event in events[place:]]
    for _ in range(chance.choice([0, 0, 1, 5])):
        place = chance.randrange(len(events) + 1)
        moved = events.pop(place) if place < len(events) else None
        if moved is not None:
            events.insert(place + chance.choice([1, 3, 20, 200]), moved)
    return events


def portions(chance: random.Random, events: Sequence[Any]) -> list[list[Any]]:
    """Runs of what may be taken at once, and what may not by itself."""
    found: list[list[Any]] = [[]]
    for event in events:
        if event.kind in APART:
            found += [event], []
        elif chance.randrange(15) == 0:
            found.append([event])
        else:
            found[-1].append(event)
    return [run for run in found if run]


def told_both_ways(chance: random.Random) -> tuple[CallTimeline, CallTimeline, Counter[bool]]:
    """A call told one by one and at once, the same after each run; and how many events were taken at once or not."""
    singly, at_once, taken = CallTimeline(CALL_ID), CallTimeline(CALL_ID), Counter[bool]()
    for run in portions(chance, story(chance)):
        calm = None if run[0].kind in APART else at_once.add_all(run)
        taken[calm is not None] += len(run)
        pressed: list[bool] = []
        for event in run:
            singly.add(event)
            pressed.append(singly.pressing)
            if calm is None:
                at_once.add(event)
        assert calm is None or calm == (pressed.index(True) if True in pressed else len(run))
        assert at_once.dump() == singly.dump()
        if chance.randrange(3) == 0:
            as_of_ns = singly.last_at_ns + chance.choice([-40, 0, 0, 1, 4, 12, 100, 400]) * S
            assert at_once.advance(as_of_ns) == singly.advance(as_of_ns)
            assert at_once.dump() == singly.dump()
    return singly, at_once, taken


@effort(40)
@given(CHANCE)
def test_taken_at_once_they_leave_the_call_as_one_by_one(chance: random.Random) -> None:
    singly, at_once, _ = told_both_ways(chance)
    assert at_once.records(retracted=True) == singly.records(retracted=True)


def test_of_what_the_property_tells_a_large_share_is_taken_at_once() -> None:
    taken = Counter[bool]()
    for seed in range(20):
        taken += told_both_ways(random.Random(seed))[2]

    assert taken[True] > taken[False] / 4


def word(seq: int, at_s: float, source: str = "bot") -> Any:
    """One of those events of which there are most."""
    at_ns = round(at_s * S)
    return ev.AgentText(
        call_id=CALL_ID, source=source, seq=seq, at_ns=at_ns, wall_ns=WALL_NS + at_ns, response_id="r", spoken="hm",
    )  # fmt: skip


def begun() -> CallTimeline:
    """A call that goes on since five seconds."""
    call = CallTimeline(CALL_ID)
    call.add(ev.CallStarted(call_id=CALL_ID, source="bot", seq=0, at_ns=0, wall_ns=WALL_NS, agent="a"))
    call.add(word(1, 5))
    call.advance(5 * S)
    return call


def test_the_next_events_are_taken_at_once() -> None:
    assert begun().add_all([word(2, 6), word(3, 6), word(0, 6, source="taps"), word(4, 7)]) == 4


def test_when_time_alone_will_change_something_is_the_same_for_what_comes_out_of_order() -> None:
    singly, at_once = begun(), begun()
    for call in (singly, at_once):
        call.add(
            ev.Playout(call_id=CALL_ID, source="bot", seq=2, at_ns=6 * S, wall_ns=WALL_NS, phase="first", edge_ns=S)
        )
        call.advance(7 * S)
    cut = ev.Interruption(call_id=CALL_ID, source="bot", seq=4, at_ns=8 * S, wall_ns=WALL_NS)
    run = [word(3, 8), cut]

    assert at_once.add_all(run) == 2
    for event in run:
        singly.add(event)
    assert at_once.due_ns == singly.due_ns
    assert at_once.dump() == singly.dump()


def test_a_little_disorder_is_put_in_order() -> None:
    events = [word(2, 7), word(3, 6), word(4, 6.5)]
    found = in_order(events, 5 * S, DEFAULT_BOUNDS)

    assert found is not None
    assert [entry[0] for entry in found] == [6 * S, 6.5 * S, 7 * S]
    assert begun().add_all(events) == 3


@pytest.mark.parametrize(
    "events",
    [
        [word(2, 4), word(3, 6)],
        [word(2, 5), word(3, 6)],
        [word(2, 6), word(2, 7)],
        [word(2, 6), word(4, 7)],
        [word(2, 6), word(1, 7, source="taps")],
        [word(2, 6), word(3, 305.1)],
        [word(2, 60), word(3, 6)],
        [word(2 + n, 6.0 - n / 1_000) for n in range(900)][::-1],
        [word(2, 6.5), *[word(3 + n, 6 + (n + 1) / 4_000) for n in range(1_001)]],
    ],
    ids=[
        "before the last", "with the last", "twice", "one is missing", "the taps' first is missing", "after a silence",
        "54 s late", "backwards", "a thousand behind",
    ],
)  # fmt: skip
def test_what_may_be_more_than_the_next_is_not_taken(events: list[Any]) -> None:
    call = begun()
    before = call.dump()

    assert call.add_all(events) is None
    assert call.dump() == before


def test_nor_is_it_where_a_look_found_what_it_may_undo() -> None:
    call = begun()
    call.advance(50 * S)

    assert call.add_all([word(2, 49), word(3, 51)]) is None
    assert call.add_all([word(2, 51), word(3, 52)]) == 2


def test_nor_where_a_look_went_beyond_the_silence_that_ends_a_call() -> None:
    call = begun()
    call.advance(200 * S)

    assert call.add_all([word(2, 306), word(3, 307)]) is None


def test_nor_in_a_call_that_is_over_or_that_two_clocks_tell_of() -> None:
    over, two = begun(), begun()
    over.add(ev.CallEnded(call_id=CALL_ID, source="bot", seq=2, at_ns=6 * S, wall_ns=WALL_NS, cause="caller"))
    over.advance(7 * S)
    told: dict[str, Any] = {"agent": "a", "owns_clock": False, "clock_offset_ns": S}
    two.add(ev.CallStarted(call_id=CALL_ID, source="taps", seq=0, at_ns=0, wall_ns=WALL_NS, **told))

    assert over.add_all([word(3, 8), word(4, 9)]) is None
    assert two.add_all([word(2, 8), word(3, 9)]) is None


def test_nor_in_one_that_has_not_begun() -> None:
    nothing, learnt = CallTimeline(CALL_ID), CallTimeline(CALL_ID)
    learnt.add(ev.LateFact(call_id=CALL_ID, source="bot", seq=0, at_ns=0, wall_ns=WALL_NS, name="n", value=True))

    assert nothing.add_all([word(0, 1), word(1, 2)]) is None
    assert learnt.add_all([word(1, 1), word(2, 2)]) is None
