"""aiokafka's clients with an end to their patience: each starts and stops within a bound, and errors come in words.

aiokafka retries for ever where a broker hangs. Its inner parts are touched here, to end a client that does not end by
itself and to see how one fares, and in ``kafka_rights``, to ask what it has no question for; nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from earwitness.monitor.log.kafka_fetched import give_plainly
from earwitness.monitor.log.kafka_library import KafkaError, kafka, kafka_admin
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.kafka_words import Asked, cluster_name, in_words, why_unreachable
from earwitness.monitor.log.protocol import LogRefused

STOP_WITHIN_S = 4.0
BATCH_BYTES = 256 * 1024
FETCH_BYTES = 4 * 1024 * 1024


def quieten() -> None:
    """aiokafka reports each failed attempt at error level; what matters we say once. A level set by others stays."""
    logger = logging.getLogger("aiokafka")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


async def started(
    client: Any, settings: KafkaSettings, stop: Callable[[Any], Awaitable[None]], about: Asked | None = None
) -> Any:
    """Start a client, or end it and say why it does not start."""
    try:
        async with asyncio.timeout(settings.request_timeout_ms / 1000):
            await client.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await stop(client)
        words = in_words(error, about or Asked(cluster_name(settings), settings.sasl_username))
        raise (words if isinstance(words, LogRefused) else await why_unreachable(settings)) from error
    except BaseException:
        await stop(client)
        raise
    return client


async def new_producer(settings: KafkaSettings, about: Asked) -> Any:
    """An idempotent producer, for what ``about`` says. Raises LogError."""
    producer = kafka.AIOKafkaProducer(
        **settings.client(),
        enable_idempotence=True,
        acks="all",
        compression_type="zstd",
        max_batch_size=BATCH_BYTES,
        retry_backoff_ms=100,
    )
    return await started(producer, settings, stop_producer, about)


async def new_consumer(settings: KafkaSettings, group: str | None = None) -> Any:
    """A consumer that commits nothing and resets nothing by itself. Raises LogError."""
    consumer = kafka.AIOKafkaConsumer(
        **settings.client(),
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="none",
        max_partition_fetch_bytes=FETCH_BYTES,
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.session_timeout_ms // 4,
    )
    await started(consumer, settings, stop_consumer)
    give_plainly(consumer)
    return consumer


async def new_admin(settings: KafkaSettings) -> Any:
    """Raises LogError."""
    return await started(kafka_admin.AIOKafkaAdminClient(**settings.client()), settings, stop_admin)


async def stop_producer(producer: Any) -> None:
    """Flush what is pending and end; after a bound, end without. An idempotent producer alone would try for ever."""
    if await _ends(producer.stop(), STOP_WITHIN_S - 1):
        return
    producer._closed = True
    await _ends(producer.client.close(), 0.5)
    await _ended(producer._sender.sender_task, 0.3)


def is_broken(producer: Any) -> bool:
    """Whether a producer sends no more, for good."""
    return bool(producer._sender.sender_task.done())


async def abandon_producer(producer: Any) -> None:
    """End without flushing: what is pending has an unknown fate and is sent again by whoever asked for it."""
    producer._closed = True
    task = producer._sender.sender_task
    if task is not None:
        task.cancel()
    await _ends(producer.client.close(), 1)
    await _ended(task, 1)


async def stop_consumer(consumer: Any) -> None:
    """Leave the group and end; after a bound, without leaving."""
    if await _ends(consumer.stop(), STOP_WITHIN_S - 1):
        return
    consumer._closed = True
    if consumer._fetcher is not None:
        for task in consumer._fetcher._pending_tasks:
            task.cancel()
        await _ends(consumer._fetcher.close(), 0.3)
    await _ends(consumer._client.close(), 0.5)


def is_member(consumer: Any) -> bool:
    """Whether its group has not put a consumer out, as far as it knows."""
    coordinator = consumer._coordinator
    return coordinator is not None and coordinator.generation >= 0


async def stop_admin(admin: Any) -> None:
    await _ends(admin.close(), 1)


async def _ended(task: asyncio.Task[None] | None, seconds: float) -> None:
    """End the task of a sender. When it is cancelled it waits for its requests under way, and a broker that hangs never
    answers those: cancelled again while it waits, it ends the request, and then itself."""
    for _ in range(10):
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.wait([task], timeout=seconds / 10)


async def _ends(work: Awaitable[Any], seconds: float) -> bool:
    """Whether it ended well in time. In a task of its own, because aiokafka's ``stop`` may end with the cancellation of
    a task of its own, which must not be taken for ours."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        return task.done() and not task.cancelled() and task.exception() is None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=0.2)
