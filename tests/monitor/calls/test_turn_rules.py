"""Rules of turns that no field case covers: when one opens and ends, what answers it, its class, when it is final."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a_pause_is_not_the_end(call: Call) -> None:
    told = call().user(1.0, 2.0, "I would like").user(4.5, 5.0, "a refund").bot(6.0, 7.0).told()
    assert [(t.text, t.response_latency_ns) for t in told.turns] == [("I would like a refund", 1_000_000_000)]


def test_three_seconds_of_silence_close_a_turn(call: Call) -> None:
    told = call().user(1.0, 2.0, "hello").user(5.1, 5.5, "anybody there").bot(6.0, 7.0).told()
    assert [t.unanswered for t in told.turns] == [True, False]


def test_an_early_yes_is_a_turn(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 14.0, "Shall I book it?", why="greeting", cut=False)
        .user(13.5, 13.8, "yes")
        .bot(14.9, 17.0, "Done.", asked=14.2)
        .told()
    )
    assert [t.text for t in told.turns] == ["yes"]
    assert told.latencies == [1.1]


def test_an_unknown_overlap_opens_a_turn_only_if_it_outlasts_the_agent_or_stops_it(call: Call) -> None:
    silent = {"recogniser": False, "mode": "realtime"}
    assert call(**silent).bot(10.0, 20.0, cut=False).user(12.0, 13.0).told().turns == []
    assert len(call(**silent).bot(10.0, 20.0, cut=False).user(18.0, 22.0).told().turns) == 1
    cut_off = call(**silent).bot(10.0, 13.2, cut=True).user(12.0, 13.0).interruption(13.1)
    assert len(cut_off.end(20.0).told().turns) == 1


def test_overdue_is_shown_at_once_and_turned_into_the_true_latency(call: Call) -> None:
    story = call().user(1.0, 2.0, "hello").bot(15.0, 16.0, asked=2.3)
    timeline = story.live()
    assert [r for r in timeline.advance(9_000_000_000) if r.kind == "turn"] == []
    waiting = [r for r in timeline.advance(12_500_000_000) if r.kind == "turn"]
    assert [(r.overdue, r.unanswered, r.waited_ns, r.revision) for r in waiting] == [(True, False, 10_500_000_000, 0)]
    answered = [r for r in timeline.advance(16_000_000_000) if r.kind == "turn"]
    assert [(r.overdue, r.response_latency_ns, r.revision) for r in answered] == [(False, 13_000_000_000, 1)]


def test_a_run_that_is_thrown_away_answers_nothing(call: Call) -> None:
    told = (
        call()
        .vad_start(1.2)
        .put(2.0, "transcript", party="caller", text="my order", final=False, eager=True)
        .run("e", "requested", 2.05, why="eager")
        .run("e", "cancelled", 2.5)
        .vad_stop(3.2)
        .final("my order is late", 3.3)
        .bot(4.0, 5.0)
        .told()
    )
    assert told.latencies == [1.0]
    assert (told.turns[0].cancelled_generation, told.turns[0].generations) == (1, 2)


def test_an_answer_in_the_last_syllable_is_a_latency_below_zero(call: Call) -> None:
    told = call().user(1.0, 3.0, "what time is it").bot(2.8, 4.0, asked=2.5).told()
    assert told.latencies == [-0.2]
    assert told.turns[0].parts_ns == {"unattributed": -200_000_000}
    assert told.interruptions == []


def test_an_onset_in_the_middle_of_a_turn_interrupts_and_answers_nothing(call: Call) -> None:
    told = call().user(1.0, 3.0, "what time is it").bot(2.0, 2.5, why="prompt").bot(4.0, 5.0).told()
    assert told.interruptions == [(2.0, "overlap")]
    assert told.latencies == [1.0]


def test_what_the_application_says_into_silence_answers_nobody(call: Call) -> None:
    told = call().bot(5.0, 6.0, why="application").user(7.0, 8.0, "hi").bot(9.0, 10.0).told()
    assert told.latencies == [1.0]
    assert [a.answers for a in told.agent_turns] == [None, "t1"]


def test_audio_that_was_made_and_never_heard(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "hi")
        .run("r", "requested", 2.3, why="user_turn")
        .run("r", "first_audio", 3.0)
        .end(9.0)
        .told()
    )
    assert [(t.unanswered, t.reason) for t in told.turns] == [(True, "not_audible")]
    assert told.facts["not_audible"] == 1


@pytest.mark.parametrize(
    ("cause", "at", "turn_class", "unanswered"),
    [
        ("caller", 4.0, "closing", False),
        ("caller", 6.0, "eligible", True),
        ("transport", 4.0, "lost", False),
        ("agent", 4.0, "eligible", True),
    ],
)
def test_the_class_of_the_last_turn(call: Call, cause: str, at: float, turn_class: str, unanswered: bool) -> None:
    told = call().user(1.0, 2.0, "my order number").end(at, cause).told()
    assert [(t.turn_class, t.unanswered) for t in told.turns] == [(turn_class, unanswered)]


def test_a_prompt_in_a_short_pause_of_the_callers_breaks_into_the_turn(call: Call) -> None:
    told = (
        call().user(1.0, 3.0).user(3.4, 5.0, "I would like to order").turn_end(5.4)
        .bot(3.2, 3.6, "Hm?", why="prompt", cut=True).bot(6.0, 7.0).told()
    )  # fmt: skip
    assert told.interruptions == [(3.2, "overlap")]
    assert [(o.cell, o.decided_by) for o in told.overlaps] == [(None, "after_agent_interruption")]
    assert told.latencies == [1.0]


def test_a_small_word_right_after_a_quick_answer_makes_no_interruption_of_it(call: Call) -> None:
    told = call().user(1.0, 3.0, "what is it").bot(3.2, 6.0, asked=3.05, cut=False).user(3.4, 3.7, "mhm").told()
    assert (told.interruptions, told.latencies, told.cells) == ([], [0.2], ["TN"])


def test_a_prompt_is_no_premature_endpoint(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "four one")
        .turn_end(2.3)
        .bot(2.4, 4.0, why="prompt", cut=False)
        .user(2.6, 3.2, "five five")
        .end(20.0)
        .told()
    )
    assert told.interruptions == []
    assert not told.turns[0].premature_endpoint
    assert told.cells == ["FN"]


# When a turn's record is final


def test_a_turn_is_final_once_nothing_of_its_answer_is_under_way(call: Call) -> None:
    story = call().user(1.0, 2.0, "my balance").bot(3.0, 5.0, "Sure.", asked=2.3, name="a")
    story.tool("balance", "called", 3.2, response_id="a").tool("balance", "result", 9.0)
    story.bot(9.8, 11.0, "Forty.", why="tool_result", asked=9.0, after="a", name="b")
    at = {now: story.told(as_of=now).turns[0] for now in (7.0, 12.0, 14.1, 30.0)}
    assert {now: (t.final, t.generations) for now, t in at.items()} == {
        7.0: (False, 1), 12.0: (False, 2), 14.1: (True, 2), 30.0: (True, 2),
    }  # fmt: skip


def test_what_begins_for_a_turn_whose_record_is_final_changes_it_no_more(call: Call) -> None:
    story = call().user(1.0, 2.0, "my balance").bot(3.0, 5.0, "Sure.").bot(9.0, 10.0, "Sure.", asked=8.9)
    before, after = story.told(as_of=8.5).turns[0], story.told().turns[0]
    assert (before.final, before.generations, before.duplicate_reply) == (True, 1, 0)
    assert (after.generations, after.duplicate_reply, after.revision) == (1, 0, 0)


def test_late_finals_without_a_name_keep_the_order_in_which_the_words_were_said(call: Call) -> None:
    story = call(mode="realtime", recogniser=None).bot(5.0, 20.0, cut=False)
    told = story.user(10.0, 10.6).user(11.4, 11.7).final("hold on", 12.0).final("uh-huh", 12.3).end(30.0).told()
    assert [(o.text, o.wanted, o.decided_by) for o in told.overlaps] == [
        ("hold on", "yes", "words"),
        ("uh-huh", "no", "backchannel"),
    ]


def test_in_a_pipeline_audio_that_breaks_into_a_turn_answers_nothing_however_long_it_talks_on(call: Call) -> None:
    told = call().user(1.0, 4.0, "my order and the invoice").bot(2.0, 7.0, asked=1.9, cut=False).end(20.0).told()
    assert told.interruptions == [(2.0, "overlap")]
    assert [(t.answered_by, t.unanswered, t.reason) for t in told.turns] == [(None, True, "agent_interruption")]


def test_an_answer_that_comes_after_many_minutes_is_that_late(call: Call) -> None:
    story = call().user(1.0, 2.0, "where is it").turn_end(2.3).bot(702.0, 704.0, asked=2.4, cut=False).end(705.0)
    for minute in range(1, 12):
        story.put(60.0 * minute, "health")
    assert story.told().latencies == [700.0]


# What answers nobody


def test_a_greeting_that_was_asked_for_behind_the_callers_hello_answers_it_neither(call: Call) -> None:
    told = call().connected(0.0).user(0.6, 1.2, "hello").bot(2.0, 4.0, why="greeting", asked=1.5).told()
    assert [(t.turn_class, t.answered_by, t.reason) for t in told.turns] == [("greeted", None, "user_spoke_first")]


def test_old_text_that_goes_on_answers_nobody(call: Call) -> None:
    story = call().user(1.0, 2.0, "tell me").bot(3.0, 4.0, "A long story.", cut=True, name="a").interruption(3.9)
    told = story.user(3.6, 4.4, "hello?").bot(5.0, 7.0, why="resumed", asked=4.8, after="a").end(20.0).told()
    assert [(t.text, t.answered_by) for t in told.turns] == [("tell me", "a1"), ("hello?", None)]


def test_what_the_application_adds_once_a_turn_is_answered_belongs_to_no_turn(call: Call) -> None:
    story = (
        call().user(1.0, 2.0, "tell me").bot(3.0, 4.0, "Thursday.").bot(9.0, 10.0, "Still there?", why="application")
    )
    assert [a.answers for a in story.told().agent_turns] == ["t1", None]


def test_the_agents_own_sound_right_behind_its_end_is_no_turn(call: Call) -> None:
    story = call().bot(10.0, 12.0, "your balance is forty dollars", why="greeting", cut=False)
    told = story.user(12.2, 13.2, "your balance is forty").end(20.0).told()
    assert (told.turns, told.overlaps) == ([], [])


@pytest.mark.parametrize(("goes_on", "found"), [(15.4, [(15.0, "resumed")]), (15.7, [])])
def test_resumed_text_breaks_in_only_on_a_caller_who_goes_on_at_once(
    call: Call, goes_on: float, found: list[tuple[float, str]]
) -> None:
    story = call().user(1.0, 2.0, "tell me").bot(10.0, 12.3, cut=True, name="a").interruption(12.25)
    story.user(12.0, 13.0, "actually I wanted").bot(15.0, 18.0, why="resumed", asked=14.8, after="a", cut=False)
    assert story.user(goes_on, goes_on + 1.0, "to change it").end(30.0).told().interruptions == found


@pytest.mark.parametrize(("what", "reason"), [("cancelled", "cancelled"), ("prompted", "prompt"), ("nothing", None)])
def test_why_a_turn_was_never_answered_is_said_where_it_is_known(call: Call, what: str, reason: str | None) -> None:
    story = call().user(1.0, 2.0, "my order")
    if what == "cancelled":
        story.run("r", "requested", 2.4, why="user_turn").run("r", "cancelled", 2.9)
    elif what == "prompted":
        story.bot(9.0, 10.0, "Are you still there?", why="prompt", asked=8.9)
    assert [(t.unanswered, t.reason) for t in story.end(20.0).told().turns] == [(True, reason)]


def test_a_tool_that_is_called_long_after_changes_no_record_that_was_final(call: Call) -> None:
    story = call().user(1.0, 2.0, "my balance").bot(3.0, 5.0, "Sure.", name="a").run("a", "ended", 3.5)
    story.tool("tidy_up", "called", 8.6, response_id="a").tool("tidy_up", "result", 30.0)
    assert (story.told(as_of=8.4).turns[0].final, story.told(as_of=9.0).turns[0].final) == (True, True)


def test_a_slow_recogniser_does_not_lose_its_slowest_turns(call: Call) -> None:
    story = call().bot(0.5, 3.0, "Hello.", why="greeting", cut=False).user(10.0, 11.0).final("thanks a lot", 18.4)
    told = story.bot(20.2, 21.0, "You are welcome.").end(30.0).told()
    assert [(t.turn_class, t.text, t.unanswered) for t in told.turns] == [("eligible", "thanks a lot", False)]
    assert told.latencies == [pytest.approx(9.2)]


@pytest.mark.parametrize("what", ["the agent spoke", "it has its final", "long ago", "muted"])
def test_words_that_come_late_are_those_of_the_last_speech_only_where_nothing_speaks_against_it(
    call: Call, what: str
) -> None:
    late = 42.0 if what == "long ago" else 18.4
    story = call()
    if what == "muted":
        story.mute(9.0, 12.0)
    story.user(10.0, 11.0, "my order" if what == "it has its final" else None).final("thank you for watching", late)
    if what == "the agent spoke":
        story.bot(14.0, 15.0, "Are you still there?", why="prompt", asked=13.9)
    told = story.end(60.0).told()
    assert "thank you for watching" not in [t.text for t in told.turns]
    assert told.facts["words_without_speech"] == 1
