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


@pytest.mark.parametrize("connected", [True, False])
def test_a24_the_greeting_has_a_distribution_of_its_own(call: Call, connected: bool) -> None:
    story = call().bot(1.3, 4.0, why="greeting", asked=0.2).user(4.5, 5.1, "hi").bot(6.0, 8.0)
    told = (story.connected(0.0) if connected else story).told()
    assert told.latencies == [0.9]
    assert told.agent_turns[0].greeting_latency_ns == (1_300_000_000 if connected else None)
