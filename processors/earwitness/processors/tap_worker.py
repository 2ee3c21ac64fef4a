"""Runs an ear off the event loop: the loop appends chunks and, ten times a second, hands them to one thread.

All taps of a process share that thread and the hops to it, so what an ear costs a call on the loop is an append and its
share of a hop. A fault in here is counted and costs the tap, never the call. A burst of audio is handed over whole
(``bursts``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import structlog

from earwitness.monitor.contract import events
from earwitness.processors.bursts import Bursts
from earwitness.processors.one_thread import OneThread
from earwitness.processors.shared_hop import shared_hop
from earwitness.processors.voice_activity import Chunk, Ear, Fact, Mark, unobservable

BATCH_S = 0.1
TICK_S = 0.25
LATE_TICK_S = 0.15
"""A timer later than this tells of a blocked loop: audio may wait behind it, so its absence proves nothing yet."""
PENDING_BYTES = 2_000_000
MOST_ERRORS = 5
CLOSE_S = 2.0

_log = structlog.get_logger(__name__)


class Reporter(Protocol):
    """Takes the facts: a call's recorder of source ``taps``."""

    def emit(self, event_type: type[events.Event], /, *, at_ns: int, **fields: Any) -> object: ...


@dataclass(slots=True)
class _Outcome:
    facts: list[Fact] = field(default_factory=list[Fact])
    errors: int = 0
    cause: str = ""
    restless: bool = False


class Tap:
    """One party's way from the pipeline to the log. All methods belong to the event loop's thread.

    ``now_ns`` is the call's clock. ``make_ear`` is called again after a fault: what an ear remembers is then in doubt.
    """

    def __init__(
        self,
        party: events.Party,
        make_ear: Callable[[], Ear],
        reporter: Reporter,
        now_ns: Callable[[], int],
        executor: Executor | None = None,
    ) -> None:
        self._party: events.Party = party
        self._make_ear = make_ear
        self._ear = make_ear()
        self._reporter = reporter
        self._now_ns = now_ns
        self._executor = executor
        self._pending: deque[Chunk | Mark] = deque()
        self._pending_bytes = 0
        self._pending_s = 0.0
        self._bursts = Bursts()
        self._bursting = False
        self._job: asyncio.Future[_Outcome] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._restless = False
        self._hopped = False
        """Whether the thread was given work since the last tick."""
        self._closed = False
        self.errors = 0
        """Faults inside the ear so far."""
        self.overflowed = 0
        """Chunks thrown away because the thread did not keep up."""
        self._told_overflow = 0

    @property
    def off(self) -> bool:
        """Whether the tap has switched itself off."""
        return self.errors >= MOST_ERRORS

    def hear(self, item: Chunk | Mark) -> None:
        """Take in audio or a mark; returns at once and never raises."""
        if self._closed or self.off:
            return
        self._pending.append(item)
        if isinstance(item, Chunk):
            self._pending_bytes += len(item.audio)
            duration_s = item.duration_ns / 1e9
            self._pending_s += duration_s
            if self._party == "caller":  # the agent's transport takes audio as fast as it likes
                self._bursting = self._bursts.heard(duration_s, item.arrival_ns)
                if self._pending_bytes > PENDING_BYTES // 2:
                    self._bursting = False
            while self._pending_bytes > PENDING_BYTES:
                dropped = self._pending.popleft()
                if isinstance(dropped, Chunk):
                    self._pending_bytes -= len(dropped.audio)
                    self.overflowed += 1
        if self._pending_s >= BATCH_S and not self._bursting:
            self._submit()
        if self._timer is None:
            self._arm()

    async def close(self) -> None:
        """Hear out what is pending and report what is open; takes 2 s at most, may be called again."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        job = self._job
        if job is not None:
            await asyncio.wait([job], timeout=CLOSE_S)
            if not job.done():
                return
        if not self.off:
            self._submit(last=True)
            if self._job is not None:
                await asyncio.wait([self._job], timeout=CLOSE_S)

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_S, self._tick, loop.time() + TICK_S)

    def _tick(self, due_s: float) -> None:
        self._timer = None
        if self._closed or self.off:
            return
        late = asyncio.get_running_loop().time() - due_s > LATE_TICK_S
        self._bursting = self._bursting and (late or self._bursts.on(self._now_ns()))
        if not late and not self._hopped and not self._bursting and (self._pending or self._restless):
            self._submit()
        if late or self._hopped or self._pending or self._restless:
            self._arm()
        self._hopped = False

    def _submit(self, *, last: bool = False) -> None:
        if self._job is not None:
            return
        items = list(self._pending)
        self._pending.clear()
        self._pending_bytes, self._pending_s = 0, 0.0
        hop = shared_hop(self._executor or audio_executor())
        job: asyncio.Future[_Outcome] = hop.submit(partial(self._work, items, self._now_ns(), last), at_once=last)
        self._job, self._hopped = job, True
        job.add_done_callback(self._done)

    def _work(self, items: list[Chunk | Mark], now_ns: int, last: bool) -> _Outcome:
        """In the thread."""
        outcome = _Outcome()
        try:
            outcome.facts += self._ear.hear(items)
            outcome.facts += self._ear.stop(now_ns) if last else self._ear.idle(now_ns)
            outcome.restless = self._ear.restless
        except Exception as error:
            self._recover(outcome, error, now_ns)
        return outcome

    def _recover(self, outcome: _Outcome, error: Exception, now_ns: int) -> None:
        outcome.errors += 1
        outcome.cause = repr(error)
        broken, self._ear = self._ear, self._make_ear()
        try:
            outcome.facts += broken.stop(now_ns)
        except Exception:
            outcome.errors += 1

    def _done(self, job: asyncio.Future[_Outcome]) -> None:
        self._job = None
        if job.cancelled():
            return
        failure = job.exception()
        outcome = _Outcome(errors=1, cause=repr(failure)) if failure is not None else job.result()
        self._restless = outcome.restless
        try:
            self._report(outcome)
        except Exception as error:
            self.errors += 1
            _log.warning("a tap's fact could not be reported", party=self._party, error=repr(error))
        if self._pending_s >= BATCH_S and not self._bursting and not self._closed and not self.off:
            self._submit()

    def _report(self, outcome: _Outcome) -> None:
        at_ns = self._now_ns()
        facts = outcome.facts
        if self.overflowed > self._told_overflow:
            lost = self.overflowed - self._told_overflow
            self._told_overflow = self.overflowed
            facts = [*facts, Fact(events.Health, {"invalid": {f"{self._party}_tap_overflow": lost}})]
        if outcome.errors:
            was_off = self.off
            self.errors += outcome.errors
            _log.warning("a tap failed", party=self._party, errors=self.errors, off=self.off, error=outcome.cause)
            if self.off and not was_off:
                self._pending.clear()
                facts = [*facts, *unobservable(self._party, f"switched off after {self.errors} errors", at_ns)]
        for fact in facts:
            fields = dict(fact.fields)
            if fact.event in (events.SpeechStarted, events.SpeechEnded):
                fields["edge_ns"] = min(fields["edge_ns"], at_ns)
                fields["correction_ns"] = at_ns - fields["edge_ns"]
            self._reporter.emit(fact.event, at_ns=at_ns, **fields)


audio_executor = OneThread("earwitness-audio")
"""The one thread of this process that listens."""
