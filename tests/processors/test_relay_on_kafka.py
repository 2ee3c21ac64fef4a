"""`earwitness relay` on a real broker: bots that come and go, kills, a broker that hangs; the same records after."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import relay_bot
from calls_of import sample_call
from relay_process import RelayProcess

from earwitness.consumers.timeline import LogFold
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Entry, Log
from earwitness.monitor.log.topics import topic_specs
from earwitness.processors.spool import SpoolFolder

pytestmark = [pytest.mark.kafka, pytest.mark.realtime]

S = 1_000_000_000
WITHIN_S = 120.0
KILLS = int(os.environ.get("EARWITNESS_TEST_KILLS", "6"))
"""More of them, and other seeds, for who has the time."""
SEED = int(os.environ.get("EARWITNESS_TEST_SEED", "11"))


class Site:
    """One host and the topics that it ships to."""

    def __init__(self, home: Path, source: Log, target: Log, url: str) -> None:
        self.home = home
        self.source = source
        self.target = target
        self.relay = RelayProcess(home, url)

    async def shipped(self) -> list[Entry]:
        return await _all(self.target, f"{self.target.prefix}.events")

    async def until_something_is_shipped(self) -> None:
        topic = f"{self.target.prefix}.events"
        reader = await self.target.reader(topic, start=await self.target.end_positions(topic))
        async with asyncio.timeout(WITHIN_S):
            while not await reader.poll(timeout_s=0.5):
                self.relay.see_that_it_runs()
        await reader.close()

    async def until_all_is_shipped(self) -> list[Entry]:
        """Wait until the target has every identity that the embedded log has."""
        reader, found = await self.target.reader(f"{self.target.prefix}.events"), set[tuple[str, str, int]]()
        async with asyncio.timeout(WITHIN_S):
            while not {_identity(e) for e in await _all(self.source, "earwitness.events")} <= found:
                self.relay.see_that_it_runs()
                found |= {_identity(e) for e in await reader.poll(timeout_s=0.5)}
        await reader.close()
        return await self.shipped()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


async def _site(home: Path, bootstrap: str, options: str = "") -> Site:
    url = f"kafka://{bootstrap}/t{uuid.uuid4().hex[:10]}"
    target = await open_log(url)
    await target.create_topics(topic_specs(target.prefix, 5))
    return Site(home, await open_log(str(home / "log.db")), target, url + options)


@pytest.fixture
async def site(home: Path, kafka_bootstrap: str) -> AsyncIterator[Site]:
    made = await _site(home, kafka_bootstrap)
    yield made
    await made.relay.end(signal.SIGKILL)
    await made.source.close()
    await made.target.close()


async def _all(log: Log, topic: str) -> list[Entry]:
    ends, found = await log.end_positions(topic), list[Entry]()
    reader = await log.reader(topic)
    while any(at < ends.get(partition, 0) for partition, at in reader.positions().items()):
        found += await reader.poll(timeout_s=1.0, max_records=10_000)
    await reader.close()
    return found


def _identity(entry: Entry) -> tuple[str, str, int]:
    body = json.loads(entry.value or b"")
    return body["call_id"], body["source"], body["seq"]


def _calls(count: int, seed: int) -> dict[str, list[bytes]]:
    """Calls of an hour ago, as bots report them."""
    chance, began_ns = random.Random(seed), time.time_ns() - 3_600 * S
    calls: dict[str, list[bytes]] = {}
    for number in range(count):
        call_id, events = f"call-{number:03}", sample_call(chance).events()
        calls[call_id] = [
            encode(event.model_copy(update={"call_id": call_id, "wall_ns": began_ns + event.at_ns})) for event in events
        ]
    return calls


def _by_call(entries: Sequence[Entry]) -> dict[str, list[bytes | None]]:
    found: dict[str, list[bytes | None]] = {}
    for entry in entries:
        found.setdefault(entry.key, []).append(entry.value)
    return found


async def _records(log: Log) -> dict[tuple[str, str], dict[str, Any]]:
    fold = await LogFold.open(log, since_ns=0, keep_calls=True)
    await fold.catch_up()
    fold.advance(time.time_ns() + 3_600 * S)
    assert fold.stats.set_aside == 0
    assert fold.stats.stray == 0
    found = {
        (call_id, record.id): {k: v for k, v in record.model_dump().items() if k not in {"revision", "late_in_call"}}
        for call_id, timeline in fold.calls.items()
        for record in timeline.records()
    }
    await fold.close()
    return found


async def test_bots_come_and_go_and_the_relay_is_killed_and_every_event_is_there_once(site: Site) -> None:
    calls = _calls(200, seed=7)
    names = list(calls)
    loop, settings = asyncio.get_running_loop(), relay_bot.settings_of(site.home, site.source.url)
    orphan = SpoolFolder(settings.spool_folder, site.source.url, 10**7).create()
    assert orphan is not None
    orphan.append([relay_bot.outbound(payload) for payload in calls[names[0]]])
    orphan.close()
    bots = [asyncio.create_task(_process(site, calls[name])) for name in names[1:4]]
    chance, rounds = random.Random(SEED), KILLS
    with ThreadPoolExecutor(4) as pool:
        for number in range(rounds):
            others = [
                loop.run_in_executor(pool, relay_bot.report, settings, calls[n]) for n in names[4 + number :: rounds]
            ]
            await site.relay.start()
            if chance.random() < 0.7:
                await site.until_something_is_shipped()
                await asyncio.sleep(chance.uniform(0.0, 0.15))
            else:
                await asyncio.sleep(chance.uniform(0.5, 2.0))
            await site.relay.end(signal.SIGKILL)
            await asyncio.gather(*others)
    assert await asyncio.gather(*bots) == ["False"] * 3, "a bot knows of no Kafka"
    before = site.relay.said
    await site.relay.start()
    await site.relay.until_it_runs(before)
    found = await site.until_all_is_shipped()
    assert await site.relay.end(signal.SIGTERM) == 0, site.relay.said

    assert _by_call(found) == calls
    assert list(settings.spool_folder.glob("*.spool")) == []
    live, direct = await _records(site.target), await _records(site.source)
    assert len({call_id for call_id, _ in direct}) == 200
    assert live == direct


async def _process(site: Site, payloads: list[bytes]) -> str:
    file = site.home / f"{uuid.uuid4().hex}.jsonl"
    file.write_bytes(b"\n".join(payloads))
    process = await asyncio.create_subprocess_exec(
        sys.executable, relay_bot.__file__, str(site.home), site.source.url, str(file), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


async def test_a_broker_that_hangs_and_comes_back_has_every_event_in_order(
    home: Path, own_kafka: tuple[str, Callable[[str], None]]
) -> None:
    bootstrap, tell = own_kafka
    site = await _site(home, bootstrap, "?request_timeout_ms=1000")
    calls = _calls(12, seed=3)
    names = list(calls)
    settings = relay_bot.settings_of(home, site.source.url)
    try:
        await site.relay.start()
        for name in names[:4]:
            await asyncio.to_thread(relay_bot.report, settings, calls[name])
        await site.until_all_is_shipped()
        await asyncio.to_thread(tell, "pause")
        for name in names[4:8]:
            await asyncio.to_thread(relay_bot.report, settings, calls[name])
        assert "keeps them" not in site.relay.said
        await site.relay.until_it_says("the embedded log keeps them")
        await asyncio.to_thread(tell, "resume")
        for name in names[8:]:
            await asyncio.to_thread(relay_bot.report, settings, calls[name])
        found = await site.until_all_is_shipped()
        assert await site.relay.end(signal.SIGTERM) == 0
    finally:
        await asyncio.to_thread(tell, "resume")
        await site.relay.end(signal.SIGKILL)
    # What hung in the broker may come after the relay looked: the second copy is byte for byte the first.
    assert {name: list(dict.fromkeys(values)) for name, values in _by_call(found).items()} == calls
    assert await _records(site.target) == await _records(site.source)
    await site.source.close()
    await site.target.close()
