"""``earwitness relay`` as a process of a test."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

WITHIN_S = 120.0
RUN = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"


class RelayProcess:
    """``earwitness relay``, started and ended at will."""

    def __init__(self, home: Path, target: str) -> None:
        self._home = home
        self._target = target
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, *options: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EARWITNESS_")}
        with (self._home / "relay.txt").open("ab") as said:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", RUN, "relay", "--to", self._target, *options,
                env={**environ, "EARWITNESS_HOME": str(self._home)}, stderr=said,
            )  # fmt: skip

    async def until_it_runs(self, before: str) -> None:
        """Until it says more than what was said before its start: then it heeds signals."""
        async with asyncio.timeout(WITHIN_S):
            while self.said.count("relay runs") == before.count("relay runs"):
                self.see_that_it_runs()
                await asyncio.sleep(0.05)

    async def until_it_says(self, words: str) -> None:
        async with asyncio.timeout(WITHIN_S):
            while words not in self.said:
                self.see_that_it_runs()
                await asyncio.sleep(0.05)

    async def end(self, number: int) -> int:
        if self._process is None:
            return 0
        if self._process.returncode is None:
            self._process.send_signal(number)
        return await self._process.wait()

    def see_that_it_runs(self) -> None:
        assert self._process is not None
        assert self._process.returncode is None, self.said

    @property
    def said(self) -> str:
        return (self._home / "relay.txt").read_text()
