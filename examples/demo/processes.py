"""The demo's child processes: each in a session of its own, spoken to by JSON lines, ended by its own id."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
EARWITNESS = str(Path(sys.executable).with_name("earwitness"))
"""The command line, of the environment that the demo runs in."""
_READY_S = 60.0
_LINE_LIMIT = 1 << 20


class ChildFailed(RuntimeError):
    """A child process ended, or never became ready; the text names it and its log file."""


class Child:
    """A process of the demo or of Earwitness."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    async def ready(self) -> dict[str, Any]:
        """The fact with which it says that it is ready. Raises ``ChildFailed``."""
        try:
            async with asyncio.timeout(_READY_S):
                async for fact in self.facts():
                    if fact.get("ready"):
                        return fact
        except TimeoutError:
            raise ChildFailed(f"{self.name} was not ready within {_READY_S:.0f} s; see {self.log}") from None
        raise ChildFailed(f"{self.name} ended before it was ready; see {self.log}")

    async def facts(self) -> AsyncIterator[dict[str, Any]]:
        """What it says, until it ends; lines that are no JSON objects are left in nobody's way."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with contextlib.suppress(json.JSONDecodeError):
                fact = json.loads(line)
                if isinstance(fact, dict):
                    yield fact

    def order(self, **what: Any) -> None:
        """Ask it for something. Raises ``ChildFailed`` where it is gone."""
        if self._process.stdin is None or self._process.stdin.is_closing() or self._process.returncode is not None:
            raise ChildFailed(f"{self.name} is gone; see {self.log}")
        self._process.stdin.write(json.dumps(what).encode() + b"\n")

    def dismiss(self) -> None:
        """Close its standard input: it finishes what it does and ends."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def exited(self) -> int:
        return await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


class Household:
    """All children of one run: none outlives the ``async with`` block, which takes 4 s at most to leave."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._children: list[Child] = []

    async def start_module(
        self, name: str, module: str, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> Child:
        """Run ``python -m module`` from the checkout."""
        return await self.start(name, sys.executable, "-m", module, *arguments, environ=environ)

    async def start(self, name: str, *command: str, environ: Mapping[str, str] | None = None) -> Child:
        """Run a command from the checkout; its standard error goes to a file of the run."""
        log = self._logs / f"{name}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=ROOT,
                env={**os.environ, **(environ or {})},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                limit=_LINE_LIMIT,
            )
        child = Child(name, process, log)
        self._children.append(child)
        return child

    async def __aenter__(self) -> Household:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.dismiss()
            child.signal(signal.SIGTERM)
        waiting = [asyncio.ensure_future(child.exited()) for child in self._children]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=3.0)
            for child in self._children if late else ():
                child.signal(signal.SIGKILL)
            await asyncio.wait(waiting, timeout=1.0)
