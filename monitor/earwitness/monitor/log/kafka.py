"""The log on Kafka. Facts about aiokafka and real brokers that this rests on were tried, and its tests try them again.

Topics are made with LogAppendTime, so the broker dates every record. Keys go to partitions by Kafka's own murmur2.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from earwitness.monitor.log.kafka_clients import (
    new_admin,
    new_consumer,
    quieten,
    stop_admin,
    stop_consumer,
)
from earwitness.monitor.log.kafka_library import NO_COORDINATOR_YET, KafkaError, kafka, kafka_admin, kafka_errors
from earwitness.monitor.log.kafka_producer import KafkaAppender
from earwitness.monitor.log.kafka_reader import KafkaReader
from earwitness.monitor.log.kafka_rights import rights_of
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.kafka_words import Asked, cluster_name, in_words
from earwitness.monitor.log.limits import check_sizes
from earwitness.monitor.log.protocol import LogRefused, LogUnavailable, Outgoing, TopicInfo, TopicSpec
from earwitness.monitor.log.rights import Right, Rights
from earwitness.monitor.log.url import KafkaUrl

T = TypeVar("T")
_EXISTS = 36
_MAX_WITHOUT_DEFAULT = 3
_ASK_AGAIN_S = 0.2
_NOT_YET = frozenset({3, 5})
"""Unknown topic or partition, no leader: what a broker says of a topic of which it has not heard yet."""
_LOOK_AGAIN_S = 0.02


class KafkaLog:
    """A `Log` on a Kafka cluster; made by `open`. Each client inside connects when it is first needed."""

    def __init__(self, url: KafkaUrl, settings: KafkaSettings) -> None:
        self._url = url
        self._settings = settings
        self._name = cluster_name(settings)
        self._within_s = settings.request_timeout_ms / 1000
        self._appender = KafkaAppender(settings)
        self._readers: set[KafkaReader] = set()
        self._admin: Any = None
        self._query: Any = None
        self._asking = asyncio.Lock()
        self._closed = False
        quieten()

    @classmethod
    async def open(cls, url: KafkaUrl, settings: KafkaSettings) -> KafkaLog:
        """Connect. Raises LogError where nobody answers or we are refused."""
        log = cls(url, settings)
        try:
            await log._ask_admin(lambda admin: admin.describe_cluster())
        except BaseException:
            await log.close()
            raise
        return log

    @property
    def url(self) -> str:
        return str(self._url)

    @property
    def prefix(self) -> str:
        return self._url.prefix

    def _check(self) -> None:
        if self._closed:
            raise LogRefused(f"{self._name}: closed, open it again")

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        self._check()
        check_sizes(records, topic, self._name)
        await self._appender.append(topic, records)

    async def reader(
        self, topic: str, *, group: str | None = None, start: Mapping[int, int] | str = "earliest"
    ) -> KafkaReader:
        partitions = await self._partitions(topic)
        reader = KafkaReader(
            self._settings,
            topic,
            group=None if group is None else self._group(group),
            start=start,
            on_close=self._readers.discard,
        )
        self._readers.add(reader)
        try:
            await reader.open(len(partitions))
        except BaseException:
            await reader.close()
            raise
        return reader

    async def positions_by_time(self, topic: str, append_ns: int) -> dict[int, int]:
        # Ends first: what is appended between the two questions lies at an end or after it.
        ends = await self.end_positions(topic)
        at_ms = -(-max(0, append_ns) // 1_000_000)
        wanted = {kafka.TopicPartition(topic, number): at_ms for number in ends}
        found = await self._ask(lambda query: query.offsets_for_times(wanted), topic)
        return {tp.partition: ends[tp.partition] if at is None else at.offset for tp, at in sorted(found.items())}

    async def end_positions(self, topic: str) -> dict[int, int]:
        tps = await self._partitions(topic)
        return _by_number(await self._ask(lambda query: query.end_offsets(tps), topic))

    async def start_positions(self, topic: str) -> dict[int, int]:
        tps = await self._partitions(topic)
        return _by_number(await self._ask(lambda query: query.beginning_offsets(tps), topic))

    async def committed(self, group: str, topic: str) -> dict[int, int]:
        tps, name = await self._partitions(topic), self._group(group)
        found = await self._once_coordinated(
            lambda: self._ask_admin(
                lambda admin: admin.list_consumer_group_offsets(name, partitions=tps), topic, group=name
            )
        )
        return {tp.partition: at.offset for tp, at in sorted(found.items()) if at.offset >= 0}

    async def _once_coordinated(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again, for a while, where a young cluster has nobody yet to answer for groups."""
        deadline_s = asyncio.get_running_loop().time() + self._within_s
        while True:
            try:
                return await ask()
            except LogUnavailable as error:
                over = asyncio.get_running_loop().time() > deadline_s
                if over or not isinstance(error.__cause__, NO_COORDINATOR_YET):
                    raise
                await asyncio.sleep(_ASK_AGAIN_S)

    async def topics(self) -> dict[str, TopicInfo]:
        """Those of this log's prefix."""
        described = await self._ask_admin(lambda admin: admin.describe_topics())
        counts = {
            topic["topic"]: len(topic["partitions"])
            for topic in described
            if topic["topic"].startswith(f"{self.prefix}.")
        }
        configs = await self._configs(sorted(counts))
        return {
            name: TopicInfo(
                name,
                count,
                compacted="compact" in configs[name]["cleanup.policy"],
                append_time=configs[name]["message.timestamp.type"] == "LogAppendTime",
                retention_ms=_retention_ms(configs[name]),
            )
            for name, count in sorted(counts.items())
        }

    async def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        topic = kafka_admin.config_resource.ConfigResourceType.TOPIC
        resources = [kafka_admin.config_resource.ConfigResource(topic, name) for name in names]
        answers = await self._ask_admin(lambda admin: admin.describe_configs(resources))
        configs: dict[str, dict[str, str]] = {}
        for error_code, _, _, name, entries in (resource for answer in answers for resource in answer.resources):
            if error_code:
                raise in_words(kafka_errors.for_code(error_code)(), self._about(name, "DescribeConfigs"))
            configs[name] = {entry[0]: entry[1] for entry in entries}
        return configs

    async def rights(self, topics: Sequence[str], group: str) -> Rights | None:
        """What this user may do with these topics and with a group, under its name here; None where the cluster does
        not tell. Nothing is tried out. Raises LogError."""
        name = self._group(group)
        found = await self._once_coordinated(lambda: self._ask_admin(lambda admin: rights_of(admin, topics, [name])))
        return None if found is None else Rights(found.topics, {group: found.groups[name]})

    async def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        replicas = self._settings.replication_factor
        refused: dict[str, int] = {}
        created: list[str] = []
        wanted = list(specs)
        while wanted:
            answer = await self._create([self._new_topic(spec, replicas) for spec in wanted])
            codes = {one[0]: one[1] for one in answer.topic_errors}
            created += [name for name, code in codes.items() if code == 0]
            refused = {name: code for name, code in codes.items() if code not in {0, _EXISTS}}
            wanted = [spec for spec in wanted if spec.name in refused] if replicas == -1 else []
            if wanted:
                # An old broker has no default for us to ask for.
                cluster = await self._ask_admin(lambda admin: admin.describe_cluster())
                replicas = min(_MAX_WITHOUT_DEFAULT, len(cluster["brokers"]))
        for name, code in refused.items():
            raise in_words(kafka_errors.for_code(code)(), self._about(name, "Create"))
        await self._until_known(created)
        return created

    async def _until_known(self, topics: Sequence[str]) -> None:
        """Wait until what was created is there for whoever asks next: a broker learns of it a moment later. One that
        takes long, or does not tell us, is left to those who need the topic."""
        ends_s = time.monotonic() + self._within_s
        while topics and time.monotonic() < ends_s:
            described = await self._ask_admin(methodcaller("describe_topics", list(topics)))
            topics = [
                one["topic"]
                for one in described
                if one["error_code"] in _NOT_YET or any(part["error_code"] in _NOT_YET for part in one["partitions"])
            ]
            if topics:
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _create(self, topics: list[Any]) -> Any:
        return await self._ask_admin(lambda admin: admin.create_topics(topics))

    def _new_topic(self, spec: TopicSpec, replicas: int) -> Any:
        configs = {"message.timestamp.type": "LogAppendTime", **self._settings.topic_configs}
        if spec.compacted:
            configs["cleanup.policy"] = "compact"
        if spec.retention_ms is not None:
            configs["retention.ms"] = str(spec.retention_ms)
        topic = kafka_admin.NewTopic(spec.name, spec.partitions, 1, topic_configs=configs)
        # aiokafka refuses -1, the cluster's own default, though brokers have taken it since 2.4.
        topic.replication_factor = replicas
        return topic

    async def _partitions(self, topic: str) -> list[Any]:
        """The topic's partitions, asked anew. Raises LogRefused where there is no such topic."""
        (described,) = await self._ask_admin(lambda admin: admin.describe_topics([topic]), topic)
        if described["error_code"]:
            raise in_words(kafka_errors.for_code(described["error_code"])(), self._about(topic))
        return [
            kafka.TopicPartition(topic, number) for number in sorted(p["partition"] for p in described["partitions"])
        ]

    def _group(self, group: str) -> str:
        """As the cluster knows it: a group belongs to its topics, and may be granted with them by their prefix."""
        return f"{self.prefix}.{group}"

    def _about(self, topic: str, right: Right = "Describe", group: str = "") -> Asked:
        return Asked(self._name, self._settings.sasl_username, topic, right, group)

    async def _ask_admin(self, question: Callable[[Any], Awaitable[T]], topic: str = "", *, group: str = "") -> T:
        self._check()
        async with self._asking:
            if self._admin is None:
                self._admin = await new_admin(self._settings)
            admin = self._admin
        return await self._answer(question(admin), self._about(topic, group=group))

    async def _ask(self, question: Callable[[Any], Awaitable[T]], topic: str) -> T:
        self._check()
        async with self._asking:
            if self._query is None:
                self._query = await new_consumer(self._settings)
            query = self._query
        return await self._answer(question(query), self._about(topic))

    async def _answer(self, answer: Awaitable[T], about: Asked) -> T:
        try:
            async with asyncio.timeout(self._within_s):
                return await answer
        except (KafkaError, OSError, TimeoutError) as error:
            # What did not answer is made anew at the next question.
            await self._stop_asking()
            raise in_words(error, about) from error

    async def _stop_asking(self) -> None:
        admin, self._admin = self._admin, None
        query, self._query = self._query, None
        ends = [stop(client) for client, stop in ((admin, stop_admin), (query, stop_consumer)) if client is not None]
        await asyncio.gather(*ends)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(
            self._appender.close(), self._stop_asking(), *(reader.close() for reader in [*self._readers])
        )


def _by_number(offsets: Mapping[Any, int]) -> dict[int, int]:
    return {tp.partition: offset for tp, offset in sorted(offsets.items())}


def _retention_ms(configs: Mapping[str, str]) -> int | None:
    """None: for ever, or as compaction has it."""
    kept = int(configs["retention.ms"])
    return None if kept < 0 or configs["cleanup.policy"] == "compact" else kept
