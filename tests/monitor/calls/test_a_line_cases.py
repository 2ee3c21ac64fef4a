"""Field cases A28 to A46: silence, playout, who is on the line, how calls end and what nobody could hear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a28_a_reply_that_stalls_is_the_agents_silence(call: Call) -> None:
    told = (
        call(agent_edges=("playout", "audio"))
        .run("r", "requested", 7.0, why="greeting")
        .say("r", 7.3, intended="Welcome to the clinic.", spoken="Welcome to the clinic.")
        .say("r", 10.6, intended="We are open today.")
        .say("r", 11.7, intended="How can I help?")
        .play("r", 7.3, 31.0)
        .edge(True, 7.3, party="agent", evidence="audio")
        .edge(False, 9.0, party="agent", evidence="audio")
        .user(29.0, 29.4, "hello?")
        .edge(True, 29.7, party="agent", evidence="audio")
        .edge(False, 31.0, party="agent", evidence="audio")
        .told()
    )
    assert told.dead_air[0] == (9.0, 29.0)
    assert told.owed[0] == {"agent": 20.0}
    assert told.latencies == [None]
    assert len(told.agent_turns) == 1
    assert told.facts["stalled_turn"] == 1


def test_a28_while_it_stalls_the_silence_is_the_agents_too(call: Call) -> None:
    told = (
        call(agent_edges=("playout", "audio"))
        .run("r", "requested", 7.0, why="greeting")
        .say("r", 7.3, intended="Welcome to the clinic.", spoken="Welcome to the clinic.")
        .say("r", 10.6, intended="We are open today.")
        .play("r", 7.3)
        .edge(True, 7.3, party="agent", evidence="audio")
        .edge(False, 9.0, party="agent", evidence="audio")
        .told(as_of=20.0)
    )
    assert told.dead_air == [(9.0, None)]
    assert told.owed == [{"agent": 11.0}]


def test_a29_audio_counts_not_the_synthesis_that_says_it_stopped(call: Call) -> None:
    told = call().bot(2.0, 5.0).vad_start(4.8, 0.2).vad_stop(6.0, 0.2).final("wait", 6.1).told()
    assert [o.u_on_ns for o in told.overlaps] == [4_600_000_000]


@pytest.mark.parametrize("drained", [True, False])
def test_a30_audio_sent_faster_than_it_is_heard(call: Call, drained: bool) -> None:
    story = call(paced_playout=False).run("r", "requested", 0.2, why="greeting").play("r", 0.5)
    if drained:
        story.put(2.0, "playout", phase="last", edge_ns=2_000_000_000, response_id="r", truncated=False)
        story.put(5.6, "playout", phase="drained", edge_ns=5_500_000_000, response_id="r")
    else:
        story.put(
            2.0, "playout", phase="last", edge_ns=2_000_000_000, response_id="r", uncertain=True,
            written_ns=5_000_000_000,
        )  # fmt: skip
    told = story.vad_start(3.2, 0.2).vad_stop(3.7, 0.2).final("wait", 3.8).told()
    assert [o.u_on_ns for o in told.overlaps] == [3_000_000_000]
    overlap = told.overlaps[0]
    assert (overlap.wanted, overlap.cell) == (("yes", "FN") if drained else ("unknown", None))
    assert told.agent_turns[0].uncertain_end is not drained
    assert len(told.turns) == 1


def test_a31_a_stop_reported_seconds_too_late_makes_no_overlap(call: Call) -> None:
    told = (
        call()
        .bot(2.0, 4.0)
        .edge(True, 2.0, party="agent", evidence="decision")
        .edge(False, 12.0, party="agent", evidence="decision")
        .vad_start(5.7, 0.2)
        .vad_stop(6.7, 0.2)
        .final("yes", 6.9)
        .told()
    )
    assert told.overlaps == []
    assert [t.u_off_ns for t in told.turns] == [6_500_000_000]
    assert told.agent_turns[0].a_off_ns == 4_000_000_000


def test_a33_somebody_else_in_the_room_is_not_the_caller(call: Call) -> None:
    told = (
        call()
        .put(0.1, "participant", state="joined", participant="P1", role="caller")
        .put(0.2, "participant", state="joined", participant="P2", role="other")
        .bot(10.0, 15.0)
        .vad_start(12.2, 0.2, participant="P2")
        .vad_stop(13.2, 0.2, participant="P2")
        .final("tell them about the invoice", 13.4, participant="P2")
        .end(20.0)
        .told()
    )
    assert told.turns == []
    assert told.cells == [None]
    assert [(o.wanted, o.decided_by) for o in told.overlaps] == [(None, "other_participant")]
    assert told.call.other_speech_ns == 1_000_000_000


def test_a33_a_vad_hears_no_names_but_the_words_have_one(call: Call) -> None:
    told = (
        call()
        .put(0.1, "participant", state="joined", participant="P1", role="caller")
        .put(0.2, "participant", state="joined", participant="P2", role="other")
        .user(7.0, 8.5, "hello there")
        .bot(10.0, 15.0, cut=False)
        .vad_start(12.2, 0.2)
        .vad_stop(13.2, 0.2)
        .final("tell them about the invoice", 13.4, participant="P2")
        .end(20.0)
        .told()
    )
    assert [t.text for t in told.turns] == ["hello there"]
    assert [(o.cell, o.wanted, o.decided_by) for o in told.overlaps] == [(None, None, "other_participant")]
    assert told.call.other_speech_ns == 1_000_000_000


def test_a34_words_of_a_later_turn_do_not_go_to_muted_speech_of_the_same_utterance(call: Call) -> None:
    told = (
        call()
        .mute(0.0, 2.8)
        .bot(0.4, 2.8, why="greeting", cut=False)
        .user(0.8, 1.7)
        .interim("hello", 1.1, utterance_id="u1")
        .user(8.7, 10.2)
        .interim("where is", 9.4, utterance_id="u1")
        .final("where is my order", 10.4, utterance_id="u1")
        .bot(11.0, 13.0)
        .told()
    )
    assert [(t.text, t.turn_class) for t in told.turns] == [("where is my order", "eligible")]
    assert told.latencies == [0.8]
    assert [o.text for o in told.overlaps] == ["hello"]


def test_a34_speech_into_a_muted_input_is_no_missed_barge_in(call: Call) -> None:
    told = call().mute(2.0, 6.0).bot(2.0, 6.0, why="greeting").vad_start(3.2, 0.2).vad_stop(4.2, 0.2).told()
    assert told.facts["speech_while_muted"] == 1
    assert [(o.cell, o.wanted, o.decided_by) for o in told.overlaps] == [(None, None, "muted")]
    assert told.turns == []


@pytest.mark.parametrize("stop_seen", [True, False])
def test_a35_an_end_without_a_start_is_never_paired_with_an_earlier_one(call: Call, stop_seen: bool) -> None:
    story = call().vad_start(20.4, 0.2).final("I have a question", 21.4).turn_end(21.4).bot(22.0, 24.0)
    if stop_seen:
        story.vad_stop(21.2, 0.2)
    told = story.mute(30.0, 67.1).vad_stop(67.2, 0.2).final("yes", 67.3).bot(68.1, 70.0).told()
    turn = told.turns[-1]
    assert (turn.u_on_ns, turn.u_off_ns) == (None, 67_000_000_000)
    assert turn.response_latency_ns == 1_100_000_000
    assert len(told.turns) == 2
    assert told.turns[0].u_off_ns == (21_000_000_000 if stop_seen else 21_400_000_000)
    assert told.turns[0].response_latency_ns == (1_000_000_000 if stop_seen else None)
    assert told.interruptions == []


def test_a36_a_long_monologue_is_not_the_callers_silence(call: Call) -> None:
    told = call().bot(10.0, 40.0, why="greeting").user(40.8, 42.0, "yes").bot(43.0, 44.0).end(45.0).told()
    assert told.dead_air == []


def test_a36_the_callers_silence_pauses_while_muted(call: Call) -> None:
    told = call().bot(10.0, 12.0, why="greeting").mute(12.0, 18.0).user(22.0, 23.0, "yes").told()
    assert told.owed == [{"caller": 4.0}]


def test_a38_a_call_that_never_ends_ended_at_its_last_event(call: Call) -> None:
    story = call().user(20.0, 22.0, "hello").bot(23.0, 25.0).end(700.0, "agent")
    told = story.told()
    assert (told.call.ended_ns, told.call.end_cause, told.call.outcome) == (25_000_000_000, "unknown", "unknown")
    assert (told.call.contained, told.call.in_scope, told.call.stray) == (None, False, 1)
    assert len(told.of("call")) == 1


def test_a38_the_end_is_taken_back_when_events_come_after_all(call: Call) -> None:
    story = call().user(20.0, 22.0, "hello").bot(23.0, 25.0)
    timeline = story.live()
    timeline.advance(400_000_000_000)
    assert timeline.ended
    story.put(200.0, "health").put(400.0, "health")
    for event in story.events():
        timeline.add(event)
    timeline.advance(410_000_000_000)
    assert not timeline.ended


@pytest.mark.parametrize("delivered", [True, False])
def test_a39_what_died_in_the_shutdown_is_said(call: Call, delivered: bool) -> None:
    story = (
        call()
        .bot(55.0, None, name="r")
        .end(60.0, "agent", counts={"call_started": 1, "response": 1, "playout": 2, "transcript": 1})
    )
    if delivered:
        story.put(59.90, "playout", phase="last", edge_ns=59_900_000_000, response_id="r")
        story.final("bye", 59.95)
    told = story.told()
    assert told.call.tail_incomplete is not delivered
    assert told.call.missing_events == (0 if delivered else 2)


def test_a40_a_deaf_monitor_claims_nothing(call: Call) -> None:
    told = call().connected(0.0).put(60.0, "health", no_frames_seen=True, observer_errors=1).end(300.0).told()
    assert (told.call.caller_observable, told.call.reason, told.call.outcome) == (False, "unobservable", "unknown")
    assert told.turns == []
    assert told.dead_air == []
    assert told.call.talk_ns == {}
    assert (told.facts["no_frames_seen"], told.facts["observer_errors"]) == (1, 1)


def test_a41_an_error_that_was_absorbed_is_one_error(call: Call) -> None:
    story = call().put(5.0, "fault", fault_id="f1", processor="tts").put(6.0, "fault", fault_id="f1", recovered=True)
    told = story.told()
    assert (told.call.faults, told.call.faults_recovered, told.call.faults_by) == (1, 1, {"tts": 1})


def test_a41_faults_are_counted_at_their_origin(call: Call) -> None:
    story = call().put(5.0, "fault", fault_id="f1", processor="tts").put(6.0, "fault", fault_id="f2", processor="llm")
    told = story.put(7.0, "fault", fault_id="f3").put(8.0, "fault", fault_id="f4", processor="llm").told()
    assert (told.call.faults, told.call.faults_recovered) == (4, 0)
    assert told.call.faults_by == {"llm": 2, "tts": 1, "unknown": 1}


def test_a42_a_step_of_the_wall_clock_changes_no_duration(call: Call) -> None:
    story = call().user(48.0, 49.8, "hi").bot(50.9, 52.0)
    stepped = [
        e.model_copy(update={"wall_ns": e.wall_ns - 2_000_000_000 * (e.at_ns > 50_500_000_000)}) for e in story.events()
    ]
    from earwitness.monitor.calls.whole_call import fold

    turns = [r for r in fold(stepped) if r.kind == "turn"]
    assert [t.response_latency_ns for t in turns] == [1_100_000_000]
    assert turns[0].event_wall_ns == 1_800_000_049_800_000_000


def test_a44_without_the_callers_side_nothing_is_said_of_it(call: Call) -> None:
    story = call(mode="realtime", recogniser=False, caller_edges=(), agent_edges=("playout",))
    for on, off in ((1.0, 5.0), (9.0, 14.0), (20.0, 24.0)):
        story.bot(on, off, why="unknown")
    told = story.end(30.0).told()
    assert (told.call.caller_observable, told.call.reason) == (False, "unobservable")
    assert (told.call.outcome, told.call.contained, told.call.talk_ns) == ("unknown", None, {})
    assert (told.turns, told.overlaps, told.dead_air) == ([], [], [])
    assert len(told.agent_turns) == 3


def test_a44_nor_whether_the_caller_spoke_before_the_greeting(call: Call) -> None:
    story = call(mode="realtime", recogniser=False, caller_edges=(), agent_edges=("playout",)).connected(0.0)
    greeting = story.bot(1.0, 5.0, why="greeting").end(30.0).told().agent_turns[0]
    assert (greeting.greeting_latency_ns, greeting.greeting_reason) == (None, "unobservable")


def test_a45_a_final_that_restates_its_segment_replaces_it(call: Call) -> None:
    told = (
        call()
        .vad_start(1.2)
        .final("my order number", 2.0)
        .final("is four two one", 3.4)
        .vad_stop(3.6)
        .final("my order number is four two one.", 3.8)
        .told()
    )
    assert [t.text for t in told.turns] == ["my order number is four two one."]


def test_a45_the_same_word_in_two_segments_stays_twice(call: Call) -> None:
    told = call().user(1.0, 1.4, "no").user(2.4, 2.8, "no").bot(4.0, 5.0).told()
    assert [t.text for t in told.turns] == ["no no"]


def test_a45_interim_words_that_no_final_has_stay_beside_those_of_finals(call: Call) -> None:
    story = call().user(1.0, 2.0).interim("actually I wanted", 1.8).user(3.4, 4.4, "to change it").bot(5.4, 6.0)
    assert [(t.text, t.interim_only) for t in story.told().turns] == [("actually I wanted to change it", False)]
    again = call().user(1.0, 2.0).interim("actually I wan", 1.8).user(3.4, 4.4, "actually I wanted to change it")
    assert [t.text for t in again.bot(5.4, 6.0).told().turns] == ["actually I wanted to change it"]


def test_a46_only_what_was_audible_is_spoken(call: Call) -> None:
    told = (
        call()
        .say("setup", 0.0, intended="Welcome!")
        .run("r", "requested", 0.9, why="greeting")
        .say("r", 1.0, intended="Welcome!", spoken="Welcome!")
        .play("r", 1.0, 3.0)
        .end(9.0)
        .told()
    )
    assert [(a.a_on_ns, a.a_off_ns, a.text) for a in told.agent_turns] == [(1_000_000_000, 3_000_000_000, "Welcome!")]
    assert [a.unspoken for a in told.unspoken] == ["Welcome!"]
    assert told.call.talk_ns["agent"] == 2_000_000_000
