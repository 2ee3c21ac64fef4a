"""A recording's speech as events, and what the fold makes of them (definitions, measuring point ``recording``)."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.monitor.calls.heard import Expectation, HeardCall, HeardWords, events_of
from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.wire import decode_event, encode

S = 1_000_000_000
Seconds = tuple[float, float]


def ns(seconds: float) -> int:
    return round(seconds * S)


def spans(*given: Seconds) -> tuple[Span, ...]:
    return tuple((ns(on), ns(off)) for on, off in given)


def heard(
    caller: list[Seconds],
    agent: list[Seconds],
    *words: tuple[str, float, float, str],
    lasts: float = 20.0,
    **more: Any,
) -> HeardCall:
    said = tuple(
        HeardWords("caller" if party == "caller" else "agent", ns(on), ns(off), text) for party, on, off, text in words
    )
    return HeardCall("call.wav", ns(lasts), spans(*caller), spans(*agent), said, **more)


def told(call: HeardCall) -> dict[str, Any]:
    shown: dict[str, Any] = report(fold(events_of(call)))["calls"][0]
    return shown


# The events


def test_the_events_are_a_call_of_the_contract_in_order() -> None:
    events = events_of(heard([(2.0, 3.0)], [(0.5, 1.5), (3.5, 5.0)], ("caller", 2.0, 3.0, "hello"), lasts=130.0))
    assert [e.seq for e in events] == list(range(len(events)))
    assert [e.at_ns for e in events] == sorted(e.at_ns for e in events)
    assert [decode_event(encode(e)) for e in events] == events
    assert (events[0].kind, events[-1].kind, events[-1].at_ns) == ("call_started", "call_ended", 130 * S)
    assert [e.at_ns for e in events if e.kind == "health"] == [60 * S, 120 * S]


def test_a_long_silence_does_not_end_a_recording() -> None:
    call = told(heard([(1.0, 2.0), (700.0, 701.0)], [(3.0, 4.0), (702.0, 703.0)], lasts=710.0))
    assert [t["response_latency_s"] for t in call["turns"]] == [1.0, 1.0]
    assert (call["duration_s"], [d["end_s"] for d in call["dead_air"]]) == (710.0, [700.0, 710.0])


def test_words_that_come_one_by_one_are_all_kept() -> None:
    text = "no no no not that one no"
    said = [("caller", 1.0 + n / 5, 1.2 + n / 5, word) for n, word in enumerate(text.split())]
    assert [t["text"] for t in told(heard([(1.0, 2.6)], [(3.0, 4.0)], *said))["turns"]] == [text]


def test_words_over_several_stretches_are_dealt_out_by_their_lengths() -> None:
    call = heard([(1.0, 3.0), (7.0, 8.0)], [(4.0, 5.0)], ("caller", 1.0, 8.0, "one two three four five six"))
    assert [t["text"] for t in told(call)["turns"]] == ["one two three four", "five six"]


def test_words_of_the_agent_stand_with_what_it_made_audible() -> None:
    said = (("agent", 0.5, 2.0, "hello there"), ("agent", 6.0, 8.0, "it is on its way"))
    call = told(heard([(3.0, 4.0)], [(0.5, 2.0), (6.0, 8.0)], *said))
    assert [a["text"] for a in call["agent_turns"]] == ["hello there", "it is on its way"]
    assert call["turns"][0]["class"] == "eligible"  # nobody listened for the caller's words


def test_a_word_without_length_belongs_to_the_speech_around_it() -> None:
    call = told(heard([(1.0, 2.0)], [(3.0, 4.0)], ("caller", 1.5, 1.5, "hi"), ("caller", 2.0, 2.0, "you")))
    assert [t["text"] for t in call["turns"]] == ["hi you"]


def test_words_outside_all_speech_stand_for_no_turn() -> None:
    call = told(heard([(1.0, 2.0)], [(3.0, 4.0)], ("caller", 1.0, 2.0, "hi"), ("caller", 12.0, 13.0, "ghost")))
    assert [t["text"] for t in call["turns"]] == ["hi"]


# What the fold makes of them


@pytest.mark.parametrize(
    ("a_on", "latency"),
    [
        pytest.param(3.9, 0.9, id="after the end"),
        pytest.param(2.7, -0.3, id="from 0.3 s before the end on"),
        pytest.param(2.69, None, id="earlier it breaks into the turn, and answers it without a sample"),
        pytest.param(1.02, None, id="at the turn's very beginning: no interruption, and no sample"),
    ],
)
def test_the_first_agent_onset_from_shortly_before_the_end_answers(a_on: float, latency: float | None) -> None:
    call = told(heard([(1.0, 3.0)], [(a_on, 6.0)]))
    turn = call["turns"][0]
    assert (turn["answered_by"], turn["response_latency_s"]) == ("a1", latency)
    assert turn["reason"] == (None if latency is not None else "agent_interruption")


def test_an_onset_inside_the_turn_that_ends_before_it_answers_nothing() -> None:
    call = told(heard([(1.0, 5.0)], [(2.0, 3.0), (6.0, 7.0)]))
    assert [i["at_s"] for i in call["agent_interruptions"]] == [2.0]
    assert call["turns"][0]["response_latency_s"] == 1.0


@pytest.mark.parametrize(
    ("agent", "gave_way", "stop", "silent"),
    [
        pytest.param([(0.0, 3.0)], True, 1.0, 17.0, id="to the end of the file, which counts as silence"),
        pytest.param([(0.0, 3.0), (3.49, 9.0)], False, 7.0, 11.0, id="less than 0.5 s is no stop"),
        pytest.param([(0.0, 3.0), (3.5, 9.0)], True, 1.0, 0.5, id="half a second is one"),
        pytest.param([(0.0, 4.0)], True, 2.0, 16.0, id="within 2 s"),
        pytest.param([(0.0, 4.1)], False, 2.1, 15.9, id="later"),
    ],
)
def test_giving_way_is_silence_of_half_a_second_in_time(
    agent: list[Seconds], gave_way: bool, stop: float, silent: float
) -> None:
    row = told(heard([(2.0, 2.8)], agent, expectations=(Expectation(2 * S, True),)))["overlaps"][0]
    assert (row["gave_way"], row["stop_latency_s"], row["silent_for_s"]) == (gave_way, stop, silent)
    assert (row["yielded_observed"], row["yielded_caused"]) == (gave_way, None)


@pytest.mark.parametrize(("a_off", "cell"), [(2.6, "FP"), (2.7, "TN")])
def test_where_the_caller_did_not_want_it_the_window_is_0_6_s(a_off: float, cell: str) -> None:
    row = told(heard([(2.0, 2.3)], [(0.0, a_off)], expectations=(Expectation(None, False),)))["overlaps"][0]
    assert (row["cell"], row["decided_by"], row["stop_latency_s"]) == (cell, "expectation", None)


def test_an_agent_that_stops_within_0_3_s_may_have_ended_by_itself() -> None:
    row = told(heard([(2.0, 4.0)], [(0.0, 2.25)], ("caller", 2.0, 4.0, "no wait")))["overlaps"][0]
    assert (row["terminal"], row["gave_way"], row["wanted"], row["cell"]) == ("terminal_or_yield", True, "yes", None)


def test_talk_over_ends_where_the_agent_falls_silent() -> None:
    call = told(heard([(2.0, 6.0)], [(0.0, 2.5), (4.0, 8.0)]))
    assert (call["overlaps"][0]["talk_over_s"], [i["at_s"] for i in call["agent_interruptions"]]) == (0.5, [4.0])


@pytest.mark.parametrize(("caller_on", "gave_way"), [(9.0, True), (7.0, False)])
def test_the_end_of_the_file_counts_as_the_agents_silence(caller_on: float, gave_way: bool) -> None:
    for more in ({}, {"speaking_at_end": ("agent",)}):
        row = told(heard([(caller_on, caller_on + 0.5)], [(0.0, 10.0)], lasts=10.0, **more))["overlaps"][0]
        assert (row["gave_way"], row["a_off_s"], row["silent_for_s"]) == (gave_way, 10.0, 0.0)


def test_a_caller_who_speaks_when_the_recording_stops_waits_for_nothing() -> None:
    caller = told(heard([(1.0, 2.0), (9.0, 10.0)], [(3.0, 4.0)], lasts=10.0, speaking_at_end=("caller",)))
    assert [t["class"] for t in caller["turns"]] == ["eligible", "lost"]


def test_without_words_nobody_knows_what_the_caller_wanted() -> None:
    row = told(heard([(2.0, 4.0)], [(0.0, 3.0)]))["overlaps"][0]
    assert (row["wanted"], row["decided_by"], row["cell"], row["gave_way"]) == ("unknown", None, None, True)


@pytest.mark.parametrize(
    ("text", "wanted", "decided_by"),
    [("wait a minute", "yes", "words"), ("mhm", "no", "backchannel"), ("", "no", "noise")],
)
def test_with_words_it_is_decided_as_on_a_live_call(text: str, wanted: str, decided_by: str) -> None:
    said = [("caller", 12.0, 13.0, "and now something else"), ("caller", 2.0, 2.5, text)]
    call = heard([(2.0, 2.5), (12.0, 13.0)], [(0.0, 10.0), (14.0, 15.0)], *said)
    row = told(call)["overlaps"][0]
    assert (row["wanted"], row["decided_by"]) == (wanted, decided_by)


def test_the_agents_own_words_come_back_are_echo() -> None:
    said = (("agent", 0.0, 6.0, "your order will be there on friday"), ("caller", 3.0, 5.0, "order will be there"))
    row = told(heard([(3.0, 5.0)], [(0.0, 6.0)], *said))["overlaps"][0]
    assert (row["wanted"], row["class"], row["decided_by"]) == ("no", "echo", "echo")


def test_echo_by_ear_is_no_speech_of_the_callers() -> None:
    call = told(heard([(3.0, 5.0), (8.0, 9.0)], [(0.0, 6.0), (10.0, 11.0)], echo=spans((3.1, 5.0))))
    assert [(o["class"], o["decided_by"]) for o in call["overlaps"]] == [("echo", "echo")]
    assert [t["u_on_s"] for t in call["turns"]] == [8.0]


def test_a_recording_does_not_tell_how_the_call_ended() -> None:
    call = told(heard([(1.0, 2.0)], [(3.0, 4.0)]))
    assert (call["end_cause"], call["outcome"]) == (None, None)
    assert report(fold(events_of(heard([(1.0, 2.0)], [(3.0, 4.0)]))))["summary"]["outcomes"]["in_scope"] == 0


def test_a_turn_at_the_very_end_of_a_recording_did_not_wait_in_vain() -> None:
    assert told(heard([(1.0, 2.0)], [], lasts=4.9))["turns"][0]["class"] == "lost"
    assert told(heard([(1.0, 2.0)], [], lasts=5.1))["turns"][0]["class"] == "eligible"


def test_a_side_that_nobody_hears_is_unobservable() -> None:
    call = told(heard([(1.0, 2.0)], [], unobserved=("agent",)))
    assert (call["turns"][0]["class"], call["dead_air"]) == ("unobservable", [])


def test_silence_counts_from_the_recordings_beginning_to_its_end() -> None:
    call = told(heard([(4.0, 5.0)], [(6.0, 7.0)], lasts=11.0))
    assert [(d["start_s"], d["end_s"]) for d in call["dead_air"]] == [(0.0, 4.0), (7.0, 11.0)]


def test_a_recording_without_speech_has_no_turns() -> None:
    call = told(heard([], [], lasts=8.0))
    assert (call["turns"], call["overlaps"], call["duration_s"]) == ([], [], 8.0)
