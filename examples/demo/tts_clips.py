"""Speech synthesis from clips: real speech, with the first-byte delay and the word times of a network service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
from examples.demo.clips import RATE, Clips, MissingClip
from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService

_CHUNK_SAMPLES = RATE // 5
_BETWEEN_CHUNKS_S = 0.02
_BREATH = np.zeros(RATE * 15 // 100, np.int16)


class ClipTTS(TTSService):
    """Speaks the clip of each sentence it is handed, ``first_byte_s`` after it was asked."""

    def __init__(self, clips: Clips, voice: str, first_byte_s: float = 0.15) -> None:
        super().__init__(
            push_text_frames=False,
            push_start_frame=True,
            push_stop_frames=True,
            stop_frame_timeout_s=0.5,
            sample_rate=RATE,
            settings=TTSSettings(model="clips", voice=voice, language=None),
        )
        self._clips = clips
        self._speaker = voice
        self._first_byte_s = first_byte_s
        self._spoken_s: dict[str, float] = {}

    def can_generate_metrics(self) -> bool:
        return True

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        try:
            samples = np.concatenate([self._clips.get(self._speaker, text), _BREATH])
        except MissingClip as error:
            yield ErrorFrame(error=str(error))
            return
        await asyncio.sleep(self._first_byte_s)
        began_s = self._spoken_s.get(context_id, 0.0)
        length_s = len(samples) / RATE
        self._spoken_s = {context_id: began_s + length_s}
        await self.add_word_timestamps(word_times(text, began_s, length_s), context_id)
        for first in range(0, len(samples), _CHUNK_SAMPLES):
            pcm = samples[first : first + _CHUNK_SAMPLES].tobytes()
            yield TTSAudioRawFrame(pcm, RATE, 1, context_id=context_id)
            await asyncio.sleep(_BETWEEN_CHUNKS_S)


def word_times(text: str, began_s: float, length_s: float) -> list[tuple[str, float]]:
    """When each word begins, were every letter equally long; counted from the start of the audio context."""
    words = text.split()
    letters = sum(len(word) + 1 for word in words)
    times: list[tuple[str, float]] = []
    at = began_s
    for word in words:
        times.append((word, at))
        at += length_s * (len(word) + 1) / letters
    return times
