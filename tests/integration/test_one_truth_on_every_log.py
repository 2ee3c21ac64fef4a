"""The same calls through every kind of log: the monitor publishes the same records."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from log_places import ANSWER_WITHIN_S, Place, embedded, in_memory, on_kafka, read
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import CallTool, Reply, Say, Script, Tool

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.wire import decode_record
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_name, topic_specs
from earwitness.processors.sink import Outbound

CALLS = (
    Script(
        lines=(Say("where is my order", after_s=0.5), Say("no wait the other one", into_s=1.0)),
        replies=(
            Reply("hello this is the order desk"),
            Reply("your order left the warehouse on Tuesday and will be with you on Thursday morning"),
            Reply("the other one is still being packed", ends=True),
        ),
    ),
    Script(
        lines=(Say("can you look it up", after_s=0.5), Say("mhm", into_s=1.2), Say("thank you goodbye", after_s=0.7)),
        replies=(
            Reply("hello this is the order desk"),
            CallTool("look_up", {"id": "latest"}),
            Reply("it is on its way and will be with you very soon I can promise you that"),
            Reply("goodbye", ends=True),
        ),
        tools={"look_up": Tool(takes_s=4.2, result={"status": "shipped"})},
        min_words=3,
    ),
)


@pytest.fixture
def calls(run_call: RunCall) -> list[list[Outbound]]:
    """What two bots sent, in the order of sending, dated as if they had just hung up."""
    return [_dated_now(run_call(script, taps=True).sink.items) for script in CALLS]


def _dated_now(items: list[Outbound]) -> list[Outbound]:
    shift_ns = time.time_ns() - max(item.wall_ns for item in items)
    dated: list[Outbound] = []
    for item in items:
        payload = json.loads(item.payload) | {"wall_ns": item.wall_ns + shift_ns}
        dated.append(item._replace(payload=json.dumps(payload).encode()))
    return dated


async def _published(place: Place, calls: list[list[Outbound]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Send the calls, event by event in turn, let a monitor follow, and fold what it published."""
    log = await place.open(*topic_specs(place.prefix, 3))
    stop, group = asyncio.Event(), f"g-{uuid.uuid4().hex}"
    monitor = Monitor(log, MonitorSettings(metrics=False, group=group), stop=stop)
    running = asyncio.create_task(monitor.run())
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await monitor.ready.wait()
            for n in range(max(map(len, calls))):
                await _send(log, place, [items[n] for items in calls if n < len(items)])
            ends = await log.end_positions(place.topic)
            while not await _read_up_to(ends, log, place, group):
                assert not running.done()
                await asyncio.sleep(0)
    finally:
        stop.set()
        await running
    records = topic_name(place.prefix, "records")
    written = sum((await log.end_positions(records)).values())
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in await read(await log.reader(records), written):
        record = json.loads(decode_record(entry.value or b"").model_dump_json())
        key = (record["call_id"], record["id"])
        if key not in latest or latest[key]["revision"] <= record["revision"]:
            latest[key] = record
    return {key: {k: v for k, v in record.items() if k != "revision"} for key, record in latest.items()}


async def _read_up_to(ends: dict[int, int], log: Log, place: Place, group: str) -> bool:
    committed = await log.committed(group, place.topic)
    return all(committed.get(partition, 0) >= end for partition, end in ends.items())


async def _send(log: Log, place: Place, items: list[Outbound]) -> None:
    if items:
        await log.append(place.topic, [Outgoing(item.call_id, item.payload) for item in items])


@pytest.mark.kafka
async def test_embedded_log_and_kafka_give_the_same_records(
    calls: list[list[Outbound]], tmp_path: Path, kafka_bootstrap: str
) -> None:
    prefix = f"t{uuid.uuid4().hex[:10]}"
    places = [in_memory(prefix), embedded(prefix, tmp_path), on_kafka(prefix, kafka_bootstrap)]
    found = [await _published(place, calls) for place in places]
    for place in places:
        for log in place.opened:
            await log.close()

    assert found[0] == found[1] == found[2]
    kinds = {record["kind"] for record in found[0].values()}
    assert kinds >= {"turn", "agent_turn", "overlap", "tool_call", "dead_air", "call"}
    assert all(record["final"] for record in found[0].values() if not record["retracted"])
