"""Field cases of group B, and C10 and D14: who wanted the floor, who kept it, and who owed speech."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


@pytest.mark.parametrize(("goes_on", "cell"), [(True, "TN"), (False, "FP")])
def test_b01_a_backchannel_is_no_turn_whatever_the_agent_does(call: Call, goes_on: bool, cell: str) -> None:
    story = call().user(13.0, 13.3, "mhm")
    if goes_on:
        story.bot(10.0, 20.0, why="greeting", cut=False)
    else:
        story.bot(10.0, 13.4, why="greeting", cut=True).interruption(13.35)
    told = story.end(30.0).told()
    assert told.cells == [cell]
    assert [(o.wanted, o.want_class, o.decided_by) for o in told.overlaps] == [("no", "backchannel", "backchannel")]
    assert told.turns == []
    assert [o.stop_latency_ns for o in told.overlaps] == [None]


def test_b02_the_same_word_into_silence_is_an_answer(call: Call) -> None:
    told = call().bot(15.0, 20.0, why="greeting").user(21.0, 21.3, "yeah").bot(22.1, 24.0).told()
    assert told.latencies == [0.8]
    assert told.overlaps == []


def test_b02_small_words_with_a_stop_among_them_are_wanted(call: Call) -> None:
    told = call().bot(10.0, 12.0, cut=True).interruption(11.8).user(11.0, 11.9, "umm okay stop").told()
    assert told.cells == ["TP"]


def test_b03_small_words_do_not_add_up(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 15.2, why="greeting", cut=True)
        .user(11.0, 11.2, "yeah", final_at=11.4)
        .user(13.0, 13.2, "ok", final_at=13.4)
        .user(15.0, 15.1, "mm", final_at=15.3)
        .interruption(15.15)
        .end(30.0)
        .told()
    )
    assert told.cells == ["TN", "TN", "FP"]
    assert told.turns == []


def test_b04_a_cough_that_stops_the_agent_is_a_false_yield(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 12.25, "Your appointment is on Monday at nine.", why="greeting", cut=True)
        .vad_start(12.2, 0.2)
        .vad_stop(12.4, 0.2)
        .interruption(12.2)
        .user(18.0, 18.5, "hello?")
        .told()
    )
    assert told.cells == ["FP"]
    assert (told.overlaps[0].want_class, told.overlaps[0].stop_latency_ns) == ("noise", None)
    assert told.dead_air == [(12.25, 18.0)]
    assert told.owed == [{"agent": 5.75}]
    assert [t.u_on_ns for t in told.turns] == [18_000_000_000]


def test_b04_until_words_can_no_longer_come_it_is_unknown_and_no_turn(call: Call) -> None:
    story = call().bot(10.0, 12.25, why="greeting", cut=True).user(12.0, 12.2).interruption(12.2)
    told = story.told(as_of=14.0)
    assert [(o.wanted, o.final) for o in told.overlaps] == [("unknown", False)]
    assert told.turns == []
    assert story.told(as_of=15.3).cells == ["FP"]


def test_b06_an_interruption_that_was_resumed_over(call: Call) -> None:
    told = (
        call(agent_edges=("playout", "audio"))
        .run("r", "requested", 9.5, why="user_turn")
        .play("r", 10.0, 12.3, truncated=True)
        .interruption(12.25)
        .user(12.0, 13.0)
        .interim("actually I wanted", 12.8)
        .play("r", 15.0, 15.9, truncated=True)
        .interruption(15.8)
        .user(15.4, 16.4, "to change it")
        .told()
    )
    assert [(o.cell, o.decided_by) for o in told.overlaps] == [("TP", "words"), (None, "after_agent_interruption")]
    assert told.overlaps[0].stop_latency_ns == 300_000_000
    assert told.overlaps[0].resumed_after_ns == 2_700_000_000
    assert told.interruptions == [(15.0, "resumed")]
    assert len(told.turns) == 1


def test_b07_the_agents_own_words_are_echo(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 11.3, "your balance is forty dollars", why="greeting", cut=True)
        .user(11.0, 11.8, "your balance is forty", final_at=12.0)
        .interruption(11.2)
        .told()
    )
    assert told.cells == ["FP"]
    assert (told.overlaps[0].want_class, told.overlaps[0].decided_by) == ("echo", "echo")
    assert told.turns == []


def test_b07_echo_is_told_where_only_whole_sentences_are_timed(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 14.0, "your balance is forty dollars today.", why="greeting", cut=False, name="r")
        .say("r", 13.9, spoken="your balance is forty dollars today.")
        .user(11.0, 12.4, "your balance is forty")
        .end(20.0)
        .told()
    )
    assert [(o.cell, o.decided_by) for o in told.overlaps] == [("TN", "echo")]
    assert told.turns == []


def test_b07_a_sentence_of_long_ago_is_no_echo(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 24.0, why="greeting", cut=False, name="r")
        .say("r", 12.0, spoken="your balance is forty dollars today.")
        .say("r", 16.0, spoken="There is one more thing.")
        .say("r", 24.0, spoken="It is about the invoice of last month.")
        .user(20.0, 21.4, "your balance is forty")
        .end(30.0)
        .told()
    )
    assert [o.decided_by for o in told.overlaps] == ["words"]


def test_b08_digits_with_pauses_are_one_turn_cut_off_too_early(call: Call) -> None:
    told = (
        call()
        .user(8.5, 10.0, "four one five", final_at=10.2)
        .turn_end(10.3)
        .bot(10.7, 11.1, asked=10.35, cut=True)
        .user(10.9, 12.5, "five five five", final_at=12.8)
        .interruption(11.05)
        .turn_end(12.9)
        .bot(13.5, 15.0)
        .told()
    )
    assert told.interruptions == [(10.7, "premature_endpoint")]
    assert told.cells == [None]
    assert told.overlaps[0].decided_by == "after_agent_interruption"
    assert [t.text for t in told.turns] == ["four one five five five five"]
    assert told.turns[0].premature_endpoint
    assert told.latencies == [1.0]


def test_b08_a_stop_word_right_after_the_onset_is_a_barge_in(call: Call) -> None:
    told = (
        call()
        .user(8.5, 10.0, "four one five", final_at=10.2)
        .turn_end(10.3)
        .bot(10.7, 11.2, asked=10.35, cut=True)
        .user(10.9, 11.5, "wait", final_at=11.7)
        .interruption(11.1)
        .told()
    )
    assert told.interruptions == []
    assert told.cells == ["TP"]
    assert told.latencies[0] == 0.7


def test_b09_digits_that_never_finalise_and_a_caller_who_leaves(call: Call) -> None:
    story = call().vad_start(5.2, 0.2)
    for n in range(1, 10):
        story.interim(" ".join("123456789"[:n]), 5.2 + 0.4 * n)
    told = story.vad_stop(9.2, 0.2).end(25.0, "caller").told()
    turn = told.turns[0]
    assert (turn.interim_only, turn.unanswered, turn.text) == (True, True, "1 2 3 4 5 6 7 8 9")
    assert told.dead_air == [(9.0, 25.0)]
    assert (told.call.end_cause, told.call.outcome, told.call.contained) == ("caller", "abandoned", False)


def test_b11_a_deliberate_wait_is_attributed_to_its_setting(call: Call) -> None:
    told = (
        call()
        .vad_start(0.2, 0.2)
        .vad_stop(2.2, 0.2)
        .final("I'd say uh", 2.4)
        .turn_end(5.45, incomplete_at_ns=(2_550_000_000,))
        .run("r", "requested", 5.45, why="user_turn")
        .run("r", "first_token", 5.70)
        .run("r", "first_text", 5.75)
        .run("r", "first_audio", 5.95)
        .play("r", 5.95, 8.0)
        .told()
    )
    assert told.latencies == [3.95]
    split = {name: part / 1e9 for name, part in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.55, "hold": 2.9, "llm": 0.25, "aggregation": 0.05, "tts": 0.2}


def test_b13_stop_is_no_backchannel_whatever_the_setting(call: Call) -> None:
    told = call(min_words=2).bot(10.0, 20.0, cut=False).user(13.0, 13.4, "stop").end(30.0).told()
    assert told.cells == ["FN"]
    assert told.overlaps[0].missed_because == "min_words"
    assert told.overlaps[0].stop_latency_ns == 7_000_000_000


def test_b14_dead_air_after_a_tool_call(call: Call) -> None:
    told = (
        call()
        .user(8.0, 10.0, "book it")
        .run("r", "requested", 10.3, why="user_turn")
        .run("r", "tools_called", 10.6)
        .tool("book", "called", 10.6, response_id="r")
        .tool("book", "result", 11.0)
        .user(24.0, 24.5, "hello?")
        .bot(25.3, 27.0)
        .told()
    )
    assert [t.unanswered for t in told.turns] == [True, False]
    assert told.latencies == [None, 0.8]
    assert told.dead_air[0] == (10.0, 24.0)
    assert told.owed[0] == {"agent": 13.6, "tool": 0.4}


def test_b15_an_overlap_in_the_last_syllable_is_outside_the_square(call: Call) -> None:
    told = (
        call().bot(20.0, 27.08, why="greeting", cut=False).user(26.80, 29.0, "the third of May").bot(29.9, 31.0).told()
    )
    assert [(o.cell, o.terminal) for o in told.overlaps] == [(None, "natural_end")]
    assert told.latencies == [0.9]


def test_b16_a_verdict_belongs_to_the_overlap_it_was_asked_for(call: Call) -> None:
    told = (
        call()
        .bot(5.0, 20.0, cut=False)
        .user(10.0, 10.6, "hold on")
        .user(11.0, 11.3, "uh-huh")
        .put(11.2, "classifier", answer="interruption", requested_ns=10_400_000_000)
        .end(30.0)
        .told()
    )
    assert [(o.wanted, o.decided_by) for o in told.overlaps] == [("yes", "words"), ("no", "backchannel")]
    assert told.cells == ["FN", "TN"]


def test_b16_a_later_run_that_is_no_backchannel_belongs_to_the_first(call: Call) -> None:
    told = call().bot(5.0, 20.0, cut=False).user(10.0, 10.6, "hold on").user(11.0, 11.6, "I have a question").told()
    assert [(o.u_on_ns, o.u_off_ns) for o in told.overlaps] == [(10_000_000_000, 11_600_000_000)]


def test_b18_a_cut_with_nobody_speaking_is_spurious(call: Call) -> None:
    story = call().bot(5.0, 5.3, "It is on its way to you.", why="greeting", cut=True, name="r").interruption(5.3)
    told = story.say("r", 5.3, spoken="It").say("r", 5.31, unspoken="is on its way to you.").end(20.0).told()
    assert told.facts["spurious_interruption"] == 1
    assert [(a.interrupted, a.text, a.unspoken) for a in told.agent_turns] == [(True, "It", "is on its way to you.")]
    assert told.overlaps == []
    assert told.turns == []


def test_c10_words_without_speech_open_no_turn_and_contain_nothing(call: Call) -> None:
    told = call().bot(1.0, 3.0, why="greeting").final("Thank you for watching!", 11.0).end(14.0).told()
    assert told.turns == []
    assert told.facts["words_without_speech"] == 1
    assert (told.call.outcome, told.call.contained) == ("silent", None)


def test_d14_order_and_duplicates_change_nothing(call: Call) -> None:
    story = call().user(1.0, 2.3, "hi").bot(3.4, 5.1).end(9.0)
    events = story.events()
    from earwitness.monitor.calls.timeline import CallTimeline

    timeline = CallTimeline("c1")
    for event in [*reversed(events), events[5], events[5]]:
        timeline.add(event)
    timeline.advance(400_000_000_000)
    apart = [r.model_copy(update={"duplicates": 0}) if r.kind == "call" else r for r in timeline.records()]
    assert sorted(apart, key=lambda r: r.id) == sorted(story.told().records, key=lambda r: r.id)


def test_d14_a_gap_that_never_fills_is_counted_and_holds_nothing_up(call: Call) -> None:
    events = call().user(1.0, 2.3, "hi").bot(3.4, 5.1).put(6.0, "health").end(9.0).events()
    from earwitness.monitor.calls.whole_call import fold

    records = fold([e for e in events if e.kind != "health"])
    assert [r.missing_events for r in records if r.kind == "call"] == [1]
    assert [r.response_latency_ns for r in records if r.kind == "turn"] == [1_100_000_000]


def test_d14_a_range_reported_as_dropped_is_excused(call: Call) -> None:
    story = call().user(1.0, 2.3, "hi").put(2.9, "mute", state="off")
    n = next(e.seq for e in story.events() if e.kind == "mute")
    story.put(5.0, "health", dropped=({"first_seq": n, "last_seq": n, "reason": "buffer_full"},)).end(9.0)
    from earwitness.monitor.calls.whole_call import fold

    ended = next(r for r in fold([e for e in story.events() if e.kind != "mute"]) if r.kind == "call")
    assert (ended.missing_events, ended.dropped_events) == (0, 1)
