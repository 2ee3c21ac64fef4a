"""Field cases A01 to A24 of turns: where they begin and end, what answers them, and how late."""

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


def test_a01_the_outputs_own_flicker_makes_no_second_reply(call: Call) -> None:
    story = call().vad_start(1.2).vad_stop(2.5, 0.2).final("hello there", 2.6).bot(3.4, 7.0, asked=2.7)
    for on, off in ((3.4, 5.10), (5.11, 7.0)):
        story.edge(True, on, party="agent", evidence="decision").edge(False, off, party="agent", evidence="decision")
    told = story.told()
    assert told.latencies == [1.1]
    assert [(a.a_on_ns, a.a_off_ns) for a in told.agent_turns] == [(3_400_000_000, 7_000_000_000)]
    assert "phantom_speech" not in told.facts


def test_a01_stretches_of_two_responses_never_merge(call: Call) -> None:
    told = call().user(1.0, 2.3, "hello there").bot(3.4, 5.10).bot(5.11, 7.0, asked=3.5).told()
    assert told.latencies == [1.1]
    assert [(a.a_on_ns, a.a_off_ns) for a in told.agent_turns] == [
        (3_400_000_000, 5_100_000_000),
        (5_110_000_000, 7_000_000_000),
    ]


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
    assert told.cells == []
    assert told.interruptions == []


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
    assert [(t.at_least_ns, t.answered_by) for t in told.turns] == [(None, None)]
    assert [(a.why, a.answers) for a in told.agent_turns] == [("prompt", None)]


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


def test_a13_speech_to_speech_counts_from_the_callers_last_word(call: Call) -> None:
    told = (
        call(mode="realtime", caller_edges=("server",), agent_edges=("playout",))
        .edge(True, 0.0, evidence="server")
        .edge(False, 8.0, evidence="server")
        .final("a long question", 8.2)
        .bot(8.32, 10.0, asked=8.05)
        .put(8.4, "stage", service="realtime", metric="ttfb", value_s=8.32)
        .told()
    )
    assert told.latencies == [0.32]
    assert told.turns[0].evidence == {"u_on": "server", "u_off": "server", "a_on": "playout"}


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
    assert told.call.talk_ns["caller"] == 1_500_000_000
    assert told.cells == []


def test_a22_a_detector_that_gives_up_without_audio_has_heard_no_end(call: Call) -> None:
    story = call().user(1.4, 3.4, "one two three").gap(4.0, last_audio=2.6).bot(4.2, 5.0, asked=3.8)
    told = story.end(9.0).told()
    assert [(t.u_off_ns, t.response_latency_ns, t.reason) for t in told.turns] == [
        (2_600_000_000, None, "no_acoustic_anchor")
    ]
    assert told.facts["end_inferred"] == 1


def test_a22_audio_that_stops_right_after_the_end_takes_nothing_away(call: Call) -> None:
    story = call().user(1.4, 3.4, "one two three").gap(4.5, last_audio=3.42).bot(4.2, 5.0, asked=3.8)
    assert story.end(9.0).told().latencies == [0.8]


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
