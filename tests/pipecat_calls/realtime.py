"""Speech-to-speech services that differ in what they say of the caller's turns, and that call tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from pipecat.frames.frames import (
    Frame,
    FunctionCallFromLLM,
    InputAudioRawFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMServiceMetadataFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.openai.realtime import events as openai
from pipecat.services.settings import LLMSettings
from pipecat_calls.line import SAID
from pipecat_calls.script import CallTool, Reply, Script
from pipecat_calls.services import RealtimeModel, ScriptedLLM, whole

Turns = Literal["server_vad", "semantic_vad", "unsaid", "no_frames"]
"""How the service says when the caller speaks: by a VAD whose silence is a setting, by meaning, without a word of its
settings, or not at all."""


@dataclass
class SessionSettings(LLMSettings):
    """Settings of a service that has a session, as OpenAI's has."""

    session_properties: Any = None


def session(turns: Turns, silence_s: float) -> openai.SessionProperties | None:
    """The session's own settings, in the classes of Pipecat's OpenAI service."""
    detection: Any = None
    if turns == "server_vad":
        detection = openai.TurnDetection(silence_duration_ms=round(silence_s * 1000))
    elif turns == "semantic_vad":
        detection = openai.SemanticTurnDetection(eagerness="high")
    elif turns == "no_frames":
        return None
    return openai.SessionProperties(audio=openai.AudioConfiguration(input=openai.AudioInput(turn_detection=detection)))


class RealtimeService(RealtimeModel):
    """A speech-to-speech service with settings, and with the script's tools."""

    def __init__(self, script: Script, turns: Turns = "server_vad") -> None:
        super().__init__(script)
        self._turns = turns
        self._settings = whole(SessionSettings, model="realtime", session_properties=session(turns, self.SILENCE_S))
        self._context: Any = None
        self._results = 0
        self._calls = 0
        for name, tool in script.tools.items():
            self.register_function(
                name,
                ScriptedLLM.handler(tool),
                cancel_on_interruption=tool.cancel_on_interruption,
                timeout_secs=tool.timeout_s,
            )

    def service_metadata_frame(self) -> Any:
        if self._turns != "no_frames":
            return super().service_metadata_frame()
        return LLMServiceMetadataFrame(service_name=self.name, is_realtime_service=True)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, LLMContextFrame):
            self._context = frame.context
            results = sum(
                isinstance(message, dict)
                and message.get("role") == "tool"
                and "IN_PROGRESS" not in str(message.get("content"))
                for message in frame.context.get_messages()
            )
            if results > self._results:
                self._results = results
                self._start_answer()
        await super().process_frame(frame, direction)

    async def _listen(self, frame: InputAudioRawFrame) -> None:
        if self._turns != "no_frames":
            await super()._listen(frame)
            return
        if SAID in frame.metadata:
            self._line, self._quiet_s, self._talking = frame.metadata[SAID][0], 0.0, True
        elif self._talking:
            self._quiet_s += frame.num_frames / frame.sample_rate
            if self._quiet_s >= self.SILENCE_S:
                self._talking = False
                speaking: Any = self
                speaking.create_task(self._words(self._line), name="words")
                self._start_answer()

    async def _speak(self) -> None:
        if not (self._replies and isinstance(self._replies[0], CallTool)):
            await super()._speak()
            return
        call: Reply | CallTool = self._replies.pop(0)
        assert isinstance(call, CallTool)
        await asyncio.sleep(self.THINKS_S)
        self._calls += 1
        await self.push_frame(LLMFullResponseStartFrame())
        asked = FunctionCallFromLLM(call.name, f"call_{self._calls}", call.arguments, self._context)
        await self.run_function_calls([asked])
        await self.push_frame(LLMFullResponseEndFrame())
