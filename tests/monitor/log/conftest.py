"""One log after the other under the same suite; and embedded logs at one place, closed in the end."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from embedded_logs import TOPIC, Opener
from kafka_logs import Opener as KafkaOpener
from log_places import Place, embedded, in_memory, on_kafka

from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.kafka_settings import kafka_settings
from earwitness.monitor.log.protocol import TopicSpec
from earwitness.monitor.log.url import KafkaUrl, SqliteUrl


@pytest.fixture(params=["memory", "embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    prefix = f"t{uuid.uuid4().hex[:10]}"
    match request.param:
        case "memory":
            found = in_memory(prefix)
        case "embedded":
            found = embedded(prefix, tmp_path)
        case _:
            found = on_kafka(prefix, request.getfixturevalue("kafka_bootstrap"))
    yield found
    for log in found.opened:
        await log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "log.db"


@pytest.fixture
async def open_log(path: Path) -> AsyncIterator[Opener]:
    opened: list[EmbeddedLog] = []

    async def one(*specs: TopicSpec, **kwargs: object) -> EmbeddedLog:
        specs = specs or (TopicSpec(TOPIC, 1),)
        log = await EmbeddedLog.open(SqliteUrl(path), specs, **kwargs)  # type: ignore[arg-type]
        opened.append(log)
        return log

    yield one
    for log in opened:
        await log.close()


@pytest.fixture
def prefix() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def topic(prefix: str) -> str:
    return f"{prefix}.events"


@pytest.fixture
async def open_kafka(kafka_bootstrap: str, prefix: str) -> AsyncIterator[KafkaOpener]:
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
