"""Speech from clips, in a pipeline of Pipecat's own."""

import asyncio

import numpy as np
import pytest
from examples.demo.clips import Clips
from examples.demo.tts_clips import ClipTTS, word_times
from pipecat.frames.frames import EndFrame, ErrorFrame, Frame, TTSAudioRawFrame, TTSSpeakFrame, TTSTextFrame
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.workers.runner import WorkerRunner

pytestmark = pytest.mark.pipecat


class Seen(BaseObserver):
    def __init__(self) -> None:
        super().__init__(observe_every_push=False)
        self.frames: list[Frame] = []

    async def on_push_frame(self, data: FramePushed) -> None:
        self.frames.append(data.frame)


async def speak(text: str) -> list[Frame]:
    seen = Seen()
    tts = ClipTTS(Clips(), "rms", first_byte_s=0.0)
    worker = PipelineWorker(Pipeline([tts]), observers=[seen], enable_rtvi=False)
    await worker.queue_frames([TTSSpeakFrame(text), EndFrame()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.wait_for(runner.run(), 20)
    return seen.frames


async def test_a_sentence_comes_out_as_its_clip() -> None:
    frames = await speak("How can I help you?")

    audio = b"".join(frame.audio for frame in frames if isinstance(frame, TTSAudioRawFrame))
    clip = Clips().get("rms", "How can I help you?")
    assert np.array_equal(np.frombuffer(audio, np.int16)[: len(clip)], clip)
    assert [f.text for f in frames if isinstance(f, TTSTextFrame)] == ["How", "can", "I", "help", "you?"]


async def test_a_sentence_without_a_clip_is_an_error_that_names_it() -> None:
    frames = await speak("Nobody ever recorded this.")

    assert not any(isinstance(frame, TTSAudioRawFrame) for frame in frames)
    assert any("Nobody ever recorded this." in frame.error for frame in frames if isinstance(frame, ErrorFrame))


def test_words_divide_the_length_by_their_letters() -> None:
    assert word_times("a bbb", 2.0, 6.0) == [("a", 2.0), ("bbb", 4.0)]
