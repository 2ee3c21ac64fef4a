"""``earwitness relay`` as a process of a test."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

WITHIN_S = 120.0
RUN = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"


class RelayProcess:
    """``earwitness relay``, started and ended at will."""

    def __init__(self, home: Path, target: str) -> None:
        self._home = home
        self._target = target
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self.said = ""
        """All that it has said, from its first start on."""

    async def start(self, *options: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EARWITNESS_")}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", RUN, "relay", "--to", self._target, *options,
            env={**environ, "EARWITNESS_HOME": str(self._home)}, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._listening = asyncio.create_task(self._listen(self._process))

    async def until_it_runs(self, before: str) -> None:
        """Until it says more than what was said before its start: then it heeds signals."""
        await self._until(lambda: self.said.count("relay runs") > before.count("relay runs"))

    async def until_it_says(self, words: str) -> None:
        await self._until(lambda: words in self.said)

    async def end(self, number: int) -> int:
        if self._process is None or self._listening is None:
            return 0
        if self._process.returncode is None:
            self._process.send_signal(number)
        await self._listening
        return await self._process.wait()

    async def _until(self, has_said: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN_S), self._news:
            while not has_said():
                self.see_that_it_runs()
                await self._news.wait()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            async with self._news:
                self.said += line.decode()
                self._news.notify_all()
        await process.wait()
        async with self._news:
            self._news.notify_all()

    def see_that_it_runs(self) -> None:
        assert self._process is not None
        assert self._process.returncode is None, self.said
