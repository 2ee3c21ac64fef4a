"""What only Kafka has to answer for: brokers that hang or are gone, groups that change, other tools beside us."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from log_places import poll_until, read

from earwitness.monitor.log import kafka_reader
from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_clients import stop_consumer
from earwitness.monitor.log.kafka_library import kafka, kafka_admin, kafka_errors
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import (
    Entry,
    LogError,
    LogRefused,
    LogUnavailable,
    Outgoing,
    RecordTooLarge,
    TopicSpec,
)
from earwitness.monitor.log.url import KafkaUrl
from earwitness.processors.log_client import append_what_fits

pytestmark = pytest.mark.kafka

Opener = Callable[..., Awaitable[KafkaLog]]


@pytest.fixture
def prefix() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def topic(prefix: str) -> str:
    return f"{prefix}.events"


@pytest.fixture
async def open_log(kafka_bootstrap: str, prefix: str) -> AsyncIterator[Opener]:
    opened: list[KafkaLog] = []

    async def one(*specs: TopicSpec, bootstrap: str = kafka_bootstrap, **changes: Any) -> KafkaLog:
        url = KafkaUrl((bootstrap,), prefix)
        log = await KafkaLog.open(url, replace(kafka_settings(url, {}), **changes))
        opened.append(log)
        await log.create_topics(specs)
        return log

    yield one
    for log in opened:
        await log.close()


def records(count: int, keys: int = 7) -> list[Outgoing]:
    return [Outgoing(f"call-{i % keys}", str(i).encode()) for i in range(count)]


async def test_a_poll_after_a_pause_has_what_came_in_the_pause(
    open_log: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client holds what came at once, and would fetch the rest only when that was taken."""
    monkeypatch.setattr(kafka_reader, "FRESH_S", 10.0)
    log, reader = await paused_over_two_batches(open_log, topic)

    found = await reader.poll(timeout_s=5)

    assert [entry.value for entry in found] == [b"1", b"2"]
    assert reader.positions() == await log.end_positions(topic)


async def test_a_poll_that_is_cancelled_in_a_pauses_wake_has_read_nothing(
    open_log: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, reader = await paused_over_two_batches(open_log, topic)
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


async def paused_over_two_batches(open_log: Opener, topic: str) -> tuple[KafkaLog, Any]:
    """A reader that has read "0", whose client holds "1", and who was not told of "2"."""
    log = await open_log(TopicSpec(topic, 1))
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
    open_log: Opener, topic: str, kafka_bootstrap: str
) -> None:
    log = await open_log(TopicSpec(topic, 5))
    keys = [f"call-{i}-ü" for i in range(50)]
    producer = kafka.AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    for key in keys:
        await producer.send(topic, b"x", key=key.encode())
    await producer.stop()

    got = await read(await log.reader(topic), 50)

    assert {entry.key: entry.partition for entry in got} == {key: partition_of(key, 5) for key in keys}


async def test_batches_over_the_topics_limit_are_split_and_a_record_over_it_is_refused(
    open_log: Opener, topic: str
) -> None:
    log = await open_log(TopicSpec(topic, 1), topic_configs={"max.message.bytes": "20000"})
    noise = random.Random(7)
    sent = [Outgoing("call", noise.randbytes(5_000)) for _ in range(50)]

    await log.append(topic, sent)
    with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes"):
        await log.append(topic, [Outgoing("call", noise.randbytes(50_000))])
    await log.append(topic, [Outgoing("call", b"last")])

    assert [entry.value for entry in await read(await log.reader(topic), 51)] == [r.value for r in sent] + [b"last"]


async def test_what_was_written_before_a_record_over_the_limit_is_told_and_not_sent_twice(
    open_log: Opener, topic: str
) -> None:
    log = await open_log(TopicSpec(topic, 1), topic_configs={"max.message.bytes": "20000"})
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


async def test_compaction_leaves_the_last_of_each_key_and_no_gap(open_log: Opener, topic: str) -> None:
    quick = {"segment.ms": "500", "max.compaction.lag.ms": "500", "min.cleanable.dirty.ratio": "0.01"}
    log = await open_log(TopicSpec(topic, 1, compacted=True), topic_configs={**quick, "delete.retention.ms": "0"})
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
    open_log: Opener, topic: str
) -> None:
    one, two = await open_log(TopicSpec(topic, 2)), await open_log()
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


async def test_partitions_added_to_a_topic_are_read_too(open_log: Opener, topic: str, kafka_bootstrap: str) -> None:
    log = await open_log(TopicSpec(topic, 1), metadata_max_age_ms=500)
    await log.append(topic, records(5))
    reader = await log.reader(topic)
    await read(reader, 5)
    admin = kafka_admin.AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.create_partitions({topic: kafka_admin.NewPartitions(3)})
    await admin.close()
    await poll_until(reader, lambda: len(reader.positions()) == 3)

    other = await open_log()
    await other.append(topic, [Outgoing(f"call-{i}", b"new") for i in range(30)])
    got = await read(reader, 30)

    assert {entry.partition for entry in got} == {0, 1, 2}


async def test_a_broker_that_is_not_there_is_named_with_what_to_do(open_log: Opener) -> None:
    began = time.monotonic()
    with pytest.raises(LogUnavailable, match=r"127\.0\.0\.1:1 \(Connection refused\); see that the broker runs"):
        await open_log(bootstrap="127.0.0.1:1")
    with pytest.raises(LogUnavailable, match=r"no-such-host\.invalid:9092 .*see that the broker runs"):
        await open_log(bootstrap="no-such-host.invalid:9092")

    assert time.monotonic() - began < 15


async def test_a_client_that_ends_by_cancelling_its_own_task_does_not_cancel_us() -> None:
    class Part:
        """The inner client and the fetcher, as far as ending goes."""

        def __init__(self) -> None:
            self.closed = False
            self._pending_tasks: set[asyncio.Task[None]] = set()

        async def close(self) -> None:
            self.closed = True

    class Consumer:
        def __init__(self) -> None:
            self._client, self._fetcher = Part(), Part()

        async def stop(self) -> None:
            inner = asyncio.create_task(asyncio.Event().wait())
            await asyncio.sleep(0)
            inner.cancel()
            await inner

    consumer = Consumer()

    await stop_consumer(consumer)

    assert consumer._client.closed
    assert consumer._fetcher.closed


@pytest.mark.parametrize("given", [{"security_protocol": "SSL"}, {"security_protocol": "SASL_PLAINTEXT"}])
async def test_a_listener_that_speaks_otherwise_is_said_to_do_so(
    kafka_bootstrap: str, given: dict[str, object]
) -> None:
    url = KafkaUrl((kafka_bootstrap,))
    settings = kafka_settings(
        url, {**given, "sasl_username": "bot", "sasl_password": "hush", "request_timeout_ms": 2000}
    )

    with pytest.raises(LogError, match=r"kafka\.security_protocol") as caught:
        await KafkaLog.open(url, settings)

    assert "\n" not in str(caught.value)
    assert "hush" not in str(caught.value)


async def test_d05_a_broker_that_hangs_makes_append_fail_in_bounded_time_and_later_it_works(
    open_log: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_log(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=1_500)
    await log.append(topic, [Outgoing("a", b"before")])
    tell("pause")
    try:
        began = time.monotonic()
        with pytest.raises(LogUnavailable, match=r"not acknowledged within 2\.25 s"):
            await log.append(topic, [Outgoing("a", b"during")])
        took_s = time.monotonic() - began
        with pytest.raises(LogUnavailable, match="does not answer"):
            await open_log(bootstrap=address, request_timeout_ms=1_000)
    finally:
        tell("resume")
    await log.append(topic, [Outgoing("a", b"during")])
    await log.append(topic, [Outgoing("a", b"after")])

    assert took_s < 4
    got = [entry.value for entry in await read(await log.reader(topic), 3)]
    # What was not acknowledged may be there twice; identity folds it.
    assert list(dict.fromkeys(got)) == [b"before", b"during", b"after"]


async def test_d06_an_append_that_is_cancelled_does_not_poison_those_that_follow(
    open_log: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_log(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=5_000)
    await log.append(topic, [Outgoing("a", b"0")])
    tell("pause")
    try:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await log.append(topic, [Outgoing("a", b"1")])
    finally:
        tell("resume")
    for i in range(2, 20):
        await log.append(topic, [Outgoing("a", str(i).encode())])

    got = [int(entry.value or b"") for entry in await read(await log.reader(topic), 19)]
    assert sorted(set(got)) == [0, *range(2, 20)] or sorted(set(got)) == list(range(20))
    assert [i for i in got if i > 1] == list(range(2, 20))


async def test_d01_a_reader_that_hears_nothing_says_so_and_goes_on_when_the_broker_is_back(
    open_log: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_log(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=1_000, doubt_after_s=0.3)
    await log.append(topic, records(5))
    reader = await log.reader(topic)
    await read(reader, 5)
    tell("pause")
    try:
        began = time.monotonic()
        with pytest.raises(LogUnavailable, match=r"no answer in time|not reachable"):
            await poll_until(reader, lambda: time.monotonic() - began > 20)
        took_s = time.monotonic() - began
    finally:
        tell("resume")
    await log.append(topic, records(5))

    got = await read(reader, 5)

    assert took_s < 10
    assert [entry.offset for entry in got] == [5, 6, 7, 8, 9]


async def test_closing_ends_within_5_s_while_the_broker_hangs(
    open_log: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_log(TopicSpec(topic, 1), bootstrap=address)
    await log.append(topic, records(1))
    member, lone = await log.reader(topic, group="g"), await log.reader(topic)
    await read(member, 1)
    await read(lone, 1)
    tell("pause")
    try:
        appending = asyncio.create_task(log.append(topic, records(1)))
        await asyncio.sleep(0)
        began = time.monotonic()
        await log.close()
        took_s = time.monotonic() - began
        appending.cancel()
        await asyncio.wait({appending})
    finally:
        tell("resume")

    assert took_s < 5


async def test_a_topic_without_a_creator_is_not_made_by_the_broker(open_log: Opener, topic: str) -> None:
    log = await open_log()

    with pytest.raises(LogRefused, match="earwitness topics create"):
        await log.append(topic, records(1))

    assert await log.topics() == {}


async def test_a_topic_is_made_when_the_broker_knows_of_it(open_log: Opener, topic: str) -> None:
    """For a moment a broker may deny what it has just made, more so where it is busy."""
    log = await open_log()
    await log._ask_admin(lambda admin: admin.describe_cluster())
    really, denials = log._admin.describe_topics, [3, 5]

    async def denying(topics: list[str]) -> Any:
        described = await really(topics)
        if denials:
            described[0]["partitions"][0]["error_code"] = denials.pop()
        return described

    log._admin.describe_topics = denying

    assert await log.create_topics([TopicSpec(topic, 4)]) == [topic]
    assert denials == []


async def test_commits_are_asked_for_again_while_a_young_cluster_has_no_coordinator(
    open_log: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await open_log(TopicSpec(topic, 1))
    ask, refusals = log._ask_admin, 2

    async def young(question: Callable[[Any], Awaitable[Any]], about: str = "", **more: Any) -> Any:
        nonlocal refusals
        if "list_consumer_group_offsets" in question.__code__.co_names and refusals:
            refusals -= 1
            cause = kafka_errors.GroupCoordinatorNotAvailableError()
            raise LogUnavailable("no coordinator yet") from cause
        return await ask(question, about, **more)

    monkeypatch.setattr(log, "_ask_admin", young)

    assert await log.committed("nobody", topic) == {}
    assert refusals == 0


async def test_d01_a_member_whose_event_loop_was_blocked_beyond_its_session_rejoins_and_misses_nothing(
    open_log: Opener, topic: str
) -> None:
    log = await open_log(TopicSpec(topic, 2), session_timeout_ms=1_000)
    await log.append(topic, [Outgoing(f"call-{i}", str(i).encode()) for i in range(20)])
    member = await log.reader(topic, group="g")
    first = await read(member, 20)
    await member.commit(member.positions())
    await log.append(topic, [Outgoing(f"call-{i}", str(20 + i).encode()) for i in range(20)])

    time.sleep(2.5)  # noqa: ASYNC251 - the fault itself: nothing of this process moves, and the group gives it up

    later: list[Entry] = []
    ends = await log.end_positions(topic)
    async with asyncio.timeout(30):
        while await log.committed("g", topic) != ends:
            later += await member.poll(timeout_s=0.1)
            await member.commit(member.positions())
    assert {entry.value for entry in first} == {str(i).encode() for i in range(20)}
    assert sorted({(e.partition, e.offset) for e in [*first, *later]}) == sorted(
        (partition, offset) for partition, end in ends.items() for offset in range(end)
    )
