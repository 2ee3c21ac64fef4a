"""The writer on a real broker: one that hangs costs the bot nothing, and what waited arrives in order."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.topics import topic_specs
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.writer import Writer

pytestmark = [pytest.mark.kafka, pytest.mark.realtime]

Event = Callable[..., Outbound]


async def test_d05_on_kafka_a_broker_that_hangs_delays_events_and_nothing_else(
    own_kafka: tuple[str, Callable[[str], None]], tmp_path: Path, event: Event
) -> None:
    bootstrap, tell = own_kafka
    url = f"kafka://{bootstrap}/t{uuid.uuid4().hex[:10]}"
    log = await open_log(url)
    await log.create_topics(topic_specs(log.prefix, 2))
    settings = BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path)}, strict=True, log=url, append_timeout_s=3.0)
    writer = Writer(settings)
    try:
        for seq in range(500):
            writer.put(event(seq))
        assert await asyncio.to_thread(writer.flush_now, 30.0)
        await asyncio.to_thread(tell, "pause")
        for seq in range(500, 1_000):
            writer.put(event(seq))
        assert await writer.flush("call", 5.0)
        assert writer.stats().spooled_events == 500
        await asyncio.to_thread(tell, "resume")
        for seq in range(1_000, 1_100):
            writer.put(event(seq))
        reader = await log.reader(f"{log.prefix}.events")
        first: dict[int, None] = {}
        async with asyncio.timeout(60):
            while len(first) < 1_100:
                for entry in await reader.poll(timeout_s=3.0):
                    first[json.loads(entry.value or b"")["seq"]] = None
        await reader.close()
        assert await asyncio.to_thread(writer.flush_now, 30.0)
        assert writer.stats().spooled_events == 0
    finally:
        await asyncio.to_thread(writer.close)
    await log.close()
    assert list(first) == list(range(1_100))
