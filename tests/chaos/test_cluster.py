"""Three real brokers, of which the leader is killed under load and brought back: what was acknowledged is there, once
and in order. The bots' writer and the host's relay write; both ask all replicas in sync."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from chaos.account import everything
from chaos.brokers import Cluster
from relay_process import RelayProcess

from earwitness.monitor.log.kafka_library import kafka_admin
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Entry, Log, LogUnavailable, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.writer import Writer

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.realtime, pytest.mark.timeout(900)]

SEED = int(os.environ.get("EARWITNESS_TEST_SEED", "11"))
KILLS = int(os.environ.get("EARWITNESS_TEST_KILLS", "4"))
CALLS = 50
PER_S = 1_000
WITHIN_S = 180.0


def _event(number: int) -> Outbound:
    """The events of fifty calls in turn."""
    call, seq = f"call-{number % CALLS:02}", number // CALLS
    body = {"kind": "app", "call_id": call, "source": "bot", "seq": seq, "at_ns": seq, "wall_ns": seq, "name": "step"}
    return Outbound(call, "bot", seq, "app", seq, seq, json.dumps({**body, "value": "x" * 200}).encode())


def _seqs(entries: list[Entry]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for entry in entries:
        found.setdefault(entry.key, []).append(json.loads(entry.value or b"")["seq"])
    return found


class Leaders:
    """Which broker leads how many partitions of a topic, and the kill of the one that leads most."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self.killed: list[int] = []

    async def _partitions(self) -> list[dict[str, Any]]:
        admin = kafka_admin.AIOKafkaAdminClient(bootstrap_servers=list(self._cluster.addresses))
        await admin.start()
        try:
            (described,) = await admin.describe_topics([self._topic])
        finally:
            await admin.close()
        partitions: list[dict[str, Any]] = described["partitions"]
        return partitions

    async def until_all_in_sync(self) -> None:
        """Wait until every partition has its three copies again, so that the next kill finds two others."""
        async with asyncio.timeout(WITHIN_S):
            while any(len(partition["isr"]) < 3 for partition in await self._partitions()):  # noqa: ASYNC110
                await asyncio.sleep(0.5)

    async def kill_one(self, down_s: float) -> None:
        leads = Counter(partition["leader"] for partition in await self._partitions())
        number = leads.most_common(1)[0][0]
        self.killed.append(number)
        await asyncio.to_thread(self._cluster.tell, "kill", number)
        await asyncio.sleep(down_s)
        await asyncio.to_thread(self._cluster.tell, "start", number)
        await self.until_all_in_sync()


@pytest.fixture
async def log(cluster: Cluster) -> AsyncIterator[Log]:
    opened = await open_log(f"kafka://{','.join(cluster.addresses)}/t{uuid.uuid4().hex[:10]}")
    await opened.create_topics(topic_specs(opened.prefix, 6))
    yield opened
    await opened.close()


async def _put_at_pace(put: Any, stop: asyncio.Event) -> int:
    """A thousand events a second until told to stop: how many."""
    number, began = 0, time.monotonic()
    while not stop.is_set():
        for _ in range(PER_S // 50):
            put(number)
            number += 1
        await asyncio.sleep(max(0.0, began + number / PER_S - time.monotonic()))
    return number


async def test_a_log_that_acknowledged_keeps_it_whatever_leader_dies(cluster: Cluster, log: Log) -> None:
    """The log itself: each append is one try, and what failed is not tried again."""
    chance, topic = random.Random(SEED), f"{log.prefix}.events"
    leaders, stop = Leaders(cluster, topic), asyncio.Event()
    acknowledged: list[int] = []
    unsure: list[int] = []
    took_s: list[float] = []

    async def write() -> None:
        number = 0
        while not stop.is_set():
            batch = [_event(at) for at in range(number, number + 50)]
            number += 50
            began_s = time.monotonic()
            try:
                await log.append(topic, [Outgoing(item.call_id, item.payload) for item in batch])
            except LogUnavailable:
                unsure.extend(range(number - 50, number))
            else:
                acknowledged.extend(range(number - 50, number))
            took_s.append(time.monotonic() - began_s)
            await asyncio.sleep(max(0.0, 0.05 - took_s[-1]))

    writing = asyncio.create_task(write())
    try:
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.5, 3.0))
            await leaders.kill_one(chance.uniform(1.0, 5.0))
    finally:
        stop.set()
        await writing
    found = Counter((entry.key, json.loads(entry.value or b"")["seq"]) for entry in await everything(log))
    names = {number: (_event(number).call_id, _event(number).seq) for number in acknowledged}
    print(
        f"{len(acknowledged)} acknowledged, {len(unsure)} not, leaders killed: {leaders.killed}, "
        f"longest append {max(took_s):.1f} s"
    )
    assert len(acknowledged) > 1_000
    assert [number for number, name in names.items() if found[name] == 0] == []
    assert [number for number, name in names.items() if found[name] > 1] == []
    sure = set(names.values())
    for call, seqs in _seqs(await everything(log)).items():
        kept = [seq for seq in seqs if (call, seq) in sure]
        assert kept == sorted(kept)


async def test_what_bots_put_while_leaders_die_arrives_once_and_in_order(
    cluster: Cluster, log: Log, tmp_path: Path
) -> None:
    """The bots' writer: spool, retries and all."""
    chance = random.Random(SEED + 1)
    leaders, stop = Leaders(cluster, f"{log.prefix}.events"), asyncio.Event()
    writer = Writer(BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path)}, strict=True, log=log.url))
    putting = asyncio.create_task(_put_at_pace(lambda number: writer.put(_event(number)), stop))
    try:
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.5, 3.0))
            await leaders.kill_one(chance.uniform(1.0, 5.0))
    finally:
        stop.set()
        count = await putting
        flushed = await asyncio.to_thread(writer.flush_now, WITHIN_S)
        async with asyncio.timeout(WITHIN_S):
            while writer.stats().spooled_events:  # noqa: ASYNC110 - another thread's file is watched
                await asyncio.sleep(0.2)
        await asyncio.to_thread(writer.close, 10.0)
    entries = await everything(log)
    found = _seqs(entries)
    print(f"{count} put, {len(entries)} on the log, leaders killed: {leaders.killed}, lost {writer.lost}")
    assert flushed
    assert writer.lost == 0
    assert _in_order(found, count) == CALLS


async def test_what_a_host_relays_while_leaders_die_arrives_once_and_in_order(
    cluster: Cluster, log: Log, tmp_path: Path
) -> None:
    """The relay, which is killed too."""
    chance = random.Random(SEED + 2)
    leaders, stop = Leaders(cluster, f"{log.prefix}.events"), asyncio.Event()
    writer = Writer(BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path)}, strict=True))
    relay = RelayProcess(tmp_path, log.url)
    putting = asyncio.create_task(_put_at_pace(lambda number: writer.put(_event(number)), stop))
    try:
        await relay.start()
        for number in range(KILLS):
            await asyncio.sleep(chance.uniform(0.5, 3.0))
            await leaders.kill_one(chance.uniform(1.0, 5.0))
            if number % 2:
                await relay.end(signal.SIGKILL)
                await relay.start()
    finally:
        stop.set()
        count = await putting
        await asyncio.to_thread(writer.close, 10.0)
    try:
        reader, came = await log.reader(f"{log.prefix}.events"), set[bytes | None]()
        async with asyncio.timeout(WITHIN_S):
            while len(came) < count:
                relay.see_that_it_runs()
                came |= {entry.value for entry in await reader.poll(timeout_s=1.0, max_records=10_000)}
        await reader.close()
    finally:
        await relay.end(signal.SIGTERM)
    entries = await everything(log)
    print(f"{count} put, {len(entries)} on the log, leaders and relay killed: {leaders.killed}, {KILLS // 2}")
    assert _in_order(_seqs(entries), count) == CALLS


def _in_order(found: dict[str, list[int]], count: int) -> int:
    """Of how many calls every event is there, in order."""
    right = 0
    for number in range(CALLS):
        seqs = found[f"call-{number:02}"]
        wanted = list(range(len(range(number, count, CALLS))))
        # A batch whose acknowledgement the dying leader took along may lie there twice, bit for bit; readers fold it.
        right += list(dict.fromkeys(seqs)) == wanted
    return right
