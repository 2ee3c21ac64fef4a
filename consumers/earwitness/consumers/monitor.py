"""The monitor: timeline worker, metrics page and the tick on which alerts are looked at, in one process."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from earwitness.consumers.dead_letters import DeadLetters
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.keeper import Keeper
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.metrics_collector import MonitorCollector
from earwitness.consumers.metrics_page import MetricsPage
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.self_metrics import SelfMetrics
from earwitness.consumers.timeline import TimelineHandler, caught_up, note_read, stats_of
from earwitness.consumers.worker import Worker
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.log.protocol import Log, LogError, Reader
from earwitness.monitor.log.topics import EVENTS, RECORDS, STATE, topic_name
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
CALLS_A_TICK: Final = 200
"""Open calls that one tick judges at most, those first that were judged longest ago; events judge their own call."""
TIDY_EVERY_NS: Final = 60 * S
LAGS_FROM_S: Final = 10.0
"""How old what is read must be for nobody to wait for it."""

OnTick = Callable[[Windows, int], Awaitable[None]]

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Monitor:
    """One monitor. ``page`` is there while it runs, where the settings want it.

    ``on_tick`` gets the windows and the wall time about once a second; what it raises is logged and ends nothing.
    """

    def __init__(
        self,
        log: Log,
        settings: MonitorSettings,
        *,
        stop: asyncio.Event,
        on_tick: OnTick | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.fold = TimelineFold(settings)
        self.keeper: Keeper | None = None
        """What keeps the state, while it runs."""
        self.ledger = Ledger()
        self.handler = TimelineHandler(self.fold, prefix=log.prefix, ledger=self.ledger)
        self.own = SelfMetrics()
        self.page: MetricsPage | None = None
        self.ready = asyncio.Event()
        """Set when the past was folded and the metrics page serves."""
        self._log = log
        self._settings = settings
        self._stop = stop
        self._on_tick = on_tick
        self._clock_ns = clock_ns
        self._topic = topic_name(log.prefix, EVENTS)
        self._dead = DeadLetters()
        self._read: deque[tuple[int, int]] = deque()
        self._ends: Mapping[int, int] = {}
        self._began_ns = self._tidied_ns = clock_ns()

    async def run(self) -> None:
        """Run until ``stop`` is set; then the batch in hand is finished and everything released.

        Raises BadInput where the metrics page cannot be served, LogError where the log cannot be read at the start.
        """
        if self._settings.metrics:
            self.page = MetricsPage(
                MonitorCollector(
                    self.fold.windows,
                    self.handler.totals,
                    self.own,
                    gauge_windows_s=self._settings.gauge_windows_s,
                    clock_ns=self._clock_ns,
                ),
                self.own,
                host=self._settings.metrics_host,
                port=self._settings.metrics_port,
                clock_ns=self._clock_ns,
                stalled_s=self.own.stalled_s,
            )
            await self.page.start()
        try:
            # The keeper sends it to where each partition's state was left.
            reader = await self._log.reader(self._topic, group=self._settings.group, start="latest")
            try:
                await self._work(reader)
            finally:
                await reader.close()
        finally:
            if self.page is not None:
                await self.page.close()

    async def tick(self, worker: Worker[AnyEvent]) -> None:
        """Look at the clock: judge open calls, say how far everything was read, let alerts look."""
        now_ns = self._clock_ns()
        await self._look_at_the_end(worker, now_ns)
        if not self.ready.is_set():
            self.own.ticked_ns, self.own.log_away = now_ns, worker.away
            if self.keeper is None or not self.keeper.settled:
                return
            _log.info("ready", events_read_again=self.keeper.read_again, calls_held=len(self.fold.held))
            self.own.ready = True
            self.ready.set()
        self.handler.queue(self.fold.advance(now_ns, most=CALLS_A_TICK))
        note_read(self._read, now_ns, worker.records)
        self.own.stats = stats_of(self.handler, worker, self._read, self._ends, now_ns)
        self.fold.lagging = self.own.stats.lag_s > LAGS_FROM_S or bool(self.fold.behind)
        if self.fold.put_off and not self.fold.lagging:
            # Before anybody is told that the windows are complete.
            self.handler.queue(self.fold.settle())
        self.own.log_away = worker.away
        self.own.commits_refused = 0 if self.keeper is None else self.keeper.commits_refused
        self.own.note_progress(now_ns, worker.records, self.own.stats.lag_records)
        self.own.ticked_ns = now_ns
        if now_ns - self._tidied_ns >= TIDY_EVERY_NS:
            self._tidied_ns = now_ns
            self.handler.tidy()
            await self._count_partitions()
            if now_ns - self._began_ns > self._settings.call_kept_s * S:
                # What was read back of calls that ended before the start can no longer be asked for.
                self.ledger.forget(self.ledger.calls() - self.fold.held.keys())
        if self._on_tick is not None:
            try:
                await self._on_tick(self.fold.windows, now_ns)
            except Exception:
                # Alerts are not the measuring: what fails there is told and tried again.
                _log.exception("the tick's listener failed")

    async def _work(self, reader: Reader) -> None:
        keeper = Keeper(self._log, reader, self.handler, self.ledger, self._settings, clock_ns=self._clock_ns)
        worker = Worker(
            self._log,
            reader,
            self.handler,
            decode=decode_event_fast,
            dead=self._dead,
            stop=self._stop,
            keeper=keeper,
        )
        self.keeper = keeper
        self.own.events, self.own.skews = self.fold.events, self.fold.skews
        self.own.fold, self.own.health = self.fold, self.handler.health
        await self._count_partitions()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    worker.run(poll_s=self._settings.poll_s, gather_s=self._settings.gather_s), name="timeline"
                )
                tasks.create_task(self._ticks(worker), name="ticks")
        finally:
            await keeper.close()

    async def _ticks(self, worker: Worker[AnyEvent]) -> None:
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), self._settings.tick_s)
            except TimeoutError:
                await self.tick(worker)

    async def _count_partitions(self) -> None:
        for kind in (EVENTS, RECORDS, STATE):
            with suppress(LogError):  # the worker says so, or `doctor`
                self.own.partitions[kind] = len(await self._log.end_positions(topic_name(self._log.prefix, kind)))

    async def _look_at_the_end(self, worker: Worker[AnyEvent], now_ns: int) -> None:
        try:
            self._ends = await self._log.end_positions(self._topic)
        except LogError:
            return  # the worker says so; until then windows are not complete
        if self.keeper is not None and self.keeper.settled and caught_up(worker.reader, self._ends):
            self.fold.windows.watermark_ns = now_ns
