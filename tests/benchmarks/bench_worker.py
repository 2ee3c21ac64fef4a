"""CPU of a whole timeline worker that catches up: events of all kinds read from the log, folded, counted in windows,
records published, the state kept; on the embedded log and on Kafka.

    python tests/benchmarks/bench_worker.py [--calls 150]

Calls of two minutes stand on the log when the worker starts; the clock is read until the last event is folded, and
again when the worker has ended in good order, its state written. ``decoding``: the same events, decoded and no more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.log.topics import topic_specs

sys.path.insert(0, str(Path(__file__).parents[1]))

from demo_calls import S, Sent, demo_calls
from kafka_broker import broker_for_a_bench
from log_places import Place, embedded, on_kafka

WITHIN_S = 300


def just_now(sent: Sequence[Sent]) -> list[Sent]:
    """The same calls, the last of which ended a few seconds ago."""
    shift_ns = time.time_ns() - max(one.wall_ns for one in sent) - 5 * S
    moved: list[Sent] = []
    for wall_ns, payload, call_id in sent:
        told = json.loads(payload)
        told["wall_ns"] += shift_ns
        moved.append(Sent(wall_ns + shift_ns, json.dumps(told, separators=(",", ":")).encode(), call_id))
    return moved


async def caught_up_us(place: Place, sent: Sequence[Sent]) -> tuple[float, float]:
    """CPU an event until all are folded, and until the worker has ended."""
    log = await place.open(*topic_specs(place.prefix, 4))
    for start in range(0, len(sent), 1_000):
        await log.append(place.topic, [Outgoing(one.call_id, one.payload) for one in sent[start : start + 1_000]])
    stop, began_s = asyncio.Event(), time.process_time()
    monitor = Monitor(log, MonitorSettings(metrics=False, group=f"g-{uuid.uuid4().hex}"), stop=stop)
    running = asyncio.create_task(monitor.run())
    async with asyncio.timeout(WITHIN_S):
        while sum(monitor.fold.events.values()) < len(sent) and not running.done():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    folded_s = time.process_time() - began_s
    stop.set()
    await running
    ended_s = time.process_time() - began_s
    await log.close()
    return folded_s / len(sent) * 1e6, ended_s / len(sent) * 1e6


def measure(name: str, place: Place, sent: Sequence[Sent], decode_us: float) -> None:
    folded, ended = asyncio.run(caught_up_us(place, sent))
    print(
        f"  {name:14} {folded:8.2f}, {folded / decode_us:.1f} times decoding;"
        f" {ended:.2f} with the end and the last of its state"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=150)
    given = parser.parse_args()
    sent = just_now(demo_calls(given.calls, 120, 300))
    collect_seldom()
    began_s = time.process_time()
    for one in sent:
        decode_event_fast(one.payload)
    decode_us = (time.process_time() - began_s) / len(sent) * 1e6
    print(f"a worker catches up on {given.calls} calls of 2 min, {len(sent):,} events: us of CPU an event")
    print(f"  {'decoding':14} {decode_us:8.2f}")
    prefix = f"bench{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as folder:
        measure("embedded log", embedded(prefix, Path(folder)), sent, decode_us)
    with broker_for_a_bench() as bootstrap:
        measure("Kafka", on_kafka(prefix, bootstrap), sent, decode_us)
    print("target: at most 15 us")


if __name__ == "__main__":
    main()
