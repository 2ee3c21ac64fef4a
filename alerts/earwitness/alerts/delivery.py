"""Getting notices out: one queue and one task a sink, so that a slow one delays neither evaluation nor the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from earwitness.alerts.notification import Notice
from earwitness.alerts.sinks.protocol import Sink, SinkFailed

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0

Sleep = Callable[[float], Awaitable[object]]
Done = Callable[[Notice, str, bool], None]
"""Told once a notice is off the hands of a sink, and whether the sink has it."""


class Delivery:
    """Hands notices to sinks, each in order, again and again with growing waits until it is taken, refused, or
    the sink's ``give_up_after_s`` of waiting have gone by; ``done`` is told in each case. Failures are counted by
    sink."""

    def __init__(self, sinks: Sequence[Sink], done: Done, *, sleep: Sleep) -> None:
        self._sinks = {sink.name: sink for sink in sinks}
        self._queues: dict[str, asyncio.Queue[Notice]] = {name: asyncio.Queue() for name in self._sinks}
        self._done = done
        self._sleep = sleep
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: set[tuple[str, str, int, str]] = set()
        self.delivered: dict[str, int] = dict.fromkeys(self._sinks, 0)
        self.failures: dict[str, int] = dict.fromkeys(self._sinks, 0)
        """Attempts that failed."""
        self.given_up: dict[str, int] = dict.fromkeys(self._sinks, 0)

    def sinks_for(self, notice: Notice) -> tuple[str, ...]:
        """The sinks that want a notice."""
        return tuple(name for name, sink in self._sinks.items() if sink.wants(notice))

    def knows(self, sink: str) -> bool:
        return sink in self._sinks

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(name), name=f"alerts to {name}") for name in self._sinks]

    def put(self, notice: Notice, sink: str) -> None:
        """Queue a notice for a sink, unless it waits there already."""
        mark = _mark(notice, sink)
        if mark not in self._waiting:
            self._waiting.add(mark)
            self._queues[sink].put_nowait(notice)

    @property
    def waiting(self) -> dict[str, int]:
        """Notices that a sink has not taken yet, the one in hand among them, by sink."""
        return {name: sum(mark[3] == name for mark in self._waiting) for name in self._sinks}

    def is_waiting(self, notice: Notice, sink: str) -> bool:
        """Whether it is queued or being sent."""
        return _mark(notice, sink) in self._waiting

    async def drain(self) -> None:
        """Wait until every queue is empty."""
        for queue in self._queues.values():
            await queue.join()

    async def close(self, *, within_s: float = 3.0) -> None:
        """Give what is queued a last bounded chance, then stop; what was not taken stays in the outbox."""
        try:
            await asyncio.wait_for(self.drain(), within_s)
        except TimeoutError:
            structlog.get_logger("earwitness.alerts").warning("alerts not delivered yet are kept for the next start")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for sink in self._sinks.values():
            await sink.close()

    async def _work(self, name: str) -> None:
        queue = self._queues[name]
        while True:
            notice = await queue.get()
            try:
                await self._deliver(self._sinks[name], notice)
            finally:
                self._waiting.discard(_mark(notice, name))
                queue.task_done()

    async def _deliver(self, sink: Sink, notice: Notice) -> None:
        logger = structlog.get_logger("earwitness.alerts")
        wait_s, waited_s = FIRST_WAIT_S, 0.0
        while True:
            try:
                await sink.send(notice)
            except SinkFailed as failure:
                problem, again = str(failure), failure.again
            except Exception as error:  # a sink's own fault must not end the others' messages
                problem, again = f"{type(error).__name__} in the sink", False
                logger.exception("sink failed", sink=sink.name)
            else:
                self.delivered[sink.name] += 1
                self._done(notice, sink.name, True)
                return
            self.failures[sink.name] += 1
            if not again or waited_s >= sink.give_up_after_s:
                self.given_up[sink.name] += 1
                logger.error("alert not delivered", sink=sink.name, why=problem, fingerprint=notice.fingerprint)
                self._done(notice, sink.name, False)
                return
            logger.warning("alert not delivered yet", sink=sink.name, why=problem, again_in_s=wait_s)
            await self._sleep(wait_s)
            waited_s += wait_s
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def _mark(notice: Notice, sink: str) -> tuple[str, str, int, str]:
    return notice.status, notice.fingerprint, notice.since_ns, sink
