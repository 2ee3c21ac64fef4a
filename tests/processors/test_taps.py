"""The taps on whole Pipecat calls: a real pipeline, a paced and an unpaced transport, a virtual clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data.scenes import clip, truth
from pipecat_calls.call import Placed, RunningCall, place_call
from pipecat_calls.script import At, Reply, Say, Script
from reported import Reported

from earwitness.monitor.contract import events
from earwitness.processors.taps import AgentTap, CallerTap, CallTaps, has_mixer

pytestmark = pytest.mark.pipecat

GREETING = Reply("Thanks for calling, how can I help you?")
CALLER_LINES = (Say("I would like to change my appointment", after_s=0.7), Say("my number is five", after_s=0.9))
PCM = {0: clip("appointment"), 1: clip("number")}
SCRIPT = Script(
    lines=CALLER_LINES, replies=(GREETING, Reply("Which day suits you?"), Reply("Goodbye.", ends=True)), ends_s=40
)


def hooked(script: Script, **options: Any) -> tuple[Placed, Reported, CallTaps]:
    """A call whose transport the taps listen on, as ``attach`` does it."""
    reported = Reported()
    taps = CallTaps(reported)

    def attach(call: RunningCall) -> None:
        taps.hook(call.line.input(), call.line.output())
        call.worker.add_event_handler("on_pipeline_finished", finish)

    async def finish(*_: Any) -> None:
        await taps.close()

    return place_call(script, attach=attach, **options), reported, taps


def by_hand(script: Script, **options: Any) -> tuple[Placed, Reported, CallTaps]:
    """The same with processors put into the pipeline."""
    reported = Reported()
    taps = CallTaps(reported)

    def extra() -> dict[str, list[Any]]:
        return {"after_input": [taps.caller_tap()], "after_output": [taps.agent_tap()]}

    def attach(call: RunningCall) -> None:
        taps.hook(call.line.input(), call.line.output())  # what has a tap of its own is not heard twice

    return place_call(script, extra=extra, attach=attach, **options), reported, taps


def true_caller_s(placed: Placed) -> list[tuple[float, float]]:
    names = ("appointment", "number")
    return [
        (began + truth()[name][0], began + truth()[name][1])
        for (began, _), name in zip(placed.truth.caller, names, strict=False)
    ]


def worst_ms(told: list[tuple[float, float]], true: list[tuple[float, float]], side: int) -> float:
    assert len(told) == len(true), (told, true)
    return max(abs(a[side] - b[side]) * 1e3 for a, b in zip(told, true, strict=True))


def merged(spans: list[tuple[float, float]], gap_s: float = 0.6) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for on_s, off_s in spans:
        if joined and on_s - joined[-1][1] < gap_s:
            joined[-1] = (joined[-1][0], off_s)
        else:
            joined.append((on_s, off_s))
    return joined


@pytest.mark.parametrize("way", [hooked, by_hand])
def test_both_parties_edges_lie_within_their_bounds_on_a_real_pipeline(way: Any) -> None:
    placed, reported, taps = way(SCRIPT, pcm=PCM)

    assert placed.finished
    assert taps.errors == 0
    agent = merged(placed.truth.agent)
    assert len(agent) == 3
    assert worst_ms(reported.spans_s("agent"), agent, 0) <= 40
    assert worst_ms(reported.spans_s("agent"), agent, 1) <= 40
    caller = true_caller_s(placed)
    assert len(caller) == 2
    assert worst_ms(reported.spans_s("caller"), caller, 0) <= 60
    assert worst_ms(reported.spans_s("caller"), caller, 1) <= 60


def test_by_hand_and_hooked_taps_tell_the_same() -> None:
    _, one, _ = hooked(SCRIPT, pcm=PCM)
    _, other, _ = by_hand(SCRIPT, pcm=PCM)

    assert np.array(one.spans_s("agent")) == pytest.approx(np.array(other.spans_s("agent")), abs=0.001)
    assert np.array(one.spans_s("caller")) == pytest.approx(np.array(other.spans_s("caller")), abs=0.03)


def test_a_speech_to_speech_service_that_streams_silence_too_has_true_edges() -> None:
    script = Script(
        lines=CALLER_LINES[:1], replies=(GREETING, Reply("Which day suits you?")), mode="realtime", ends_s=16
    )
    placed, reported, _ = hooked(script, pcm=PCM)

    agent = merged(placed.truth.agent)
    assert agent
    assert worst_ms(reported.spans_s("agent"), agent, 0) <= 40
    assert worst_ms(reported.spans_s("agent"), agent, 1) <= 40


def test_what_is_told_never_goes_back_in_time() -> None:
    _, reported, _ = hooked(SCRIPT, pcm=PCM)

    moments = [at_ns for _, at_ns, _ in reported.events]
    assert moments == sorted(moments)
    assert all(fields["edge_ns"] <= at_ns for _, at_ns, fields in reported.events if "edge_ns" in fields)


def test_a_barge_in_cuts_the_agent_where_the_far_end_fell_silent() -> None:
    script = Script(
        lines=(Say("no wait I meant another day", into_s=1.0),),
        replies=(Reply("Thanks for calling, this is the order desk. How can I help you today?"), Reply("Sure.")),
        ends_s=14,
    )
    placed, reported, _ = hooked(script, pcm={0: clip("appointment")})

    told, true = reported.spans_s("agent"), merged(placed.truth.agent)
    assert told[0][1] == pytest.approx(true[0][1], abs=0.08)
    caller = reported.spans_s("caller")
    assert caller[0][0] < told[0][1] < caller[0][1]


def test_a30_a_transport_that_takes_everything_at_once_still_plays_in_time() -> None:
    placed, reported, _ = hooked(Script(replies=(GREETING,), paced=False, ends_s=10))

    (told,) = reported.spans_s("agent")
    (true,) = merged(placed.truth.agent)
    assert told == pytest.approx(true, abs=0.04)


def test_a02_silence_behind_the_words_is_not_the_agent_speaking() -> None:
    placed, reported, _ = hooked(Script(replies=(GREETING,), trailing_silence_s=1.5, ends_s=10))

    (told,) = reported.spans_s("agent")
    assert told == pytest.approx(merged(placed.truth.agent)[0], abs=0.04)


def test_a22_audio_that_stops_arriving_is_a_gap_on_the_call() -> None:
    def stop(call: RunningCall) -> None:
        call.line.caller.flows = False

    def back(call: RunningCall) -> None:
        call.line.caller.flows = True

    script = Script(replies=(GREETING,), events=(At(4.0, stop), At(8.0, back)), ends_s=10)
    _, reported, _ = hooked(script)

    gaps = [(fields["state"], at_ns / 1e9) for kind, at_ns, fields in reported.events if kind is events.AudioGap]
    assert [state for state, _ in gaps] == ["stopped", "resumed"]
    assert gaps[0][1] == pytest.approx(5.2, abs=0.35)
    assert gaps[1][1] == pytest.approx(8.1, abs=0.15)


def test_a_call_that_is_cancelled_in_mid_word_leaves_nothing_open() -> None:
    async def cancel(call: RunningCall) -> None:
        await call.hang_up()

    script = Script(
        replies=(Reply("A long sentence that nobody will hear to its end, for sure."),), events=(At(2.0, cancel),)
    )
    _, reported, _ = hooked(script)

    kinds = [kind for kind, _, fields in reported.events if fields.get("party") == "agent"]
    assert kinds == [events.SpeechStarted, events.SpeechEnded]


def test_a_tap_that_cannot_do_its_work_lets_every_frame_through() -> None:
    class Broken(CallTaps):
        def _now_ns(self) -> int:
            raise RuntimeError("no clock")

    taps = Broken(Reported())
    placed = place_call(
        SCRIPT, pcm=PCM, extra=lambda: {"after_input": [CallerTap(taps)], "after_output": [AgentTap(taps)]}
    )

    assert placed.finished
    assert len(merged(placed.truth.agent)) == 3
    assert taps.errors > 0


def test_the_mixer_is_found_from_a_tap_behind_the_output() -> None:
    seen: list[bool] = []

    def attach(call: RunningCall) -> None:
        seen.append(has_mixer(call.pipeline[-1]))
        call.line.output()._params.audio_out_mixer = object()  # type: ignore[assignment]
        seen.append(has_mixer(call.pipeline[-1]))
        call.line.output()._params.audio_out_mixer = None

    place_call(Script(replies=(GREETING,), ends_s=1), attach=attach)

    assert seen == [False, True]
