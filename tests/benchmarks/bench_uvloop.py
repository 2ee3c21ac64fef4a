"""What uvloop is worth to the monitor: the same work on a real Kafka with asyncio's own loop and with uvloop.

    python tests/benchmarks/bench_uvloop.py

Catching up: reading and decoding what lies on the log. Following: 500 events a second as they come, in batches of ten,
with their delay from append to hand. CPU is this process's, all threads; the broker's is not counted. A process for
each value, in turn; of three rounds the best.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kafka_broker import broker_for_a_bench

from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import Transcript
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import topic_specs

KINDS = ("asyncio", "uvloop")
EVENTS, ROUNDS, PER_S, FOLLOW_S, EVERY_S = 60_000, 3, 500, 6.0, 0.02
TEXT = "so I would like to move my appointment from Tuesday to the earliest one on Friday"


def event(number: int) -> Outgoing:
    """An event of one of a hundred calls, dated now."""
    call, seq, now_ns = f"call-{number % 100:04d}-{uuid.UUID(int=number % 100)}", number // 100, time.time_ns()
    said = Transcript(
        call_id=call, source="bot", seq=seq, at_ns=number, wall_ns=now_ns, party="caller", text=TEXT, final=True
    )  # fmt: skip
    return Outgoing(call, encode(said))


async def fill(url: str) -> None:
    log = await open_log(url)
    await log.create_topics(topic_specs(log.prefix, 4))
    for first in range(0, EVENTS, 500):
        await log.append(f"{log.prefix}.events", [event(number) for number in range(first, first + 500)])
    await log.close()


async def catch_up(log: Log) -> dict[str, float]:
    """Microseconds of CPU an event, and thousands a second."""
    reader = await log.reader(f"{log.prefix}.events")
    began, cpu, count = time.perf_counter(), time.process_time(), 0
    while count < EVENTS:
        for entry in await reader.poll(timeout_s=5.0, max_records=2_000):
            decode_event_fast(entry.value or b"")
            count += 1
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    await reader.close()
    return {"us": spent / count * 1e6, "k_s": count / took / 1e3}


async def follow(log: Log) -> dict[str, float]:
    """Microseconds of CPU an event, writing and reading in one process, and milliseconds of delay."""
    topic, late = f"{log.prefix}.events", list[float]()
    reader = await log.reader(topic, start="latest")
    wanted, step = int(PER_S * FOLLOW_S), int(PER_S * EVERY_S)

    async def write() -> None:
        began = time.monotonic()
        for first in range(0, wanted, step):
            await asyncio.sleep(max(0.0, began + first / PER_S - time.monotonic()))
            await log.append(topic, [event(number) for number in range(first, first + step)])

    cpu, writing = time.process_time(), asyncio.ensure_future(write())
    while len(late) < wanted:
        for entry in await reader.poll(timeout_s=5.0):
            late.append((time.time_ns() - decode_event_fast(entry.value or b"").wall_ns) / 1e6)
    await writing
    spent = time.process_time() - cpu
    await reader.close()
    late.sort()
    return {"follow_us": spent / wanted * 1e6, "p50": late[len(late) // 2], "p99": late[int(len(late) * 0.99)]}


async def measure(url: str) -> dict[str, float]:
    log = await open_log(url)
    found = {**await catch_up(log), **await follow(log)}
    await log.close()
    return found


def _child(kind: str, url: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), kind, url], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    if len(sys.argv) == 3:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop if sys.argv[1] == "uvloop" else None) as runner:
            print(json.dumps(runner.run(measure(sys.argv[2]))))
        return
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with broker_for_a_bench() as bootstrap:
        for turn in range(ROUNDS):
            url = f"kafka://{bootstrap}/t{uuid.uuid4().hex[:10]}"
            asyncio.run(fill(url))
            for kind in KINDS if turn % 2 == 0 else KINDS[::-1]:
                found[kind].append(_child(kind, url))
    head = f"{'':10}{'catching up: us of CPU an event':>32}{'k events/s':>12}{'following: us':>16}"
    print(f"{head}{'delay ms p50':>14}{'p99':>8}")
    for kind, rows in found.items():
        best = {name: min(row[name] for row in rows) for name in rows[0]} | {"k_s": max(row["k_s"] for row in rows)}
        print(
            f"{kind:10}{best['us']:32.2f}{best['k_s']:12.0f}{best['follow_us']:16.1f}"
            f"{best['p50']:14.1f}{best['p99']:8.1f}"
        )


if __name__ == "__main__":
    main()
