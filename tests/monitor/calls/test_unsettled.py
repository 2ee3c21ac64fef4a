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
from earwitness.monitor.calls.unsettled import Unsettled

CHANCE = st.randoms(use_true_random=False)
PAST = Carry()


def entries_of(events: list[Any]) -> list[Entry]:
    return [(e.at_ns, e.source, e.seq, e) for e in events]


def in_order(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry[:3])


def filled(events: list[Any]) -> Unsettled:
    unsettled = Unsettled()
    for entry in entries_of(events):
        unsettled.sort_in(entry)
    return unsettled


@effort(25)
@given(plausible_calls(4), CHANCE)
def test_in_whatever_order_events_come_they_say_what_all_of_them_say(events: list[Any], chance: random.Random) -> None:
    come, unsettled = entries_of(events), Unsettled()
    chance.shuffle(come)
    for n, entry in enumerate(come):
        unsettled.sort_in(entry)
        if chance.random() < 0.2:
            upto_ns = chance.choice(come)[0] + chance.choice([-1, 0, 1])
            own = [one for one in in_order(come[: n + 1]) if one[0] <= upto_ns]
            count, facts = unsettled.facts_of(PAST, upto_ns)
            assert (count, unsettled.read) == (len(own), len(own))
            assert repr(facts) == repr(gather(own, PAST.begin()))
    assert unsettled.entries == in_order(come)


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_what_was_given_out_and_added_to_is_forgotten(events: list[Any], chance: random.Random) -> None:
    unsettled = filled(events)
    upto_ns = chance.choice(events).at_ns
    _, given_out = unsettled.facts_of(PAST, upto_ns)
    as_read = repr(given_out)
    given_out.interruptions.append(7)
    unsettled.forget()

    _, facts = unsettled.facts_of(PAST, upto_ns)

    assert repr(facts) == as_read


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_a_source_that_is_moved_lies_elsewhere_and_is_read_anew(events: list[Any], chance: random.Random) -> None:
    unsettled, by_ns = filled(events), chance.choice([-400, -3, 0, 3, 400]) * S
    source = chance.choice(events).source
    unsettled.facts_of(PAST, events[-1].at_ns)

    earliest_ns = unsettled.move(source, by_ns)

    where = {id(e): max(e.at_ns + by_ns, 0) if e.source == source else e.at_ns for e in events}
    assert unsettled.entries == in_order([(where[id(e)], e.source, e.seq, e) for e in events])
    assert earliest_ns == min(where[id(e)] for e in events if e.source == source)
    _, facts = unsettled.facts_of(PAST, 1_000_000 * S)
    assert repr(facts) == repr(gather(unsettled.entries, PAST.begin()))


@effort(15)
@given(plausible_calls(4))
def test_of_a_source_that_told_nothing_nothing_moves(events: list[Any]) -> None:
    unsettled = filled(events)
    _, facts = unsettled.facts_of(PAST, events[-1].at_ns)

    assert unsettled.move("nobody", 5 * S) is None
    assert unsettled.entries == in_order(entries_of(events))
    assert unsettled.facts_of(PAST, events[-1].at_ns)[1] is facts


@effort(15)
@given(plausible_calls(4), CHANCE)
def test_the_chapter_before_comes_back_as_it_was(events: list[Any], chance: random.Random) -> None:
    unsettled = filled(events)
    held, cut_at_ns = unsettled.entries, chance.choice(events).at_ns
    unsettled.facts_of(PAST, chance.choice(events).at_ns)

    gone = unsettled.cut_off(cut_at_ns)

    assert gone == [entry for entry in in_order(entries_of(events)) if entry[0] < cut_at_ns]
    assert all(entry[0] >= cut_at_ns for entry in held)
    unsettled.go_back(gone)
    assert held is unsettled.entries
    assert held == in_order(entries_of(events))
    _, facts = unsettled.facts_of(PAST, 1_000_000 * S)
    assert repr(facts) == repr(gather(held, PAST.begin()))
