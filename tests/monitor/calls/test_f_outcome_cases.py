"""Field cases of group F: how a call ended is not what it achieved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.report import report

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("said", "outcome", "in_scope", "contained"),
    [
        ("voicemail", "voicemail", False, None),
        ("wrong_number", "wrong_number", False, None),
        ("declined", "declined", True, False),
    ],
)
def test_f01_how_it_ended_is_not_what_was_achieved(
    call: Call, said: str, outcome: str, in_scope: bool, contained: bool | None
) -> None:
    told = (
        call()
        .user(1.0, 2.0, "hello")
        .bot(2.8, 5.0)
        .put(5.5, "app", source="app", name="outcome", value=said)
        .end(6.0, "agent")
        .told()
    )
    assert told.call.end_cause == "agent"
    assert (told.call.outcome, told.call.in_scope, told.call.contained) == (outcome, in_scope, contained)


def test_f01_of_three_calls_that_the_agent_ended_one_counts_and_none_is_contained(call: Call) -> None:
    records: list[Any] = []
    for n, said in enumerate(("voicemail", "wrong_number", "declined")):
        story = call().user(1.0, 2.0, "hello").bot(2.8, 5.0).put(5.5, "app", source="app", name="outcome", value=said)
        told = story.end(6.0, "agent").told()
        records += [r.model_copy(update={"call_id": f"c{n}"}) for r in told.records]
    assert report(records)["summary"]["outcomes"] == {"contained": 0, "in_scope": 1}


def test_f02_a_frozen_call_is_abandoned(call: Call) -> None:
    told = (
        call()
        .user(26.0, 27.0, "next please")
        .bot(27.8, 30.0, name="r")
        .tool("next_node", "called", 30.0, response_id="r")
        .tool("next_node", "result", 30.2)
        .user(45.0, 45.5, "hello?")
        .end(70.0, "caller")
        .told()
    )
    assert (told.call.end_cause, told.call.outcome, told.call.contained) == ("caller", "abandoned", False)
    assert [t.unanswered for t in told.turns] == [False, True]
    assert told.facts["dead_air_critical"] == 1


def test_f02_leaving_shortly_after_critical_dead_air_is_abandoning_too(call: Call) -> None:
    story = call().user(1.0, 2.0, "a question").bot(14.0, 15.0, asked=2.2)
    assert story.end(20.0, "caller").told().call.outcome == "abandoned"
    late = call().user(1.0, 2.0, "a question").bot(14.0, 15.0, asked=2.2).user(16.0, 17.0, "right").bot(17.5, 24.0)
    assert late.end(25.0, "caller").told().call.outcome == "contained"


def test_f03_a_dropped_line_is_not_completion(call: Call) -> None:
    story = call().user(20.0, 21.0, "five").bot(22.0, 24.0, "Question two: how old are you?", cut=False)
    told = story.put(39.9, "transport", event="error").end(40.0, "transport").told()
    assert (told.call.end_cause, told.call.outcome) == ("transport", "unknown")
    assert (told.call.contained, told.call.in_scope) == (None, False)


@pytest.mark.parametrize("how", ["error", "audio"])
def test_f03_a_disconnect_with_a_fault_is_the_transports(call: Call, how: str) -> None:
    story = call().user(1.0, 2.0, "two").bot(3.0, 5.0).end(40.0, "caller")
    if how == "error":
        story.put(39.9, "transport", event="error")
    else:
        story.gap(38.5, last_audio=37.5)
    told = story.told()
    assert (told.call.end_cause, told.call.outcome) == ("transport", "unknown")


def test_f04_a_polite_hang_up_by_the_agent_is_contained(call: Call) -> None:
    told = (
        call()
        .user(40.0, 41.0, "that was it")
        .bot(42.0, 44.0, "Anything else?")
        .user(48.0, 49.0, "no thank you goodbye")
        .bot(50.0, 52.0, "Goodbye and have a nice day!", why="application", asked=49.5)
        .tool("end_call", "called", 52.1)
        .end(52.2, "agent")
        .told()
    )
    assert (told.call.end_cause, told.call.outcome, told.call.contained) == ("agent", "contained", True)
    assert told.turns[-1].response_latency_ns == 1_000_000_000


def test_f04_a_goodbye_after_the_farewell_awaits_nothing(call: Call) -> None:
    told = (
        call()
        .user(48.0, 49.0, "that was all")
        .bot(50.0, 52.0, "Goodbye and have a nice day!")
        .user(52.5, 53.0, "bye bye")
        .end(53.2, "agent")
        .told()
    )
    assert [(t.turn_class, t.unanswered) for t in told.turns] == [("eligible", False), ("closing", False)]
    assert told.call.contained


def test_f05_a_transfer_that_failed(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "a human please")
        .bot(3.0, 4.0)
        .tool("transfer_to_human", "called", 4.0)
        .tool("transfer_to_human", "error", 5.0, error="503")
        .user(8.0, 9.0, "fine then")
        .bot(9.8, 12.0)
        .end(14.0, "caller")
        .told()
    )
    assert (told.call.outcome, told.call.contained) == ("escalation_failed", False)


def test_f05_a_caller_who_leaves_before_the_merge(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "a human please")
        .bot(3.0, 4.0)
        .put(4.2, "transfer", phase="requested")
        .put(5.0, "transfer", phase="ringing")
        .end(14.0, "caller")
        .told()
    )
    assert (told.call.outcome, told.call.contained) == ("escalation_abandoned", False)


def test_f05_only_a_completed_hand_over_is_an_escalation(call: Call) -> None:
    story = call().user(1.0, 2.0, "a human please").bot(3.0, 4.0).put(4.2, "transfer", phase="requested")
    told = story.put(9.0, "transfer", phase="completed").end(14.0, "caller").told()
    assert (told.call.outcome, told.call.contained) == ("escalated", False)


def test_a_promised_transfer_that_nobody_tried(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "a human please")
        .bot(3.0, 5.0, "Of course, I'll transfer you to a colleague.")
        .end(9.0, "agent")
        .told()
    )
    assert (told.call.outcome, told.call.contained) == ("transfer_promised", False)


def test_a_caller_who_never_speaks_is_out_of_scope(call: Call) -> None:
    told = call().bot(1.0, 4.0, why="greeting").end(12.0, "agent").told()
    assert (told.call.outcome, told.call.in_scope) == ("silent", False)


def test_an_error_that_ended_the_call_is_a_failure(call: Call) -> None:
    told = call().user(1.0, 2.0, "hi").bot(3.0, 4.0).end(9.0, "error").told()
    assert (told.call.outcome, told.call.contained) == ("failed", False)


@pytest.mark.parametrize(("said", "outcome"), [("declined", "declined"), ("failed", "failed"), (None, "contained")])
def test_an_end_of_which_nobody_says_whose_it_was_takes_no_outcome_away(
    call: Call, said: str | None, outcome: str
) -> None:
    story = call().user(1.0, 2.0, "hello").bot(2.8, 5.0, cut=False)
    if said is not None:
        story.put(5.5, "app", source="app", name="outcome", value=said)
    told = story.end(6.0, "unknown").told()

    assert (told.call.end_cause, told.call.outcome) == ("unknown", outcome)


def test_a38_a_call_that_never_ended_is_unknown_whatever_else(call: Call) -> None:
    story = call().user(1.0, 2.0, "hello").bot(2.8, 5.0)
    told = story.put(5.5, "app", source="app", name="outcome", value="declined").told()

    assert (told.call.outcome, told.call.outcome_reason) == ("unknown", "never ended")


@pytest.mark.parametrize("speaking", [False, True])
def test_an_end_of_unknown_cause_on_a_caller_who_awaits_or_speaks_is_not_contained(call: Call, speaking: bool) -> None:
    story = call().user(1.0, 2.0, "hello").bot(2.8, 5.0)
    story = story.vad_start(5.7).interim("I also", 5.8) if speaking else story.user(5.5, 6.5, "and my other order?")
    told = story.end(9.0 if not speaking else 7.0, "unknown").told()

    assert (told.call.outcome, told.call.contained) == ("unknown", None)
    assert "nobody says who ended it" in told.call.outcome_reason


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("no thanks, wait", "cut_off"),
        ("thanks, and what about my other order?", "cut_off"),
        ("thank you but the order is still not here and I want it", "cut_off"),
        ("no thank you very much, goodbye", "contained"),
        ("thanks a lot for your help", "contained"),
        ("okay", "contained"),
    ],
)
def test_only_words_that_take_leave_and_ask_nothing_more_close_a_call(call: Call, words: str, outcome: str) -> None:
    story = call().user(40.0, 41.0, "that was it").bot(42.0, 44.0, "Goodbye and have a nice day!", cut=False)
    assert story.user(44.5, 46.0, words).end(46.8, "agent").told().call.outcome == outcome


@pytest.mark.parametrize(("at", "outcome"), [(9.0, "abandoned"), (4.5, "contained")])
def test_a_caller_of_whom_no_word_was_ever_heard_and_who_waits_in_vain_abandons(
    call: Call, at: float, outcome: str
) -> None:
    story = call().bot(0.5, 2.0, "How can I help you?", why="greeting", cut=False).user(2.5, 4.0)
    told = story.end(at, "caller").told()
    assert [t.turn_class for t in told.turns] == ["no_transcript"]
    assert told.call.outcome == outcome


def test_a_cough_after_words_that_were_answered_abandons_nothing(call: Call) -> None:
    story = call().user(1.0, 2.0, "when are you open").bot(2.8, 5.0, "From nine to five.", cut=False).user(6.0, 6.3)
    told = story.end(11.0, "caller").told()
    assert [(t.turn_class, t.unanswered) for t in told.turns] == [("eligible", False), ("no_transcript", False)]
    assert told.call.outcome == "contained"
