"""The telephone line: a transport pair for Pipecat with a scripted person at the other end.

Caller audio comes in 20 ms frames at the pace of real time; what the agent says is taken at the pace at which a
telephone plays it.
"""

from __future__ import annotations

import asyncio
import time

import numpy as np
from examples.demo.clips import RATE
from examples.demo.far_end import FRAME_SAMPLES, FarEnd
from pipecat.frames.frames import ClientConnectedFrame, InputAudioRawFrame, OutputAudioRawFrame, StartFrame
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import BaseTransport, TransportParams

_FRAME_S = FRAME_SAMPLES / RATE
_TOO_LATE_S = 0.5
_JITTER_S = 0.1
"""What a telephone's buffer makes good: audio that comes later than this after the last leaves an audible gap."""


class Line(BaseTransport):
    """One call's line. Events ``on_client_connected`` and ``on_client_disconnected`` as in Pipecat's own transports.

    ``worst_lag_s`` is by how much the microphone ran behind real time at worst: how hard the machine was pressed.
    """

    def __init__(self, person: FarEnd) -> None:
        super().__init__()
        params = TransportParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            audio_in_sample_rate=RATE,
            audio_out_sample_rate=RATE,
            audio_out_end_silence_secs=0,
        )
        self.person = person
        self.worst_lag_s = 0.0
        self._input = _LineIn(self, params)
        self._output = _LineOut(self, params)
        self._register_event_handler("on_client_connected")
        self._register_event_handler("on_client_disconnected")

    def input(self) -> FrameProcessor:
        return self._input

    def output(self) -> FrameProcessor:
        return self._output

    async def connected(self) -> None:
        await self._call_event_handler("on_client_connected", self.person)

    async def disconnected(self) -> None:
        await self._call_event_handler("on_client_disconnected", self.person)


class _LineIn(BaseInputTransport):
    """The caller's microphone."""

    def __init__(self, line: Line, params: TransportParams) -> None:
        super().__init__(params)
        self._transport = line
        self._line = line
        self._microphone: asyncio.Task[None] | None = None

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        await self.push_frame(ClientConnectedFrame())
        await self._line.connected()
        self._microphone = self.create_task(self._play())

    async def cleanup(self) -> None:
        if self._microphone:
            await self.cancel_task(self._microphone)
            self._microphone = None
        self._line.person.end(time.monotonic())
        await super().cleanup()  # type: ignore[no-untyped-call]

    async def _play(self) -> None:
        due_s = time.monotonic()
        while not self._line.person.hung_up:
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            now_s = time.monotonic()
            self._line.worst_lag_s = max(self._line.worst_lag_s, now_s - due_s)
            if now_s - due_s > _TOO_LATE_S:
                due_s = now_s
            # A frame is sent when it is full: its first sample was spoken a frame's length ago.
            samples = self._line.person.step(due_s - _FRAME_S)
            due_s += _FRAME_S
            await self.push_audio_frame(InputAudioRawFrame(samples.tobytes(), RATE, 1))
        await self._line.disconnected()


class _LineOut(BaseOutputTransport):
    """The caller's earpiece."""

    def __init__(self, line: Line, params: TransportParams) -> None:
        super().__init__(params)
        self._transport = line
        self._line = line
        self._due_s = 0.0

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        now_s = time.monotonic()
        starts_s = self._due_s if now_s - self._due_s < _JITTER_S else now_s
        self._line.person.hear(np.frombuffer(frame.audio, np.int16), starts_s)
        self._due_s = starts_s + frame.num_frames / frame.sample_rate
        await asyncio.sleep(max(0.0, self._due_s - time.monotonic()))
        return True
