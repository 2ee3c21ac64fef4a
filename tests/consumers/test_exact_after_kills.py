"""Workers killed with -9 at random moments, restarted, their partitions moved: the records and windows of one that
never was. ``make chaos`` kills many more; ``EARWITNESS_TEST_SEED`` chooses other moments."""

from __future__ import annotations

import os
import random
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from killed_workers import COMPACTED_SOON, Killings, opened
from stopped_workers import S

from earwitness.monitor.log.topics import topic_specs

KILLS = [8, pytest.param(60, marks=pytest.mark.chaos)]
SEED = int(os.environ.get("EARWITNESS_TEST_SEED", "1"))
PARTITIONS = 6


def events(some_calls: Any, count: int, draw: random.Random) -> list[Any]:
    """Calls of the last minutes, reported late, some of it out of order or twice."""
    made = [event for bot in some_calls(count, seed=draw.randrange(1_000)) for event in bot.made]
    first, last = min(e.wall_ns for e in made), max(e.wall_ns for e in made)
    by_ns = time.time_ns() - last
    found = [(event.wall_ns, event.model_copy(update={"wall_ns": event.wall_ns + by_ns})) for event in made]
    again = [(at + draw.randrange(10 * S), event) for at, event in draw.sample(found, len(found) // 20)]
    assert last - first < 1_000 * S
    return [event for _, event in sorted([*found, *again], key=lambda one: (one[0], one[1].call_id, one[1].seq))]


def told(capsys: pytest.CaptureFixture[str], what: str, found: dict[str, int]) -> None:
    with capsys.disabled():
        print(f"\n{what}: " + ", ".join(f"{count} {name}" for name, count in found.items()))


@pytest.mark.parametrize("kills", KILLS)
async def test_one_worker_on_the_embedded_log(
    some_calls: Any, tmp_path: Path, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(SEED)
    url = str(tmp_path / "log.db")
    killings = Killings(await opened(url), url, events(some_calls, 4 + 2 * kills, draw), draw, workers=1)
    try:
        await killings.run(kills, pause_s=0.5)
        found = await killings.check()
    finally:
        await killings.close()

    told(capsys, "embedded log", found)
    assert found["kills"] == kills
    assert found["doubts"] == 0


@pytest.mark.kafka
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("workers", [2, 3])
async def test_workers_that_share_partitions_on_kafka(
    some_calls: Any, kafka_bootstrap: str, workers: int, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """With real compaction of the state topic going on."""
    draw = random.Random(SEED + workers)
    prefix = f"k{uuid.uuid4().hex[:10]}"
    url = f"kafka://{kafka_bootstrap}/{prefix}"
    log = await opened(url, COMPACTED_SOON)
    await log.create_topics([spec for spec in topic_specs(prefix, PARTITIONS) if spec.compacted])
    plain = await opened(url)
    await plain.create_topics([replace(spec) for spec in topic_specs(prefix, PARTITIONS)])
    await log.close()
    killings = Killings(plain, url, events(some_calls, 4 + 2 * kills, draw), draw, workers=workers)
    try:
        await killings.run(kills, pause_s=1.2)
        found = await killings.check()
    finally:
        await killings.close()

    told(capsys, f"Kafka, {workers} workers", found)
    assert found["kills"] == kills
