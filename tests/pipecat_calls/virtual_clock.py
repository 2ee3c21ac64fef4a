"""A clock for whole calls: sleeps cost nothing, and every run of a script takes the same virtual seconds.

Import this before Pipecat: frames keep a reference to ``time.time`` as a default factory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

WALL_START_S = 1_800_000_000.0
LOOP_START_S = 1_000.0  # small: asyncio adds its clock's resolution to it, which must not round away

_real_time, _real_monotonic = time.time, time.monotonic
_real_time_ns, _real_monotonic_ns = time.time_ns, time.monotonic_ns


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to its next timer when idle, except while a thread-pool job runs, whose end is waited for."""

    def __init__(self, wall_step_s: Callable[[float], float] | None = None) -> None:
        self.now_s = LOOP_START_S
        self.wall_step_s = wall_step_s
        """Added to the wall clock as a function of the virtual time: lets a test step it."""
        self._jobs = 0
        super().__init__()
        selector: Any = self._selector  # type: ignore[attr-defined]
        really_select = selector.select

        def select(timeout: float | None) -> Any:
            if self._jobs or timeout is None or timeout <= 0:
                return really_select(0.002 if timeout is None or timeout > 0 else 0)
            self.now_s += timeout
            return really_select(0)

        selector.select = select

    def time(self) -> float:
        return self.now_s

    def wall(self) -> float:
        """Wall time in seconds since the epoch."""
        elapsed = self.now_s - LOOP_START_S
        return WALL_START_S + elapsed + (self.wall_step_s(elapsed) if self.wall_step_s else 0.0)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        self._jobs += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._job_done)
        return future

    def _job_done(self, _: asyncio.Future[Any]) -> None:
        self._jobs -= 1


_running: list[VirtualLoop] = []


def _install() -> None:
    time.time = lambda: _running[-1].wall() if _running else _real_time()
    time.monotonic = lambda: _running[-1].now_s if _running else _real_monotonic()
    time.time_ns = lambda: round(_running[-1].wall() * 1e9) if _running else _real_time_ns()
    time.monotonic_ns = lambda: round(_running[-1].now_s * 1e9) if _running else _real_monotonic_ns()


_install()


def _sweep(loop: VirtualLoop) -> None:
    """Cancel what a stuck call leaves behind; some tasks take more than one cancellation to give in."""
    for _ in range(10):
        left = asyncio.all_tasks(loop)
        if not left:
            return
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=5.0))


async def time_passes(seconds: float) -> None:
    """Let that much virtual time go by, which costs none. Raises AssertionError on a loop that really waits."""
    assert isinstance(asyncio.get_running_loop(), VirtualLoop), "this test would wait for real"
    await asyncio.sleep(seconds)


def run_virtually(main: Coroutine[Any, Any, T], loop: VirtualLoop | None = None) -> T:
    """Run to the end on a virtual clock. Deterministic but for the CPU work itself, which takes no virtual time."""
    loop = loop or VirtualLoop()
    _running.append(loop)
    try:
        asyncio.set_event_loop(loop)
        try:
            return loop.run_until_complete(main)
        finally:
            _sweep(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        _running.pop()
        asyncio.set_event_loop(None)
        loop.close()
