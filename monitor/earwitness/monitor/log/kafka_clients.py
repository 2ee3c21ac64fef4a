"""aiokafka's clients with an end to their patience: each starts and stops within a bound, and errors come in words.

aiokafka retries for ever where a broker hangs, and swallows why a connection failed; this module asks again to find
out. It is the only place that touches aiokafka's inner parts (to end a client that does not end by itself).
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from earwitness.monitor.log.kafka_library import TOO_LARGE, Connection, KafkaError, kafka, kafka_admin, kafka_errors
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.protocol import LogError, LogRefused, LogUnavailable, RecordTooLarge

STOP_WITHIN_S = 4.0
BATCH_BYTES = 256 * 1024
FETCH_BYTES = 4 * 1024 * 1024

_REFUSALS = {
    "TopicAuthorizationFailedError": "not allowed to use {topic}; grant this user WRITE or READ, and DESCRIBE",
    "GroupAuthorizationFailedError": "not allowed to use this consumer group; grant this user READ on it",
    "ClusterAuthorizationFailedError": "not allowed by the cluster; grant this user what its role needs",
    "UnknownTopicOrPartitionError": "no topic {topic}; make it with: earwitness topics create",
    "InvalidTopicError": "{topic} cannot be a topic's name; choose another prefix",
    "AuthenticationFailedError": "the broker refused user or password; see kafka.sasl_username and kafka.sasl_password",
    "SaslAuthenticationFailed": "the broker refused user or password; see kafka.sasl_username and kafka.sasl_password",
    "UnsupportedSaslMechanismError": "the broker does not offer this kafka.sasl_mechanism",
    "InvalidReplicationFactorError": "fewer brokers than kafka.replication_factor asks for",
    "PolicyViolationError": "the cluster's policy refused the topic {topic}",
}


def quieten() -> None:
    """aiokafka reports each failed attempt at error level; what matters we say once. A level set by others stays."""
    logger = logging.getLogger("aiokafka")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def in_words(error: Exception, name: str, topic: str) -> LogError:
    """What an error of the client means to whoever runs this, and what to do."""
    if isinstance(error, LogError):
        return error
    kind = type(error).__name__
    if isinstance(error, TOO_LARGE):
        return RecordTooLarge(
            f"{name}: a record for {topic} is over the topic's max.message.bytes; raise that, or cut it"
        )
    if kind in _REFUSALS:
        return LogRefused(f"{name}: {_REFUSALS[kind].format(topic=topic)}")
    if isinstance(error, TimeoutError):
        return LogUnavailable(f"{name}: no answer in time; is the broker overloaded or stopped?")
    if isinstance(error, (OSError, kafka_errors.KafkaConnectionError, kafka_errors.NodeNotReadyError)):
        return LogUnavailable(f"{name}: not reachable; see that the broker runs and that its address is right")
    return LogUnavailable(f"{name}: {kind} ({str(error) or 'no words given'}); it may pass, else see the broker's log")


async def why_unreachable(settings: KafkaSettings, name: str) -> LogError:
    """Connect once more, by hand, to each server: a refusal if there is one, else the first reason."""
    reasons = [await _why(settings, name, server) for server in settings.servers]
    refusals = [reason for reason in reasons if isinstance(reason, LogRefused)]
    return (refusals or reasons)[0]


async def _why(settings: KafkaSettings, name: str, server: str) -> LogError:
    host, _, port = server.rpartition(":")
    kwargs = {k: v for k, v in settings.client().items() if k not in {"bootstrap_servers", "metadata_max_age_ms"}}
    connection = Connection(host.strip("[]"), int(port), **kwargs)
    try:
        async with asyncio.timeout(5):
            await connection.connect()
    except ssl.SSLCertVerificationError as error:
        return LogRefused(
            f"{name}: {server} shows a certificate that is not trusted ({error.verify_message}); see kafka.ssl_cafile"
        )
    except ssl.SSLError:
        return LogRefused(f"{name}: {server} does not speak TLS as asked; see kafka.security_protocol")
    except TimeoutError:
        return LogUnavailable(f"{name}: {server} does not answer; is it stopped, or behind a firewall?")
    except (KafkaError, OSError) as error:
        if type(error).__name__ in _REFUSALS:
            return in_words(error, name, "")
        number = error.errno if isinstance(error, OSError) else None
        if number is None or isinstance(error, (ConnectionResetError, BrokenPipeError)):
            return LogUnavailable(f"{name}: {server} hung up; see that its listener speaks our kafka.security_protocol")
        reason = os.strerror(number) if number > 0 else str(error).partition("] ")[2]
        return LogUnavailable(f"{name}: cannot connect to {server} ({reason}); see that the broker runs")
    finally:
        # aiokafka closes what failed without waiting for it; TLS takes a moment to say good-bye.
        closing = connection.close()
        if connection._protocol is not None:
            await asyncio.wait([closing], timeout=0.5)
    return LogUnavailable(
        f"{name}: {server} lets us connect and then does not answer; see that kafka.security_protocol is its "
        "listener's, and that the addresses it advertises are reachable from here"
    )


async def started(client: Any, settings: KafkaSettings, name: str, stop: Callable[[Any], Awaitable[None]]) -> Any:
    """Start a client, or end it and say why it does not start."""
    try:
        async with asyncio.timeout(settings.request_timeout_ms / 1000):
            await client.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await stop(client)
        words = in_words(error, name, "")
        raise (words if isinstance(words, LogRefused) else await why_unreachable(settings, name)) from error
    except BaseException:
        await stop(client)
        raise
    return client


async def new_producer(settings: KafkaSettings, name: str) -> Any:
    """An idempotent producer. Raises LogError."""
    producer = kafka.AIOKafkaProducer(
        **settings.client(),
        enable_idempotence=True,
        acks="all",
        compression_type="zstd",
        max_batch_size=BATCH_BYTES,
        retry_backoff_ms=100,
    )
    return await started(producer, settings, name, stop_producer)


async def new_consumer(settings: KafkaSettings, name: str, group: str | None = None) -> Any:
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
    return await started(consumer, settings, name, stop_consumer)


async def new_admin(settings: KafkaSettings, name: str) -> Any:
    """Raises LogError."""
    return await started(kafka_admin.AIOKafkaAdminClient(**settings.client()), settings, name, stop_admin)


async def stop_producer(producer: Any) -> None:
    """Flush what is pending and end; after a bound, end without. An idempotent producer alone would try for ever."""
    if await _ends(producer.stop(), STOP_WITHIN_S - 1):
        return
    producer._closed = True
    await _ends(producer.client.close(), 0.5)
    task = producer._sender.sender_task
    if task is not None:
        task.cancel()
        await asyncio.wait([task], timeout=0.3)


async def abandon_producer(producer: Any) -> None:
    """End without flushing: what is pending has an unknown fate and is sent again by whoever asked for it."""
    producer._closed = True
    task = producer._sender.sender_task
    if task is not None:
        task.cancel()
    await _ends(producer.client.close(), 1)
    if task is not None:
        await asyncio.wait([task], timeout=1)


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


async def stop_admin(admin: Any) -> None:
    await _ends(admin.close(), 1)


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
