"""Audio taps: where a pipeline's audio is picked up, as processors put in by hand or as handlers on the transport.

A tap stamps and appends; everything else happens elsewhere (``tap_worker``). Frames always go on, and no fault of
ours leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from pipecat.frames import frames as pipecat_frames
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    CancelFrame,
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    StopFrame,
    TTSAudioRawFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from earwitness.processors.pipeline_parts import stop_listening
from earwitness.processors.recording import CallRecording
from earwitness.processors.tap_worker import Reporter, Tap
from earwitness.processors.voice_activity import AgentEar, CallerEar, Chunk, Mark

_log = structlog.get_logger(__name__)

_speech_stream: Any = getattr(pipecat_frames, "SpeechOutputAudioRawFrame", TTSAudioRawFrame)
FrameHandler = Callable[[FrameProcessor, Frame], None]
_PUSHED = "on_after_push_frame"
SPEECH_FRAMES: tuple[type[Frame], ...] = (TTSAudioRawFrame, _speech_stream)
"""Audio of the agent's voice, also where a mixer adds background sound in frames of their own."""
LAST_FRAMES: tuple[type[Frame], ...] = (EndFrame, StopFrame, CancelFrame)
"""Behind these a transport reads no more of the caller's audio, though the agent may have much to say."""


class CallTaps:
    """The two taps of one call, and its recording if there is one.

    ``reporter`` is the call's recorder of source ``taps``. Times are those of the pipeline's clock, asked of the
    processor that delivers the audio. Close it before the call's last event is reported: what is open is told then.
    """

    def __init__(self, reporter: Reporter, *, recording: CallRecording | None = None) -> None:
        self._reporter = reporter
        self._recording = recording
        self._clock: Callable[[], int] | None = None
        self._caller: Tap | None = None
        self._agent: Tap | None = None
        self._by_hand: set[str] = set()
        self._hooked: list[tuple[FrameProcessor, FrameHandler]] = []
        self._mixed: bool | None = None
        self._ending = False
        self._closed = False
        self.errors = 0
        """Faults in picking audio up; those of listening are counted by each tap."""

    def caller_tap(self) -> CallerTap:
        """A processor for right behind ``transport.input()``."""
        self._by_hand.add("caller")
        return CallerTap(self)

    def agent_tap(self) -> AgentTap:
        """A processor for right behind ``transport.output()``."""
        self._by_hand.add("agent")
        return AgentTap(self)

    def hook(self, input_processor: FrameProcessor | None, output_processor: FrameProcessor | None) -> None:
        """Listen on a pipeline's transport processors instead; a side that has a tap of its own is left alone."""
        sides: tuple[tuple[str, Any, FrameHandler], ...] = (
            ("caller", input_processor, self.caller_frame),
            ("agent", output_processor, self.agent_frame),
        )
        for side, processor, handler in sides:
            if processor is not None and side not in self._by_hand:
                processor.add_event_handler(_PUSHED, handler)  # pyright: ignore[reportUnknownMemberType]
                self._hooked.append((processor, handler))

    def caller_frame(self, processor: FrameProcessor, frame: Frame) -> None:
        """A frame left the caller's side of the transport, whatever its direction."""
        if self._closed:
            return
        if not isinstance(frame, InputAudioRawFrame):
            if isinstance(frame, LAST_FRAMES):
                self._ends()
            return
        try:
            participant = getattr(frame, "user_id", None) or None
            tap = self._caller or self._open_caller(processor)
            tap.hear(Chunk(frame.audio, frame.sample_rate, frame.num_channels, self._now_ns(), participant))
        except Exception as error:
            self._count(error)

    def agent_frame(self, processor: FrameProcessor, frame: Frame) -> None:
        """A frame left the agent's side of the transport, whatever its direction."""
        if self._closed:
            return
        try:
            if isinstance(frame, OutputAudioRawFrame):
                if isinstance(frame, SPEECH_FRAMES) or not self._is_mixed(processor):
                    tap = self._agent or self._open_agent(processor)
                    tap.hear(Chunk(frame.audio, frame.sample_rate, frame.num_channels, self._now_ns()))
            elif isinstance(frame, BotStartedSpeakingFrame):
                tap = self._agent or self._open_agent(processor)
                tap.hear(Mark("write_begins", self._now_ns()))
            elif isinstance(frame, InterruptionFrame) and self._agent is not None:
                self._agent.hear(Mark("cleared", self._now_ns()))
        except Exception as error:
            self._count(error)

    def _ends(self) -> None:
        self._ending = True
        if self._caller is not None:
            try:
                self._caller.hear(Mark("ending", self._now_ns()))
            except Exception as error:
                self._count(error)

    async def close(self) -> None:
        """Report what is open and end the recording; bounded, never raises, may be called again."""
        if self._closed:
            return
        self._closed = True
        for processor, handler in self._hooked:
            stop_listening(processor, _PUSHED, handler)
        self._hooked.clear()
        for tap in (self._caller, self._agent):
            if tap is not None:
                try:
                    await tap.close()
                except Exception as error:
                    self._count(error)
        if self._recording is not None:
            self._recording.close()

    def _now_ns(self) -> int:
        return self._clock() if self._clock is not None else 0

    def _open_caller(self, processor: FrameProcessor) -> Tap:
        self._clock = self._clock or processor.get_clock().get_time
        track = self._recording.caller if self._recording is not None else None
        self._caller = Tap("caller", lambda: CallerEar(track, ending=self._ending), self._reporter, self._now_ns)
        return self._caller

    def _open_agent(self, processor: FrameProcessor) -> Tap:
        self._clock = self._clock or processor.get_clock().get_time
        track = self._recording.agent if self._recording is not None else None
        self._agent = Tap("agent", lambda: AgentEar(track), self._reporter, self._now_ns)
        return self._agent

    def _is_mixed(self, processor: FrameProcessor) -> bool:
        if self._mixed is None:
            self._mixed = has_mixer(processor)
        return self._mixed

    def _count(self, error: Exception) -> None:
        self.errors += 1
        if self.errors == 1:
            _log.warning("audio could not be picked up; the call goes on", error=repr(error))


class CallerTap(FrameProcessor):
    """Hands the caller's audio on and to the monitor."""

    def __init__(self, taps: CallTaps) -> None:
        super().__init__(enable_direct_mode=True)  # pyright: ignore[reportUnknownMemberType]
        self._taps = taps

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """See ``FrameProcessor``."""
        await super().process_frame(frame, direction)
        self._taps.caller_frame(self, frame)
        await self.push_frame(frame, direction)

    async def cleanup(self) -> None:
        """See ``FrameProcessor``."""
        await super().cleanup()  # type: ignore[no-untyped-call]
        await self._taps.close()


class AgentTap(FrameProcessor):
    """Hands what the transport has written on and to the monitor."""

    def __init__(self, taps: CallTaps) -> None:
        super().__init__(enable_direct_mode=True)  # pyright: ignore[reportUnknownMemberType]
        self._taps = taps

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """See ``FrameProcessor``."""
        await super().process_frame(frame, direction)
        self._taps.agent_frame(self, frame)
        await self.push_frame(frame, direction)

    async def cleanup(self) -> None:
        """See ``FrameProcessor``."""
        await super().cleanup()  # type: ignore[no-untyped-call]
        await self._taps.close()


def has_mixer(processor: FrameProcessor) -> bool:
    """Whether the output transport at or before a processor mixes background sound into everything that it writes."""
    at: Any = processor
    for _ in range(50):
        params: Any = getattr(at, "_params", None)
        if hasattr(params, "audio_out_mixer"):
            return bool(params.audio_out_mixer)
        at = getattr(at, "_prev", None)
        if at is None:
            break
    return False
