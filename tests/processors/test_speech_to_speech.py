"""Speech-to-speech calls: no recogniser, no synthesis, words that come late and upstream (fact 7)."""

from __future__ import annotations

from typing import Any

import pytest
from pipecat.frames.frames import InterimTranscriptionFrame, UserStartedSpeakingFrame, UserStoppedSpeakingFrame
from pipecat.processors.frame_processor import FrameDirection
from pipecat_calls.fixtures import RunCall
from pipecat_calls.realtime import RealtimeService
from pipecat_calls.script import At, Reply, Say, Script
from pipecat_calls.virtual_clock import time_passes

from earwitness.monitor.contract.events import (
    AgentText,
    CallEnded,
    CallStarted,
    Playout,
    Response,
    SpeechEnded,
    SpeechStarted,
    Transcript,
)
from earwitness.processors.facts import transcripts

pytestmark = pytest.mark.pipecat

CALL = Script(
    lines=(Say("where is my order please"), Say("thank you goodbye")),
    replies=(Reply("Hello."), Reply("It is on its way to you."), Reply("Goodbye.", ends=True)),
    mode="realtime",
    ends_s=30,
)


def test_the_mode_and_the_evidence_are_those_of_a_service(run_call: RunCall) -> None:
    call = run_call(CALL)

    started = call.one(CallStarted)
    assert (started.mode, started.caller_edges, started.recogniser) == ("realtime", ("server",), None)
    edges = call.of(SpeechStarted, party="caller")
    assert [edge.evidence for edge in edges] == ["server", "server"]
    assert len(call.of(SpeechEnded, party="caller")) == 2


def test_a_services_word_of_unknown_delay_is_not_corrected_and_says_so(run_call: RunCall) -> None:
    call = run_call(CALL)

    assert [edge.delay_known for edge in call.of(SpeechStarted, party="caller")] == [False, False]
    for (_, off), ended in zip(call.truth.caller, call.of(SpeechEnded, party="caller"), strict=True):
        assert (ended.correction_ns, ended.delay_known) == (0, False)
        assert ended.edge_ns / 1e9 == pytest.approx(off + 0.5, abs=0.06)


def test_the_silence_that_a_service_is_set_to_wait_for_is_taken_off_its_word(run_call: RunCall) -> None:
    call = run_call(CALL, model=RealtimeService)

    for (_, off), ended in zip(call.truth.caller, call.of(SpeechEnded, party="caller"), strict=True):
        assert (ended.correction_ns, ended.delay_known) == (500_000_000, True)
        assert ended.edge_ns / 1e9 == pytest.approx(off, abs=0.021)


def test_words_that_travel_upstream_arrive_once_and_behind_the_answer(run_call: RunCall) -> None:
    call = run_call(CALL)

    words = call.of(Transcript)
    assert [event.text for event in words] == [line.text for line in CALL.lines]
    first_answer = call.of(Playout, phase="first")[1]
    assert words[0].at_ns > first_answer.at_ns


def test_answers_are_requested_when_the_service_begins_them_and_by_which_turn(run_call: RunCall) -> None:
    call = run_call(CALL)

    asked = [(event.response_id, event.why, event.cause_turn) for event in call.of(Response, phase="requested")]
    assert asked == [("r1", "greeting", None), ("r2", "user_turn", 1), ("r3", "user_turn", 2)]
    for number in ("r1", "r2", "r3"):
        assert call.one(Response, response_id=number, phase="first_audio")
        assert call.one(Response, response_id=number, phase="ended")


def test_text_is_counted_once_although_it_comes_as_tokens_and_as_speech(run_call: RunCall) -> None:
    call = run_call(CALL)

    said = ["".join(event.spoken or "" for event in call.of(AgentText, response_id=f"r{n}")) for n in (1, 2, 3)]
    assert [text.strip() for text in said] == ["Hello.", "It is on its way to you.", "Goodbye."]


def test_playout_is_what_the_far_end_heard(run_call: RunCall) -> None:
    call = run_call(CALL)

    for (on, off), first, last in zip(
        call.truth.agent, call.of(Playout, phase="first"), call.of(Playout, phase="last"), strict=True
    ):
        assert first.edge_ns / 1e9 == pytest.approx(on, abs=0.011)
        assert last.edge_ns / 1e9 == pytest.approx(off, abs=0.011)
    assert call.one(CallEnded).cause == "agent"


def test_a_barge_in_cuts_the_answer(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("where is my order please"), Say("no wait a moment", into_s=1.0)),
        replies=(Reply("Hello."), Reply("It is on its way to you and will be there on Thursday."), Reply("Yes?")),
        mode="realtime",
        ends_s=20,
    )
    call = run_call(script)

    cut = call.one(Playout, phase="last", truncated=True)
    assert cut.response_id == "r2"
    assert cut.edge_ns / 1e9 == pytest.approx(call.truth.agent[1][1], abs=0.011)


def test_a44_a_service_without_any_user_frames_leaves_the_callers_side_without_evidence(run_call: RunCall) -> None:
    script = Script(replies=(Reply("Hello there, how are you today?"),), mode="realtime", ends_s=12)
    call = run_call(script)

    assert call.of(SpeechStarted, party="caller") == []
    assert call.of(Transcript) == []


def test_turn_frames_of_the_service_itself_are_its_word_on_the_callers_speech(run_call: RunCall) -> None:
    async def announce(call: Any) -> None:
        await call.llm.broadcast_frame(UserStartedSpeakingFrame)
        await call.llm.broadcast_frame(UserStoppedSpeakingFrame)

    call = run_call(Script(replies=(Reply("Hello."),), mode="realtime", events=(At(3.0, announce),), ends_s=8))

    assert call.one(SpeechStarted, party="caller").evidence == "server"
    assert call.one(SpeechEnded, party="caller").evidence == "server"


def test_interims_that_are_pieces_lose_none_although_they_are_thinned(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "DELTA_SERVICES", frozenset({"RealtimeModel"}))

    async def pieces(call: Any) -> None:
        for piece in ("where ", "is ", "my ", "order"):
            await call.llm.push_frame(InterimTranscriptionFrame(piece, "", ""), FrameDirection.UPSTREAM)

    call = run_call(Script(replies=(Reply("Hello."),), mode="realtime", events=(At(3.0, pieces),), ends_s=8))

    assert "".join(event.text for event in call.of(Transcript, form="delta")) == "where is my order"


def test_a_number_in_pieces_is_told_in_one_piece(run_call: RunCall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "DELTA_SERVICES", frozenset({"RealtimeModel"}))

    async def pieces(call: Any) -> None:
        for piece in ("call ", "me ", "at ", "five ", "five ", "five ", "zero ", "one ", "four ", "two ", "please"):
            await time_passes(0.4)
            await call.llm.push_frame(InterimTranscriptionFrame(piece, "", ""), FrameDirection.UPSTREAM)

    call = run_call(Script(replies=(Reply("Hello."),), mode="realtime", events=(At(3.0, pieces),), ends_s=12))

    told = [event.text for event in call.of(Transcript, form="delta")]
    assert "".join(told) == "call me at five five five zero one four two please"
    (number,) = [text for text in told if "five" in text]
    assert "five five five zero one four two" in number
