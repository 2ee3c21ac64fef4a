"""Brokers that hang, are gone or have not heard yet, and members that stood still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kafka_logs import Opener
from log_places import poll_until, read, records

from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_clients import stop_consumer
from earwitness.monitor.log.kafka_library import kafka_errors
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.protocol import (
    Entry,
    LogError,
    LogRefused,
    LogUnavailable,
    Outgoing,
    TopicSpec,
)
from earwitness.monitor.log.url import KafkaUrl

pytestmark = pytest.mark.kafka


async def test_a_broker_that_is_not_there_is_named_with_what_to_do(open_kafka: Opener) -> None:
    began = time.monotonic()
    with pytest.raises(LogUnavailable, match=r"127\.0\.0\.1:1 \(Connection refused\); see that the broker runs"):
        await open_kafka(bootstrap="127.0.0.1:1")
    with pytest.raises(LogUnavailable, match=r"no-such-host\.invalid:9092 .*see that the broker runs"):
        await open_kafka(bootstrap="no-such-host.invalid:9092")

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
    open_kafka: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_kafka(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=1_500)
    await log.append(topic, [Outgoing("a", b"before")])
    tell("pause")
    try:
        began = time.monotonic()
        with pytest.raises(LogUnavailable, match=r"not acknowledged within 2\.25 s"):
            await log.append(topic, [Outgoing("a", b"during")])
        took_s = time.monotonic() - began
        with pytest.raises(LogUnavailable, match="does not answer"):
            await open_kafka(bootstrap=address, request_timeout_ms=1_000)
    finally:
        tell("resume")
    await log.append(topic, [Outgoing("a", b"during")])
    await log.append(topic, [Outgoing("a", b"after")])

    assert took_s < 4
    got = [entry.value for entry in await read(await log.reader(topic), 3)]
    # What was not acknowledged may be there twice; identity folds it.
    assert list(dict.fromkeys(got)) == [b"before", b"during", b"after"]


async def test_d06_an_append_that_is_cancelled_does_not_poison_those_that_follow(
    open_kafka: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_kafka(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=5_000)
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
    open_kafka: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_kafka(TopicSpec(topic, 1), bootstrap=address, request_timeout_ms=1_000, doubt_after_s=0.3)
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
    open_kafka: Opener, topic: str, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    address, tell = own_kafka
    log = await open_kafka(TopicSpec(topic, 1), bootstrap=address)
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


async def test_a_topic_without_a_creator_is_not_made_by_the_broker(open_kafka: Opener, topic: str) -> None:
    log = await open_kafka()

    with pytest.raises(LogRefused, match="earwitness topics create"):
        await log.append(topic, records(1))

    assert await log.topics() == {}


async def test_a_topic_is_made_when_the_broker_knows_of_it(open_kafka: Opener, topic: str) -> None:
    """For a moment a broker may deny what it has just made, more so where it is busy."""
    log = await open_kafka()
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
    open_kafka: Opener, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await open_kafka(TopicSpec(topic, 1))
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
    open_kafka: Opener, topic: str
) -> None:
    log = await open_kafka(TopicSpec(topic, 2), session_timeout_ms=1_000)
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
