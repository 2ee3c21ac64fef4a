"""A partition that is taken away in good order is handed over: its next owner reads nothing again. One that was lost is
not written any more by whoever had it."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from killed_workers import PATIENCE_S, opened
from stopped_workers import (
    SETTINGS,
    STATE,
    Clock,
    Life,
    S,
    Site,
    StoppingLog,
    buckets_of,
    published,
    what_the_log_says,
)

from earwitness.consumers import keeper
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.state_slots import MANIFEST
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.kafka_library import kafka
from earwitness.monitor.log.protocol import Log, LogUnavailable, Outgoing
from earwitness.monitor.log.topics import topic_specs

PARTITIONS = 4
SELDOM = MonitorSettings(metrics=False, poll_s=0.05, gather_s=0.0, tick_s=0.1, keep_every_s=3_600.0)
"""After the first time nothing is written by the clock: what the next owner finds was handed over."""


# --- step by step, over a log in memory -------------------------------------------------------------------------------


@pytest.fixture
async def site(some_calls: Any) -> Site:
    """A log with one worker, which has handled all that bots sent and has written nothing of it."""
    sent = sorted(((e.wall_ns, e) for bot in some_calls(8) for e in bot.made), key=lambda one: (one[0], one[1].call_id))
    clock = Clock(sent[0][0])
    seldom = replace(SETTINGS, keep_every_s=10**9)
    found = Site(StoppingLog(partitions=PARTITIONS, clock_ns=clock), clock, sent, random.Random(1), seldom)
    life = await Life.begin(found.log, clock, seldom)
    found.lives.append(life)
    await life.until_settled()
    for part in life.keeper.parts.values():
        part.kept_ns = clock()
    while found.sent < len(sent):
        await found.send(10)
        await life.step(tick=True)
    await life.worker.step(0.0)
    assert life.worker.records == len(sent)
    return found


async def written(log: Log) -> int:
    return sum((await log.end_positions(STATE)).values())


async def manifests(log: Log) -> set[tuple[int, int]]:
    """Where on which partition they lie."""
    reader = await log.reader(STATE)
    entries = await reader.poll(timeout_s=0, max_records=10**6)
    return {(entry.partition, entry.offset) for entry in entries if entry.key == MANIFEST}


async def test_the_next_owner_goes_on_where_the_last_one_was(site: Site) -> None:
    (life,) = site.lives
    before = await written(site.log)

    await site.take_away(life, 10**9)
    heir = await Life.begin(site.log, site.clock, site.settings)
    site.lives.append(heir)
    await heir.until_settled()
    await life.until_settled()

    assert await written(site.log) > before
    assert heir.keeper.parts.keys() | life.keeper.parts.keys() == set(range(PARTITIONS))
    assert [heir.keeper.read_again, life.keeper.read_again] == [0, 0]
    records, buckets = await what_the_log_says(site.log, site.clock, SETTINGS)
    added: dict[Any, dict[Any, int]] = {}
    for one in (life, heir):
        for place, bucket in buckets_of(one.fold.windows).items():
            for name, count in bucket.items():
                added.setdefault(place, {})[name] = added.get(place, {}).get(name, 0) + count
    assert added == buckets
    assert heir.fold.held.keys() | life.fold.held.keys() == {call_id for call_id, _ in records}


async def test_what_was_handed_over_is_left_alone_until_it_comes_back(site: Site) -> None:
    (life,) = site.lives
    await site.take_away(life, 10**9)
    event = site.events[-1][1].model_copy(update={"seq": 10_000})
    await site.log.send(event)

    await life.step(tick=True)
    assert life.worker.records == len(site.events)

    heir = await Life.begin(site.log, site.clock, site.settings)
    site.lives.append(heir)
    await site.bury(heir)
    await life.until_settled()
    await life.step(tick=True)

    assert life.worker.records == len(site.events) + 1
    assert life.keeper.parts.keys() == set(range(PARTITIONS))


async def test_one_that_was_lost_is_not_written(site: Site) -> None:
    (life,) = site.lives
    before = await written(site.log)
    life.reader.give_up()

    await site.take_away(life, 10**9)

    assert await written(site.log) == before
    assert life.keeper.commits_refused == PARTITIONS


async def test_one_that_is_lost_while_it_is_written_gets_no_manifest(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group waited no more."""
    (life,) = site.lives
    append, lost = life.worker.append, list[Any]()

    async def slow(batch: Any) -> None:
        await append(batch)
        if batch.topic == STATE and not lost:  # a manifest is appended otherwise
            lost.append(batch)
            life.reader.leaving = frozenset()
            life.reader._reader._positions = {}

    monkeypatch.setattr(life.worker, "append", slow)
    await site.take_away(life, 10**9)

    assert {record.partition for record in lost[0].records} == {1}
    assert 1 not in {partition for partition, _ in await manifests(site.log)}


async def test_as_long_as_the_log_is_away_nothing_is_handed_over(site: Site) -> None:
    (life,) = site.lives
    before = await manifests(site.log)
    site.log.fault = LogUnavailable("away")
    asked: list[float] = []

    async def pause(seconds: float) -> None:
        asked.append(seconds)
        life.reader.leaving = frozenset()  # the group waits no more
        life.reader._reader._positions = {}
        site.log.fault = None

    life.worker._pause = pause
    await site.take_away(life, 10**9)

    assert asked
    assert await manifests(site.log) == before


async def test_where_no_state_is_kept_the_position_is_told(site: Site) -> None:
    (life,) = site.lives
    life.keeper._loading.keeps = False
    before = await written(site.log)

    await site.take_away(life, 10**9)

    assert await site.log.committed(SETTINGS.group, "earwitness.events") == await site.log.end_positions(
        "earwitness.events"
    )
    assert await written(site.log) == before


# --- real logs --------------------------------------------------------------------------------------------------------


@dataclass
class Running:
    """A monitor in this process."""

    monitor: Monitor
    stop: asyncio.Event
    task: asyncio.Task[None]

    @classmethod
    def on(cls, log: Log) -> Running:
        stop = asyncio.Event()
        monitor = Monitor(log, SELDOM, stop=stop)
        return cls(monitor, stop, asyncio.create_task(monitor.run()))

    @property
    def kept(self) -> keeper.Keeper:
        assert self.monitor.keeper is not None
        return self.monitor.keeper

    def has(self, partitions: int) -> bool:
        found = self.monitor.keeper
        return (
            found is not None
            and found.settled
            and len(found.parts) == partitions
            and all(part.kept_ns for part in found.parts.values())
        )

    def handled(self, events: int) -> bool:
        return sum(self.monitor.fold.events.values()) == events

    async def end(self) -> None:
        self.stop.set()
        await self.task


async def until(said: Callable[[], bool], *workers: Running) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not said():
            assert not any(one.task.done() for one in workers)
            await asyncio.sleep(0.02)


def a_few(some_calls: Any) -> list[Any]:
    made = [event for bot in some_calls(12) for event in bot.made]
    by_ns = time.time_ns() - max(e.wall_ns for e in made)
    moved = [event.model_copy(update={"wall_ns": event.wall_ns + by_ns}) for event in made]
    return sorted(moved, key=lambda e: (e.wall_ns, e.call_id, e.seq))


async def send(log: Log, events: Sequence[Any]) -> None:
    await log.append(f"{log.prefix}.events", [Outgoing(e.call_id, encode(e)) for e in events])


async def state_end(log: Log) -> int:
    return sum((await log.end_positions(f"{log.prefix}.state")).values())


@pytest.fixture(params=["embedded", pytest.param("Kafka", marks=pytest.mark.kafka)])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A log with its topics, of four partitions."""
    if request.param == "embedded":
        return str(tmp_path / "log.db")
    prefix = f"h{uuid.uuid4().hex[:10]}"
    found = f"kafka://{request.getfixturevalue('kafka_bootstrap')}/{prefix}"
    log = await opened(found)
    await log.create_topics(topic_specs(prefix, PARTITIONS))
    await log.close()
    return found


async def test_two_workers_that_come_and_go_in_good_order_read_nothing_again(url: str, some_calls: Any) -> None:
    events = a_few(some_calls)
    half = len(events) // 2
    logs = [await opened(url, session_s=10.0) for _ in range(2)]
    first = Running.on(logs[0])
    await until(lambda: first.has(PARTITIONS), first)
    await send(logs[0], events[:half])
    await until(lambda: first.handled(half), first)
    before = await state_end(logs[0])

    second = Running.on(logs[1])
    await until(lambda: first.has(PARTITIONS // 2) and second.has(PARTITIONS // 2), first, second)
    assert await state_end(logs[0]) > before
    assert [one.kept.read_again for one in (first, second)] == [0, 0]
    await send(logs[0], events[half:])
    fold = (first.monitor.fold, second.monitor.fold)
    await until(lambda: sum(sum(one.events.values()) for one in fold) == len(events), first, second)

    await first.end()
    await until(lambda: second.has(PARTITIONS), second)
    assert second.kept.read_again == 0
    as_of_ns = time.time_ns() + 100 * S
    second.monitor.handler.queue(second.monitor.fold.advance(as_of_ns))
    await second.end()

    records, buckets = await what_the_log_says(logs[0], lambda: as_of_ns, SELDOM)
    assert await published(logs[0]) == records
    assert buckets_of(second.monitor.fold.windows) == buckets
    for log in logs:
        await log.close()


async def test_a_group_does_not_wait_for_who_does_not_let_go(url: str) -> None:
    logs = [await opened(url, session_s=10.0) for _ in range(2)]
    events = f"{logs[0].prefix}.events"
    first = await logs[0].reader(events, group="g")
    first.hand_over(0.5)
    async with asyncio.timeout(PATIENCE_S):
        while len(first.positions()) < PARTITIONS:
            await first.poll(timeout_s=0.05)
        second = await logs[1].reader(events, group="g")
        second.hand_over(0.5)
        left: set[int] = set()
        while not len(first.positions()) == len(second.positions()) == PARTITIONS // 2:
            for reader in (first, second):
                await reader.poll(timeout_s=0.02)
            left |= first.leaving

    assert left >= second.positions().keys()
    for log in logs:
        await log.close()


@pytest.mark.kafka
async def test_a_worker_that_the_group_has_put_out_writes_nothing(kafka_bootstrap: str, some_calls: Any) -> None:
    """As when nobody heard of it for a session: its partitions were lost, and may be another's."""
    prefix = f"h{uuid.uuid4().hex[:10]}"
    url = f"kafka://{kafka_bootstrap}/{prefix}"
    log = await opened(url, session_s=10.0)
    await log.create_topics(topic_specs(prefix, PARTITIONS))
    events = a_few(some_calls)
    worker = Running.on(log)
    await until(lambda: worker.has(PARTITIONS), worker)
    await send(log, events)
    await until(lambda: worker.handled(len(events)), worker)
    reader: Any = worker.kept._reader
    before, changes = await state_end(log), reader.changes

    coordinator = reader._consumer._coordinator
    other = kafka.AIOKafkaConsumer(bootstrap_servers=kafka_bootstrap, group_id=f"{prefix}.timeline")
    await other.start()
    await other._coordinator.ensure_coordinator_known()
    other._coordinator.member_id, other._coordinator.generation = coordinator.member_id, coordinator.generation
    await other._coordinator._maybe_leave_group()
    await other.stop()
    await until(lambda: reader.changes > changes and worker.has(PARTITIONS), worker)

    assert await state_end(log) == before
    await worker.end()
    assert await state_end(log) > before
    await log.close()
