"""What a log costs: microseconds of CPU of this process per event, against the bare library in the same run.

Events of 444 bytes in batches of 500 (append) and 2,000 (read), four partitions; the best of three rounds each, taken
in turn. The broker's own CPU is not ours and not counted. A ratio of 1.0 is what the bare library costs.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from earwitness.monitor.log.kafka_library import kafka
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_specs

sys.path.insert(0, str(Path(__file__).parents[1]))

from kafka_broker import broker_for_a_bench

EVENTS, BATCH, READ_BATCH, ROUNDS, PARTITIONS = 50_000, 500, 2_000, 3, 4

Round = Callable[[], Awaitable[int]]


def events() -> list[Outgoing]:
    """Sized and repetitive as events are; the numbers differ."""
    body = (
        '{"v":1,"kind":"speech_started","call_id":"%s","source":"bot","seq":%d,"at_ns":%d,"party":"caller","quality":'
    )
    found: list[Outgoing] = []
    for i in range(EVENTS):
        key = f"call-{i % 100:04d}-{uuid.uuid5(uuid.NAMESPACE_OID, str(i % 100))}"
        text = body % (key, i, 10**15 + i * 20_000_000)
        found.append(Outgoing(key, text.ljust(443, "x").encode() + b"}"))
    return found


async def cpu_us(work: Round) -> float:
    began = time.process_time()
    count = await work()
    return (time.process_time() - began) / count * 1e6


async def compare(name: str, ours: Round, bare: Round) -> None:
    """Best of some rounds, ours and the bare library's in turn."""
    pairs = [(await cpu_us(ours), await cpu_us(bare)) for _ in range(ROUNDS)]
    mine, theirs = (min(column) for column in zip(*pairs, strict=True))
    print(f"{name:<16} {mine:>8.2f} {theirs:>10.2f} {mine / theirs:>8.2f}")


async def append_all(log: Log, topic: str, sent: Sequence[Outgoing]) -> int:
    for start in range(0, len(sent), BATCH):
        await log.append(topic, sent[start : start + BATCH])
    return len(sent)


async def read_all(log: Log, topic: str) -> int:
    reader = await log.reader(topic)
    ends, count = sum((await log.end_positions(topic)).values()), 0
    while count < ends:
        count += len(await reader.poll(timeout_s=5, max_records=READ_BATCH))
    await reader.close()
    return count


async def embedded(folder: Path, sent: Sequence[Outgoing]) -> None:
    log = await open_log(str(folder / "log.db"))
    topic = "earwitness.events"
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=NORMAL")
    bare.execute("CREATE TABLE records (offset INTEGER PRIMARY KEY, append_ns INTEGER, key TEXT, value BLOB)")

    async def bare_append() -> int:
        for start in range(0, len(sent), BATCH):
            now = time.time_ns()
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany(
                "INSERT INTO records (append_ns, key, value) VALUES (?, ?, ?)",
                [(now, record.key, record.value) for record in sent[start : start + BATCH]],
            )
            bare.execute("COMMIT")
        return len(sent)

    async def bare_read() -> int:
        at = count = 0
        while rows := bare.execute(
            "SELECT offset, append_ns, key, value FROM records WHERE offset > ? LIMIT ?", (at, READ_BATCH)
        ).fetchall():
            at, count = rows[-1][0], count + len(rows)
        return count

    await compare("embedded append", lambda: append_all(log, topic, sent), bare_append)
    await compare("embedded read", lambda: read_all(log, topic), bare_read)
    bare.close()
    await log.close()


async def on_kafka(bootstrap: str, sent: Sequence[Outgoing]) -> None:
    prefix = f"bench{uuid.uuid4().hex[:8]}"
    log = await open_log(f"kafka://{bootstrap}/{prefix}")
    await log.create_topics(topic_specs(prefix, PARTITIONS))
    topic, other = f"{prefix}.events", f"{prefix}.records"
    producer: Any = kafka.AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, compression_type="zstd", max_batch_size=256 * 1024
    )
    await producer.start()

    async def bare_append() -> int:
        for start in range(0, len(sent), BATCH):
            batches = [producer.create_batch() for _ in range(PARTITIONS)]
            for record in sent[start : start + BATCH]:
                batch = batches[partition_of(record.key, PARTITIONS)]
                batch.append(key=record.key.encode(), value=record.value, timestamp=None)
            waiting = [await producer.send_batch(batch, other, partition=i) for i, batch in enumerate(batches)]
            await asyncio.gather(*waiting)
        return len(sent)

    async def bare_read() -> int:
        consumer: Any = kafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, max_partition_fetch_bytes=4 * 1024 * 1024)
        await consumer.start()
        tps = [kafka.TopicPartition(other, number) for number in range(PARTITIONS)]
        consumer.assign(tps)
        await consumer.seek_to_beginning(*tps)
        ends, count = sum((await consumer.end_offsets(tps)).values()), 0
        while count < ends:
            batches = await consumer.getmany(timeout_ms=5_000, max_records=READ_BATCH)
            count += sum(map(len, batches.values()))
        await consumer.stop()
        return count

    await compare("kafka append", lambda: append_all(log, topic, sent), bare_append)
    await compare("kafka read", lambda: read_all(log, topic), bare_read)
    await producer.stop()
    await log.close()


def main() -> None:
    sent = events()
    print(f"us of CPU per event  ours       bare    ratio   ({EVENTS:,} events of 444 bytes)")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(embedded(Path(folder), sent))
    with broker_for_a_bench() as bootstrap:
        asyncio.run(on_kafka(bootstrap, sent))


if __name__ == "__main__":
    main()
