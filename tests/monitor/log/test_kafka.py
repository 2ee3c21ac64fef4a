"""What only Kafka has to answer for: keys, limits, compaction, partitions, and groups with other tools beside us."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from kafka_logs import Opener
from log_places import poll_until, read, records

from earwitness.monitor.log import kafka_reader
from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_library import kafka, kafka_admin
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import (
    Outgoing,
    RecordTooLarge,
    TopicSpec,
)
from earwitness.processors.log_client import append_what_fits

pytestmark = pytest.mark.kafka


async def test_a_poll_after_a_pause_has_what_came_in_the_pause(
    open_kafka: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client holds what came at once, and would fetch the rest only when that was taken."""
    monkeypatch.setattr(kafka_reader, "FRESH_S", 10.0)
    log, reader = await paused_over_two_batches(open_kafka, topic)

    found = await reader.poll(timeout_s=5)

    assert [entry.value for entry in found] == [b"1", b"2"]
    assert reader.positions() == await log.end_positions(topic)


async def test_a_poll_that_is_cancelled_in_a_pauses_wake_has_read_nothing(
    open_kafka: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, reader = await paused_over_two_batches(open_kafka, topic)
    get, asked = reader._get, list[float]()

    async def cancelled_at_the_second(timeout_s: float, max_records: int) -> Any:
        asked.append(timeout_s)
        if len(asked) == 2:
            raise asyncio.CancelledError
        return await get(timeout_s, max_records)

    monkeypatch.setattr(reader, "_get", cancelled_at_the_second)
    with pytest.raises(asyncio.CancelledError):
        await reader.poll(timeout_s=5)

    assert sum(reader.positions().values()) == 1
    assert [entry.value for entry in await read(reader, 2)] == [b"1", b"2"]
    assert reader.positions() == await log.end_positions(topic)


async def paused_over_two_batches(open_kafka: Opener, topic: str) -> tuple[KafkaLog, Any]:
    """A reader that has read "0", whose client holds "1", and who was not told of "2"."""
    log = await open_kafka(TopicSpec(topic, 1))
    reader: Any = await log.reader(topic)
    await log.append(topic, [Outgoing("k", b"0")])
    await read(reader, 1)
    await log.append(topic, [Outgoing("k", b"1")])
    async with asyncio.timeout(30):
        while not reader._consumer._fetcher._records:  # noqa: ASYNC110 - the client tells nobody what it holds
            await asyncio.sleep(0.01)
    await log.append(topic, [Outgoing("k", b"2")])
    reader._given_s = 0.0
    return log, reader


async def test_other_tools_put_a_key_into_the_same_partition(
    open_kafka: Opener, topic: str, kafka_bootstrap: str
) -> None:
    log = await open_kafka(TopicSpec(topic, 5))
    keys = [f"call-{i}-ü" for i in range(50)]
    producer = kafka.AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    for key in keys:
        await producer.send(topic, b"x", key=key.encode())
    await producer.stop()

    got = await read(await log.reader(topic), 50)

    assert {entry.key: entry.partition for entry in got} == {key: partition_of(key, 5) for key in keys}


async def test_batches_over_the_topics_limit_are_split_and_a_record_over_it_is_refused(
    open_kafka: Opener, topic: str
) -> None:
    log = await open_kafka(TopicSpec(topic, 1), topic_configs={"max.message.bytes": "20000"})
    noise = random.Random(7)
    sent = [Outgoing("call", noise.randbytes(5_000)) for _ in range(50)]

    await log.append(topic, sent)
    with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes"):
        await log.append(topic, [Outgoing("call", noise.randbytes(50_000))])
    await log.append(topic, [Outgoing("call", b"last")])

    assert [entry.value for entry in await read(await log.reader(topic), 51)] == [r.value for r in sent] + [b"last"]


async def test_what_was_written_before_a_record_over_the_limit_is_told_and_not_sent_twice(
    open_kafka: Opener, topic: str
) -> None:
    log = await open_kafka(TopicSpec(topic, 1), topic_configs={"max.message.bytes": "20000"})
    small = [Outgoing("call", b"%03d" % n * 100) for n in range(20)]
    large = Outgoing("call", random.Random(7).randbytes(50_000))
    batch = [*small[:9], large, *small[9:]]

    with pytest.raises(RecordTooLarge) as refused:
        await log.append(topic, batch)
    assert refused.value.unwritten == [large, *small[9:]]

    assert await append_what_fits(log, topic, batch, lambda record: record) == [large]
    await log.append(topic, [Outgoing("call", b"last")])
    # The first nine once by each of the two attempts, the rest once.
    got = [entry.value for entry in await read(await log.reader(topic), 30)]
    assert got == [r.value for r in (*small[:9], *small)] + [b"last"]


async def test_compaction_leaves_the_last_of_each_key_and_no_gap(open_kafka: Opener, topic: str) -> None:
    quick = {"segment.ms": "500", "max.compaction.lag.ms": "500", "min.cleanable.dirty.ratio": "0.01"}
    log = await open_kafka(TopicSpec(topic, 1, compacted=True), topic_configs={**quick, "delete.retention.ms": "0"})
    for round_ in range(20):
        await log.append(topic, [Outgoing(f"k{i}", f"{i} {round_}".encode()) for i in range(10)])

    found: dict[int, str] = {}
    async with asyncio.timeout(60):
        while not 0 < len(found) < 30:
            await log.append(topic, [Outgoing("roll", b"the active segment is never compacted")])
            reader, end = await log.reader(topic), (await log.end_positions(topic))[0]
            got = await poll_until(reader, lambda r=reader, end=end: r.positions()[0] >= end)  # type: ignore[misc]
            found = {entry.offset: entry.key for entry in got}
            gaps = reader.take_gaps()
            await reader.poll(timeout_s=0.2)
            await reader.close()

    assert {f"k{i}" for i in range(10)} <= set(found.values())
    assert gaps == []


async def test_d03_a_commit_after_the_group_changed_is_left_out_and_nobody_crashes(
    open_kafka: Opener, topic: str
) -> None:
    one, two = await open_kafka(TopicSpec(topic, 2)), await open_kafka()
    await one.append(topic, [Outgoing(f"call-{i}", str(i).encode()) for i in range(50)])
    a = await one.reader(topic, group="g")
    first = await read(a, 50)
    old = a.positions()
    b = await two.reader(topic, group="g")
    second = await poll_until(b, lambda: len(b.positions()) == 1)

    kept = await a.commit(old)

    (moved,) = b.positions()
    assert moved not in kept
    share = [entry for entry in first if entry.partition == moved]
    second += await read(b, len(share) - len(second))
    assert [entry[:4] for entry in second] == [entry[:4] for entry in share]
    assert len({(e.partition, e.offset) for e in [*first, *second]}) == 50
    assert await b.commit(b.positions()) == b.positions()


async def test_partitions_added_to_a_topic_are_read_too(open_kafka: Opener, topic: str, kafka_bootstrap: str) -> None:
    log = await open_kafka(TopicSpec(topic, 1), metadata_max_age_ms=500)
    await log.append(topic, records(5))
    reader = await log.reader(topic)
    await read(reader, 5)
    admin = kafka_admin.AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.create_partitions({topic: kafka_admin.NewPartitions(3)})
    await admin.close()
    await poll_until(reader, lambda: len(reader.positions()) == 3)

    other = await open_kafka()
    await other.append(topic, [Outgoing(f"call-{i}", b"new") for i in range(30)])
    got = await read(reader, 30)

    assert {entry.partition for entry in got} == {0, 1, 2}


async def test_the_installed_client_gives_records_as_they_lie_in_their_batch(
    open_kafka: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it does not, reading works as well and costs more: that must be seen."""
    log = await open_kafka(TopicSpec(topic, 1))
    await log.append(topic, records(3))
    reader: Any = await log.reader(topic)
    given, of = list[Any](), reader._entries.of

    def noted(partition: int, found: Any) -> Any:
        given.extend(found)
        return of(partition, found)

    monkeypatch.setattr(reader._entries, "of", noted)
    await read(reader, 3)

    assert len(given) == 3
    assert not any(isinstance(one, kafka.ConsumerRecord) for one in given)
