"""How calls end and fail, and that the last events of a call arrive whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pipecat.frames.frames import CancelFrame, EndFrame, ErrorFrame, Frame, StopFrame, TTSAudioRawFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, Reply, Say, Script
from pipecat_calls.virtual_clock import time_passes
from pipecat_calls.voice import speech

from earwitness.monitor.contract.events import (
    AudioGap,
    CallEnded,
    CallStarted,
    Fault,
    Health,
    Participant,
    Playout,
    SpeechEnded,
    Transport,
)
from earwitness.processors.observer import CallObserver
from earwitness.processors.pulse import Pulse
from earwitness.processors.sink import MemorySink, Outbound

pytestmark = pytest.mark.pipecat

HELLO = Reply("Thanks for calling. How can I help you?")


async def _hang_up_after_silence(call: Any) -> None:
    call.line.caller.flows = False
    await time_passes(3.0)
    await call.hang_up()


@pytest.mark.parametrize(
    ("do", "cause", "terminal", "reason"),
    [
        pytest.param(lambda call: call.worker.queue_frame(EndFrame(reason="bye")), "agent", "end", "bye", id="end"),
        pytest.param(lambda call: call.worker.stop_when_done(), "agent", "end", None, id="stop_when_done"),
        pytest.param(lambda call: call.worker.queue_frame(StopFrame()), "agent", "stop", None, id="stop"),
        pytest.param(lambda call: call.worker.cancel(), "unknown", "cancel", None, id="cancel"),
        pytest.param(
            lambda call: call.worker.cancel(reason="idle timeout"), "idle", "cancel", "idle timeout", id="idle"
        ),
        pytest.param(
            lambda call: call.worker.cancel(reason="fatal error: x"), "error", "cancel", "fatal error: x", id="error"
        ),
        pytest.param(lambda call: call.hang_up(), "caller", "cancel", None, id="caller hangs up"),
        pytest.param(_hang_up_after_silence, "transport", "cancel", None, id="line lost before the disconnect"),
    ],
)
def test_the_first_cause_seen_is_the_cause(
    run_call: RunCall, do: Any, cause: str, terminal: str, reason: str | None
) -> None:
    call = run_call(Script(replies=(HELLO,), events=(At(4.0, do),), ends_s=12))

    ended = call.one(CallEnded)
    assert (ended.cause, ended.terminal, ended.reason) == (cause, terminal, reason)
    assert call.events[-1] is not None
    assert call.events[-1].kind == "call_ended"


def test_an_end_that_the_agent_asked_for_stays_its_own_when_the_line_drops_behind_it(run_call: RunCall) -> None:
    async def end_then_drop(call: Any) -> None:
        await call.worker.queue_frame(EndFrame(reason="done"))
        await time_passes(0.3)  # the agent is still finishing its sentence
        await call.line.fire("on_client_disconnected", "client")

    call = run_call(Script(replies=(HELLO,), events=(At(1.0, end_then_drop),), ends_s=12))

    assert call.one(CallEnded).cause == "agent"
    assert call.one(Transport).event == "disconnected"


def test_participants_are_told_as_the_transport_tells_them(run_call: RunCall) -> None:
    async def join(call: Any) -> None:
        await call.line.fire("on_participant_joined", {"id": "P1"})
        await call.line.fire("on_participant_joined", {"id": "P2"})
        await time_passes(0.5)
        await call.line.fire("on_participant_left", {"id": "P2"}, "left")

    call = run_call(Script(replies=(HELLO,), events=(At(3.0, join),), ends_s=5))

    assert [(e.state, e.participant, e.role) for e in call.of(Participant)] == [
        ("joined", "P1", "caller"), ("joined", "P2", "other"), ("left", "P2", "other"),
    ]  # fmt: skip


def test_the_callers_audio_is_missed_after_a_second_and_noticed_when_it_is_back(run_call: RunCall) -> None:
    def flow(on: bool) -> Any:
        def do(call: Any) -> None:
            call.line.caller.flows = on

        return do

    call = run_call(Script(replies=(HELLO,), events=(At(4.0, flow(False)), At(7.0, flow(True))), ends_s=9))

    stopped, resumed = call.of(AudioGap)
    assert (stopped.state, resumed.state) == ("stopped", "resumed")
    assert stopped.last_audio_ns / 1e9 == pytest.approx(4.0, abs=0.05)
    assert stopped.at_ns / 1e9 == pytest.approx(5.3, abs=0.4)


def test_a41_an_error_is_told_once_at_its_origin_and_once_more_when_the_service_goes_on(run_call: RunCall) -> None:
    class Absorbs(FrameProcessor):
        """A fail-over that keeps errors to itself."""

        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if not isinstance(frame, ErrorFrame):
                await self.push_frame(frame, direction)

    script = Script(
        lines=(Say("where is my order", at_s=4.5),),
        replies=(HELLO, Reply("On its way.", ends=True)),
        events=(At(4.0, lambda call: call.tts.push_error("voice server away")),),
    )
    call = run_call(script, extra=lambda: {"after_input": [Absorbs()]}, log_level="CRITICAL")

    first, second = call.of(Fault)
    assert first.fault_id == second.fault_id
    assert (first.processor, first.message, first.recovered) == ("ToneTTS", "voice server away", None)
    assert second.recovered is True


def test_a39_the_tail_that_still_waits_in_our_queue_is_not_lost(run_call: RunCall) -> None:
    """A backlogged observer loses its tail in Pipecat: the reader is cancelled before the queue is empty."""
    held: list[Any] = []

    def hold_back(call: Any) -> None:
        observer = next(o for o in call.worker._observer._observers if isinstance(o, CallObserver))
        proxy = call.worker._observer._proxies[observer]
        proxy.task.cancel()
        held.append(proxy)

    script = Script(
        lines=(Say("where is my order", at_s=3.5),),
        replies=(HELLO, Reply("On its way.", ends=True)),
        events=(At(4.0, hold_back),),
    )
    call = run_call(script)

    assert held
    assert len(call.of(Playout, phase="last")) == 2
    assert call.one(SpeechEnded, party="caller")
    ended = call.one(CallEnded)
    assert (ended.cause, ended.tail_incomplete) == ("agent", False)


def test_a39_d05_a_sink_that_never_flushes_delays_the_end_by_its_limit_only(run_call: RunCall) -> None:
    class Hangs(MemorySink):
        async def flush(self, call_id: str, timeout_s: float) -> bool:
            await asyncio.Event().wait()
            return False

    plain = run_call(Script(replies=(HELLO,), events=(At(4.0, lambda call: call.worker.cancel()),)))
    slow = run_call(Script(replies=(HELLO,), events=(At(4.0, lambda call: call.worker.cancel()),)), sink=Hangs())

    assert slow.placed.finished
    assert 2.0 <= slow.placed.seconds - plain.placed.seconds <= 3.0
    assert slow.one(CallEnded)


def test_d05_a_sink_that_fails_leaves_the_call_as_it_was(run_call: RunCall) -> None:
    class Broken(MemorySink):
        def put(self, item: Outbound) -> None:
            raise OSError("no disk")

    script = Script(lines=(Say("where is my order", at_s=3.5),), replies=(HELLO, Reply("On its way.", ends=True)))
    plain, broken = run_call(script), run_call(script, sink=Broken())

    assert broken.truth == plain.truth
    assert broken.events == []
    assert broken.witness._recorder.ledger.errors > 10


def test_a40_an_exception_in_a_handler_is_counted_and_the_frames_behind_it_are_still_seen(run_call: RunCall) -> None:
    """Fact 3: an exception that leaves an observer ends it for the rest of the call."""
    boom: list[int] = []

    def break_one(call: Any) -> None:
        observer = next(o for o in call.worker._observer._observers if isinstance(o, CallObserver))

        def raises(data: Any) -> None:
            boom.append(data.timestamp)
            raise RuntimeError("a bug of ours")

        observer._dispatch.add({"TTSAudioRawFrame": raises, "InputAudioRawFrame": raises})

    script = Script(lines=(Say("where is my order", at_s=3.5),), replies=(HELLO, Reply("On its way.", ends=True)))
    call = run_call(Script(**{**script.__dict__, "events": (At(0.05, break_one),)}))

    assert len(boom) > 10
    assert len(call.of(Playout, phase="last")) == 2
    assert call.one(CallEnded).cause == "agent"
    assert call.of(Health)[-1].observer_errors == len(boom)


def test_a40_an_observer_that_never_sees_a_frame_says_so() -> None:
    """As Pipecat did when an observer was added to a worker whose set of observers was empty."""

    def deaf(call: Any) -> None:
        observer = next(o for o in call.worker._observer._observers if isinstance(o, CallObserver))
        call.worker._observer._observers.remove(observer)

    from pipecat_calls.call import place_call

    from earwitness.processors.attaching import attach
    from earwitness.processors.bot_settings import BotSettings
    from earwitness.processors.redaction import NoRedaction
    from earwitness.processors.witness import Witness

    sink = MemorySink()

    def put_on(call: Any) -> None:
        settings = BotSettings.from_env({}, taps=False)
        attach(call.worker, witness=Witness("a", sink=sink, redactor=NoRedaction(), settings=settings))
        deaf(call)

    place_call(Script(replies=(HELLO,), ends_s=70), attach=put_on)

    assert {event.kind for event in sink.events} == {"call_started", "connected", "health", "call_ended"}
    (health,) = [event for event in sink.events if isinstance(event, Health)]
    assert health.at_ns / 1e9 == pytest.approx(60, abs=1)
    assert (health.no_frames_seen, health.frames_seen) == (True, 0)


def test_a_pipeline_stuck_in_its_end_is_reported_by_the_watchdog(run_call: RunCall) -> None:
    class Stuck(FrameProcessor):
        """Never lets an end through, nor a cancel behind it."""

        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if not isinstance(frame, EndFrame | CancelFrame):
                await self.push_frame(frame, direction)

    script = Script(replies=(HELLO,), events=(At(4.0, lambda call: call.worker.queue_frame(EndFrame())),), ends_s=40)
    call = run_call(script, extra=lambda: {"before_output": [Stuck()]}, log_level="CRITICAL")

    ended = call.one(CallEnded)
    assert (ended.cause, ended.terminal) == ("agent", "none")
    assert 20 <= ended.at_ns / 1e9 - 4.0 <= 30


def test_a02_audio_without_sound_is_no_playout(run_call: RunCall) -> None:
    async def pad(call: Any) -> None:
        await call.tts.push_frame(TTSAudioRawFrame(bytes(24_000), 24_000, 1))

    call = run_call(Script(replies=(HELLO,), events=(At(5.0, pad),), ends_s=9))

    assert len(call.of(Playout, phase="first")) == 1


def test_a30_audio_written_ahead_of_its_playing_leaves_the_end_uncertain(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), paced=False, ends_s=9))

    first, last = call.one(Playout, phase="first"), call.one(Playout, phase="last")
    on, off = call.truth.agent[0]
    assert first.edge_ns / 1e9 == pytest.approx(on, abs=0.02)
    assert last.uncertain
    assert last.written_ns is not None
    assert last.edge_ns / 1e9 < off - 0.5
    assert (first.edge_ns + last.written_ns) / 1e9 == pytest.approx(off, abs=0.05)


def test_silence_behind_speech_is_no_part_of_it(run_call: RunCall) -> None:
    call = run_call(Script(replies=(Reply("Hello there."),), trailing_silence_s=0.8, ends_s=9))

    (on, off), last = call.truth.agent[0], call.one(Playout, phase="last")
    assert last.edge_ns / 1e9 == pytest.approx(off, abs=0.02)
    assert off - on < 1.0


def test_a_setup_that_never_ends_is_an_error(run_call: RunCall) -> None:
    class NeverReady(FrameProcessor):
        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)  # keeps every frame, the StartFrame too

    call = run_call(Script(replies=(HELLO,), ends_s=60), extra=lambda: {"after_input": [NeverReady()]},
                    log_level="CRITICAL")  # fmt: skip

    assert call.one(CallStarted)
    assert call.one(CallEnded).cause == "error"


def test_a31_a_stop_that_the_pipeline_reports_late_does_not_lengthen_the_speech(run_call: RunCall) -> None:
    async def speak_without_a_stop(call: Any) -> None:
        sound = speech(1.0, 24_000).tobytes()
        await call.tts.push_frame(TTSAudioRawFrame(sound, 24_000, 1))

    call = run_call(Script(replies=(HELLO,), events=(At(5.0, speak_without_a_stop),), ends_s=12))

    (on, off), last = call.truth.agent[1], call.of(Playout, phase="last")[1]
    stopped = call.of(SpeechEnded, party="agent", evidence="decision")[-1]
    assert off - on == pytest.approx(1.0, abs=0.05)
    assert last.edge_ns / 1e9 == pytest.approx(off, abs=0.02)
    assert last.at_ns / 1e9 < off + 1.6
    assert stopped.edge_ns / 1e9 > off + 2.9


def test_a40_a_pulse_that_cannot_start_is_counted_and_the_call_takes_place(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(pulse: Pulse) -> None:
        raise RuntimeError("a bug of ours")

    script = Script(lines=(Say("where is my order", at_s=3.5),), replies=(HELLO, Reply("On its way.", ends=True)))
    plain = run_call(script)
    monkeypatch.setattr(Pulse, "start", raises)
    call = run_call(script)

    assert call.truth == plain.truth
    assert call.one(CallEnded).cause == "agent"
    assert call.of(Health)[-1].observer_errors
