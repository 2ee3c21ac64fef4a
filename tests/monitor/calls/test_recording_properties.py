"""What must hold of any recording's numbers, whoever spoke when: against the intervals themselves, and for the fold."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from invented_calls import sound
from invented_calls.altered import moved_back
from invented_calls.effort import effort
from invented_calls.folded import OF_ARRIVAL, Uncut, at_once, content, shuffled
from invented_calls.script import CALL_ID

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.heard import Expectation, HeardCall, HeardWords, events_of
from earwitness.monitor.calls.intervals import Span, clip, intersect, total, union
from earwitness.monitor.calls.report import report
from earwitness.monitor.contract.wire import decode_event, encode

TENTH = 100_000_000
LONGEST = 300
CHANCE = st.randoms(use_true_random=False)
TEXTS = st.sampled_from(["mhm", "yes", "no wait", "where is my order", "", "stop", "goodbye", "okay right", "嗯"])


@st.composite
def side(draw: st.DrawFn, length: int) -> tuple[Span, ...]:
    """Intervals that do not touch, in tenths of a second, some at the very edges."""
    marks = sorted(draw(st.sets(st.integers(0, length), max_size=14)))
    return tuple((a * TENTH, b * TENTH) for a, b in zip(marks[::2], marks[1::2], strict=False))


@st.composite
def recordings(draw: st.DrawFn) -> HeardCall:
    """A recording with everything that may come with one."""
    length = draw(st.integers(1, LONGEST))
    moments = st.integers(0, length)
    words = [
        HeardWords(draw(st.sampled_from(["caller", "agent"])), min(a, b) * TENTH, max(a, b) * TENTH, draw(TEXTS))
        for a, b in draw(st.lists(st.tuples(moments, moments), max_size=8))
    ]
    expected = draw(
        st.lists(st.builds(Expectation, st.none() | moments.map(lambda n: n * TENTH), st.booleans()), max_size=3)
    )
    caller, agent = draw(side(length)), draw(side(length))
    return HeardCall(
        CALL_ID,
        length * TENTH,
        caller,
        agent,
        tuple(words),
        tuple(expected),
        caller_snr_db=draw(st.sampled_from([None, 5.0, 30.0])),
        echo=tuple(span for span in caller if draw(st.integers(0, 5)) == 0),
        unobserved=draw(st.sampled_from([(), (), (), ("agent",)])) if not agent else (),
        speaking_at_end=draw(st.sampled_from([(), (), ("caller",), ("agent", "caller")])),
        others=draw(side(length)) if draw(st.integers(0, 3)) == 0 else (),
    )


def told(heard: HeardCall) -> list[Any]:
    records: list[Any] = at_once(events_of(heard)).records()
    return records


@effort(80)
@given(recordings())
def test_its_numbers_are_sound(heard: HeardCall) -> None:
    records = told(heard)
    checked = (
        sound.check_no_impossible_duration(records, heard.duration_ns),
        sound.check_no_impossible_moment(records, heard.duration_ns),
        sound.check_parts_sum_to_the_whole(records),
        sound.check_nothing_is_counted_twice(records),
        sound.check_turns_do_not_overlap(records),
        sound.check_the_report_is_sound(report(records), records),
    )
    assert set(checked) == {len(records)}
    assert records


@effort(80)
@given(recordings())
def test_the_talk_ratio_is_that_of_the_intervals(heard: HeardCall) -> None:
    [call] = [r for r in told(heard) if r.kind == "call"]
    if heard.unobserved:
        assert call.talk_ns == {}
        return
    caller = [span for span in heard.caller if span not in heard.echo]
    agent = union(heard.agent, closer_than=DEFAULT_BOUNDS.agent_merge_ns)
    assert call.talk_ns["caller"] + call.talk_ns["both"] == total(caller)
    assert call.talk_ns["agent"] + call.talk_ns["both"] == total(agent)
    assert call.talk_ns["both"] == total(intersect(caller, agent))
    assert sum(call.talk_ns.values()) == heard.duration_ns


@effort(80)
@given(recordings())
def test_overlaps_and_stops_are_those_of_the_intervals(heard: HeardCall) -> None:
    agent = union(heard.agent, closer_than=DEFAULT_BOUNDS.agent_merge_ns)
    onsets = {span[0] for span in (*heard.caller, *heard.others)}
    for row in (r for r in told(heard) if r.kind == "overlap"):
        assert row.u_on_ns in onsets
        [over] = [span for span in agent if span[0] <= row.u_on_ns < span[1]]
        assert row.a_off_ns == over[1]
        assert row.yielded_observed is (over[1] - row.u_on_ns <= (6 * TENTH if row.wanted == "no" else 20 * TENTH))
        later = [span[0] for span in agent if span[0] > over[1]]
        assert row.silent_for_ns == (min(later) if later else heard.duration_ns) - over[1]
        assert row.talk_over_ns <= total(clip([over], row.u_on_ns, heard.duration_ns))


@effort(60)
@given(recordings())
def test_dead_air_is_where_nobody_is_audible(heard: HeardCall) -> None:
    audible = union([*(s for s in heard.caller if s not in heard.echo), *heard.agent, *heard.others])
    for row in (r for r in told(heard) if r.kind == "dead_air"):
        assert row.end_ns - row.start_ns >= DEFAULT_BOUNDS.dead_air_ns
        assert clip(audible, row.start_ns, row.end_ns) == []


BOTH_AT_ONCE = tuple((on * TENTH, off * TENTH) for on, off in ((80, 84), (102, 136), (174, 178), (201, 210)))


@effort(60)
@given(recordings(), CHANCE)
@example(HeardCall(CALL_ID, 213 * TENTH, BOTH_AT_ONCE, BOTH_AT_ONCE), random.Random(1))
def test_order_and_chapters_change_nothing(heard: HeardCall, chance: random.Random) -> None:
    events = events_of(heard)
    records = content(at_once(events).records())
    assert content(at_once(shuffled(events, chance)).records()) == records
    assert content(at_once(events, kind=Uncut).records()) == records


@effort(60)
@given(recordings())
def test_its_events_are_of_the_contract(heard: HeardCall) -> None:
    events = events_of(heard)
    assert [decode_event(encode(event)) for event in events] == events
    assert all(a.at_ns <= b.at_ns and a.seq + 1 == b.seq for a, b in pairwise(events))
    told_words = sum(len(w.text.split()) for w in heard.words)
    assert sum(len(e.text.split()) for e in events if e.kind == "transcript") == told_words


@effort(40)
@given(recordings(), st.sampled_from([10, 75, 640]))
def test_silence_before_it_changes_no_number_but_that_of_silence(heard: HeardCall, tenths: int) -> None:
    by = tenths * TENTH

    def moved(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple((begin + by, end + by) for begin, end in spans)

    later = replace(
        heard,
        duration_ns=heard.duration_ns + by,
        caller=moved(heard.caller),
        agent=moved(heard.agent),
        echo=moved(heard.echo),
        others=moved(heard.others),
        words=tuple(replace(w, start_ns=w.start_ns + by, end_ns=w.end_ns + by) for w in heard.words),
        expectations=tuple(replace(e, at_ns=None if e.at_ns is None else e.at_ns + by) for e in heard.expectations),
    )

    def spoken(one: HeardCall) -> dict[str, dict[str, Any]]:
        told = content(at_once(events_of(one)).records(), without=OF_ARRIVAL | {"events", "facts"})
        return {record_id: fields for record_id, fields in told.items() if fields["kind"] != "dead_air"}

    after = moved_back(spoken(later), by)
    if after["call"]["talk_ns"]:
        after["call"]["talk_ns"] = after["call"]["talk_ns"] | {"nobody": after["call"]["talk_ns"]["nobody"] - by}
    assert after == spoken(heard)
