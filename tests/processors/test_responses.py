"""Why each response began and how it went, in calls through real pipelines."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from pipecat.audio.dtmf.types import KeypadEntry
from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    FunctionCallFromLLM,
    FunctionCallsStartedFrame,
    InputDTMFFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMRunFrame,
    MetricsFrame,
    OutputDTMFUrgentFrame,
    TTSSpeakFrame,
)
from pipecat.metrics.metrics import TTFBMetricsData
from pipecat.processors.aggregators.dtmf_aggregator import DTMFAggregator
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, CallTool, Reply, Say, Script
from pipecat_calls.script import Tool as ToolScript
from pipecat_calls.virtual_clock import time_passes

from earwitness.monitor.contract.events import (
    AgentText,
    Dtmf,
    Playout,
    Response,
    Stage,
    Tool,
    Transcript,
    TurnStarted,
)

HELLO = Reply("Thanks for calling. How can I help you?")

ASK = Say("where is my order please", at_s=3.5)


def requested(call: Any) -> list[tuple[str | None, int | None]]:
    return [(event.why, event.cause_turn) for event in call.of(Response, phase="requested")]


def phases(call: Any, response_id: str) -> list[str]:
    return [event.phase for event in call.of(Response, response_id=response_id)]


def test_a_greeting_an_answer_and_a_run_behind_a_tool_are_told_apart(run_call: RunCall) -> None:
    call = run_call(
        Script(
            lines=(ASK,),
            replies=(HELLO, CallTool("lookup", {"id": 7}), Reply("It is on its way.", ends=True)),
            tools={"lookup": ToolScript(takes_s=0.8, result={"status": "shipped"})},
        )
    )

    assert requested(call) == [("greeting", None), ("user_turn", 1), ("tool_result", 1)]
    assert call.one(Response, response_id="r3", phase="requested").after == "r2"
    assert phases(call, "r2") == ["requested", "first_token", "tools_called", "ended"]
    called, started, result = call.of(Tool)
    assert [event.phase for event in (called, started, result)] == ["called", "started", "result"]
    assert {event.response_id for event in (called, started, result)} == {"r2"}
    assert called.arguments == '{"id": 7}'
    assert result.result == '{"status": "shipped"}'
    assert result.duration_ns == pytest.approx(800_000_000, abs=5_000_000)


def test_what_the_application_has_spoken_is_no_run_of_the_model(run_call: RunCall) -> None:
    call = run_call(
        Script(
            lines=(ASK,),
            replies=(HELLO, Reply("It is on its way.", first_token_s=3.0)),
            events=(At(6.0, lambda call: call.llm.push_frame(TTSSpeakFrame("One moment please."))),),
            ends_s=14,
        )
    )

    assert requested(call) == [("greeting", None), ("user_turn", 1), ("application", 1)]
    assert phases(call, "r3") == ["requested", "first_text", "first_audio"]
    assert "".join(event.spoken or "" for event in call.of(AgentText, response_id="r3")) == "One moment please."
    order = [event.response_id for event in call.of(Playout, phase="first")]
    assert order == ["r1", "r3", "r2"]
    spoken = "".join(event.spoken or "" for event in call.of(AgentText, response_id="r2"))
    assert spoken == "It is on its way."


def test_what_the_idle_timer_starts_is_a_prompt(run_call: RunCall) -> None:
    def listen(call: Any) -> None:
        async def idle(*_: Any) -> None:
            await call.worker.queue_frame(TTSSpeakFrame("Are you still there?"))

        call.user.add_event_handler("on_user_turn_idle", idle)

    call = run_call(Script(replies=(HELLO,), idle_s=5.0, ends_s=10, events=(At(0.1, listen),)))

    assert requested(call) == [("greeting", None), ("prompt", None)]


def test_a20_a_run_for_a_turn_without_any_word_answers_nobody(run_call: RunCall) -> None:
    call = run_call(
        Script(lines=(Say("cough", into_s=0.6, heard=""),), replies=(HELLO, Reply("As I was saying.")), ends_s=14)
    )

    assert call.one(TurnStarted)
    assert requested(call) == [("greeting", None), ("resumed", 1)]


def test_what_the_application_runs_while_nobody_waits_is_its_own(run_call: RunCall) -> None:
    call = run_call(
        Script(
            lines=(ASK,),
            replies=(HELLO, Reply("It is on its way."), Reply("By the way, we are open.")),
            events=(At(9.0, lambda call: call.worker.queue_frame(LLMRunFrame())),),
            ends_s=14,
        )
    )

    assert requested(call) == [("greeting", None), ("user_turn", 1), ("application", 1)]


def test_a04_an_end_without_an_open_start_changes_nothing(run_call: RunCall) -> None:
    again = At(7.0, lambda call: call.tts.push_frame(LLMFullResponseEndFrame()))
    script = Script(lines=(ASK,), replies=(HELLO, Reply("It is on its way.")), events=(again,), ends_s=10)

    assert phases(run_call(script), "r2").count("ended") == 1


def test_a25_a_run_without_text_or_tool_is_empty(run_call: RunCall) -> None:
    call = run_call(Script(lines=(ASK,), replies=(HELLO, Reply("")), ends_s=10))

    assert phases(call, "r2") == ["requested", "empty", "ended"]
    assert len(call.of(Playout, phase="first")) == 1


def test_an_interruption_cancels_a_run_that_nobody_heard(run_call: RunCall) -> None:
    script = Script(
        lines=(ASK, Say("hello are you there", at_s=6.0)),
        replies=(HELLO, Reply("It is on its way.", first_token_s=4.0), Reply("Yes, it is on its way.")),
        ends_s=14,
    )
    call = run_call(script)

    assert phases(call, "r2") == ["requested", "cancelled"]
    assert requested(call)[2] == ("user_turn", 2)


def test_a11_a_time_to_first_byte_without_a_byte_is_censored(run_call: RunCall) -> None:
    async def report(call: Any) -> None:
        # what services did on an interruption: a time for a request that never gave a byte
        await call.llm.push_frame(MetricsFrame(data=[TTFBMetricsData(processor=call.llm.name, value=0.1)]))

    script = Script(
        lines=(ASK, Say("hello are you there", at_s=6.0)),
        replies=(HELLO, Reply("It is on its way.", first_token_s=4.0), Reply("Yes, it is on its way.")),
        events=(At(5.9, report),),
        ends_s=14,
    )
    call = run_call(script)

    measured = call.of(Stage, service="llm", metric="ttfb", censored=False)
    assert [event.value_s for event in measured] == [pytest.approx(0.25), pytest.approx(0.25)]
    censored = call.one(Stage, service="llm", metric="ttfb", censored=True)
    assert (censored.value_s, censored.response_id) == (None, "r2")


def test_a12_zeros_are_not_measurements(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), ends_s=5))

    assert all(event.value_s != 0.0 for event in call.of(Stage))
    assert all(event.at_ns > 0 for event in call.of(Stage, metric="ttfb"))
    assert call.of(Stage, metric="processing", service="tts")


def test_a_run_ahead_of_the_turns_end_is_eager_and_answers_nothing_when_it_is_withdrawn(run_call: RunCall) -> None:
    async def speculate(call: Any) -> None:
        provisional = LLMContext(messages=[])
        await call.user.push_frame(LLMContextFrame(context=provisional, speculation=True))
        await time_passes(0.1)
        await call.user.broadcast_frame(EagerEndOfTurnCancelFrame)

    script = Script(
        lines=(Say("where is my order please it is late", at_s=3.5),),
        replies=(HELLO, Reply("Never heard."), Reply("It is on its way.")),
        events=(At(4.5, speculate),),
        ends_s=12,
    )
    call = run_call(script)

    assert requested(call) == [("greeting", None), ("eager", 1), ("user_turn", 1)]
    assert "cancelled" in phases(call, "r2")


def test_keys_are_told_one_by_one_and_make_no_transcript(run_call: RunCall) -> None:
    async def press(call: Any) -> None:
        for key in (KeypadEntry.ONE, KeypadEntry.POUND):
            await call.line.caller.push_frame(InputDTMFFrame(key))
        await call.worker.queue_frame(OutputDTMFUrgentFrame(button=KeypadEntry.TWO))

    call = run_call(
        Script(replies=(HELLO,), events=(At(4.0, press),), ends_s=8),
        extra=lambda: {"after_input": [DTMFAggregator()]},
    )

    assert [(e.party, e.button) for e in call.of(Dtmf)] == [("caller", "1"), ("caller", "#"), ("agent", "2")]
    assert call.of(Transcript) == []


def test_no_frame_is_kept_however_long_the_witness_lives(run_call: RunCall) -> None:
    frames: list[weakref.ref[Any]] = []

    async def push(call: Any) -> None:
        for frame in (
            TTSSpeakFrame("One moment."),
            LLMContextFrame(context=LLMContext(messages=[])),
            FunctionCallsStartedFrame(function_calls=[FunctionCallFromLLM("lookup", "X", {}, object())]),
        ):
            frames.append(weakref.ref(frame))
            await call.llm.push_frame(frame)

    call = run_call(Script(replies=(HELLO,), events=(At(4.0, push),), ends_s=8))
    gc.collect()

    assert call.of(Tool, tool_call_id="X")
    assert call.witness.observer()
    assert [frame() for frame in frames] == [None, None, None]
