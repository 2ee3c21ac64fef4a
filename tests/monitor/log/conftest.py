"""One log after the other under the same suite."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from log_places import Place, embedded, in_memory, on_kafka


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
