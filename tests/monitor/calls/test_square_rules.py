"""The 2x2, rule by rule: each test fails where its rule of the definitions is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.report import report

Call = Callable[..., Any]


def cut_at(call: Call, at: float, **started: Any) -> Any:
    """The agent speaks from 10.0 and is cut off at a moment."""
    return call(**started).bot(10.0, at, why="greeting", cut=True).interruption(at - 0.05)


def verdicts(told: Any) -> list[tuple[str | None, str | None, str | None]]:
    return [(o.wanted, o.decided_by, o.cell) for o in told.overlaps]


# Rule 5: what followed


@pytest.mark.parametrize("first", [None, "yeah"])
def test_words_that_follow_at_once_into_the_agents_silence_say_that_the_floor_was_wanted(
    call: Call, first: str | None
) -> None:
    story = cut_at(call, 12.4).user(12.0, 12.3, first, final_at=12.5 if first else None)
    told = story.user(13.0, 14.0, "I want to change it").end(20.0).told()
    assert verdicts(told) == [("yes", "words", "TP")]
    assert told.overlaps[0].stop_latency_ns == 400_000_000
    assert len(told.turns) == 1


def test_words_that_follow_later_say_nothing_of_it(call: Call) -> None:
    told = cut_at(call, 12.4).user(12.0, 12.3, "yeah").user(13.9, 14.5, "I want to change it").end(20.0).told()
    assert verdicts(told) == [("no", "backchannel", "FP")]


def test_words_that_follow_in_an_overlap_of_their_own_speak_for_themselves(call: Call) -> None:
    story = call().bot(10.0, 20.0, why="greeting", cut=False).user(12.0, 12.3, "yeah")
    told = story.user(13.0, 14.0, "I want to change it").end(30.0).told()
    assert verdicts(told) == [("no", "backchannel", "TN"), ("yes", "words", "FN")]


def test_an_answer_to_what_the_agent_said_to_its_end_takes_no_backchannel_back(call: Call) -> None:
    story = call().bot(10.0, 14.2, why="greeting", cut=False).user(13.0, 13.3, "mhm")
    told = story.user(14.5, 15.5, "the third of May").bot(16.5, 17.0).told()
    assert verdicts(told) == [("no", "backchannel", "TN")]
    assert [t.text for t in told.turns] == ["the third of May"]


# Rules 1 to 3: people, the judge, what is set aside


@pytest.mark.parametrize(
    ("human", "judge", "expected"),
    [
        (None, "pass", ("yes", "judge", "TP")),
        (None, "fail", ("no", "judge", "FP")),
        ("wanted", "fail", ("yes", "human", "TP")),
        ("not", "pass", ("no", "human", "FP")),
        (None, "abstain", ("no", "backchannel", "FP")),
    ],
)
def test_a_persons_word_goes_before_the_judges_and_both_before_the_rules(
    call: Call, human: str | None, judge: str, expected: tuple[str, str, str]
) -> None:
    story = cut_at(call, 12.4).user(12.0, 12.3, "mhm")
    if human is not None:
        story.put(30.0, "human_label", source="label", subject="o1", label=human)
    story.put(31.0, "verdict", source="judge", criterion="wanted", verdict=judge, evidence=("o1",))
    assert verdicts(story.end(20.0).told()) == [expected]


def test_a_label_goes_before_what_is_set_aside(call: Call) -> None:
    story = call().mute(2.0, 6.0).bot(2.0, 6.0, why="greeting", cut=False).user(3.0, 4.0, "stop this")
    assert verdicts(story.told()) == [(None, "muted", None)]
    story.put(30.0, "human_label", source="label", subject="o1", label="wanted")
    assert verdicts(story.told()) == [("yes", "human", "FN")]


def test_speech_to_somebody_else_is_a_class_of_its_own_where_a_person_says_that_it_wanted_nothing(call: Call) -> None:
    story = call().put(0.1, "participant", state="joined", participant="P1", role="caller").bot(10.0, 15.0, cut=False)
    story.put(0.2, "participant", state="joined", participant="P2", role="other")
    story.user(12.0, 13.0, "tell them", participant="P2")
    story.put(30.0, "human_label", source="label", subject="o1", label="not")
    overlap = story.end(20.0).told().overlaps[0]
    assert (overlap.cell, overlap.want_class, overlap.decided_by) == ("TN", "not_addressed", "human")


# Rules 7 and 8: classifiers, and what nobody knows


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"overlap_id": "o1"}, ("no", "classifier", "TN")),
        ({"requested_ns": 13_200_000_000}, ("no", "classifier", "TN")),
        ({"overlap_id": "o2"}, ("unknown", None, None)),
        ({"requested_ns": 12_000_000_000}, ("unknown", None, None)),
        ({}, ("unknown", None, None)),
    ],
)
def test_a_classifier_speaks_of_the_overlap_that_it_was_asked_for(
    call: Call, asked: dict[str, Any], expected: tuple[str | None, ...]
) -> None:
    story = call(recogniser=False).bot(10.0, 20.0, cut=False).user(13.0, 13.5)
    assert verdicts(story.put(13.7, "classifier", answer="backchannel", **asked).end(30.0).told()) == [expected]


def test_a_classifier_that_does_not_know_says_nothing(call: Call) -> None:
    story = call(recogniser=False).bot(10.0, 20.0, cut=False).user(13.0, 13.5)
    story.put(13.6, "classifier", answer="interruption", overlap_id="o1")
    told = story.put(13.7, "classifier", answer="unknown", overlap_id="o1").end(30.0).told()
    assert verdicts(told) == [("yes", "classifier", "FN")]


def test_what_nobody_knows_is_shown_apart_and_enters_no_rate(call: Call) -> None:
    story = call(recogniser=False).bot(10.0, 20.0, cut=False).user(13.0, 13.5).end(30.0)
    shown = report(story.told().records)["summary"]["interruptions"]
    assert (shown["unknown"], shown["tp"], shown["fn"], shown["fp"], shown["tn"]) == (1, 0, 0, 0, 0)


# Gave way: observed and caused, windows, terminal


@pytest.mark.parametrize(("stop", "cell"), [(14.9, "TP"), (15.1, "FN")])
def test_a_wanted_stop_has_two_seconds(call: Call, stop: float, cell: str) -> None:
    assert verdicts(cut_at(call, stop).user(13.0, 13.9, "stop it please").end(30.0).told())[0][2] == cell


@pytest.mark.parametrize(("stop", "cell"), [(13.9, "FP"), (14.1, "TN")])
def test_a_stop_that_nobody_wanted_counts_within_one_second(call: Call, stop: float, cell: str) -> None:
    assert verdicts(cut_at(call, stop).user(13.0, 13.3, "mhm").end(30.0).told())[0][2] == cell


def test_another_response_that_begins_does_not_take_the_stop_back(call: Call) -> None:
    story = cut_at(call, 13.4).user(13.0, 13.9, "stop it please").bot(14.0, 15.0, asked=13.5).end(30.0)
    assert verdicts(story.told())[0][2] == "TP"
    assert story.told().overlaps[0].resumed_after_ns is None


@pytest.mark.parametrize(("onset", "terminal"), [(26.80, "natural_end"), (26.70, None)])
def test_a_terminal_overlap_begins_in_the_last_three_tenths(call: Call, onset: float, terminal: str | None) -> None:
    told = call().bot(20.0, 27.08, why="greeting", cut=False).user(onset, 29.0, "the third of May").end(40.0).told()
    assert told.overlaps[0].terminal == terminal
    assert (told.overlaps[0].cell is None) is (terminal is not None)


# Words in all their forms


def test_interims_that_are_pieces_are_joined_and_those_that_restate_replace(call: Call) -> None:
    pieces = call().user(1.0, 3.0)
    for at, text in ((1.4, "where "), (2.0, "is my "), (2.6, "order")):
        pieces.put(at, "transcript", party="caller", text=text, final=False, form="delta", utterance_id="u1")
    whole = call().user(1.0, 3.0)
    for at, text in ((1.4, "where"), (2.0, "where is my"), (2.6, "where is my order")):
        whole.interim(text, at)
    for story in (pieces, whole):
        (turn,) = story.bot(4.0, 5.0).told().turns
        assert " ".join((turn.text or "").split()) == "where is my order"
        assert turn.interim_only


def test_a_final_that_comes_twice_counts_once_and_one_that_replaces_another_replaces_it(call: Call) -> None:
    twice = call().user(1.0, 2.0, "my order").final("my order", 2.6).bot(3.4, 5.0)
    assert [t.text for t in twice.told().turns] == ["my order"]
    again = call().vad_start(1.2).final("my order", 1.6).final("is late", 2.6).vad_stop(2.5).final("is late", 2.7)
    assert [t.text for t in again.bot(3.4, 5.0).told().turns] == ["my order is late"]
    first = call().user(1.0, 2.0, "my order", final_at=2.3)
    seq = next(e.seq for e in first.events() if e.kind == "transcript")
    assert [t.text for t in first.final("my order is late", 2.8, revision_of=seq).bot(3.4, 5.0).told().turns] == [
        "my order is late"
    ]


def test_predicted_words_are_nobodys(call: Call) -> None:
    story = call().user(1.0, 2.0).put(1.8, "transcript", party="caller", text="my order", final=False, eager=True)
    (turn,) = story.bot(3.0, 4.0).told().turns
    assert (turn.text, turn.turn_class) == (None, "no_transcript")


def test_what_was_meant_is_not_what_was_said(call: Call) -> None:
    timed = (
        call().user(1.0, 2.0, "hi").bot(3.0, 4.0, "It is on its way.", cut=True, name="r").say("r", 3.2, spoken="It is")
    )
    assert [a.text for a in timed.say("r", 4.0, unspoken="on its way.").told().agent_turns] == ["It is"]
    untimed = call().user(1.0, 2.0, "hi").bot(3.0, 4.0, "It is on its way.", cut=True, name="r")
    assert [a.text for a in untimed.told().agent_turns] == [None]
    assert [a.text for a in untimed.say("r", 4.0, unspoken="on its way.").told().agent_turns] == ["It is"]


def test_a_caller_who_hangs_up_on_a_speaking_agent_cut_its_reply(call: Call) -> None:
    story = call().user(1.0, 2.0, "hi").bot(3.0, 6.0, "It is on its way.", cut=True)
    assert story.end(6.1, "caller").told().facts["truncated_by_hangup"] == 1
    whole = call().user(1.0, 2.0, "hi").bot(3.0, 6.0, "It is on its way.", cut=False).end(6.1, "caller").told()
    assert "truncated_by_hangup" not in whole.facts
    own = call().user(1.0, 2.0, "hi").bot(3.0, 6.0, "It is on its way.", cut=True).end(6.1, "agent").told()
    assert "truncated_by_hangup" not in own.facts


@pytest.mark.parametrize("why", ["interruption", "overlap", None])
def test_a_response_that_somebody_silenced_has_not_stalled(call: Call, why: str | None) -> None:
    story = call().user(1.0, 2.0, "tell me").run("r", "requested", 9.5, why="user_turn")
    story.play("r", 10.0, 12.3, truncated=True).play("r", 17.0, 19.0, truncated=False)
    if why == "interruption":
        story.interruption(12.2)
    elif why == "overlap":
        story.user(12.0, 12.8, "wait")
    assert story.end(30.0).told().facts.get("stalled_turn", 0) == (0 if why else 1)


# Outcomes that the application or the line tells


def test_a_human_who_joins_completes_the_hand_over(call: Call) -> None:
    story = call().user(1.0, 2.0, "a human please").bot(3.0, 4.0).put(4.2, "transfer", phase="requested")
    story.put(9.0, "participant", state="joined", participant="P9", role="human_agent")
    assert story.end(14.0, "caller").told().call.outcome == "escalated"


def test_a_transfer_that_was_tried_and_withdrawn_is_no_empty_promise(call: Call) -> None:
    story = call().user(1.0, 2.0, "a human please").bot(3.0, 5.0, "I'll transfer you to a colleague.", name="r")
    story.tool("transfer_to_human", "called", 4.0, response_id="r").tool("transfer_to_human", "cancelled", 4.5)
    story.user(5.5, 6.5, "no wait, tell me the price").bot(7.3, 9.0, "Forty dollars.", cut=False)
    assert story.end(12.0, "caller").told().call.outcome == "contained"


def test_a_call_back_that_was_arranged_is_no_containment(call: Call) -> None:
    story = call().user(1.0, 2.0, "call me back").bot(3.0, 4.0).put(4.2, "transfer", phase="callback")
    told = story.end(14.0, "caller").told()
    assert (told.call.outcome, told.call.contained) == ("callback", False)


def test_a_voicemail_detector_takes_the_call_out_of_scope(call: Call) -> None:
    story = call().user(1.0, 4.0, "please leave a message").interruption(4.2, cause="voicemail").bot(4.6, 6.0)
    told = story.end(7.0, "agent").told()
    assert (told.call.outcome, told.call.in_scope) == ("voicemail", False)
