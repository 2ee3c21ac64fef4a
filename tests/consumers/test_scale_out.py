"""One worker, two, four, and one again, on a topic of twelve partitions: state follows partitions, and the totals are
those of a single worker."""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from typing import Any

import pytest
from killed_workers import Killings, opened

from earwitness.monitor.log.topics import topic_specs

PARTITIONS = 12
SEED = int(os.environ.get("EARWITNESS_TEST_SEED", "1"))


def events(some_calls: Any, count: int) -> list[Any]:
    """Calls of the last minutes, in the order in which they happened."""
    made = [event for bot in some_calls(count, seed=SEED) for event in bot.made]
    by_ns = time.time_ns() - max(e.wall_ns for e in made)
    moved = [event.model_copy(update={"wall_ns": event.wall_ns + by_ns}) for event in made]
    return sorted(moved, key=lambda e: (e.wall_ns, e.call_id, e.seq))


class Scaled(Killings):
    """Workers that are added and ended, not killed at random."""

    async def scale(self, sizes: list[int], each_s: float) -> None:
        """Feed all events while so many workers run, each number of them for as long."""
        feeding = asyncio.create_task(self.feed(len(sizes) * each_s))
        try:
            for size in sizes:
                while len(self.processes) < size:
                    await self.begin_one()
                while len(self.processes) > size:
                    await self.kill(self.processes[-1])
                await asyncio.sleep(each_s)
                assert all(process.is_alive() for process in self.processes)
            await feeding
        finally:
            feeding.cancel()
            for process in list(self.processes):
                await self.kill(process)


@pytest.mark.kafka
@pytest.mark.parametrize(("calls", "each_s"), [(12, 2.0), pytest.param(120, 12.0, marks=pytest.mark.chaos)])
async def test_totals_do_not_depend_on_how_many_workers_share_the_topic(
    some_calls: Any, kafka_bootstrap: str, calls: int, each_s: float, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = f"s{uuid.uuid4().hex[:10]}"
    url = f"kafka://{kafka_bootstrap}/{prefix}"
    log = await opened(url)
    await log.create_topics(topic_specs(prefix, PARTITIONS))
    scaled = Scaled(log, url, events(some_calls, calls), random.Random(SEED), workers=1)
    try:
        await scaled.scale([1, 2, 4, 1], each_s)
        found = await scaled.check()
    finally:
        await scaled.close()

    with capsys.disabled():
        print("\n1, 2, 4 and 1 workers: " + ", ".join(f"{count} {name}" for name, count in found.items()))
    assert found["records"] > calls
    assert found["doubts"] == 0
