"""Pipecat's side of the demo's recogniser: an ``STTService`` that streams what the caller says.

An utterance opens where the pipeline's VAD starts (with the second half before it, which the VAD needed to make up its
mind) and ends where the VAD stops. Nothing here waits for the recogniser on the audio's path.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator

import aiohttp
from pipecat.frames.frames import (
    Frame,
    InterimTranscriptionFrame,
    StartFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.utils.time import time_now_iso8601

_PRE_ROLL_S = 0.6
_CHUNK_S = 0.1
_END = json.dumps({"end": True})
_P99_S = 0.9


class PocketSphinxSTT(STTService):
    """Recognises through the WebSocket at ``url``; interim results as they grow, one final per utterance."""

    def __init__(self, url: str) -> None:
        super().__init__(ttfs_p99_latency=_P99_S, settings=STTSettings(model="pocketsphinx-en-us", language=None))
        self._url = url
        self._before: deque[bytes] = deque()
        self._before_bytes = 0
        self._open = False
        self._pending = bytearray()
        self._outgoing: asyncio.Queue[bytes | str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._http: aiohttp.ClientSession | None = None

    def can_generate_metrics(self) -> bool:
        return True

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        self._http = aiohttp.ClientSession()
        socket = await self._http.ws_connect(self._url)
        self._tasks = [self.create_task(self._send(socket)), self.create_task(self._receive(socket))]

    async def cleanup(self) -> None:
        await super().cleanup()  # type: ignore[no-untyped-call]
        for task in self._tasks:
            await self.cancel_task(task)
        self._tasks = []
        if self._http:
            await self._http.close()

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        if self._open:
            self._pending += audio
            if len(self._pending) >= self.sample_rate * 2 * _CHUNK_S:
                self._flush()
        else:
            self._before.append(audio)
            self._before_bytes += len(audio)
            while self._before_bytes > self.sample_rate * 2 * _PRE_ROLL_S:
                self._before_bytes -= len(self._before.popleft())
        yield None

    async def _handle_vad_user_started_speaking(self, frame: VADUserStartedSpeakingFrame) -> None:
        await super()._handle_vad_user_started_speaking(frame)
        if not self._open:
            self._open = True
            self._pending = bytearray(b"".join(self._before))
            self._before.clear()
            self._before_bytes = 0
            self._flush()

    async def _handle_vad_user_stopped_speaking(self, frame: VADUserStoppedSpeakingFrame) -> None:
        await super()._handle_vad_user_stopped_speaking(frame)
        if self._open:
            self._open = False
            self._flush()
            self._outgoing.put_nowait(_END)

    def _flush(self) -> None:
        if self._pending:
            self._outgoing.put_nowait(bytes(self._pending))
            self._pending.clear()

    async def _send(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            item = await self._outgoing.get()
            if isinstance(item, bytes):
                await socket.send_bytes(item)
            else:
                await socket.send_str(item)

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            heard = json.loads(message.data)
            if not heard["text"]:
                continue
            kind = TranscriptionFrame if heard["final"] else InterimTranscriptionFrame
            frame = kind(heard["text"], self._user_id, time_now_iso8601())
            if isinstance(frame, TranscriptionFrame):
                frame.finalized = True
            await self.push_frame(frame)
        await self.push_error("the recogniser closed the connection")
