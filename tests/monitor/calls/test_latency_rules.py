"""Where a response latency goes (definitions, "Where the time goes"), in pipelines that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def test_speech_to_speech_has_a_model_part_with_tools_taken_out(call: Call) -> None:
    told = (
        call(mode="realtime", caller_edges=("server",))
        .edge(True, 1.0, evidence="server")
        .edge(False, 2.0, evidence="server")
        .final("what do I owe", 2.1)
        .turn_end(2.0)
        .run("a", "requested", 2.0, why="user_turn")
        .run("a", "tools_called", 2.5)
        .tool("balance", "called", 2.5, response_id="a")
        .tool("balance", "result", 3.1)
        .run("b", "requested", 3.1, why="tool_result", after="a")
        .run("b", "first_audio", 3.5)
        .play("b", 3.6, 5.0)
        .told()
    )
    assert {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()} == {"model": 0.9, "tools": 0.6, "output": 0.1}


def test_what_lies_between_two_known_milestones_is_unattributed(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "hi").turn_end(2.4).run("r", "requested", 2.4, why="user_turn")
        .run("r", "first_audio", 3.4).play("r", 3.5, 5.0).told()
    )  # fmt: skip
    split = {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.4, "unattributed": 1.0, "output": 0.1}


def test_waiting_for_the_recogniser_is_told_apart(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "hi", final_at=2.9).turn_end(2.9, complete_at_ns=2_400_000_000)
        .run("r", "requested", 2.9, why="user_turn").play("r", 3.5, 5.0).told()
    )  # fmt: skip
    split = {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.4, "recognition": 0.5, "unattributed": 0.6}
