"""A blocked event loop keeps audio waiting and loses none of it: what was said is told where it was said.

Whole Pipecat calls on a virtual clock, each beside what its line really carried.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import pytest
from pipecat_calls.fixtures import RunCall
from pipecat_calls.recorded import RecordedCall, record_call
from pipecat_calls.script import At, Reply, Say, Script

from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.events import AudioGap, Health, SpeechEnded, SpeechStarted

pytestmark = pytest.mark.pipecat

WORDS = "where is my order please tell me"
FIRST_S, LAST_S = 4.0, 6.1
"""When the caller's line begins and ends, and the agent answers it after that."""
PLACES = {"before the onset": 3.9, "in mid-speech": 4.5, "over the end": 5.8, "before the answer": 6.4}
FRAME_S = 0.025


def block(seconds: float) -> Any:
    """The loop does nothing at all for so long, as with code that does not await."""

    def do(_: Any) -> None:
        loop: Any = asyncio.get_running_loop()
        loop.now_s += seconds

    return do


def script(*events: At, barges_in_s: float | None = None) -> Script:
    lines = [Say(WORDS, at_s=FIRST_S)]
    if barges_in_s is not None:
        lines.append(Say("no wait the other one", at_s=barges_in_s))
    replies = (
        Reply("hello this is the order desk how can I help"),
        Reply("your order left the warehouse on Tuesday and it will be with you soon"),
        Reply("the other one will be with you on Thursday"),
    )
    return Script(lines=tuple(lines), replies=replies, events=events, sound="voice", ends_s=16.0)


@cache
def undisturbed(*, taps: bool) -> RecordedCall:
    return record_call(script(), taps=taps)


def records(recorded: RecordedCall, kind: str) -> list[Any]:
    return [r for r in fold(recorded.events) if r.kind == kind]


def spans_s(recorded: RecordedCall, evidence: str) -> list[tuple[float, float]]:
    """The caller's speech as one source told it, what was broken off joined with what went on."""
    spans: list[tuple[float, float]] = []
    for event in recorded.events:
        if isinstance(event, SpeechStarted | SpeechEnded) and (event.party, event.evidence) == ("caller", evidence):
            at_s = event.edge_ns / 1e9
            if isinstance(event, SpeechEnded) or (spans and at_s - spans[-1][1] < 0.1):
                spans[-1] = (spans[-1][0], at_s)
            else:
                spans.append((at_s, at_s))
    return spans


def silences_s(recorded: RecordedCall) -> list[tuple[float, float]]:
    """Where nobody was to be heard for 3 s, by what the line carried."""
    heard = sorted(recorded.truth.caller + recorded.truth.agent)
    edges = zip([end for _, end in heard], [begin for begin, _ in heard[1:]], strict=False)
    return [(a, b) for a, b in edges if b - a >= 3.0]


@pytest.mark.parametrize("taps", [True, False], ids=["taps", "VAD alone"])
@pytest.mark.parametrize("seconds", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("place", PLACES)
def test_speech_behind_a_blocked_loop_is_told_as_it_was(
    place: str, seconds: float, taps: bool, run_call: RunCall
) -> None:
    plain = undisturbed(taps=taps)
    recorded = run_call(script(At(PLACES[place], block(seconds))), taps=taps)

    assert recorded.of(AudioGap) == []
    for evidence in ("audio", "vad") if taps else ("vad",):
        told = spans_s(recorded, evidence)
        assert told == [pytest.approx(span, abs=FRAME_S) for span in spans_s(plain, evidence)], evidence
    (turn,), (before,) = records(recorded, "turn"), records(plain, "turn")
    assert (turn.text, turn.evidence, turn.reason) == (WORDS, before.evidence, None)
    answered_s = next(begin for begin, _ in recorded.truth.agent if begin > LAST_S)
    assert turn.response_latency_ns / 1e9 == pytest.approx(answered_s - LAST_S, abs=FRAME_S)
    dead = [(d.start_ns / 1e9, d.end_ns / 1e9) for d in records(recorded, "dead_air") if d.end_ns < 15 * 10**9]
    assert dead == [pytest.approx(span, abs=0.06) for span in silences_s(recorded)]
    assert records(recorded, "overlap") == []
    assert records(recorded, "agent_interruption") == []


def test_the_loop_really_stood_still() -> None:
    recorded = record_call(script(At(PLACES["over the end"], block(4.0))), taps=True)
    plain = undisturbed(taps=True)

    (late,), (turn,) = records(recorded, "turn"), records(plain, "turn")
    assert late.response_latency_ns - turn.response_latency_ns > 3 * 10**9
    assert len(silences_s(recorded)) == 1


@pytest.mark.parametrize("taps", [True, False], ids=["taps", "VAD alone"])
@pytest.mark.parametrize("seconds", [0.5, 1.5, 4.0])
def test_a_caller_who_breaks_in_while_the_loop_is_blocked(seconds: float, taps: bool, run_call: RunCall) -> None:
    recorded = run_call(script(At(7.4, block(seconds)), barges_in_s=7.5), taps=taps)

    assert recorded.of(AudioGap) == []
    turns = records(recorded, "turn")
    assert [turn.text for turn in turns] == [WORDS, "no wait the other one"]
    assert [(turn.u_on_ns / 1e9, turn.u_off_ns / 1e9) for turn in turns] == [
        pytest.approx(span, abs=FRAME_S) for span in recorded.truth.caller
    ]
    asked_s = recorded.truth.caller[1][1]
    # what was queued of the old reply may be heard for a moment when the loop runs again
    answered_s = next(begin for begin, end in recorded.truth.agent if begin > asked_s and end - begin > 0.3)
    assert turns[1].response_latency_ns / 1e9 == pytest.approx(answered_s - asked_s, abs=FRAME_S)


@pytest.mark.parametrize("taps", [True, False], ids=["taps", "VAD alone"])
def test_audio_that_never_comes_is_missing_though_the_loop_was_blocked_besides(taps: bool, run_call: RunCall) -> None:
    def flows(on: bool) -> Any:
        def do(call: Any) -> None:
            call.line.caller.flows = on

        return do

    away, back = At(4.5, flows(False)), At(7.5, flows(True))
    plain, recorded = (
        run_call(script(away, back), taps=taps),
        run_call(script(away, At(4.6, block(1.5)), back), taps=taps),
    )

    for call in (plain, recorded):
        assert [gap.state for gap in call.of(AudioGap)] == ["stopped", "resumed"]
        assert call.of(AudioGap)[0].last_audio_ns / 1e9 == pytest.approx(4.5, abs=0.03)
    assert spans_s(recorded, "audio") == [pytest.approx(span, abs=FRAME_S) for span in spans_s(plain, "audio")]
    turns, before = records(recorded, "turn"), records(plain, "turn")
    assert [(t.text, t.reason) for t in turns] == [(t.text, t.reason) for t in before]
    assert [t.u_on_ns for t in turns] == [t.u_on_ns for t in before]


def test_a_blocked_loop_is_told_as_such() -> None:
    script_ = Script(replies=(Reply("hello"),), events=(At(30.0, block(1.5)),), ends_s=70.0)
    recorded = record_call(script_, taps=False)

    assert recorded.of(AudioGap) == []
    assert max(event.loop_lag_ms or 0 for event in recorded.of(Health)) > 900
