"""What the relay costs: microseconds of CPU of its process per event, from a full embedded log to Kafka, against a bare
loop that reads the embedded log and appends to Kafka and remembers nothing; how long an event takes that comes alone,
from the bot's append to a Kafka reader; and what an idle relay costs.

Events of 444 bytes, batches of up to 1,000, four partitions on both sides; medians of three rounds, taken in turn.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import cast

from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.processors.orphans import Orphans
from earwitness.processors.relay import BATCH, Relay
from earwitness.processors.relay_mark import RelayMark, mark_path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kafka_broker import broker_for_a_bench

COUNT, ROUNDS, ALONE, IDLE_S = 50_000, 3, 40, 5.0
EVENTS = "earwitness.events"


class Running:
    """A relay under way."""

    def __init__(self, source: EmbeddedLog, url: str) -> None:
        self._stop = asyncio.Event()
        self._mark = RelayMark.take(mark_path(source.path, url))
        self.relay = Relay(
            source, lambda: open_log(url), target=url, mark=self._mark, orphans=Orphans([]), stop=self._stop
        )
        self._task = asyncio.create_task(self.relay.run())

    async def shipped(self, count: int) -> None:
        while self.relay.stats.shipped < count:  # noqa: ASYNC110 - a counter, looked at now and then
            await asyncio.sleep(0.02)

    async def end(self) -> None:
        self._stop.set()
        await self._task
        self._mark.close()


async def filled(path: Path) -> EmbeddedLog:
    log = cast("EmbeddedLog", await open_log(str(path)))
    value = b"x" * 430
    for first in range(0, COUNT, BATCH):
        await log.append(
            EVENTS, [Outgoing(f"call-{n % 300:04}", b"%09d" % n + value) for n in range(first, first + BATCH)]
        )
    return log


async def new_topics(bootstrap: str) -> tuple[str, Log]:
    url = f"kafka://{bootstrap}/bench{uuid.uuid4().hex[:8]}"
    log = await open_log(url)
    await log.create_topics(topic_specs(log.prefix, 4))
    return url, log


async def bare(source: EmbeddedLog, target: Log) -> float:
    began, count = time.process_time(), 0
    reader = await source.reader(EVENTS)
    while count < COUNT:
        entries = await reader.poll(timeout_s=1.0, max_records=BATCH)
        await target.append(f"{target.prefix}.events", [Outgoing(entry.key, entry.value) for entry in entries])
        count += len(entries)
    await reader.close()
    return (time.process_time() - began) / COUNT * 1e6


async def relayed(source: EmbeddedLog, url: str) -> float:
    began = time.process_time()
    running = Running(source, url)
    await running.shipped(COUNT)
    cpu_us = (time.process_time() - began) / COUNT * 1e6
    await running.end()
    return cpu_us


async def alone(source: EmbeddedLog, url: str, target: Log) -> tuple[float, float, float]:
    """Median and longest way of an event that comes alone, in ms; share of a core of an idle relay, in percent."""
    running = Running(source, url)
    await running.shipped(COUNT)
    reader, took_s = await target.reader(f"{target.prefix}.events", start="latest"), list[float]()
    for number in range(ALONE):
        began_s = time.monotonic()
        await source.append(EVENTS, [Outgoing(f"call-{number}", b"x" * 443)])
        while not await reader.poll(timeout_s=1.0):
            pass
        took_s.append(time.monotonic() - began_s)
        await asyncio.sleep(0.05)
    await reader.close()
    began, began_s = time.process_time(), time.monotonic()
    await asyncio.sleep(IDLE_S)
    idle = (time.process_time() - began) / (time.monotonic() - began_s) * 100
    await running.end()
    return statistics.median(took_s) * 1e3, max(took_s) * 1e3, idle


async def main(bootstrap: str) -> None:
    ours, theirs = list[float](), list[float]()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            source = await filled(Path(folder) / "log.db")
            (_, one), (url, other) = await new_topics(bootstrap), await new_topics(bootstrap)
            theirs.append(await bare(source, one))
            ours.append(await relayed(source, url))
            await asyncio.gather(source.close(), one.close(), other.close())
    mine, bare_us = statistics.median(ours), statistics.median(theirs)
    print(f"us of CPU per event: relay {mine:.1f}, bare loop {bare_us:.1f}, ratio {mine / bare_us:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        source = await filled(Path(folder) / "log.db")
        url, target = await new_topics(bootstrap)
        median_ms, longest_ms, idle = await alone(source, url, target)
        await asyncio.gather(source.close(), target.close())
    print(f"an event that comes alone: median {median_ms:.0f} ms, longest {longest_ms:.0f} ms; idle {idle:.1f} %")


if __name__ == "__main__":
    with broker_for_a_bench() as address:
        asyncio.run(main(address))
