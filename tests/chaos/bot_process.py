"""A live bot under test: started, listened to, and ended by whatever signal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from chaos.live_bot import Plan

from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.writer import Writer

TESTS = Path(__file__).resolve().parents[1]
WITHIN_S = 180.0


class BotProcess:
    """``said``: what it told so far. ``exit_took_s``: from its last word, or the signal, to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._news = asyncio.Condition()
        self._over = False
        self.said: list[dict[str, Any]] = []
        self.complained = ""
        """Its standard error."""
        self.exit_took_s = 0.0
        self._gone_s = 0.0
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, plan: Plan, folder: Path) -> BotProcess:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EARWITNESS_")}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "chaos.live_bot", str(plan.write(folder / "plan.json")),
            cwd=TESTS, env=environ, stdin=pipe, stdout=pipe, stderr=pipe,
        )  # fmt: skip
        return cls(process)

    async def until(self, **what: Any) -> dict[str, Any]:
        """Wait until it has told this."""
        async with asyncio.timeout(WITHIN_S), self._news:
            while True:
                for told in self.said:
                    if told.items() >= what.items():
                        return told
                assert not self._over, self.complained
                await self._news.wait()

    async def until_it_complains(self, words: str) -> None:
        """Wait until its standard error holds these words."""
        async with asyncio.timeout(WITHIN_S), self._news:
            while words not in self.complained:
                assert not self._over, self.complained
                await self._news.wait()

    async def enough(self) -> dict[str, Any]:
        """Let its calls end, and wait until they have: what it says then."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"enough\n")
        await self._process.stdin.drain()
        return await self.until(say="over")

    async def end(self, number: int | None = None) -> int:
        """Send a signal, if one is given, and wait for its end: the exit code."""
        began_s = time.monotonic()
        if number is not None and self._process.returncode is None:
            self._process.send_signal(number)
        else:
            began_s = (await self.until(say="over"))["at_ns"] / 1e9
        async with asyncio.timeout(WITHIN_S):
            code = await self._process.wait()
        await self._listening
        self.exit_took_s = self._gone_s - began_s
        return code

    async def __aenter__(self) -> BotProcess:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._listening

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        complaining = asyncio.create_task(self._listen_to_complaints())
        async for line in self._process.stdout:
            if line.startswith(b"{"):
                async with self._news:
                    self.said.append(json.loads(line))
                    self._news.notify_all()
        self._gone_s = time.monotonic()
        await complaining
        async with self._news:
            self._over = True
            self._news.notify_all()

    async def _listen_to_complaints(self) -> None:
        assert self._process.stderr is not None
        while told := await self._process.stderr.read(65_536):
            async with self._news:
                self.complained += told.decode(errors="replace")
                self._news.notify_all()


async def next_process(environ: dict[str, str]) -> None:
    """What the next bot of the host does with what others left: it reports an event of its own, and adopts."""
    writer = Writer(BotSettings.from_env(environ, strict=True))
    body = {"kind": "app", "call_id": "next", "source": "bot", "seq": 0, "at_ns": 0, "wall_ns": 0, "name": "here"}
    writer.put(Outbound("next", "bot", 0, "app", 0, 0, json.dumps(body).encode()))
    folder = BotSettings.from_env(environ).spool_folder
    try:
        async with asyncio.timeout(WITHIN_S):
            while list(folder.glob("*.spool")) or not await writer.flush("next", 5.0):  # noqa: ASYNC110 - files are watched
                await asyncio.sleep(0.1)
    finally:
        await asyncio.to_thread(writer.close, 5.0)
