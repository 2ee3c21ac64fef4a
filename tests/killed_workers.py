"""Real timeline workers in processes of their own, killed with -9 at random moments while events come in.

The processes are forked off a server that has everything imported, so that a worker is there within a tenth of a
second. In the end a worker in this process reads on from what they left.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from stopped_workers import S, buckets_of, published, what_the_log_says

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.embedded import EmbeddedLog, EmbeddedSettings
from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.log.url import KafkaUrl, SqliteUrl, parse_log_url
from earwitness.monitor.measures.windows import Windows

SETTINGS = MonitorSettings(metrics=False, poll_s=0.05, gather_s=0.0, tick_s=0.1, keep_every_s=0.15)
PATIENCE_S = 120.0
"""Far more than anything takes; only what fails gets there."""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["killed_workers"])
COMPACTED_SOON = {
    "segment.ms": "500",
    "max.compaction.lag.ms": "500",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}


async def opened(url: str, configs: Mapping[str, str] | None = None, *, session_s: float = 1.0) -> Log:
    """A log whose groups are quick to notice who is gone."""
    found = parse_log_url(url)
    if isinstance(found, SqliteUrl):
        settings = EmbeddedSettings(session_s=session_s, heartbeat_s=0.1, busy_timeout_s=30.0)
        return await EmbeddedLog.open(found, topic_specs("earwitness", 4), settings=settings)
    assert isinstance(found, KafkaUrl)
    told: dict[str, Any] = {"session_timeout_ms": int(session_s * 1_000), "request_timeout_ms": 10_000}
    if configs is not None:
        told["topic_configs"] = dict(configs)
    return await KafkaLog.open(found, kafka_settings(found, told))


async def _monitor(url: str, at_work: Connection) -> None:
    log = await opened(url)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it
        at_work.send(None)
    await Monitor(log, SETTINGS, stop=asyncio.Event()).run()


def work(url: str, at_work: Connection) -> None:
    """A worker's process."""
    asyncio.run(_monitor(url, at_work))


def _forked(url: str) -> tuple[Any, Connection]:
    """A worker's process, and where it says that it has begun.

    By a pipe: an event of `multiprocessing` is semaphores with names, which a process looks up when it begins, and
    whoever began it must not have let go of them by then.
    """
    here, before = str(Path(__file__).parent), os.environ.get("PYTHONPATH")
    # Or the server, which is begun with the first process, would not find this module.
    os.environ["PYTHONPATH"] = here if before is None else f"{here}:{before}"
    begun, at_work = FORKS.Pipe(duplex=False)
    try:
        process = FORKS.Process(target=work, args=(url, at_work), daemon=True)
        process.start()
    finally:
        at_work.close()  # the process alone has it now: when it ends, the pipe does
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return process, begun


@dataclass
class Killings:
    """Events of bots, the workers that read them, and the killing of these."""

    log: Log
    url: str
    events: list[Any]
    draw: random.Random
    workers: int
    kills: int = 0
    processes: list[Any] = field(default_factory=list[Any])

    async def run(self, kills: int, *, pause_s: float) -> None:
        """Feed all events while workers are killed and begun again, so many times."""
        feeding = asyncio.create_task(self.feed(kills * pause_s))
        try:
            while self.kills < kills:
                while len(self.processes) < self.workers:
                    await self.begin_one(wait=self.draw.random() < 0.8)  # else it may be killed while it begins
                await asyncio.sleep(self.draw.uniform(0, 2 * pause_s))
                process = self.draw.choice(self.processes)
                assert process.is_alive(), f"a worker ended by itself with {process.exitcode}"
                await self.kill(process)
                self.kills += 1
            await feeding
        finally:
            feeding.cancel()
            for process in list(self.processes):
                await self.kill(process)

    async def begin_one(self, *, wait: bool = True) -> None:
        """One worker more."""
        process, begun = await asyncio.to_thread(_forked, self.url)
        self.processes.append(process)
        with begun:
            if wait:
                assert await asyncio.to_thread(begun.poll, PATIENCE_S), "a worker did not begin"
                begun.recv()  # raises EOFError where it ended instead

    async def kill(self, process: Any) -> None:
        """End a worker with -9."""
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()
        self.processes.remove(process)

    async def feed(self, over_s: float) -> None:
        """Send all events, evenly over that time."""
        began, count = time.monotonic(), len(self.events)
        sent = 0
        while sent < count:
            due = min(count, 1 + int((time.monotonic() - began) / over_s * count))
            batch = self.events[sent:due]
            await self.log.append(f"{self.log.prefix}.events", [Outgoing(e.call_id, encode(e)) for e in batch])
            sent = due
            await asyncio.sleep(0.02)

    async def check(self) -> dict[str, int]:
        """One more worker, here, reads to the end: records and windows must be what the log alone says."""
        stop, has_all = asyncio.Event(), asyncio.Event()

        async def look(_windows: Windows, _now_ns: int) -> None:
            if monitor.keeper is not None and monitor.keeper.settled and await self._all_read(monitor):
                has_all.set()

        monitor = Monitor(self.log, replace(SETTINGS, tick_s=0.05), stop=stop, on_tick=look)
        running = asyncio.create_task(monitor.run())
        async with asyncio.timeout(PATIENCE_S):
            read = asyncio.create_task(has_all.wait())
            await asyncio.wait({read, running}, return_when=asyncio.FIRST_COMPLETED)
            assert not running.done(), running
        as_of_ns = time.time_ns() + 100 * S
        monitor.handler.queue(monitor.fold.advance(as_of_ns))
        stop.set()
        await running
        records, buckets = await what_the_log_says(self.log, lambda: as_of_ns, SETTINGS)
        assert await published(self.log) == records
        assert buckets_of(monitor.fold.windows) == buckets
        assert monitor.keeper is not None
        return {
            "kills": self.kills,
            "records": len(records),
            "buckets": len(buckets),
            "read again": monitor.keeper.read_again,
            "doubts": len(monitor.keeper.doubts),
        }

    async def _all_read(self, monitor: Monitor) -> bool:
        ends = await self.log.end_positions(f"{self.log.prefix}.events")
        assert monitor.keeper is not None
        return all(part.next_offset >= ends[p] for p, part in monitor.keeper.parts.items()) and len(
            monitor.keeper.parts
        ) == len(ends)

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await self.log.close()
