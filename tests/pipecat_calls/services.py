"""Scripted stand-ins for the services of an agent, on Pipecat's own base classes: all but the vendor is real."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from pipecat.audio.turn.base_turn_analyzer import BaseTurnAnalyzer, BaseTurnParams, EndOfTurnState
from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams, VADState
from pipecat.frames.frames import (
    Frame,
    FunctionCallFromLLM,
    FunctionCallResultFrame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.metrics.metrics import MetricsData
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import FunctionCallParams, LLMService
from pipecat.services.settings import LLMSettings, STTSettings, TTSSettings
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService
from pipecat_calls.line import SAID
from pipecat_calls.script import CallTool, Reply, Script, Tool
from pipecat_calls.versions import end_request, frames
from pipecat_calls.voice import AGENT_RATE, SOUNDS, is_loud, silence, speech

SECONDS_A_CHARACTER = 0.06
NETWORK_CHUNK = AGENT_RATE // 5


def whole(settings: type[Any], **given: Any) -> Any:
    """Settings with every field present: Pipecat complains of those that a service leaves unset."""
    names = [field.name for field in dataclasses.fields(settings) if field.name != "extra"]
    return settings(**{**dict.fromkeys(names), **given})


class EnergyVAD(VADAnalyzer):
    """Pipecat's own state machine over loudness, without a thread: exact edges, no model."""

    def __init__(self, start_s: float = 0.2, stop_s: float = 0.2) -> None:
        super().__init__(params=VADParams(confidence=0.5, start_secs=start_s, stop_secs=stop_s, min_volume=0.0))

    def num_frames_required(self) -> int:
        return round(self.sample_rate * 0.02)

    def voice_confidence(self, buffer: bytes) -> float:
        return 1.0 if is_loud(buffer) else 0.0

    async def analyze_audio(self, buffer: bytes) -> VADState:
        return self._run_analyzer(buffer)


class ScriptedTurns(BaseTurnAnalyzer):
    """A turn model that says what the script says: at each pause whether the turn is over."""

    def __init__(self, verdicts: Sequence[bool]) -> None:
        super().__init__()
        self._verdicts = list(verdicts)

    @property
    def speech_triggered(self) -> bool:
        return False

    @property
    def params(self) -> BaseTurnParams:
        return BaseTurnParams()

    def append_audio(self, buffer: bytes, is_speech: bool) -> EndOfTurnState:
        return EndOfTurnState.INCOMPLETE

    async def analyze_end_of_turn(self) -> tuple[EndOfTurnState, MetricsData | None]:
        complete = self._verdicts.pop(0) if self._verdicts else True
        state = EndOfTurnState.COMPLETE if complete else EndOfTurnState.INCOMPLETE
        return state, frames.turn_metrics("ScriptedTurns", complete)

    def clear(self) -> None: ...

    async def cleanup(self) -> None: ...


class OracleSTT(STTService):
    """Knows what was said: interims while it is said, a finalized transcript a little after the VAD's stop."""

    def __init__(self, script: Script) -> None:
        super().__init__(ttfs_p99_latency=1.0, settings=whole(STTSettings, model="oracle"))
        self._script = script
        self._line = -1
        self._given = 0
        self._heard = 0
        self._participant = "caller"

    def can_generate_metrics(self) -> bool:
        return self._script.metrics

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        yield None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame) and SAID in frame.metadata:
            await self._listen(*frame.metadata[SAID])
        elif isinstance(frame, VADUserStoppedSpeakingFrame) and self._script.finals:
            self.create_task(self._final(), name="final")

    async def _listen(self, line: int, share: float) -> None:
        if line != self._line:
            self._line, self._given, self._heard = line, 0, 0
            self._participant = self._script.lines[line].participant
        words = self._script.lines[line].words.split()
        heard = int(len(words) * share)
        if heard > self._heard:
            self._heard = heard
            if self._script.interims:
                text = " ".join(words[self._given : heard])
                await self.push_frame(InterimTranscriptionFrame(text, self._participant, ""))
        if share >= 1.0 and self._script.vad == "none" and self._script.finals:
            self.create_task(self._final(), name="final")

    async def _final(self) -> None:
        await asyncio.sleep(self._script.transcript_s)
        words = self._script.lines[self._line].words.split()
        text, self._given = " ".join(words[self._given : self._heard]), self._heard
        if text or not words:
            frame = TranscriptionFrame(text, self._participant, "")
            frame.finalized = True
            await self.push_frame(frame)


class ScriptedLLM(LLMService):
    """Answers with the script's replies, one for each inference."""

    def __init__(self, script: Script) -> None:
        super().__init__(settings=whole(LLMSettings, model="scripted"))
        self._script = script
        self._replies = list(script.replies)
        self._calls = 0
        for name, tool in script.tools.items():
            self.register_function(
                name,
                self.handler(tool),
                cancel_on_interruption=tool.cancel_on_interruption,
                timeout_secs=tool.timeout_s,
            )

    def can_generate_metrics(self) -> bool:
        return self._script.metrics

    @staticmethod
    def handler(tool: Tool) -> Any:
        async def run(params: FunctionCallParams) -> None:
            await asyncio.sleep(tool.takes_s)
            if tool.error is not None:
                raise RuntimeError(tool.error)
            await params.result_callback(tool.result if tool.result is not None else {"status": "ok"})

        return run

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        await self.push_frame(LLMFullResponseStartFrame())
        await self.start_ttfb_metrics()
        try:
            await self._answer(frame.context)
        finally:
            await self.push_frame(LLMFullResponseEndFrame())

    async def _answer(self, context: Any) -> None:
        reply = self._replies.pop(0) if self._replies else Reply("Is there anything else?")
        await asyncio.sleep(reply.first_token_s)
        await self.stop_ttfb_metrics()
        for word in reply.text.split(" ") if reply.text else ():
            await self.push_frame(LLMTextFrame(word + " "))
            await asyncio.sleep(reply.token_s)
        if isinstance(reply, CallTool):
            self._calls += 1
            call = FunctionCallFromLLM(reply.name, f"call_{self._calls}", reply.arguments, context)
            await self.run_function_calls([call])
        elif reply.ends:
            await self.push_frame(end_request(reply.reason))


class ToneTTS(TTSService):
    """A tone for each character, faster than real time, with word times or without."""

    def __init__(self, script: Script) -> None:
        super().__init__(
            push_text_frames=script.speech == "segments",
            push_start_frame=True,
            push_stop_frames=True,
            sample_rate=AGENT_RATE,
            settings=whole(TTSSettings, model="tone", voice="a"),
        )
        self._script = script
        self._spoken_s: dict[str, float] = {}

    def can_generate_metrics(self) -> bool:
        return self._script.metrics

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        await asyncio.sleep(0.12)
        began = at = self._spoken_s.get(context_id, 0.0)
        times: list[tuple[str, float]] = []
        for word in text.split():
            times.append((word, at))
            at += SECONDS_A_CHARACTER * (len(word) + 1)
        sound = SOUNDS[self._script.sound](at - began, AGENT_RATE).tobytes()
        sound += silence(self._script.trailing_silence_s, AGENT_RATE).tobytes()
        self._spoken_s[context_id] = at + self._script.trailing_silence_s
        if self._script.speech == "words":
            await self.add_word_timestamps(times, context_id)
        for start in range(0, len(sound), NETWORK_CHUNK * 2):
            piece = sound[start : start + NETWORK_CHUNK * 2]
            yield TTSAudioRawFrame(piece, AGENT_RATE, 1, context_id=context_id)
            await asyncio.sleep(0.02)


class RealtimeModel(LLMService):
    """A speech-to-speech service: detects turns itself, answers with audio, and gives the caller's words late and
    upstream."""

    SILENCE_S = 0.5
    THINKS_S = 0.3
    WORDS_LATE_S = 0.4

    def __init__(self, script: Script) -> None:
        super().__init__(settings=whole(LLMSettings, model="realtime"))
        self._script = script
        self._replies = list(script.replies)
        self._line = -1
        self._talking = False
        self._quiet_s = 0.0
        self._answer: asyncio.Task[Any] | None = None

    def can_generate_metrics(self) -> bool:
        return self._script.metrics

    def service_metadata_frame(self) -> Any:
        return frames.realtime_metadata(self.name)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            await self._listen(frame)
        elif isinstance(frame, LLMContextFrame):
            if self._line < 0 and self._answer is None:  # later ones bring the context up to date, and ask nothing
                self._start_answer()
            return
        elif isinstance(frame, InterruptionFrame) and self._answer is not None:
            await self.cancel_task(self._answer)
            self._answer = None
        elif isinstance(frame, FunctionCallResultFrame):
            self._start_answer()
        await self.push_frame(frame, direction)

    def _start_answer(self) -> None:
        self._answer = self.create_task(self._speak(), name="answer")

    async def _listen(self, frame: InputAudioRawFrame) -> None:
        if SAID in frame.metadata:
            self._line = frame.metadata[SAID][0]
            self._quiet_s = 0.0
            if not self._talking:
                self._talking = True
                await self.broadcast_frame(frames.ProposedUserStartedSpeakingFrame)
        elif self._talking:
            self._quiet_s += frame.num_frames / frame.sample_rate
            if self._quiet_s >= self.SILENCE_S:
                self._talking = False
                await self.broadcast_frame(frames.ProposedUserStoppedSpeakingFrame)
                self.create_task(self._words(self._line), name="words")
                self._start_answer()

    async def _words(self, line: int) -> None:
        await asyncio.sleep(self.THINKS_S + self.WORDS_LATE_S)
        text = self._script.lines[line].words
        if text and self._script.finals:
            await self.push_frame(TranscriptionFrame(text, "", ""), FrameDirection.UPSTREAM)

    async def _speak(self) -> None:
        reply = self._replies.pop(0) if self._replies else Reply("Is there anything else?")
        await asyncio.sleep(self.THINKS_S)
        await self.push_frame(LLMFullResponseStartFrame())
        await self.push_frame(TTSStartedFrame())
        for word in reply.text.split():
            await self.push_frame(LLMTextFrame(word + " "))
            text = TTSTextFrame(word + " ", "sentence")
            text.includes_inter_frame_spaces = True
            sound = speech(SECONDS_A_CHARACTER * (len(word) + 1), AGENT_RATE).tobytes()
            await self.push_frame(TTSAudioRawFrame(sound, AGENT_RATE, 1))
            await self.push_frame(text)
        await self.push_frame(TTSStoppedFrame())
        await self.push_frame(LLMFullResponseEndFrame())
        if isinstance(reply, Reply) and reply.ends:
            await self.push_frame(end_request(reply.reason))
