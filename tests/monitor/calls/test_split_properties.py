"""Folding a call in two halves, or in fifty, equals folding it at once; and so does any order of arrival."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from invented_calls.altered import lived
from invented_calls.effort import effort
from invented_calls.folded import LONG_AFTER_NS, Uncut, at_once, content, shuffled
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.timeline import CallTimeline

GATHERED = frozenset({"revision", "tool_ids", "generations", "cancelled_generation", "stalled", "text"})
"""What a turn gathers as long as work for it goes on."""
CHANCE = st.randoms(use_true_random=False)


def asked_between(events: Sequence[Any], chance: random.Random, asks: int) -> tuple[CallTimeline, dict[str, Any]]:
    """A timeline that was asked at some moments between its events, and what its revisions came to."""
    timeline, published = CallTimeline(CALL_ID), dict[str, Any]()
    when = {chance.randrange(len(events) + 1) for _ in range(asks)} if events else set()
    as_of = 0
    for n, event in enumerate(events):
        if n in when:
            as_of = max(as_of, timeline.last_at_ns + chance.choice([0, S // 2, 4 * S, 12 * S]))
            publish(published, timeline.advance(as_of))
        timeline.add(event)
    publish(published, timeline.advance(LONG_AFTER_NS))
    return timeline, published


def publish(published: dict[str, Any], changed: Sequence[Any]) -> None:
    """Take revisions as a reader does; each must be the next of its id, and say something new."""
    for record in changed:
        before = published.get(record.id)
        assert record.revision == (0 if before is None else before.revision + 1)
        assert before is None or before.model_copy(update={"revision": record.revision}) != record
        published[record.id] = record


@effort(40)
@given(plausible_calls(), CHANCE)
def test_folding_in_two_halves_equals_folding_at_once(events: list[Any], chance: random.Random) -> None:
    timeline, published = asked_between(events, chance, 1)
    once = content(at_once(events).records())
    assert content(timeline.records()) == once
    assert content(published.values()) == once


@effort(25)
@given(plausible_calls(10), CHANCE)
def test_asking_all_the_time_equals_folding_at_once(events: list[Any], chance: random.Random) -> None:
    timeline, published = asked_between(events, chance, 25)
    once = content(at_once(events).records())
    assert content(timeline.records()) == once
    assert content(published.values()) == once


@effort(10)
@given(plausible_calls(10), CHANCE)
def test_at_every_moment_the_records_are_those_of_a_fold_that_begins_anew(
    events: list[Any], chance: random.Random
) -> None:
    timeline, as_of = CallTimeline(CALL_ID), 0
    for n, event in enumerate(events):
        timeline.add(event)
        if chance.randrange(8) == 0:
            as_of = max(as_of, event.at_ns + chance.choice([0, S // 2, 4 * S, 12 * S]))
            timeline.advance(as_of)
            assert content(timeline.records()) == content(at_once(events[: n + 1], as_of).records())


@effort(30)
@given(plausible_calls(10), CHANCE)
def test_any_order_of_arrival_within_the_bounds_gives_the_same_records(
    events: list[Any], chance: random.Random
) -> None:
    timeline, published = asked_between(shuffled(events, chance), chance, 8)
    once = content(at_once(events).records())
    assert content(timeline.records()) == once
    assert content(published.values()) == once


@effort(20)
@given(plausible_calls(10), CHANCE)
def test_duplicates_change_nothing_but_their_count(events: list[Any], chance: random.Random) -> None:
    again = [chance.choice(events) for _ in range(chance.randrange(20))]
    timeline, _ = asked_between(shuffled([*events, *again], chance), chance, 3)
    assert content(timeline.records()) == content(at_once(events).records())
    ended = [r for r in timeline.records() if r.kind == "call"]
    assert [r.duplicates for r in ended] == [len(again)] * len(ended)


@effort(40)
@given(plausible_calls(14, prompt=True))
def test_chapters_change_nothing(events: list[Any]) -> None:
    """Words that come later than a cut looks ahead find their speech settled: the one thing that differs."""
    assert content(at_once(events).records()) == content(at_once(events, kind=Uncut).records())


@effort(20)
@given(plausible_calls())
def test_asking_again_changes_nothing(events: list[Any]) -> None:
    timeline = at_once(events)
    assert timeline.advance(LONG_AFTER_NS) == []
    assert timeline.advance(LONG_AFTER_NS + 1) == []


@effort(30)
@given(plausible_calls(), CHANCE)
def test_nothing_changes_before_it_is_due(events: list[Any], chance: random.Random) -> None:
    timeline, as_of = CallTimeline(CALL_ID), 0
    for event in events:
        timeline.add(event)
        if chance.randrange(8) == 0:
            timeline.advance(as_of := max(as_of, event.at_ns))
            due = min(timeline.due_ns, timeline.final_due_ns, as_of + 700 * S)
            if due > as_of + 1:
                as_of = chance.choice([as_of + 1, (as_of + due) // 2, due - 1])
                assert timeline.advance(as_of) == []


@effort(40)
@given(plausible_calls(8, prompt=True), CHANCE)
def test_the_numbers_of_a_final_record_change_no_more_while_the_call_goes_on(
    events: list[Any], chance: random.Random
) -> None:
    assume(events[0].caller_edges and events[0].agent_edges)
    assume(not any(getattr(e, "party", None) == "other" for e in events))
    timeline, finals = CallTimeline(CALL_ID), dict[str, dict[str, Any]]()
    for event in lived(events):
        if event.kind == "call_ended":
            break  # what comes then comes late: words that were under way, the application's own outcome
        timeline.add(event)
        if chance.randrange(6) == 0:
            for record in timeline.advance(event.at_ns):
                told = {name: value for name, value in record.model_dump().items() if name not in GATHERED}
                assert finals.get(record.id, told) == told
                if record.final:
                    finals[record.id] = told
