"""Why each response began and how it went, in calls through real pipelines."""

from __future__ import annotations

import asyncio
import gc
import itertools
import re
import sys
import weakref
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pipecat.audio.dtmf.types import KeypadEntry
from pipecat.frames.frames import (
    DataFrame,
    EagerEndOfTurnCancelFrame,
    FunctionCallCancelFrame,
    FunctionCallFromLLM,
    FunctionCallInProgressFrame,
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

from earwitness.monitor.contract.events import (
    AgentText,
    Dtmf,
    Playout,
    Response,
    Stage,
    Tool,
    Transcript,
    Transfer,
    TurnStarted,
)
from earwitness.processors.redaction import Redaction

pytestmark = pytest.mark.pipecat

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


def test_a16_a_tool_that_was_cancelled_before_it_began_stays_cancelled(run_call: RunCall) -> None:
    async def race(call: Any) -> None:
        llm = call.llm
        await llm.broadcast_frame(
            FunctionCallsStartedFrame, function_calls=[FunctionCallFromLLM("lookup", "X", {}, None)]
        )
        await asyncio.sleep(0.2)
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


def test_whole_segment_speech_that_is_cut_is_told_by_how_much_of_it_was_written(run_call: RunCall) -> None:
    text = "Your order is on its way and will arrive on Thursday morning."
    script = Script(
        lines=(ASK, Say("no wait a moment please", into_s=1.0)),
        replies=(HELLO, Reply(text), Reply("Yes?")),
        speech="segments",
        ends_s=14,
    )
    call = run_call(script)

    spoken = "".join(event.spoken or "" for event in call.of(AgentText, response_id="r2"))
    (unspoken,) = [event.unspoken for event in call.of(AgentText, response_id="r2") if event.unspoken]
    assert f"{spoken} {unspoken}" == text
    heard_s = call.truth.agent[1][1] - call.truth.agent[1][0]
    share = heard_s / (0.06 * (len(text) + 1))
    assert len(spoken.split()) == pytest.approx(share * len(text.split()), abs=1.0)


def test_whole_segment_speech_is_spoken_when_its_audio_has_been_played(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), speech="segments", ends_s=5))

    first, second = [event for event in call.of(AgentText) if event.spoken]
    assert (first.spoken or "") + (second.spoken or "") == HELLO.text
    assert second.at_ns - first.at_ns > 1_000_000_000


def test_a_run_ahead_of_the_turns_end_is_eager_and_answers_nothing_when_it_is_withdrawn(run_call: RunCall) -> None:
    async def speculate(call: Any) -> None:
        provisional = LLMContext(messages=[])
        await call.user.push_frame(LLMContextFrame(context=provisional, speculation=True))
        await asyncio.sleep(0.1)
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


def test_a_number_that_the_agent_speaks_word_by_word_is_redacted_as_a_whole(run_call: RunCall) -> None:
    card, words = "4111 1111 1111 1111", " ".join(["four", *["one"] * 15])
    replies = (HELLO, Reply(f"Your card {card} , that is {words} , is kept. It ends in {card}", ends=True))

    call = run_call(Script(lines=(Say("pay please", at_s=3.5),), replies=replies), witness={"redactor": Redaction()})

    spoken = ["".join(event.spoken or "" for event in call.of(AgentText, response_id=f"r{n}")) for n in (1, 2)]
    assert spoken[0] == HELLO.text
    assert spoken[1].count("<card:16:") == 3
    assert spoken[1].startswith("Your card <card:16:")
    assert not {"4111", "1111", "four", "one"} & set(spoken[1].split())


def spoken_by(call: Any, response_id: str) -> list[AgentText]:
    return [event for event in call.of(AgentText, response_id=response_id) if event.spoken]


def test_words_that_come_one_by_one_are_told_about_once_a_second(run_call: RunCall) -> None:
    text = " ".join(["we will see to it that it gets to you"] * 4) + " in the end."
    call = run_call(Script(lines=(ASK,), replies=(HELLO, Reply(text)), ends_s=20))

    told = spoken_by(call, "r2")
    on, off = call.truth.agent[1]
    assert off - on > 8
    assert len(told) <= off - on + 1
    assert "".join(event.spoken or "" for event in told) == text
    between_s = [(after.at_ns - before.at_ns) / 1e9 for before, after in itertools.pairwise(told)]
    assert max(between_s) < 1.6
    (last,) = call.of(Playout, phase="last", response_id="r2")
    assert told[-1].at_ns <= last.at_ns  # the rest does not wait for its second


def test_the_end_of_a_call_leaves_no_word_untold(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), events=(At(1.2, lambda call: call.worker.cancel()),)))

    texts = [(event.spoken or "", event.unspoken or "") for event in call.of(AgentText) if not event.intended]
    assert [spoken for spoken, _ in texts] == [*[spoken for spoken, _ in texts[:-1]], ""]
    assert "".join(spoken for spoken, _ in texts) + " " + texts[-1][1] == HELLO.text


@pytest.mark.parametrize("speech", ["words", "segments"])
@pytest.mark.parametrize("end", ["interrupted", "cancelled"])
def test_a_number_that_is_cut_in_its_middle_is_not_told_in_two_halves(
    run_call: RunCall, end: str, speech: Literal["words", "segments"]
) -> None:
    text = f"The card that we have of yours is {' '.join(['four', *['one'] * 15])} , thank you."
    lines, events = [Say("my card please", at_s=3.5)], []
    if end == "interrupted":
        lines.append(Say("no wait a moment please", into_s=3.6))
    else:
        events.append(At(9.2, lambda call: call.worker.cancel()))
    script = Script(
        lines=tuple(lines), replies=(HELLO, Reply(text), Reply("Yes?")), events=tuple(events), ends_s=16, speech=speech
    )
    call = run_call(script, witness={"redactor": Redaction()})

    assert call.one(Playout, phase="last", response_id="r2", truncated=True)
    (cut,) = [event.unspoken for event in call.of(AgentText, response_id="r2") if event.unspoken]
    said = "".join(event.spoken or "" for event in spoken_by(call, "r2"))
    assert said == "The card that we have of yours is"
    assert re.fullmatch(r"<card:16:[0-9a-f]+> , thank you\.", cut)


def test_a_number_that_the_model_spreads_over_two_sentences_is_redacted_as_a_whole(run_call: RunCall) -> None:
    text = "You can call us at four one five. Five five five zero one four two. Thank you."
    call = run_call(Script(lines=(ASK,), replies=(HELLO, Reply(text))), witness={"redactor": Redaction()})

    intended = [event.intended for event in call.of(AgentText, response_id="r2") if event.intended]
    assert re.fullmatch(r"You can call us at <phone:10:[0-9a-f]+>\. Thank you\.", "".join(intended))
    spoken = "".join(event.spoken or "" for event in spoken_by(call, "r2"))
    assert "".join(intended) == spoken
