"""Field cases of group A: what observers of a pipeline get wrong about time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a01_flicker_inside_one_reply_is_one_agent_turn(call: Call) -> None:
    told = (
        call(agent_edges=("playout", "audio"))
        .user(1.0, 2.3, "hello there")
        .bot(3.4, 7.0)
        .edge(True, 3.4, party="agent", evidence="audio")
        .edge(False, 5.10, party="agent", evidence="audio")
        .edge(True, 5.11, party="agent", evidence="audio")
        .edge(False, 7.0, party="agent", evidence="audio")
        .told()
    )
    assert told.latencies == [1.1]
    assert [(a.a_on_ns, a.a_off_ns) for a in told.agent_turns] == [(3_400_000_000, 7_000_000_000)]


def test_a02_padding_silence_is_no_speech_and_no_barge_in(call: Call) -> None:
    told = (
        call()
        .bot(2.0, 4.0, why="greeting")
        .edge(True, 2.0, party="agent", evidence="decision")
        .edge(False, 4.0, party="agent", evidence="decision")
        .edge(True, 5.50, party="agent", evidence="decision")
        .edge(False, 5.62, party="agent", evidence="decision")
        .vad_start(5.55, 0.2)
        .final("yes", 5.9)
        .vad_stop(6.0, 0.2)
        .told()
    )
    assert told.overlaps == []
    assert told.facts["phantom_speech"] == 1
    assert [(t.text, t.u_off_ns / 1e9) for t in told.turns] == [("yes", 5.8)]
    assert len(told.agent_turns) == 1


def test_a07_without_any_edge_there_is_no_latency_and_it_is_said(call: Call) -> None:
    story = call(caller_edges=(), agent_edges=("playout",))
    for n in range(10):
        story.final("Yes.", 8.00 + 20 * n).turn_end(8.15 + 20 * n).bot(8.83 + 20 * n, 10.0 + 20 * n)
    told = story.told()
    assert told.latencies == [None] * 10
    assert {t.reason for t in told.turns} == {"no_acoustic_anchor"}
    assert {t.turn_class for t in told.turns} == {"eligible"}
    assert [t.at_least_ns for t in told.turns] == [830_000_000] * 10
    assert [t.agent_ttfa_ns for t in told.turns] == [680_000_000] * 10
    assert told.dead_air == []


def test_a15_the_parts_add_up_to_what_the_caller_heard(call: Call) -> None:
    told = (
        call()
        .user(8.0, 10.0, "what do I owe", final_at=10.5)
        .turn_end(10.7)
        .run("one", "requested", 11.1, why="user_turn")
        .run("one", "first_token", 11.7)
        .run("one", "tools_called", 11.7)
        .tool("balance", "called", 11.7, response_id="one")
        .tool("balance", "result", 12.4)
        .run("two", "requested", 12.4, why="tool_result", after="one")
        .run("two", "first_token", 13.0)
        .run("two", "first_text", 13.0)
        .run("two", "first_audio", 13.3)
        .play("two", 13.3, 15.0)
        .told()
    )
    turn = told.turns[0]
    assert told.latencies == [3.3]
    assert {k: v / 1e9 for k, v in turn.parts_ns.items()} == {
        "endpointing": 0.7, "queue": 0.4, "llm": 1.2, "tools": 0.7, "tts": 0.3,
    }  # fmt: skip
    assert sum(turn.parts_ns.values()) == turn.response_latency_ns
    assert turn.generations == 2
    assert turn.tool_ids == ("x",)


def test_a17_the_agent_hangs_up_on_a_caller_who_speaks(call: Call) -> None:
    told = (
        call()
        .user(8.5, 10.0, "thanks for that", final_at=10.2)
        .run("r", "requested", 10.3, why="user_turn")
        .run("r", "tools_called", 10.4)
        .tool("end_call", "called", 10.4, response_id="r")
        .vad_start(10.6, 0.2)
        .interruption(10.62)
        .end(11.2, "agent")
        .told()
    )
    assert (told.call.end_cause, told.call.outcome, told.call.contained) == ("agent", "cut_off", False)
    assert [t.unanswered for t in told.turns] == [True]
    assert told.latencies == [None]


def test_a20_speech_without_words_has_no_latency(call: Call) -> None:
    told = (
        call().vad_start(20.2, 0.2).vad_stop(20.8, 0.2).turn_end(25.8).bot(40.0, 42.0, why="prompt", asked=39.8).told()
    )
    assert told.latencies == [None]
    assert [(t.turn_class, t.reason, t.unanswered) for t in told.turns] == [("no_transcript", "no_transcript", False)]


def test_a23_after_the_greeting_it_is_the_callers_move(call: Call) -> None:
    told = (
        call().connected(0.0).user(0.6, 1.2, "hello", final_at=1.5).bot(1.6, 4.0, why="greeting", asked=0.2, cut=False)
        .end(20.0, "caller").told()
    )  # fmt: skip
    assert told.owed == [{"caller": 16.0}]
    assert told.call.outcome == "contained"


@pytest.mark.parametrize("connected", [True, False])
def test_a24_the_greeting_has_a_distribution_of_its_own(call: Call, connected: bool) -> None:
    story = call().bot(1.3, 4.0, why="greeting", asked=0.2).user(4.5, 5.1, "hi").bot(6.0, 8.0)
    told = (story.connected(0.0) if connected else story).told()
    assert told.latencies == [0.9]
    assert told.agent_turns[0].greeting_latency_ns == (1_300_000_000 if connected else None)


def test_a03_an_event_that_arrives_twice_counts_once(call: Call) -> None:
    story = call().user(1.0, 2.3, "hi").bot(3.4, 5.0).put(6.0, "fault", fault_id="f1", message="no route").end(9.0)
    timeline = story.live()
    for event in story.events():
        assert timeline.add(event) is False
    records = timeline.advance(10_000_000_000)
    ended = next(r for r in records if r.kind == "call")
    assert (ended.duplicates, ended.faults) == (len(story.events()), 1)
    assert sum(r.kind == "agent_turn" for r in records) == 1


def test_a04_a_second_end_of_the_same_response_changes_nothing(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.5, "hi")
        .run("r", "requested", 3.0, why="user_turn")
        .run("r", "ended", 3.9)
        .play("r", 4.0, 6.0)
        .run("r", "ended", 6.2)
        .told()
    )
    assert [(s.metric, s.value_ns) for s in told.stages] == [("duration", 900_000_000)]
    assert [t.generations for t in told.turns] == [1]


def test_a08_a_duration_the_size_of_the_epoch_is_invalid_not_a_value(call: Call) -> None:
    story = call()
    for n in range(100):
        value = 0.5 if n < 94 else 1747888559.8
        story.put(10.0 + n, "stage", service="stt", metric="ttfb", value_s=value)
    story.put(200.0, "stage", service="stt", metric="ttfb", value_s=float("nan"))
    told = story.told()
    assert [s.value_ns for s in told.stages if s.value_ns is not None] == [500_000_000] * 94
    assert told.facts["invalid"] == 7


def test_a09_an_edge_of_an_earlier_turn_is_no_anchor(call: Call) -> None:
    told = (
        call(caller_edges=("vad", "server"))
        .user(8.0, 10.0, "first")
        .bot(10.9, 12.0)
        .edge(True, 213.2, evidence="server")
        .final("second", 213.27)
        .turn_end(213.4)
        .bot(214.0, 215.0)
        .told()
    )
    assert told.latencies == [0.9, None]
    assert told.turns[1].reason == "stale_anchor"
    assert told.turns[1].at_least_ns == 730_000_000


def test_a10_a_latency_that_never_varies_is_flagged(call: Call) -> None:
    story = call()
    for n in range(20):
        story.user(10.0 * n + 1, 10.0 * n + 2, "yes please").bot(10.0 * n + 2.5, 10.0 * n + 4)
    assert story.told().facts["zero_variance"] == 1


def test_a11_a_first_byte_that_never_came_is_censored(call: Call) -> None:
    story = call()
    for n in range(20):
        at = 5.0 * n + 1
        story.run(f"r{n}", "requested", at, why="user_turn")
        if n < 16:
            story.run(f"r{n}", "first_token", at + 0.6)
        else:
            story.interruption(at + 0.1).run(f"r{n}", "cancelled", at + 0.1)
        story.put(at + 0.7, "stage", service="llm", metric="ttfb", value_s=0.6 if n < 16 else 0.1, response_id=f"r{n}")
    ttfb = [s for s in story.told().stages if s.metric == "ttfb"]
    values = [s.value_ns for s in ttfb if s.value_ns is not None]
    assert values == [600_000_000] * 16
    assert sum(s.censored for s in ttfb) == 4


def test_a12_zero_means_not_measured(call: Call) -> None:
    story = call()
    for n in range(20):
        story.put(2.0 + n, "stage", service="tts", metric="processing", value_s=1.2 if n < 9 else 0.0)
    values = [s.value_ns for s in story.told().stages]
    assert values.count(1_200_000_000) == 9
    assert values.count(None) == 11


def test_a13_speech_to_speech_counts_from_the_callers_last_word(call: Call) -> None:
    told = (
        call(mode="realtime", caller_edges=("server",), agent_edges=("playout",))
        .edge(True, 0.0, evidence="server")
        .edge(False, 8.0, evidence="server")
        .final("a long question", 8.2)
        .bot(8.32, 10.0, asked=8.05)
        .told()
    )
    assert told.latencies == [0.32]
    assert told.turns[0].evidence == {"u_on": "server", "u_off": "server", "a_on": "playout"}


def test_a16_a_cancelled_tool_stays_cancelled(call: Call) -> None:
    told = (
        call()
        .tool("lookup", "called", 5.0)
        .interruption(5.2)
        .tool("lookup", "cancelled", 5.201)
        .tool("lookup", "started", 5.202)
        .end(60.0)
        .told()
    )
    assert [(t.status, t.duration_ns, t.ended_ns) for t in told.tools] == [("cancelled", None, 5_201_000_000)]
    assert told.facts["tool_cancelled"] == 1


def test_a17_what_the_greeting_says_is_no_farewell(call: Call) -> None:
    told = (
        call()
        .bot(0.4, 2.8, "Thanks for calling. How can I help you?", why="greeting", cut=False)
        .user(3.3, 4.2, "thanks for that")
        .run("r", "requested", 4.6, why="user_turn")
        .run("r", "tools_called", 4.8)
        .tool("end_call", "called", 4.8, response_id="r")
        .vad_start(5.4, 0.2)
        .interruption(5.4)
        .edge(False, 6.28, at=6.3, inferred=True)
        .end(6.3, "agent")
        .told()
    )
    assert (told.call.end_cause, told.call.outcome, told.call.contained) == ("agent", "cut_off", False)
    assert [(t.turn_class, t.unanswered) for t in told.turns] == [("eligible", True)]


@pytest.mark.parametrize("text", ["Thank you. Let me see about that.", "Good night's sleep? Thanks for calling?"])
def test_a17_thanks_and_questions_are_no_farewell(call: Call, text: str) -> None:
    told = call().user(1.0, 2.0, "my number").bot(3.0, 5.0, text).user(6.0, 6.5, "okay thanks").end(8.0, "agent").told()
    assert (told.turns[-1].turn_class, told.call.outcome) == ("eligible", "cut_off")


@pytest.mark.parametrize("heard", [True, False])
def test_a17_new_speech_after_a_goodbye_is_no_closing_until_its_words_are(call: Call, heard: bool) -> None:
    story = call().user(8.5, 10.0, "that was it").bot(10.8, 12.5, "Thank you. Goodbye.").user(12.8, 13.2, "bye")
    story.vad_start(13.9, 0.2).edge(False, 14.55, at=14.6, inferred=True)
    if heard:
        story.interim("bye bye", 14.5)
    told = story.end(14.6, "agent").told()
    assert (told.turns[-1].turn_class, told.call.outcome) == (
        ("closing", "contained") if heard else ("eligible", "cut_off")
    )


def test_a19_interim_words_are_a_turn_that_waits(call: Call) -> None:
    told = (
        call()
        .vad_start(1.2, 0.2)
        .interim("billing", 1.3)
        .vad_stop(1.8, 0.2)
        .final("", 2.2)
        .bot(30.0, 31.0, why="prompt")
        .user(9.0, 9.5, "hello?")
        .told()
    )
    first, second = told.turns
    assert (first.text, first.interim_only, first.unanswered) == ("billing", True, True)
    assert (second.text, second.interim_only) == ("hello?", False)
    assert told.dead_air[0] == (1.6, 9.0)
    assert told.owed[0] == {"agent": 7.4}
    assert told.facts["interim_only"] == 1


def test_a22_speech_without_an_end_stops_at_the_last_audio(call: Call) -> None:
    told = (
        call()
        .vad_start(30.2, 0.2)
        .gap(32.5, last_audio=31.5)
        .bot(40.0, 45.0, why="prompt")
        .bot(60.0, 63.0, why="prompt")
        .end(95.0)
        .told()
    )
    assert told.overlaps == []
    assert told.interruptions == []
    assert [(t.u_on_ns, t.u_off_ns) for t in told.turns] == [(30_000_000_000, 31_500_000_000)]
    assert told.latencies == [None]
    assert told.facts["end_inferred"] == 1


def test_a23_a_caller_who_talks_before_the_greeting(call: Call) -> None:
    told = (
        call()
        .connected(0.0)
        .vad_start(0.8, 0.2)
        .vad_stop(1.4, 0.2)
        .final("hello", 1.5)
        .bot(1.6, 4.0, why="greeting", asked=0.2)
        .told()
    )
    assert told.latencies == [None]
    assert told.turns[0].turn_class == "greeted"
    assert (told.agent_turns[0].greeting_latency_ns, told.agent_turns[0].greeting_reason) == (None, "user_spoke_first")


def test_a25_an_empty_completion_answers_nobody(call: Call) -> None:
    told = (
        call()
        .user(3.0, 4.6, "my order")
        .run("r", "requested", 5.0, why="user_turn")
        .run("r", "empty", 5.4)
        .user(14.0, 14.8, "hello?")
        .bot(15.6, 17.0)
        .told()
    )
    assert told.latencies == [None, 0.8]
    assert [t.unanswered for t in told.turns] == [True, False]
    assert told.turns[0].empty_completion == 1
    assert told.facts["empty_completion"] == 1
    assert told.dead_air[0] == (4.6, 14.0)


def test_a26_one_turn_many_generations(call: Call) -> None:
    sorry = "Sorry, I did not get that."
    told = (
        call()
        .user(8.0, 10.0, "I want a refund")
        .run("two", "requested", 11.2, why="user_turn")
        .bot(11.0, 13.0, sorry, asked=10.6, name="one")
        .bot(13.2, 15.2, sorry, asked=12.4, name="three")
        .told()
    )
    assert told.latencies == [1.0]
    assert (told.turns[0].duplicate_reply, told.turns[0].generations) == (1, 3)
    assert told.facts["duplicate_reply"] == 1


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
    assert story.told().call.faults == 1


def test_a42_a_step_of_the_wall_clock_changes_no_duration(call: Call) -> None:
    story = call().user(48.0, 49.8, "hi").bot(50.9, 52.0)
    stepped = [
        e.model_copy(update={"wall_ns": e.wall_ns - 2_000_000_000 * (e.at_ns > 50_500_000_000)}) for e in story.events()
    ]
    from earwitness.monitor.calls.timeline import fold

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
