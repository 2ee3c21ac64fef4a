"""A busy worker is back at once: it loads its state and reads the tail only."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from killed_workers import SETTINGS, opened

from earwitness.consumers.monitor import Monitor, OnTick
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.measures.windows import Windows

CALLS = 1_000
LATER = 50
"""Calls that go on after the restart."""
AGENTS, VERSIONS = 40, 25
PARTITIONS = 6
WITHIN_S = 120.0
NOON_S = 1_700_006_400


def open_calls(make_bot: Any, begin_s: float) -> list[Any]:
    """Calls that go on, each with a label set of its own."""
    bots = []
    for i in range(CALLS):
        bot = make_bot(f"c{i}", start_s=begin_s, agent=f"agent{i % AGENTS}", version=f"v{i // AGENTS % VERSIONS}")
        bots.append(bot.start().asks(2).asks(9))
    return bots


async def send(log: Log, events: list[Any]) -> None:
    await log.append(f"{log.prefix}.events", [Outgoing(event.call_id, encode(event)) for event in events])


async def running(log: Log, on_tick: OnTick | None = None) -> tuple[Monitor, asyncio.Event, asyncio.Task[None], float]:
    """A monitor that is ready, and how long that took."""
    stop = asyncio.Event()
    monitor = Monitor(log, replace(SETTINGS, keep_every_s=1.0), stop=stop, on_tick=on_tick)
    began = time.monotonic()
    task = asyncio.create_task(monitor.run())
    async with asyncio.timeout(WITHIN_S):
        await monitor.ready.wait()
    return monitor, stop, task, time.monotonic() - began


@pytest.mark.parametrize("place", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def test_a_thousand_open_calls_and_label_sets(
    place: str, make_bot: Any, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = f"k{uuid.uuid4().hex[:10]}"
    address = f"kafka://{request.getfixturevalue('kafka_bootstrap')}/{prefix}" if place == "kafka" else ""
    log = await opened(address or str(tmp_path / "log.db"), session_s=10.0)
    await log.create_topics(topic_specs(log.prefix, PARTITIONS))
    bots = open_calls(make_bot, time.time() - 20 - NOON_S)
    events = [event for bot in bots for event in bot.made]
    await send(log, events)
    first, stop, task, anew_s = await running(log)
    stop.set()
    await task
    before = {bot.call_id: len(bot.made) for bot in bots}
    for bot in bots[:LATER]:
        bot.asks(16)
    tail = [event for bot in bots for event in bot.made[before[bot.call_id] :]]
    await send(log, tail)

    has_all = asyncio.Event()

    async def look(windows: Windows, now_ns: int) -> None:
        if windows.read("response_latency", window_s=300, as_of_ns=now_ns).n >= 2 * CALLS + LATER:
            has_all.set()

    second, stop, task, again_s = await running(log, look)

    windows = second.fold.windows
    async with asyncio.timeout(WITHIN_S):
        await has_all.wait()
    groups = windows.groups(["agent", "version"], window_s=300, as_of_ns=time.time_ns())
    stop.set()
    await task
    await log.close()
    assert first.keeper is not None
    assert second.keeper is not None
    with capsys.disabled():
        print(
            f"\n{place}: ready after {anew_s:.1f} s with {first.keeper.read_again} events read, again after "
            f"{again_s:.1f} s with {second.keeper.read_again}; {len(second.fold.held)} calls, {len(groups)} label sets"
        )
    assert second.keeper.doubts == []
    assert second.keeper.read_again == len(tail)
    assert len([held for held in second.fold.held.values() if held.open]) == CALLS
    assert len(groups) == AGENTS * VERSIONS
