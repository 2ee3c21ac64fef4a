"""Whole calls through real Pipecat pipelines: what the observer reports against what was really heard."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, Reply, Say, Script

from earwitness.monitor.contract.events import (
    AgentText,
    CallEnded,
    CallStarted,
    Connected,
    Health,
    Interruption,
    Mute,
    Playout,
    Response,
    SpeechEnded,
    SpeechStarted,
    Transcript,
    TurnEnded,
    TurnStarted,
)
from earwitness.processors.redaction import NoRedaction, Redaction
from earwitness.processors.sink import Redactor

pytestmark = pytest.mark.pipecat

HELLO = Reply("Thanks for calling. How can I help you?")
ORDER = Script(
    lines=(Say("where is my order please"), Say("thank you goodbye")),
    replies=(HELLO, Reply("It is on its way to you."), Reply("You are welcome. Goodbye.", ends=True, reason="done")),
)
BARGE_IN = Script(
    lines=(Say("where is my order please"), Say("no wait I meant the other one", into_s=0.8)),
    replies=(HELLO, Reply("Your order is on its way and will arrive on Thursday. It has two lamps."), Reply("Sorry.")),
    ends_s=14,
)


def s(at_ns: int | None) -> float:
    assert at_ns is not None
    return at_ns / 1e9


def test_a_call_begins_with_who_answers_and_what_can_be_seen(run_call: RunCall) -> None:
    call = run_call(ORDER)

    started = call.events[0]
    assert isinstance(started, CallStarted)
    assert (started.agent, started.version, started.mode, started.recogniser) == ("order desk", "1", "cascade", True)
    assert (started.vad_start_s, started.vad_stop_s) == (0.2, 0.2)
    assert started.caller_edges == ("vad",)
    assert started.agent_edges == ("playout", "decision")
    assert "VADUserTurnStartStrategy" in started.turn_start
    assert started.turn_stop == ("TurnAnalyzerUserTurnStopStrategy",)
    assert set(started.versions) >= {"python", "pipecat-ai"}
    assert call.one(Connected)


def test_every_source_numbers_without_gaps_and_its_time_never_falls(run_call: RunCall) -> None:
    call = run_call(BARGE_IN, taps=True)

    for source in ("bot", "taps"):
        events = [event for event in call.events if event.source == source]
        assert [event.seq for event in events] == list(range(len(events)))
        assert [event.at_ns for event in events] == sorted(event.at_ns for event in events)
    assert call.witness._recorder.ledger.errors == 0
    assert call.witness._recorder.ledger.invalid == {}


def test_the_last_event_counts_all_that_came_before_it(run_call: RunCall) -> None:
    call = run_call(ORDER, taps=True)

    ended = call.events[-1]
    assert isinstance(ended, CallEnded)
    assert (ended.cause, ended.terminal, ended.reason) == ("agent", "end", "done")
    assert sum(ended.counts.values()) == len(call.events) - 1
    assert not ended.tail_incomplete


def test_the_pipelines_vad_edges_have_its_delay_taken_off(run_call: RunCall) -> None:
    call = run_call(ORDER)

    for (on, off), began, ended in zip(
        call.truth.caller, call.of(SpeechStarted, party="caller"), call.of(SpeechEnded, party="caller"), strict=True
    ):
        assert began.evidence == ended.evidence == "vad"
        assert s(began.edge_ns) == pytest.approx(on, abs=0.002)
        assert s(ended.edge_ns) == pytest.approx(off, abs=0.002)
        assert began.at_ns - began.edge_ns == began.correction_ns == 200_000_000


def test_playout_is_what_the_far_end_heard(run_call: RunCall) -> None:
    call = run_call(ORDER)

    firsts, lasts = call.of(Playout, phase="first"), call.of(Playout, phase="last")
    assert len(call.truth.agent) == 3
    for (on, off), first, last in zip(call.truth.agent, firsts, lasts, strict=True):
        assert s(first.edge_ns) == pytest.approx(on, abs=0.011)
        assert s(last.edge_ns) == pytest.approx(off, abs=0.011)
        assert (last.truncated, last.uncertain) == (False, False)


def test_fact_1_an_interruption_comes_with_every_turn_also_when_the_agent_is_silent(run_call: RunCall) -> None:
    call = run_call(ORDER)

    assert len(call.of(TurnStarted)) == len(call.of(Interruption, cause="user_turn")) == 2
    assert call.of(Playout, phase="last", truncated=True) == []


def test_fact_2_vad_twins_without_a_sibling_id_are_one_edge(run_call: RunCall) -> None:
    call = run_call(BARGE_IN)

    assert len(call.of(SpeechStarted, party="caller")) == len(call.truth.caller) == 2
    assert len(call.of(SpeechEnded, party="caller")) == 2


def test_a03_both_copies_of_a_broadcast_are_one_fact(run_call: RunCall) -> None:
    call = run_call(ORDER)

    assert len(call.of(SpeechStarted, party="agent", evidence="decision")) == 3
    assert len(call.of(SpeechEnded, party="agent", evidence="decision")) == 3
    assert len(call.of(TurnEnded)) == 2


def test_a_barge_in_that_is_yielded_to_truncates_playout_and_leaves_words_unspoken(run_call: RunCall) -> None:
    call = run_call(BARGE_IN)

    last = call.one(Playout, phase="last", truncated=True)
    answer = call.truth.agent[1]
    assert s(last.edge_ns) == pytest.approx(answer[1], abs=0.011)
    response = last.response_id
    spoken = "".join(event.spoken or "" for event in call.of(AgentText, response_id=response))
    (cut,) = [event.unspoken for event in call.of(AgentText, response_id=response) if event.unspoken]
    intended = "".join(event.intended or "" for event in call.of(AgentText, response_id=response))
    assert spoken
    assert f"{spoken} {cut}" == intended == "Your order is on its way and will arrive on Thursday. It has two lamps."


def test_words_count_as_spoken_when_they_are_played_not_when_they_are_made(run_call: RunCall) -> None:
    call = run_call(ORDER)

    first, *_, last = call.of(AgentText, response_id="r1")
    assert first.intended is not None
    words = [event for event in call.of(AgentText, response_id="r1") if event.spoken]
    assert "".join(word.spoken or "" for word in words) == HELLO.text
    on, off = call.truth.agent[0]
    assert on <= s(words[0].at_ns) <= on + 1.02
    assert on + 1.0 < s(words[-1].at_ns) <= off + 0.11
    assert s(last.at_ns) > on + 1.5


def test_fact_8_a_cancel_while_the_agent_talks_closes_what_is_open(run_call: RunCall) -> None:
    script = Script(replies=(HELLO,), events=(At(1.2, lambda call: call.worker.cancel()),))
    call = run_call(script)

    closed = call.one(SpeechEnded, party="agent")
    assert closed.inferred
    assert s(closed.edge_ns) == pytest.approx(1.2, abs=0.05)
    last = call.one(Playout, phase="last")
    assert last.truncated is True
    assert s(last.edge_ns) == pytest.approx(1.2, abs=0.05)
    assert call.of(AgentText)[-1].unspoken == "How can I help you?"
    ended = call.one(CallEnded)
    assert (ended.cause, ended.terminal) == ("unknown", "cancel")


def test_a_cancel_while_the_caller_talks_ends_the_speech_at_the_last_audio(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("one two three four five six seven eight", at_s=3.5),),
        replies=(HELLO,),
        events=(At(4.5, lambda call: call.hang_up()),),
    )
    call = run_call(script)

    closed = call.one(SpeechEnded, party="caller")
    assert closed.inferred
    assert s(closed.edge_ns) == pytest.approx(4.5, abs=0.05)


def test_fact_9_a_hang_up_is_known_by_the_transports_event_and_not_by_the_cancel_behind_it(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), events=(At(4.0, lambda call: call.hang_up()),)))

    ended = call.one(CallEnded)
    assert (ended.cause, ended.terminal) == ("caller", "cancel")


def test_a42_a_step_of_the_wall_clock_changes_no_duration(run_call: RunCall) -> None:
    from pipecat_calls.virtual_clock import VirtualLoop

    plain = run_call(ORDER)
    stepped = run_call(ORDER, loop=VirtualLoop(wall_step_s=lambda elapsed: -2.0 if elapsed > 4.3 else 0.0))

    def edges(call: Any) -> list[int]:
        return [event.edge_ns for event in call.events if isinstance(event, SpeechStarted | SpeechEnded | Playout)]

    assert len(edges(stepped)) >= 10
    # Pipecat itself reckons turn ends by the wall clock, so only what lies before the step's consequences is equal
    assert edges(stepped)[:5] == edges(plain)[:5]
    for (on, off), began, ended in zip(
        stepped.truth.caller, stepped.of(SpeechStarted, party="caller"), stepped.of(SpeechEnded, party="caller"),
        strict=True,
    ):  # fmt: skip
        assert s(began.edge_ns) == pytest.approx(on, abs=0.002)
        assert s(ended.edge_ns) == pytest.approx(off, abs=0.002)


def test_a34_a_muted_window_is_told_with_its_policy(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("hello there", at_s=1.0), Say("where is my order please", at_s=5.0)),
        replies=(HELLO, Reply("It is on its way.", ends=True)),
        mute=("FirstSpeechUserMuteStrategy",),
    )
    call = run_call(script)

    assert [event.state for event in call.of(Mute)] == ["on", "off"]
    assert {event.cause for event in call.of(Mute)} == {"FirstSpeechUserMuteStrategy"}
    muted_words = call.of(Transcript, in_context=False)
    assert any("hello" in event.text for event in muted_words)


def test_interims_are_thinned_and_the_final_closes_the_utterance(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("please tell me again where the blue order with lamps is going", at_s=3.0),),
        replies=(HELLO, Reply("Right.", ends=True)),
    )
    call = run_call(script)

    *interims, final = call.of(Transcript)
    assert 3 <= len(interims) <= 5
    assert final.final
    assert final.interim_count == 12
    assert final.text == script.lines[0].text
    assert {event.utterance_id for event in (*interims, final)} == {"u1"}
    gaps = [b.at_ns - a.at_ns for a, b in itertools.pairwise(interims)]
    assert all(gap >= 1_000_000_000 for gap in gaps)


def test_no_interim_tells_the_beginning_of_a_number(run_call: RunCall) -> None:
    spoken = "my card is four one one one one one one one one one one one one one one one thank you so much"
    script = Script(lines=(Say(spoken, at_s=3.0),), replies=(HELLO, Reply("Right.", ends=True)))
    call = run_call(script)

    *interims, final = call.of(Transcript)
    assert final.text == spoken  # nothing redacts in this call
    assert interims[0].text.startswith("my")
    ends = {event.text.split()[-1] for event in interims}
    assert not ends & {"four", "one"}


def test_a19_the_last_interim_is_told_where_no_final_comes(run_call: RunCall) -> None:
    script = Script(lines=(Say("it is about billing", at_s=3.0),), replies=(HELLO,), finals=False, ends_s=12)
    call = run_call(script)

    assert call.of(Transcript)[-1].text == "it is about billing"
    assert not call.of(Transcript, final=True)


def test_the_turn_models_verdicts_go_with_the_turn(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("I would like", at_s=3.0), Say("to order a lamp", at_s=5.0)),
        replies=(HELLO, Reply("Sure.", ends=True)),
        verdicts=(False, True),
    )
    call = run_call(script)

    turn = call.one(TurnEnded)
    assert [s(at) for at in turn.incomplete_at_ns] == [pytest.approx(call.truth.caller[0][1] + 0.2, abs=0.03)]
    assert s(turn.complete_at_ns) == pytest.approx(call.truth.caller[1][1] + 0.2, abs=0.03)


def test_words_under_a_minimum_are_marked_as_thrown_away(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("where is my order please now"), Say("uh huh", into_s=0.6)),
        replies=(HELLO, Reply("Your order is on its way and will arrive on Thursday, I think.")),
        min_words=3,
        ends_s=12,
    )
    call = run_call(script)

    assert call.events[0].min_words == 3  # type: ignore[union-attr]
    assert call.one(Transcript, text="uh huh", final=True).in_context is False
    assert len(call.of(TurnStarted)) == 1
    assert call.of(Playout, phase="last", truncated=True) == []


def test_every_minute_and_only_then_a_healthy_call_reports_its_health(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), ends_s=125))

    health = call.of(Health)
    assert [round(s(event.at_ns)) for event in health] == [60, 120]
    assert all(event.observer_errors == 0 and not event.no_frames_seen for event in health)
    assert all((event.loop_lag_ms or 0.0) < 50 for event in health)


def test_responses_carry_every_milestone_in_order(run_call: RunCall) -> None:
    call = run_call(ORDER)

    at = {event.phase: event.at_ns for event in call.of(Response, response_id="r2")}
    assert list(at)[:2] == ["requested", "first_token"]
    assert set(at) == {"requested", "first_token", "first_text", "ended", "first_audio"}
    assert at["requested"] < at["first_token"] < at["first_text"] < at["first_audio"]
    assert s(at["first_token"] - at["requested"]) == pytest.approx(0.25, abs=0.005)
    assert s(at["first_audio"] - at["first_text"]) == pytest.approx(0.12, abs=0.005)
    requested = call.one(Response, response_id="r2", phase="requested")
    assert (requested.why, requested.cause_turn) == ("user_turn", 1)
    assert call.one(Response, response_id="r1", phase="requested").why == "greeting"


@pytest.mark.parametrize("redactor", [Redaction(b"secret"), NoRedaction()])
@pytest.mark.parametrize(("words", "cut"), [(4_000, False), (40_000, True)])
def test_d08_only_the_redactors_bound_cuts_what_was_said(
    run_call: RunCall, redactor: Redactor, words: int, cut: bool
) -> None:
    heard = "well " * words + "goodbye"
    call = run_call(
        Script(lines=(Say("a long story", at_s=3.5, heard=heard),), replies=(HELLO, Reply("I see.")), ends_s=8),
        witness={"redactor": redactor},
    )

    told = call.one(Transcript, final=True)
    assert told.truncated is cut
    assert (told.text == heard) is not cut
    assert 64_000 < len(told.text) <= 65_536 or not cut
