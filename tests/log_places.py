"""The three places where a log can be, behind one face, so that one suite runs on all of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from earwitness.monitor.log.embedded import EmbeddedLog, EmbeddedSettings
from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_library import kafka, kafka_admin
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Entry, Log, Outgoing, Reader, TopicSpec
from earwitness.monitor.log.url import KafkaUrl, SqliteUrl

ANSWER_WITHIN_S = 30.0
"""Far more than anything takes; only a log that fails gets there."""


@dataclass
class Place:
    """Where a log lies. ``open`` gives a further handle on it; ``forget`` does what retention does."""

    url: str
    prefix: str
    open_one: Callable[[], Awaitable[Log]]
    forget: Callable[[str, int, int], Awaitable[None]]
    opened: list[Log] = field(default_factory=list)

    async def open(self, *specs: TopicSpec) -> Log:
        log = await self.open_one()
        self.opened.append(log)
        await log.create_topics(specs)
        return log

    @property
    def topic(self) -> str:
        return f"{self.prefix}.events"


def records(count: int, keys: int = 7) -> list[Outgoing]:
    """Records numbered in order, dealt out among keys."""
    return [Outgoing(f"call-{i % keys}", str(i).encode()) for i in range(count)]


def by_key(entries: list[Entry]) -> dict[str, list[bytes | None]]:
    """What each key has, in the order of reading."""
    found: dict[str, list[bytes | None]] = defaultdict(list)
    for entry in entries:
        found[entry.key].append(entry.value)
    return found


def by_partition(entries: list[Entry]) -> dict[int, list[Entry]]:
    """What each partition has, in the order of reading."""
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.partition].append(entry)
    return found


async def read(reader: Reader, count: int) -> list[Entry]:
    """Poll until that many records are there; more would show too."""
    found: list[Entry] = []
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while len(found) < count:
            found += await reader.poll(timeout_s=0.2)
    found += await reader.poll(timeout_s=0)
    return found


async def poll_until(reader: Reader, done: Callable[[], bool]) -> list[Entry]:
    """Poll until something is so."""
    found: list[Entry] = []
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while not done():
            found += await reader.poll(timeout_s=0.05)
    return found


def in_memory(prefix: str) -> Place:
    log = MemoryLog(prefix=prefix, topics=())

    async def open_one() -> Log:
        return log

    async def forget(topic: str, partition: int, before: int) -> None:
        log.drop_before(topic, partition, before)

    return Place("memory:", prefix, open_one, forget)


def embedded(prefix: str, folder: Path) -> Place:
    url = SqliteUrl(folder / "log.db")

    async def open_one() -> Log:
        return await EmbeddedLog.open(url, prefix=prefix, settings=EmbeddedSettings(heartbeat_s=0.05))

    async def forget(topic: str, partition: int, before: int) -> None:
        import sqlite3

        with closing(sqlite3.connect(url.path)) as db, db:
            (id_,) = db.execute(
                "SELECT partitions.id FROM partitions JOIN topics ON topics.id = topic WHERE name = ? AND number = ?",
                (topic, partition),
            ).fetchone()
            db.execute(f"DELETE FROM records_{id_} WHERE offset < ?", (before,))

    return Place(str(url), prefix, open_one, forget)


def on_kafka(prefix: str, bootstrap: str) -> Place:
    url = KafkaUrl((bootstrap,), prefix)

    async def open_one() -> Log:
        return await KafkaLog.open(url, kafka_settings(url, {"request_timeout_ms": 10_000}))

    async def forget(topic: str, partition: int, before: int) -> None:
        admin = kafka_admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            where = kafka.TopicPartition(topic, partition)
            await admin.delete_records({where: kafka_admin.RecordsToDelete(before_offset=before)})
        finally:
            await admin.close()

    return Place(str(url), prefix, open_one, forget)
