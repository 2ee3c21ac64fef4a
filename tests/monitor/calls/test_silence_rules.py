"""Dead air at its seams (definitions, "Dead air"): who owed speech, and whether nobody was audible for sure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


def filler_and_tool(call: Call, words: str, *, tool: str = "lookup", until: float = 6.0) -> Any:
    """Asked at 3.0; the agent's words 4.0 to 5.0, and a tool from 4.5 on."""
    story = call().connected().user(1, 3, "where is it").turn_end(3.3).bot(4, 5, words, asked=3.4, name="r", cut=False)
    story.run("r", "tools_called", 4.5).tool(tool, "called", 4.5, response_id="r")
    return story.tool(tool, "result", until, result="ok")


def test_while_what_a_tool_found_is_put_into_words_the_agent_owes_them(call: Call) -> None:
    told = filler_and_tool(call, "Sure.", until=9).bot(12.5, 14, why="tool_result", after="r", asked=9).end(15).told()
    assert told.owed == [{"tool": 4.0, "agent": 3.5}]


def test_a_follow_up_that_never_becomes_audible_is_owed_until_the_caller_speaks(call: Call) -> None:
    story = filler_and_tool(call, "Sure.").run("n", "requested", 6, why="tool_result", after="r").run("n", "ended", 7)
    told = story.user(15, 16, "are you done").turn_end(16.3).bot(17, 18, asked=16.4).end(19).told()
    assert (told.dead_air, told.owed) == ([(5, 15)], [{"tool": 1.0, "agent": 9.0}])


@pytest.mark.parametrize(
    ("words", "tool", "owed"),
    [
        ("Let me check that.", "lookup", {"hold": 1.0, "agent": 9.0}),
        ("What is your name?", "lookup", {"tool": 1.0, "caller": 9.0}),  # the tool was beside the point
        ("One moment, I'll transfer you.", "transfer_call", {"hold": 1.0, "caller": 9.0}),  # handed over
    ],
)
def test_whoever_asked_the_caller_to_wait_owes_what_the_tool_found(
    call: Call, words: str, tool: str, owed: dict[str, float]
) -> None:
    assert filler_and_tool(call, words, tool=tool).end(15).told().owed == [owed]


def test_behind_a_hand_over_nobody_knows_who_is_audible(call: Call) -> None:
    story = call().connected().user(1, 3, "a human please").turn_end(3.3)
    story.bot(4, 6, "Please hold while I transfer you.", asked=3.4, name="r", cut=False)
    story.put(6, "transfer", phase="requested").put(14, "transfer", phase="completed")
    told = story.end(60, "agent").told()
    assert (told.dead_air, told.owed) == ([(6, 14)], [{"hold": 8.0}])


def test_speech_of_which_only_the_end_was_seen_parts_two_silences(call: Call) -> None:
    story = call().connected().bot(1, 26, why="greeting", cut=False).vad_stop(67.2).final("the rest of it", 67.3)
    story.put(60, "health").turn_end(67.4).bot(68.1, 69, asked=67.5)
    told = story.end(70).told()
    assert (told.dead_air, told.owed) == ([(26, 67)], [{"caller": 41.0}])


def test_audio_that_may_still_be_playing_is_no_silence(call: Call) -> None:
    story = call(paced_playout=False).connected().user(0.5, 1, "tell me").turn_end(1.2)
    story.run("r", "requested", 1.3, why="user_turn").play("r", 2, 4, uncertain=True, written_ns=18_000_000_000)
    told = story.user(24, 25, "thank you for that").turn_end(25.3).bot(26, 27, asked=25.4).end(28).told()
    assert (told.dead_air, told.owed) == ([(20, 24)], [{"caller": 4.0}])
    assert sum(told.call.talk_ns.values()) == 12_000_000_000  # of 16 s nobody knows


def test_the_agents_own_sound_come_back_is_no_speech_of_the_callers(call: Call) -> None:
    story = (
        call(caller_edges=("audio",)).connected().bot(1, 3, "your balance is forty dollars", why="greeting", cut=True)
    )
    story.edge(True, 2.5, evidence="audio").edge(False, 5, evidence="audio", echo=True).interruption(2.8)
    told = story.end(12).told()
    assert [(o.want_class, o.cell) for o in told.overlaps] == [("echo", "FP")]
    assert (told.dead_air, told.call.talk_ns["caller"], told.call.talk_ns["both"]) == ([(3, 12)], 0, 0)
    assert told.call.outcome == "silent"


def test_an_announced_wait_is_a_hold_for_ten_seconds(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "my balance please")
        .bot(3.0, 5.0, "Let me check that for you.", name="r", cut=False)
        .tool("balance", "called", 4.5, response_id="r")
        .tool("balance", "result", 19.0)
        .run("s", "requested", 19.0, why="tool_result", after="r")
        .play("s", 20.0, 22.0)
        .told()
    )
    assert told.dead_air == [(5.0, 20.0)]
    assert told.owed == [{"hold": 10.0, "agent": 5.0}]


def test_a_promise_that_nobody_keeps_is_the_agents_silence(call: Call) -> None:
    told = call().user(1.0, 2.0, "my balance").bot(3.0, 5.0, "Let me check that.", cut=False).end(12.0).told()
    assert told.owed == [{"agent": 7.0}]


def test_a_tool_for_a_waiting_turn_owes_speech(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "book it").run("r", "requested", 2.3, why="user_turn").run("r", "tools_called", 2.5)
        .tool("book", "called", 2.5, response_id="r").tool("book", "result", 8.5).end(9.0).told()
    )  # fmt: skip
    assert told.owed == [{"agent": 1.0, "tool": 6.0}]


def test_a_tool_that_no_turn_waits_for_owes_no_speech(call: Call) -> None:
    story = call().bot(0.5, 2.0, "Hello.", why="greeting", cut=False, name="g")
    told = story.tool("warm_up", "called", 1.0, response_id="g").tool("warm_up", "result", 9.0).user(10.0, 11.0, "hi")
    assert told.bot(12.0, 13.0).told().owed == []


def test_once_the_caller_asks_again_the_silence_behind_a_tool_is_the_agents(call: Call) -> None:
    story = call().user(1.0, 2.0, "book it").run("r", "requested", 2.3, why="user_turn").run("r", "tools_called", 2.5)
    story.tool("book", "called", 2.5, response_id="r").user(8.0, 8.5, "hello?").tool("book", "result", 20.0)
    assert story.end(21.0).told().owed == [{"agent": 0.5, "tool": 5.5}, {"agent": 12.5}]


def test_a_caller_who_leaves_an_unanswered_question_abandons(call: Call) -> None:
    told = call().user(1.0, 2.0, "hi").bot(2.5, 4.0).user(5.0, 6.0, "my balance").end(10.0).told()
    assert (told.call.outcome, told.facts.get("dead_air_critical")) == ("abandoned", None)
