"""A streaming recogniser behind a WebSocket: PocketSphinx with the English model of its wheel.

One connection is one caller. Binary messages are 16 kHz 16-bit mono audio of an utterance; ``{"end": true}`` ends
it. Answers: ``{"text", "final"}``. A process of its own, since PocketSphinx holds Python's lock while it decodes,
which would stop the audio of a bot.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import deque

import pocketsphinx  # type: ignore[import-untyped]
from aiohttp import WSMsgType, web
from examples.demo.child import announce, until_parent_leaves

RATE = 16_000
_QUICKER = {"topn": 2, "maxhmmpf": 3_000}
"""A tenth less work than the defaults, the same words on the demo's clips."""


class Decoders:
    """Decoders that are lent to utterances; each takes half a second to load, so a few are kept."""

    def __init__(self, count: int) -> None:
        self._free = deque(self._load() for _ in range(count))
        self._returned = asyncio.Condition()

    @staticmethod
    def _load() -> pocketsphinx.Decoder:
        return pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL", **_QUICKER)

    async def borrow(self) -> pocketsphinx.Decoder:
        async with self._returned:
            await self._returned.wait_for(lambda: bool(self._free))
            return self._free.popleft()

    async def give_back(self, decoder: pocketsphinx.Decoder) -> None:
        async with self._returned:
            self._free.append(decoder)
            self._returned.notify()


class Utterance:
    """One stretch of speech as it comes in."""

    def __init__(self, decoder: pocketsphinx.Decoder) -> None:
        self.decoder = decoder
        decoder.start_utt()

    def hear(self, pcm: bytes) -> str:
        """The words so far."""
        self.decoder.process_raw(pcm)
        return self._words()

    def end(self) -> str:
        """All words; the utterance is over."""
        self.decoder.end_utt()
        return self._words()

    def _words(self) -> str:
        best = self.decoder.hyp()
        return str(best.hypstr) if best else ""


def make_app(decoders: int = 3) -> web.Application:
    pool = Decoders(decoders)

    async def listen(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        utterance: Utterance | None = None
        told = ""
        # A caller who hangs up closes the connection under a result that is on its way.
        with contextlib.suppress(ConnectionError):
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    if utterance is None:
                        utterance, told = Utterance(await pool.borrow()), ""
                    words = utterance.hear(message.data)
                    if words and words != told:
                        told = words
                        await socket.send_json({"text": words, "final": False})
                elif message.type is WSMsgType.TEXT and json.loads(message.data).get("end"):
                    words = utterance.end() if utterance else ""
                    if utterance:
                        await pool.give_back(utterance.decoder)
                        utterance = None
                    await socket.send_json({"text": words, "final": True})
        if utterance:
            utterance.end()
            await pool.give_back(utterance.decoder)
        return socket

    app = web.Application()
    app.router.add_get("/listen", listen)
    return app


async def serve(decoders: int = 3) -> web.AppRunner:
    """Listen on a free port of the loopback; the caller ends it with ``cleanup()``."""
    runner = web.AppRunner(make_app(decoders), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


async def _main() -> None:
    runner = await serve()
    announce(ready=True, url=f"http://127.0.0.1:{runner.addresses[0][1]}/listen")
    await until_parent_leaves()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_main())
    sys.exit(0)
