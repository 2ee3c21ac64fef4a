"""Events are read once each, and whatever comes between them, what they say is what all of them say."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.plausible import plausible_calls
from invented_calls.script import S

from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.calls.reading import Reading

CHANCE = st.randoms(use_true_random=False)
PAST = Carry()


def entries_of(events: list[Any]) -> list[Entry]:
    return [(e.at_ns, e.source, e.seq, e) for e in events]


def in_order(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry[:3])


def filled(events: list[Any]) -> Reading:
    reading = Reading()
    for entry in entries_of(events):
        reading.sort_in(entry)
    return reading


@effort(25)
@given(plausible_calls(4), CHANCE)
def test_in_whatever_order_events_come_they_say_what_all_of_them_say(events: list[Any], chance: random.Random) -> None:
    come, reading = entries_of(events), Reading()
    chance.shuffle(come)
    for n, entry in enumerate(come):
        reading.sort_in(entry)
        if chance.random() < 0.2:
            upto_ns = chance.choice(come)[0] + chance.choice([-1, 0, 1])
            own = [one for one in in_order(come[: n + 1]) if one[0] <= upto_ns]
            count, facts = reading.facts_of(PAST, upto_ns)
            assert (count, reading.read) == (len(own), len(own))
            assert repr(facts) == repr(gather(own, PAST.begin()))
    assert reading.entries == in_order(come)


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_what_was_given_out_and_added_to_is_forgotten(events: list[Any], chance: random.Random) -> None:
    reading = filled(events)
    upto_ns = chance.choice(events).at_ns
    _, given_out = reading.facts_of(PAST, upto_ns)
    as_read = repr(given_out)
    given_out.interruptions.append(7)
    reading.forget()

    _, facts = reading.facts_of(PAST, upto_ns)

    assert repr(facts) == as_read


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_a_source_that_is_moved_lies_elsewhere_and_is_read_anew(events: list[Any], chance: random.Random) -> None:
    reading, by_ns = filled(events), chance.choice([-400, -3, 0, 3, 400]) * S
    source = chance.choice(events).source
    reading.facts_of(PAST, events[-1].at_ns)

    earliest_ns = reading.move(source, by_ns)

    where = {id(e): max(e.at_ns + by_ns, 0) if e.source == source else e.at_ns for e in events}
    assert reading.entries == in_order([(where[id(e)], e.source, e.seq, e) for e in events])
    assert earliest_ns == min(where[id(e)] for e in events if e.source == source)
    _, facts = reading.facts_of(PAST, 1_000_000 * S)
    assert repr(facts) == repr(gather(reading.entries, PAST.begin()))


@effort(15)
@given(plausible_calls(4))
def test_of_a_source_that_told_nothing_nothing_moves(events: list[Any]) -> None:
    reading = filled(events)
    _, facts = reading.facts_of(PAST, events[-1].at_ns)

    assert reading.move("nobody", 5 * S) is None
    assert reading.entries == in_order(entries_of(events))
    assert reading.facts_of(PAST, events[-1].at_ns)[1] is facts


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_the_chapter_before_comes_back_as_it_was(events: list[Any], chance: random.Random) -> None:
    reading = filled(events)
    held, cut_at_ns = reading.entries, chance.choice(events).at_ns
    reading.facts_of(PAST, chance.choice(events).at_ns)

    gone = reading.cut_off(cut_at_ns)

    assert gone == [entry for entry in in_order(entries_of(events)) if entry[0] < cut_at_ns]
    assert all(entry[0] >= cut_at_ns for entry in held)
    reading.go_back(gone)
    assert held is reading.entries
    assert held == in_order(entries_of(events))
    _, facts = reading.facts_of(PAST, 1_000_000 * S)
    assert repr(facts) == repr(gather(held, PAST.begin()))
