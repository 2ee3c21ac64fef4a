"""The life of tool calls, and hand-overs to people."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pipecat.frames.frames import (
    DataFrame,
    FunctionCallCancelFrame,
    FunctionCallFromLLM,
    FunctionCallInProgressFrame,
    FunctionCallsStartedFrame,
)
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, CallTool, Reply, Say, Script
from pipecat_calls.script import Tool as ToolScript
from pipecat_calls.virtual_clock import time_passes

from earwitness.monitor.contract.events import (
    Response,
    Tool,
    Transfer,
)

HELLO = Reply("Thanks for calling. How can I help you?")

ASK = Say("where is my order please", at_s=3.5)


def requested(call: Any) -> list[tuple[str | None, int | None]]:
    return [(event.why, event.cause_turn) for event in call.of(Response, phase="requested")]


def test_a16_a_tool_that_was_cancelled_before_it_began_stays_cancelled(run_call: RunCall) -> None:
    async def race(call: Any) -> None:
        llm = call.llm
        await llm.broadcast_frame(
            FunctionCallsStartedFrame, function_calls=[FunctionCallFromLLM("lookup", "X", {}, None)]
        )
        await time_passes(0.2)
        await llm.broadcast_frame(FunctionCallCancelFrame, function_name="lookup", tool_call_id="X")
        await llm.broadcast_frame(
            FunctionCallInProgressFrame, function_name="lookup", tool_call_id="X", arguments={},
            cancel_on_interruption=True,
        )  # fmt: skip

    call = run_call(Script(replies=(HELLO,), events=(At(5.0, race),), ends_s=8))

    assert [event.phase for event in call.of(Tool, tool_call_id="X")] == ["called", "cancelled"]
    assert call.of(Tool)[-1].duration_ns is None


def test_a_tool_that_fails_one_that_takes_too_long_and_one_the_call_ends_on(run_call: RunCall) -> None:
    script = Script(
        lines=(ASK, Say("and my other order please", at_s=9.0), Say("and the third please", at_s=15.0)),
        replies=(
            HELLO,
            CallTool("breaks"),
            Reply("That did not work."),
            CallTool("hangs"),
            Reply("That took too long."),
            CallTool("waits"),
        ),
        tools={
            "breaks": ToolScript(takes_s=0.3, error="no database"),
            "hangs": ToolScript(takes_s=30.0, timeout_s=2.0),
            "waits": ToolScript(takes_s=60.0, timeout_s=60.0),
        },
        ends_s=20,
    )
    call = run_call(script)

    settled = {event.name: event.phase for event in call.of(Tool)}
    assert settled == {"breaks": "error", "hangs": "timed_out", "waits": "cancelled"}
    error = call.one(Tool, phase="error").error
    assert error is not None
    assert "no database" in error


def test_a_tool_whose_name_says_so_is_a_hand_over(run_call: RunCall) -> None:
    script = Script(
        lines=(ASK,),
        replies=(HELLO, CallTool("transfer_to_human"), Reply("Goodbye.", ends=True)),
        tools={"transfer_to_human": ToolScript(result={"status": "ok"})},
    )

    assert [event.phase for event in run_call(script).of(Transfer)] == ["requested", "completed"]


def test_a_hand_over_that_says_that_it_failed_did(run_call: RunCall) -> None:
    script = Script(
        lines=(ASK,),
        replies=(HELLO, CallTool("escalate"), Reply("Nobody is free.", ends=True)),
        tools={"escalate": ToolScript(result={"success": False})},
    )

    assert [event.phase for event in run_call(script).of(Transfer)] == ["requested", "failed"]


def test_a_hand_over_by_the_transport_is_done_when_it_leaves_behind_the_audio(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass
    class DailySIPTransferFrame(DataFrame):
        """Stands for the transport's own frame: its module needs a library that tests do not have."""

    daily = SimpleNamespace(DailySIPTransferFrame=DailySIPTransferFrame)
    monkeypatch.setitem(sys.modules, "pipecat.transports.daily.transport", daily)
    script = Script(
        lines=(ASK,),
        replies=(HELLO, Reply("I am putting you through to a colleague.")),
        events=(At(6.5, lambda call: call.tts.push_frame(DailySIPTransferFrame())),),
        ends_s=12,
    )
    call = run_call(script)

    asked, done = call.of(Transfer)
    assert (asked.phase, done.phase) == ("requested", "completed")
    assert done.at_ns / 1e9 == pytest.approx(call.truth.agent[1][1], abs=0.1)
    assert asked.at_ns < done.at_ns - 500_000_000
