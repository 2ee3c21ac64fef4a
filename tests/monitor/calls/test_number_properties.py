"""No number of any call is impossible, and no sum is wrong: of plausible calls, of mutilated ones, of any at all."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from invented_calls import sound
from invented_calls.anything import any_events
from invented_calls.effort import effort
from invented_calls.folded import LONG_AFTER_NS, at_once
from invented_calls.mutilated import mutilated_calls
from invented_calls.plausible import plausible_calls
from invented_calls.script import S

from earwitness.monitor.calls.report import report

AT_WORST_NS = 2**65
"""After every moment that an event can name."""
any_call = st.one_of(plausible_calls(), mutilated_calls(), any_events())
a_moment = st.integers(0, 120).map(lambda s: s * S)


def ended(events: list[Any]) -> list[Any]:
    return list(at_once(events, AT_WORST_NS).records())


@effort(40)
@given(any_call, a_moment)
def test_no_event_breaks_a_fold(events: list[Any], as_of_ns: int) -> None:
    timeline = at_once(events, as_of_ns)
    timeline.advance(AT_WORST_NS)
    assert {call["call_id"] for call in report(timeline.records())["calls"]} <= {event.call_id for event in events}


@effort(40)
@given(any_call)
def test_no_duration_is_negative_or_longer_than_the_call(events: list[Any]) -> None:
    records = ended(events)
    assert sound.check_no_impossible_duration(records, AT_WORST_NS) == len(records)


@effort(30)
@given(any_call, a_moment)
def test_no_duration_of_a_call_in_progress_is_longer_than_it_so_far(events: list[Any], as_of_ns: int) -> None:
    records = at_once(events, as_of_ns).records()
    assert sound.check_no_impossible_duration(records, as_of_ns) == len(records)


@effort(30)
@given(any_call, a_moment)
def test_no_moment_lies_outside_the_call(events: list[Any], as_of_ns: int) -> None:
    for records, until_ns in ((at_once(events, as_of_ns).records(), as_of_ns), (ended(events), AT_WORST_NS)):
        assert sound.check_no_impossible_moment(records, until_ns) == len(records)


@effort(40)
@given(any_call)
def test_the_parts_sum_to_the_whole(events: list[Any]) -> None:
    records = ended(events)
    assert sound.check_parts_sum_to_the_whole(records, events) == len(records)


@effort(40)
@given(any_call, a_moment)
def test_nothing_is_counted_twice(events: list[Any], as_of_ns: int) -> None:
    for records in (at_once(events, as_of_ns).records(), ended(events)):
        assert sound.check_nothing_is_counted_twice(records) == len(records)


@effort(30)
@given(plausible_calls(10))
def test_speech_belongs_to_one_turn(events: list[Any]) -> None:
    records = at_once(events, LONG_AFTER_NS).records()
    assert sound.check_turns_do_not_overlap(records) == len(records) > 0


@effort(40)
@given(any_call)
def test_absent_numbers_say_why(events: list[Any]) -> None:
    records = ended(events)
    assert sound.check_absent_numbers_say_why(records) == len(records)


@effort(40)
@given(any_call, a_moment)
def test_the_report_is_sound(events: list[Any], as_of_ns: int) -> None:
    for records in (at_once(events, as_of_ns).records(), ended(events)):
        assert sound.check_the_report_is_sound(report(records), records) == len(records)
