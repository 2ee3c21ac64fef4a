"""The way out of a bot process: one buffer, one thread, one log, shared by all calls.

The thread has an event loop of its own, so that neither a stalled bot nor a slow log can touch the other, and so that
what is left can still be sent when the bot's loop is gone. Nothing here raises into a call or blocks it.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import importlib
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.protocol import Log
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.buffer import Buffer
from earwitness.processors.courier import Courier
from earwitness.processors.losses import Losses
from earwitness.processors.sink import Outbound, Sink, SinkStats, Unredacted
from earwitness.processors.spool import SpoolFile, SpoolFolder

log = logging.getLogger("earwitness.writer")

MOST_UNREDACTED_BYTES = 256 * 1024
"""The most text that may wait to be redacted: what an exit has time for."""
_STOP_MARGIN_S = 0.25
_CLOSE_RESERVE_S = 0.75
"""Of the time that an exit has: what storing and saying good-bye may need after the log had its chance."""
_BUSY_TIMEOUT_S = 1.0
"""Short, since the events lie in the spool meanwhile and an exit waits for the embedded log's thread."""


class Writer:
    """A `Sink` that ships to a log. Starts its thread with the first event; `close` ends it, within its time.

    ``open_log``: how the log is opened, in the writer's own thread and loop; by default from the settings.
    """

    def __init__(self, settings: BotSettings, open_log: Callable[[], Awaitable[Log]] | None = None) -> None:
        self._settings = settings
        self._open_log = open_log or _opener(settings)
        self._reset()
        _writers.add(self)

    @property
    def exit_flush_s(self) -> float:
        return self._settings.exit_flush_s

    def put(self, item: Outbound) -> None:
        """Take an event; never blocks, never raises."""
        try:
            if self._buffer.put(item):
                self._tell()
        except Exception:
            self._note_failure()

    def put_unredacted(self, item: Unredacted) -> bool:
        """Take an event whose text this writer's thread will redact, before it goes anywhere; False where so much waits
        already that the end of the process might have to wait for it. Never blocks, never raises."""
        try:
            if self._buffer.bytes + len(item) > MOST_UNREDACTED_BYTES or (self._closed and self._done.is_set()):
                return False
            if self._buffer.put(item):
                self._tell()
        except Exception:
            self._note_failure()
        return True

    def stats(self) -> SinkStats:
        courier = self._courier
        return SinkStats(self._buffer.bytes, courier.spooled_events if courier is not None else 0)

    @property
    def lost(self) -> int:
        """How many events were given up so far; each is, or will be, in a ``health`` event."""
        return self._losses.total

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        """Wait until all that was put so far, by this call or another, is on the log or in the spool.

        False where ``timeout_s`` went by, or nothing can be stored. Call it from the bot's loop.
        """
        del call_id
        try:
            flushed = self._request_flush()
            if flushed is None:
                return self._buffer.bytes == 0
            waiting = asyncio.wrap_future(flushed)
            done, _ = await asyncio.wait({waiting}, timeout=timeout_s)
            if not done:
                waiting.cancel()
            return bool(done) and not waiting.cancelled()
        except Exception:
            self._note_failure()
            return False

    def flush_now(self, timeout_s: float) -> bool:
        """Wait until it is on the log, or in the spool if the log is away. For a thread that may be blocked: none of a
        bot's may."""
        return _flushed([self], timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Send what is left, store what cannot be sent, and end the thread. Blocks, for ``timeout_s`` at most."""
        timeout_s = self._settings.exit_flush_s if timeout_s is None else timeout_s
        self.stop(timeout_s)
        if self._thread is not None:
            self._done.wait(timeout_s)
        self._rescue()

    def stop(self, timeout_s: float) -> None:
        """Ask the thread to end within ``timeout_s``, without waiting for it: `close` does."""
        with self._lock:
            self._closed = True
            self._stop_s = max(0.0, timeout_s - _STOP_MARGIN_S)
            loop, courier = self._loop, self._courier
        if loop is not None and courier is not None and not self._done.is_set():
            with suppress(RuntimeError):  # The loop has been closed.
                loop.call_soon_threadsafe(courier.stop, self._stop_s)

    def _reset(self) -> None:
        settings = self._settings
        self._losses = Losses()
        self._buffer = Buffer(settings.buffer_bytes, self._losses, wake_bytes=settings.batch_bytes)
        self._spool = SpoolFolder(settings.spool_folder, settings.log, settings.spool_bytes)
        self._lock = threading.RLock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._courier: Courier | None = None
        self._early: list[tuple[concurrent.futures.Future[None], bool]] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._late: SpoolFile | None = None
        self._closed = False
        self._finished = False
        """The thread did all that it had to do."""
        self._stop_s = 0.0
        self._failures = 0

    def after_fork(self) -> None:
        """In a forked child: begin anew. What was put before the fork is the parent's to send."""
        if self._courier is not None:
            self._courier.abandon()
        # Kept for ever: the parent's loop and connections must not be closed by a garbage collector here.
        _parents.append((self._loop, self._courier))
        self._reset()

    # The thread.

    def _tell(self) -> None:
        """Wake the thread, or start it."""
        loop, courier = self._loop, self._courier
        if self._closed and self._done.is_set():
            self._rescue()
        elif loop is not None and courier is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(courier.news)
        else:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="earwitness-writer", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception:
            # All is done, and asyncio only failed to take its pool of threads down: where the interpreter ends, it can
            # start none to wait for it.
            if not self._finished:
                log.exception("the writer failed; events wait in memory until the process ends, and are stored then")
        finally:
            self._done.set()

    async def _main(self) -> None:
        courier = Courier(self._buffer, self._losses, self._spool, self._open_log, self._settings)
        with self._lock:
            self._loop, self._courier = asyncio.get_running_loop(), courier
            early, self._early = self._early, []
        if self._closed:
            courier.stop(self._stop_s)
        courier.news()
        for flushed, sent in early:
            self._serve(flushed, sent)
        try:
            await courier.run()
            self._finished = True
        finally:
            # Before the loop is taken down, which may take longer than an exit has time.
            self._done.set()

    def _request_flush(self, *, sent: bool = False) -> concurrent.futures.Future[None] | None:
        """None where there is no thread that could flush."""
        flushed: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            if self._thread is None or self._done.is_set():
                return None
            if self._loop is None:
                self._early.append((flushed, sent))
                return flushed
        try:
            self._loop.call_soon_threadsafe(self._serve, flushed, sent)
        except RuntimeError:
            return None
        return flushed

    def _serve(self, flushed: concurrent.futures.Future[None], sent: bool) -> None:
        serving = asyncio.get_running_loop().create_task(self._flush(flushed, sent))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _flush(self, flushed: concurrent.futures.Future[None], sent: bool) -> None:
        assert self._courier is not None
        try:
            await self._courier.flush(sent=sent)
        except asyncio.CancelledError:
            flushed.cancel()
            raise
        if flushed.set_running_or_notify_cancel():
            flushed.set_result(None)

    # Without the thread.

    def _rescue(self) -> None:
        """Store what the thread can no longer take: it has ended, or hangs in the log."""
        items: list[Outbound] = []
        if self._courier is not None and not self._done.is_set():
            items += self._courier.in_memory()
            items += self._buffer.unfinished()
        while (taken := self._buffer.take(sys.maxsize, sys.maxsize)).items:
            items += taken.items
        if not items:
            return
        with self._lock:
            self._late = self._late or self._spool.create()
            if self._late is None or self._late.append(items) is None:
                log.warning("%d events could be neither sent nor stored at the end, and are lost", len(items))

    def _note_failure(self) -> None:
        self._failures += 1
        if self._failures == 1:
            log.exception("an event could not be put on its way")


class SilentSink:
    """Takes everything and keeps nothing: for bots that are switched off."""

    def put(self, item: Outbound) -> None:
        del item

    def stats(self) -> SinkStats:
        return SinkStats(0, 0)

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        del call_id, timeout_s
        return True


def process_writer(settings: BotSettings) -> Sink:
    """The writer of this process for the settings' log, made at the first call; later settings for the same log and
    home change nothing. A silent one where the kill switch is on."""
    if settings.off:
        return SilentSink()
    key = (settings.log, settings.home)
    with _registry_lock:
        if key not in _registry:
            _registry[key] = Writer(settings)
            _register_exit()
        return _registry[key]


def flush_all(timeout_s: float) -> bool:
    """Flush every writer of this process, blocking the calling thread for ``timeout_s`` at most."""
    return _flushed(list(_registry.values()), timeout_s)


def close_all() -> None:
    """Close every writer of this process, all at once: together they take as long as the slowest may."""
    writers = list(_registry.values())
    ends_s = _exit_ends_s or time.monotonic() + max((writer.exit_flush_s for writer in writers), default=0.0)
    ends_s = max(ends_s, time.monotonic() + _CLOSE_RESERVE_S)
    for writer in writers:
        writer.stop(ends_s - time.monotonic())
    for writer in writers:
        writer.close(max(0.0, ends_s - time.monotonic()))


def _flushed(writers: Sequence[Writer], timeout_s: float) -> bool:
    """Whether all that these writers had is on the log, or in the spool where the log is away, in time."""
    asked = [(writer, writer._request_flush(sent=True)) for writer in writers]  # pyright: ignore[reportPrivateUsage]
    concurrent.futures.wait([flush for _, flush in asked if flush is not None], timeout_s)
    done = [
        bool(flush.done() or not flush.cancel()) and not flush.cancelled()
        if flush is not None
        else writer.stats().buffer_bytes == 0
        for writer, flush in asked
    ]
    return all(done)


_registry: dict[tuple[str, Path], Writer] = {}
_registry_lock = threading.Lock()
_writers: weakref.WeakSet[Writer] = weakref.WeakSet()
_parents: list[object] = []
_exit_registered = False
_exit_ends_s: float | None = None
"""When an exit that is under way must be over, on the monotonic clock."""


def _register_exit() -> None:
    global _exit_registered  # noqa: PLW0603 - once per process
    if _exit_registered:
        return
    _exit_registered = True
    atexit.register(close_all)
    # By the time of ``atexit`` no thread pool works any more, and with it the embedded log and name resolution. The
    # interpreter offers an earlier moment only under this name; where it does not, the spool keeps what is left.
    importlib.import_module("concurrent.futures.thread")  # Last registered, first called: pools must come before us.
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        with suppress(RuntimeError):
            register(_flush_before_exit)


def _flush_before_exit() -> None:
    global _exit_ends_s  # noqa: PLW0603 - a process ends once
    with suppress(Exception):
        whole_s = max((writer.exit_flush_s for writer in _registry.values()), default=0.0)
        _exit_ends_s = time.monotonic() + whole_s
        flush_all(max(0.0, whole_s - _CLOSE_RESERVE_S))


def _opener(settings: BotSettings) -> Callable[[], Awaitable[Log]]:
    return lambda: open_log(settings.log, settings=LogSettings(kafka=settings.kafka, busy_timeout_s=_BUSY_TIMEOUT_S))


def _after_fork() -> None:
    global _registry_lock  # noqa: PLW0603 - another thread may have held it
    _registry_lock = threading.Lock()
    for writer in list(_writers):
        writer.after_fork()


os.register_at_fork(after_in_child=_after_fork)
