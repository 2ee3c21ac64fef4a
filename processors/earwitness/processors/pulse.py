"""The pulse of a call's monitor: how late the event loop is, how full the way out, whether anything is seen at all."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, Protocol

from earwitness.processors.clock import CallClock
from earwitness.processors.recorder import Recorder
from earwitness.processors.sink import Sink

BEAT_S: Final = 0.5
LATE_S: Final = 0.15
"""A beat later than this tells of a blocked loop."""
HEALTH_S: Final = 60.0
STUCK_S: Final = 20.0
"""A pipeline that was told to end and has not moved for this long will not end."""

_log = logging.getLogger("earwitness.observer")


class Watched(Protocol):
    """The observer, as far as its pulse goes."""

    frames_seen: int

    def tick(self, at_ns: int, *, late: bool = False) -> None: ...

    def start(self, at_ns: int) -> None: ...

    def stuck(self, at_ns: int, patience_ns: int) -> bool: ...

    async def finalise(self, *, stuck: bool = False) -> None: ...


class Pulse:
    """Beats on the event loop twice a second; reports ``health`` each minute, and at once when something was lost."""

    def __init__(
        self,
        recorder: Recorder,
        clock: CallClock,
        *,
        sink: Sink | None = None,
        others: tuple[Recorder, ...] = (),
    ) -> None:
        self._record = recorder
        self._clock = clock
        self._sink = sink
        self._others = others
        self._observer: Watched | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._next_health_s = 0.0
        self._lag_s = 0.0
        self._told_errors = 0
        self._end: asyncio.Task[None] | None = None
        self._stopped = False

    def watch(self, observer: Watched) -> None:
        self._observer = observer

    def start(self) -> None:
        """Begin to beat, if a loop runs and it does not beat yet."""
        if self._timer is not None or self._stopped or not self._record.on:
            return
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._next_health_s = self._loop.time() + HEALTH_S
        self._again(self._loop)

    def _again(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_s = loop.time() + BEAT_S
        self._timer = loop.call_at(self._due_s, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            now_s = loop.time()
            self._lag_s = max(self._lag_s, now_s - self._due_s)
            at_ns = self._clock.now_ns()
            observer = self._observer
            if observer is not None:
                observer.tick(at_ns, late=now_s - self._due_s > LATE_S)
                if self._clock.running and self._end is None and observer.stuck(at_ns, round(STUCK_S * 1e9)):
                    self._end = loop.create_task(observer.finalise(stuck=True))
            if now_s >= self._next_health_s:
                self._next_health_s = now_s + HEALTH_S
                self._report(at_ns)
            elif self._record.lossy:
                self._report(at_ns)
            for other in self._others:
                if other.lossy:
                    other.health(at_ns)
        except Exception as error:
            self._record.ledger.errors += 1
            self.note_error(error)
        if not self._stopped:
            self._again(loop)

    def _report(self, at_ns: int) -> None:
        observer = self._observer
        seen = observer.frames_seen if observer is not None else None
        if observer is not None and seen == 0:
            observer.start(at_ns)  # attached but deaf: the call must show, or nobody ever learns of it
        stats = self._sink.stats() if self._sink is not None else None
        ledger = self._record.ledger
        self._told_errors = ledger.errors
        self._record.health(
            at_ns, loop_lag_ms=round(self._lag_s * 1e3, 3), frames_seen=seen, no_frames_seen=seen == 0,
            buffer_bytes=stats.buffer_bytes if stats is not None else None,
            spooled_events=stats.spooled_events if stats is not None else None,
            observer_errors=ledger.errors, invalid=dict(ledger.invalid),
        )  # fmt: skip
        self._lag_s = 0.0

    def note_error(self, error: Exception) -> None:
        """Log the first error of a call; the others are only counted."""
        if self._record.ledger.errors <= 1:
            _log.warning("earwitness: a hook failed; the call goes on: %r", error)

    def stop(self, at_ns: int) -> None:
        """Stop beating, and report what has not been reported yet."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        ledger: Any = self._record.ledger
        for other in self._others:
            if other.lossy:
                other.health(at_ns)
        if self._record.lossy or ledger.invalid or ledger.errors != self._told_errors:
            self._report(at_ns)
