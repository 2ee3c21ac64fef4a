"""The two ends of a scripted line: a caller who reacts to the agent, and a loudspeaker that plays at its own pace."""

from __future__ import annotations

import asyncio
import inspect
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    ClientConnectedFrame,
    Frame,
    OutputAudioRawFrame,
    StartFrame,
    UserAudioRawFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import BaseTransport, TransportParams
from pipecat_calls.script import Say, Script
from pipecat_calls.voice import AGENT_RATE, CALLER_RATE, CHUNK_S, LOUD, SOUNDS, Samples, silence

SAID = "said"
"""Key in a frame's metadata: (line number, share of it spoken), for the oracle that stands for a recogniser."""


@dataclass
class Truth:
    """What really happened on the line, in seconds since the pipeline's clock began."""

    caller: list[tuple[float, float]] = field(default_factory=list)
    agent: list[tuple[float, float]] = field(default_factory=list)
    """Stretches of loud audio as the loudspeaker played them; gaps under 0.1 s do not count."""


class Line(BaseTransport):
    """A transport as an application sees it: two processors, and events of its own."""

    def __init__(self, script: Script, now_s: Any, pcm: dict[int, Samples] | None = None) -> None:
        super().__init__()
        self._register_event_handler("on_client_connected")
        self._register_event_handler("on_client_disconnected")
        self._register_event_handler("on_participant_joined")
        self._register_event_handler("on_participant_left")
        self._register_event_handler("on_error")
        params = TransportParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            audio_in_sample_rate=CALLER_RATE,
            audio_out_sample_rate=AGENT_RATE,
            audio_out_end_silence_secs=0,
        )
        self.truth = Truth()
        self.caller = CallerIn(self, script, now_s, params, pcm or {})
        self.speaker = SpeakerOut(self, script, now_s, params)

    def input(self) -> CallerIn:
        return self.caller

    def output(self) -> SpeakerOut:
        return self.speaker

    async def fire(self, event: str, *args: Any) -> None:
        """Let an event of the transport happen."""
        await self._call_event_handler(event, *args)


class CallerIn(BaseInputTransport):
    """Speaks the caller's lines in 20 ms frames at real-time pace, reacting to when the agent speaks."""

    def __init__(
        self, line: Line, script: Script, now_s: Any, params: TransportParams, pcm: dict[int, Samples]
    ) -> None:
        super().__init__(params)
        self._transport = line
        self._script = script
        self._now_s = now_s
        self._pcm = pcm
        self._agent_talks = False
        self._agent_edge_s = 0.0
        self._agent_turns = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self.flows = True
        """False: the caller's audio stops arriving."""

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        await self.push_frame(ClientConnectedFrame())
        await self._transport.fire("on_client_connected", "client")
        self._tasks = [self.create_task(self._microphone())]

    async def cleanup(self) -> None:
        base: Any = super()
        await base.cleanup()
        for task in self._tasks:
            await self.cancel_task(task)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, (BotStartedSpeakingFrame, BotStoppedSpeakingFrame)):
            self._agent_talks = isinstance(frame, BotStartedSpeakingFrame)
            self._agent_edge_s = self._now_s()
            self._agent_turns += self._agent_talks

    def _begins(self, say: Say, answered: bool, now: float) -> bool:
        if say.at_s is not None:
            return bool(now >= say.at_s)
        since_edge = now - self._agent_edge_s
        if say.into_s is not None:
            return self._agent_talks and since_edge >= say.into_s
        wait = say.after_s if say.after_s is not None else 0.6
        if say.patient and not answered:
            wait = max(wait, 6.0)
        return not self._agent_talks and self._agent_turns > 0 and since_edge >= wait

    async def _microphone(self) -> None:
        began, sent = time.monotonic(), 0
        began_s = self._now_s()
        chunk = round(CHUNK_S * CALLER_RATE)
        quiet = silence(CHUNK_S, CALLER_RATE).tobytes()
        number, position, turns_seen = 0, -1, -1
        speech = SOUNDS[self._script.sound]
        pcm: Samples = silence(0, CALLER_RATE)
        while True:
            await asyncio.sleep(max(0.0, began + sent * CHUNK_S - time.monotonic()))
            now_s, due_s = self._now_s(), began_s + sent * CHUNK_S
            if now_s - due_s > CHUNK_S:  # the loop was blocked: what is taken only now was said in its time
                now_s = due_s
            sent += 1
            lines = self._script.lines
            answered = self._agent_turns != turns_seen
            if position < 0 and number < len(lines) and self._begins(lines[number], answered, now_s):
                position = 0
                pcm = self._pcm[number] if number in self._pcm else speech(lines[number].seconds, CALLER_RATE)
                said_s = now_s - CHUNK_S  # a frame that arrives now was said before
                self._transport.truth.caller.append((said_s, said_s + len(pcm) / CALLER_RATE))
            if not self.flows:
                continue
            frame = UserAudioRawFrame(audio=quiet, sample_rate=CALLER_RATE, num_channels=1, user_id="caller")
            if position >= 0:
                piece = pcm[position : position + chunk]
                position += chunk
                frame.audio = piece.tobytes() + quiet[: (chunk - len(piece)) * 2]
                frame.user_id = lines[number].participant
                frame.metadata[SAID] = (number, min(1.0, position / len(pcm)))
                if position >= len(pcm):
                    number, position, turns_seen = number + 1, -1, self._agent_turns
                    self._agent_edge_s = self._now_s()
            await self.push_audio_frame(frame)


class SpeakerOut(BaseOutputTransport):
    """Takes audio as a sound card or a telephone line does. Unpaced, it takes all at once and still plays in time."""

    def __init__(self, line: Line, script: Script, now_s: Any, params: TransportParams) -> None:
        super().__init__(params)
        self._transport = line
        self._paced = script.paced
        self._now_s = now_s
        self._free_s = 0.0
        self.breaks = False
        """True: writing fails."""

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        if self.breaks:
            raise ConnectionError("the far end is gone")
        plays_s = max(self._free_s, self._now_s())
        loud = np.flatnonzero(np.abs(np.frombuffer(frame.audio, np.int16).astype(np.int32)) > LOUD / 2)
        if loud.size:
            first, last = int(loud[0]), int(loud[-1]) + 1
            self._note(plays_s + first / frame.sample_rate, plays_s + last / frame.sample_rate)
        self._free_s = plays_s + frame.num_frames / frame.sample_rate
        if self._paced:
            await asyncio.sleep(max(0.0, plays_s - self._now_s()))
        return True

    async def write_transport_frame(self, frame: Frame) -> None:
        handler = getattr(self, "on_transport_frame", None)
        if handler is not None and inspect.iscoroutinefunction(handler):
            await handler(frame)

    def _note(self, first_s: float, last_s: float) -> None:
        heard = self._transport.truth.agent
        if heard and first_s - heard[-1][1] < 0.1:
            heard[-1] = (heard[-1][0], last_s)
        else:
            heard.append((first_s, last_s))
