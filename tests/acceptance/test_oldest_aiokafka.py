"""The Kafka log on the oldest aiokafka that may be installed, in an environment of its own, with a real broker."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

import pytest

MONITOR = Path(__file__).resolve().parents[2] / "monitor"
THERE_AND_BACK = """
import asyncio
import sys

from earwitness.monitor.log.kafka_library import kafka
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.log.topics import EVENTS, topic_name, topic_specs


async def main() -> None:
    log = await open_log(sys.argv[1])
    await log.create_topics(topic_specs(log.prefix, 2))
    topic = topic_name(log.prefix, EVENTS)
    await log.append(topic, [Outgoing(f"call-{number % 7}", b"%d" % number) for number in range(20)])
    rights = await log.rights([topic], "readers")
    reader = await log.reader(topic, group="readers")
    read = []
    while len(read) < 20:
        read += await reader.poll(timeout_s=5, max_records=3)
    kept = await reader.commit(reader.positions())
    await reader.close()
    await log.close()
    assert sorted(int(entry.value) for entry in read) == list(range(20))
    print(kafka.__version__, sum(kept.values()), "Read" in rights.topics[topic])


asyncio.run(main())
"""


@pytest.mark.kafka
def test_what_was_sent_is_read_on_the_oldest_aiokafka(kafka_bootstrap: str) -> None:
    python = os.environ.get("EARWITNESS_TEST_OLDEST_PYTHON")
    if not python:
        pytest.skip("EARWITNESS_TEST_OLDEST_PYTHON names no interpreter with requirements/oldest.in installed")
    url = f"kafka://{kafka_bootstrap}/o{uuid.uuid4().hex[:10]}"

    done = subprocess.run(
        [python, "-c", THERE_AND_BACK, url], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(MONITOR)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.split() == ["0.13.0", "20", "True"]
