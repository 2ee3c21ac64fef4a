"""Appending to Kafka: own batches per partition, acknowledged by all replicas, and a producer that can be replaced.

An append that is cancelled leaves its batch with the producer, which delivers it in order later or never; one that
meets its bound, or a producer that is broken for good, costs the producer: the next append makes a new one. Either way
the fate of those records is unknown, and appending them again is safe, since readers fold by identity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from earwitness.monitor.log.kafka_clients import (
    BATCH_BYTES,
    abandon_producer,
    is_broken,
    new_producer,
    stop_producer,
)
from earwitness.monitor.log.kafka_library import TOO_LARGE, KafkaError
from earwitness.monitor.log.kafka_rights import why_unseen
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.kafka_words import Asked, cluster_name, in_words
from earwitness.monitor.log.keys import place_of
from earwitness.monitor.log.protocol import LogUnavailable, Outgoing, RecordTooLarge


@dataclass(slots=True)
class _Running:
    producer: Any
    lost: asyncio.Event = field(default_factory=asyncio.Event)


class KafkaAppender:
    """Appends batches through one producer, which it makes when first needed."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._name = cluster_name(settings)
        self._within_s = settings.request_timeout_ms / 1000 * 1.5
        self._limits: dict[str, int] = {}
        """Of batches, by topic, where the broker has taken less than usual."""
        self._running: _Running | None = None
        self._starting = asyncio.Lock()
        self._endings: set[asyncio.Task[None]] = set()

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        """Raises LogUnavailable within one and a half request timeouts, LogRefused, RecordTooLarge."""
        about = Asked(self._name, self._settings.sasl_username, topic, "Write")
        running: _Running | None = None
        left: dict[int, list[Outgoing]] | None = None
        try:
            async with asyncio.timeout(self._within_s):
                while left is None or left:
                    running = await self._ready(about)
                    if left is None:
                        left = _by_partition(records, await _partition_count(running.producer, topic))
                    try:
                        await self._until_lost(running, self._send_all(running.producer, topic, left))
                    except TOO_LARGE:
                        # The refused batch has used up sequence numbers, so this producer can send no more there.
                        self._lose(running)
                        if self._batch_bytes(topic) <= min(_size(batch[0]) for batch in left.values()):
                            raise
                        self._limits[topic] = self._batch_bytes(topic) // 2
        except TimeoutError as error:
            if running is not None:
                self._lose(running)
            raise LogUnavailable(
                f"{self._name}: {len(records)} records for {topic} were not acknowledged within {self._within_s:g} s; "
                "is the broker stopped, or are too few replicas in sync?"
            ) from error
        except KafkaError as error:
            if running is not None:
                self._lose(running)
            words = in_words(error, about)
            if isinstance(words, RecordTooLarge) and left is not None:
                words.unwritten = [record for own in left.values() for record in own]
            raise words from error

    def _batch_bytes(self, topic: str) -> int:
        return self._limits.get(topic, BATCH_BYTES)

    async def _ready(self, about: Asked) -> _Running:
        async with self._starting:
            running = self._running
            if running is not None and is_broken(running.producer):
                self._lose(running)
            if self._running is None:
                self._running = _Running(await new_producer(self._settings, about))
            return self._running

    async def _until_lost(self, running: _Running, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, unless the producer is given up meanwhile."""
        sending = asyncio.create_task(work)
        lost = asyncio.create_task(running.lost.wait())
        try:
            await asyncio.wait({sending, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise LogUnavailable(f"{self._name}: the connection was given up; try again")
            await sending
        finally:
            sending.cancel()
            lost.cancel()
            await asyncio.wait({sending, lost})
            if not sending.cancelled():
                sending.exception()

    async def _send_all(self, producer: Any, topic: str, left: dict[int, list[Outgoing]]) -> None:
        """Send what is left of each partition; what is acknowledged is taken out."""
        limit = self._batch_bytes(topic)
        sent = [_send(producer, topic, number, left, limit) for number in left]
        for failure in await asyncio.gather(*sent, return_exceptions=True):
            if failure is not None:
                raise failure

    def _lose(self, running: _Running) -> None:
        if running is self._running:
            self._running = None
        if not running.lost.is_set():
            running.lost.set()
            ending = asyncio.create_task(abandon_producer(running.producer))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        """Flush and end within 4 s."""
        running, self._running = self._running, None
        endings: set[asyncio.Task[None]] = {*self._endings}
        if running is not None:
            endings.add(asyncio.create_task(stop_producer(running.producer)))
        if endings:
            await asyncio.wait(endings)


async def _send(producer: Any, topic: str, number: int, left: dict[int, list[Outgoing]], limit: int) -> None:
    """Send one partition's records in order, batch after batch."""
    records = left[number]
    while records:
        batch, size, taken = producer.create_batch(), 0, 0
        for record in records:
            size += _size(record)
            if taken and size > limit:
                break
            if batch.append(key=record.key.encode(), value=record.value, timestamp=None) is None:
                break
            taken += 1
        await (await producer.send_batch(batch, topic, partition=number))
        records = left[number] = records[taken:]
    del left[number]


def _size(record: Outgoing) -> int:
    return len(record.key) + len(record.value or b"")


def _by_partition(records: Sequence[Outgoing], count: int) -> dict[int, list[Outgoing]]:
    found: dict[int, list[Outgoing]] = {}
    for record in records:
        found.setdefault(place_of(record.key, record.partition, count), []).append(record)
    return found


async def _partition_count(producer: Any, topic: str) -> int:
    known = producer.client.cluster.partitions_for_topic(topic)
    if known is None:
        # aiokafka would wait for a topic that does not exist; ask what exists instead.
        cluster = await producer.client.fetch_all_metadata()
        if not cluster.partitions_for_topic(topic):
            raise await why_unseen(producer.client, topic)
        known = await producer.partitions_for(topic)
    return len(known)
