"""Small jobs of many calls, taken off an event loop together: one hop to the thread for all that come within 20 ms.

A hop there and back costs the loop about as much as it costs the thread to listen to a tenth of a second of audio.
Fifty calls that each hop for themselves would keep the loop busy with nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

GATHER_S: Final = 0.02


class SharedHop(Generic[T]):
    """The way of one event loop to one thread. Its method belongs to that loop's thread; jobs run in their order."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._jobs: list[tuple[Callable[[], T], asyncio.Future[T]]] = []
        self._timer: asyncio.TimerHandle | None = None

    def submit(self, job: Callable[[], T], *, at_once: bool = False) -> asyncio.Future[T]:
        """Have a job done in the thread; its value or its error comes with the future. ``at_once``: do not wait for
        the jobs of others."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._jobs.append((job, done))
        if at_once:
            self._go()
        elif self._timer is None:
            self._timer = loop.call_later(GATHER_S, self._go)
        return done

    def _go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        jobs, self._jobs = self._jobs, []
        waiting = [done for _, done in jobs]
        try:
            hop = asyncio.get_running_loop().run_in_executor(self._executor, _all_done, [job for job, _ in jobs])
        except RuntimeError as error:  # The executor was shut down.
            _settle(waiting, [error] * len(waiting))
            return
        hop.add_done_callback(lambda hop: _back(hop, waiting))


def shared_hop(executor: Executor) -> SharedHop[Any]:
    """The running loop's way to an executor's thread."""
    hops = _hops.setdefault(asyncio.get_running_loop(), {})
    if executor not in hops:
        hops[executor] = SharedHop(executor)
    return hops[executor]


_hops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Executor, SharedHop[Any]]] = WeakKeyDictionary()


def _all_done(jobs: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """In the thread."""
    found: list[T | Exception] = []
    for job in jobs:
        try:
            found.append(job())
        except Exception as error:
            found.append(error)
        time.sleep(0)  # the loop's turn: a thread that always finds work keeps the interpreter for 5 ms at a time
    return found


def _back(hop: asyncio.Future[list[T | Exception]], waiting: Sequence[asyncio.Future[T]]) -> None:
    if hop.cancelled():
        for done in waiting:
            done.cancel()
        return
    failure = hop.exception()
    _settle(waiting, [failure] * len(waiting) if failure is not None else hop.result())


def _settle(waiting: Sequence[asyncio.Future[T]], found: Sequence[T | BaseException]) -> None:
    for done, one in zip(waiting, found, strict=True):
        if done.done():
            continue
        if isinstance(one, BaseException):
            done.set_exception(one)
        else:
            done.set_result(one)
