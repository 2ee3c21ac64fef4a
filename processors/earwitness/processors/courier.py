"""Carries events from the buffer to the log, by way of the spool where the log does not take them at once.

All of it lives in one event loop, which is not the bot's. Nothing stays in memory only for longer than a linger: half
of it a batch gathers, and what the log has not acknowledged after the other half lies in the spool, too. The spool is
sent before anything newer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from earwitness.monitor.log.protocol import Log, LogUnavailable
from earwitness.processors.buffer import Buffer
from earwitness.processors.log_client import LogClient
from earwitness.processors.log_health import LogHealth
from earwitness.processors.losses import Losses, Reason
from earwitness.processors.reports import Reports
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFile, SpoolFolder

log = logging.getLogger("earwitness.writer")

BATCH_ITEMS = 500
DISK_RETRY_S = 1.0
ADOPT_EVERY_S = 60.0
CLOSE_S = 0.5


class Pace(Protocol):
    """The settings that a courier goes by; `BotSettings` has them."""

    @property
    def linger_s(self) -> float: ...
    @property
    def batch_bytes(self) -> int: ...
    @property
    def append_timeout_s(self) -> float: ...


@dataclass(slots=True)
class _Batch:
    """Events on their way. ``upto``: all that was put up to this number is in it or out of the buffer before it.
    ``file``: where they lie on disk, up to ``end``; None while they are in memory only."""

    items: Sequence[Outbound]
    upto: int = 0
    file: SpoolFile | None = None
    end: int = 0


@dataclass(slots=True)
class _Sending:
    batch: _Batch
    task: asyncio.Task[list[Outbound]]
    since_s: float


@dataclass(slots=True)
class _Waiting:
    """Somebody waits until all up to number ``upto`` is safe, or on the log."""

    upto: int
    sent: bool
    done: asyncio.Future[None]


class Courier:
    """``open_log`` is awaited when a log is first needed, and again when one was given up."""

    def __init__(
        self, buffer: Buffer, losses: Losses, spool: SpoolFolder, open_log: Callable[[], Awaitable[Log]], pace: Pace
    ) -> None:
        self._buffer = buffer
        self._losses = losses
        self._spool = spool
        self._client = LogClient(open_log)
        self._pace = pace
        self._half_s = pace.linger_s / 2
        self._reports = Reports()
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._sending: _Sending | None = None
        self._held: _Batch | None = None
        """Taken from the buffer, and neither the log nor the disk would have it."""
        self._own: SpoolFile | None = None
        self._orphan: SpoolFile | None = None
        self._due_s: float | None = None
        """When the buffer is to be emptied; None: it is empty."""
        self._try_at_s = self._disk_at_s = self._adopt_at_s = 0.0
        self._stop_at_s: float | None = None
        self._health = LogHealth()
        self._safe = 0
        self._waiting: list[_Waiting] = []
        self.spooled_events = 0
        """Events in this process's spool that are not on the log yet."""

    def news(self) -> None:
        """Something was put. Call it in this loop, as all the others."""
        urgent = self._buffer.bytes >= self._pace.batch_bytes
        self._hurry(self._loop.time() + (0.0 if urgent else self._half_s))

    def stop(self, timeout_s: float) -> None:
        """Send or store what is there, within ``timeout_s``, and let `run` end."""
        self._stop_at_s = self._loop.time() + max(0.0, timeout_s - CLOSE_S)
        self._hurry(self._loop.time())
        self._wake.set()

    async def flush(self, *, sent: bool = False) -> None:
        """Return when all that has been put is on the log or on disk, or was given up.

        ``sent``: on disk is not enough unless the log is known to be away.
        """
        waiting = _Waiting(self._buffer.count, sent, self._loop.create_future())
        self._waiting.append(waiting)
        self._hurry(self._loop.time())
        self._wake.set()
        await waiting.done

    async def run(self) -> None:
        """Carry until told to stop."""
        try:
            while True:
                self._harvest()
                self._store()
                self._send()
                self._answer()
                if self._finished():
                    break
                await self._pause()
        finally:
            await self._close()

    def in_memory(self) -> list[Outbound]:
        """What left the buffer and is neither on the log nor on disk: for who must do without this courier."""
        sending, held = self._sending, self._held
        unsafe = list(sending.batch.items) if sending is not None and sending.batch.file is None else []
        return unsafe + (list(held.items) if held is not None else [])

    def abandon(self) -> None:
        """Let go of the files: in a forked child they are the parent's."""
        for file in (self._own, self._orphan):
            if file is not None:
                file.close()

    def _hurry(self, due_s: float) -> None:
        if self._due_s is None or due_s < self._due_s:
            self._due_s = due_s
            self._wake.set()

    def _is_due(self) -> bool:
        return self._due_s is not None and self._loop.time() >= self._due_s

    def _may_send(self) -> bool:
        return self._sending is None and self._loop.time() >= self._try_at_s

    def _is_young(self) -> bool:
        """Whether a batch is under way that may well be acknowledged before anything need go to disk."""
        sending = self._sending
        if sending is None or (sending.batch.file is not None and sending.batch.file is self._own):
            return False
        return self._loop.time() < sending.since_s + self._half_s

    # What each turn of the loop does.

    def _harvest(self) -> None:
        """See what became of the batch under way."""
        sending = self._sending
        if sending is None:
            return
        error: BaseException | None
        if not sending.task.done():
            if self._loop.time() < sending.since_s + self._pace.append_timeout_s:
                return
            # The log may have taken it all the same: it is sent again, which is safe.
            sending.task.cancel()
            self._client.leave()
            error = LogUnavailable(f"no answer within {self._pace.append_timeout_s:g} s")
        elif sending.task.cancelled():
            error = LogUnavailable("cancelled")
        else:
            error = sending.task.exception()
        self._sending = None
        if error is None:
            self._delivered(sending.batch, sending.task.result())
        else:
            self._failed(sending.batch, error)

    def _store(self) -> None:
        """Put on disk what cannot be sent at once."""
        if self._is_young():
            return
        if self._sending is not None and self._sending.batch.file is None and not self._write(self._sending.batch):
            return
        if self._own is None and self._may_send():
            return
        if self._held is not None:
            if not self._write(self._held):
                return
            self._held = None
        while self._is_due() and (batch := self._take()) is not None:
            if not self._write(batch):
                self._held = batch
                return

    def _send(self) -> None:
        """Send the oldest that waits."""
        if not self._may_send():
            return
        batch: _Batch | None = None
        if self._own is not None:
            batch = self._next_of(self._own)
        if batch is None and self._held is not None:
            batch, self._held = self._held, None
        if batch is None and self._is_due():
            batch = self._take()
        if batch is None and self._stop_at_s is None:
            batch = self._next_orphaned()
        if batch is not None:
            task = self._loop.create_task(self._client.deliver(batch.items))
            task.add_done_callback(self._on_done)
            self._sending = _Sending(batch, task, self._loop.time())

    def _finished(self) -> bool:
        if self._stop_at_s is None:
            return False
        if self._loop.time() >= self._stop_at_s:
            return True
        in_memory = bool(len(self._buffer) or self._losses or self._held is not None or self._sending is not None)
        return not in_memory and (self._own is None or not self._may_send())

    async def _pause(self) -> None:
        """Sleep until something is due, or somebody wakes."""
        now_s = self._loop.time()
        sending = self._sending
        times = [] if self._stop_at_s is None else [self._stop_at_s]
        if sending is not None:
            times.append(sending.since_s + self._pace.append_timeout_s)
        elif self._own is not None or self._held is not None:
            times.append(self._try_at_s)
        else:
            times.append(max(self._adopt_at_s, self._try_at_s))
        if sending is not None and self._is_young():
            times.append(sending.since_s + self._half_s)
        elif self._held is not None or (sending is not None and sending.batch.file is None):
            times.append(self._disk_at_s)
        elif self._due_s is not None:
            times.append(self._due_s)
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(max(min(times), now_s)):
                await self._wake.wait()

    def _on_done(self, task: asyncio.Task[list[Outbound]]) -> None:
        if not task.cancelled():
            task.exception()  # Looked at here, so that nobody complains of a task that was given up.
        self._wake.set()

    # From the buffer to a batch, and what becomes of it.

    def _take(self) -> _Batch | None:
        items, upto = self._buffer.take(self._pace.batch_bytes, BATCH_ITEMS)
        if self._losses:
            for lost in self._losses.take():
                items += self._reports.events(lost, buffer_bytes=self._buffer.bytes, spooled_events=self.spooled_events)
        if not len(self._buffer):
            self._due_s = None
        if items:
            return _Batch(items, upto)
        self._now_safe(upto)
        return None

    def _write(self, batch: _Batch) -> bool:
        """Store a batch on disk; False where that cannot be at present."""
        if self._loop.time() < self._disk_at_s:
            return False
        if self._own is None:
            self._own = self._spool.create()
        end = self._own.append(batch.items) if self._own is not None else None
        if self._own is None or end is None:
            self._disk_at_s = self._loop.time() + DISK_RETRY_S
            full: Reason = "spool_full" if self._spool.max_bytes else "buffer_full"
            self._buffer.reason = "refused" if self._health.refused else full
            if self._own is not None and not self._own.waiting_bytes:
                self._own.remove()
                self._own = None
            return False
        self._buffer.reason = "buffer_full"
        batch.file, batch.end = self._own, end
        self.spooled_events += len(batch.items)
        self._now_safe(batch.upto)
        return True

    def _next_of(self, file: SpoolFile) -> _Batch | None:
        items, end = file.read(self._pace.batch_bytes)
        if items:
            return _Batch(items, 0, file, end)
        if file.waiting_bytes:
            log.warning("the last %d bytes of %s cannot be read and are given up", file.waiting_bytes, file.path)
        self._drop(file)
        return None

    def _next_orphaned(self) -> _Batch | None:
        while self._loop.time() >= self._adopt_at_s:
            if self._orphan is None:
                self._orphan = self._spool.adopt()
            if self._orphan is None:
                self._adopt_at_s = self._loop.time() + ADOPT_EVERY_S
            elif (batch := self._next_of(self._orphan)) is not None:
                return batch
        return None

    def _drop(self, file: SpoolFile) -> None:
        file.remove()
        if file is self._own:
            self._own = None
            self.spooled_events = 0
        else:
            self._orphan = None

    def _delivered(self, batch: _Batch, too_large: Sequence[Outbound]) -> None:
        for item in too_large:
            log.warning(
                "an event of %d bytes (%s, call %s) is too large for the log and is given up",
                len(item.payload), item.kind, item.call_id,
            )  # fmt: skip
            if batch.file is not None and batch.file is self._orphan:
                self._reports.adopt(item.call_id)
            self._losses.note(item, "too_large")
        if too_large:
            self._hurry(self._loop.time())
        self._buffer.reason = "buffer_full"
        self._health.answered()
        self._now_safe(batch.upto)
        if batch.file is None:
            return
        batch.file.confirm(batch.end)
        if batch.file is self._own:
            self.spooled_events -= len(batch.items)
        if not batch.file.waiting_bytes:
            self._drop(batch.file)

    def _failed(self, batch: _Batch, error: BaseException) -> None:
        wait_s = self._health.failed(error, self._loop.time())
        self._try_at_s = self._loop.time() + wait_s
        if self._health.suspect(error):
            self._client.leave()
        if batch.file is None and not self._write(batch):
            self._held = batch

    def _now_safe(self, upto: int) -> None:
        self._safe = max(self._safe, upto)

    def _answer(self) -> None:
        """Tell those who wait for a flush."""
        all_sent = self._own is None and (self._sending is None or self._sending.batch.file is not None)
        for waiting in list(self._waiting):
            if waiting.upto <= self._safe and (not waiting.sent or all_sent or self._health.failures):
                self._waiting.remove(waiting)
                if not waiting.done.done():
                    waiting.done.set_result(None)

    # The end.

    async def _close(self) -> None:
        self._harvest()
        self._disk_at_s = 0.0
        lost: list[Outbound] = []
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.task.cancel()
            if sending.batch.file is None and not self._write(sending.batch):
                lost += sending.batch.items
        self._disk_at_s = 0.0
        if self._held is not None and not self._write(self._held):
            lost += self._held.items
        while (batch := self._take()) is not None:
            self._disk_at_s = 0.0
            if not self._write(batch):
                lost += batch.items
        if lost:
            log.warning("%d events could be neither sent nor stored before the process ended, and are lost", len(lost))
        for file in (self._own, self._orphan):
            if file is not None:
                file.close()
        self._own = self._orphan = None
        for waiting in self._waiting:
            waiting.done.cancel()
        await self._client.close(CLOSE_S)
