"""What a fault of the log costs a call: how long audio frames take through the pipeline, healthy and at fault.

    python tests/benchmarks/bench_faults.py [--calls 4] [--seconds 12] [--rounds 3]

Real Pipecat calls in real time (`chaos.live_bot`), a process for each row, with fifty facts a second of the application
beside what the call itself reports; a frame is timed from behind the transport's input to before its output. Against a
real broker, one that is killed and comes back, doors that are shut or deaf, wrong credentials, a topic that nobody
made, events too large, and a full disk. The rows run in turn, and of each the quietest round is told: what else runs
on the machine only adds. To reach: p99 within 2 ms of the healthy run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos.bot_process import BotProcess
from chaos.brokers import FaultyBroker
from chaos.live_bot import CallPlan, Plan
from chaos.places import Door, small_disk
from kafka_broker import broker_for_a_bench

from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.topics import topic_specs

BASE, HEALTHY = "no Earwitness", "healthy, embedded log"
SMALL = {"EARWITNESS_BOT__BUFFER_BYTES": str(64 * 1024)}
WRONG = {
    "EARWITNESS_KAFKA__SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "EARWITNESS_KAFKA__SASL_USERNAME": "bot",
    "EARWITNESS_KAFKA__SASL_PASSWORD": "wrong",
}
Row = tuple[dict[str, str] | None, dict[str, Any]]


class Faults:
    """Where the rows' bots report to. Each row is a context: what its bots are told, and what else its calls do."""

    def __init__(self, kafka: str, faulty: FaultyBroker, folder: Path, seconds: float) -> None:
        self._kafka = kafka
        self._faulty = faulty
        self._folder = folder
        self._seconds = seconds

    async def _topics(self, address: str, **topic: str) -> str:
        url = f"kafka://{address}/t{uuid.uuid4().hex[:10]}"
        log = await open_log(url, settings=LogSettings(kafka={"topic_configs": topic} if topic else {}))
        await log.create_topics(topic_specs(log.prefix, 2))
        await log.close()
        return url

    def _told(self, log: str | None, **more: str) -> dict[str, str]:
        home = self._folder / uuid.uuid4().hex
        environ = {
            "EARWITNESS_HOME": str(home),
            "EARWITNESS_SECRET": "x",
            "EARWITNESS_BOT__EVENTS_PER_S": "500",
            **more,
        }
        return environ if log is None else {**environ, "EARWITNESS_LOG": log}

    @asynccontextmanager
    async def nobody(self) -> AsyncIterator[Row]:
        yield None, {}

    @asynccontextmanager
    async def embedded(self) -> AsyncIterator[Row]:
        yield self._told(None), {}

    @asynccontextmanager
    async def kafka(self) -> AsyncIterator[Row]:
        yield self._told(await self._topics(self._kafka)), {}

    @asynccontextmanager
    async def away_and_back(self) -> AsyncIterator[Row]:
        async def outage() -> None:
            await asyncio.sleep(3 + self._seconds / 4)
            await asyncio.to_thread(self._faulty.tell, "kill")
            await asyncio.sleep(self._seconds / 3)
            await asyncio.to_thread(self._faulty.tell, "start")

        told = self._told(await self._topics(self._faulty.address))
        going = asyncio.ensure_future(outage())
        yield told, {}
        await going

    @asynccontextmanager
    async def never_there(self) -> AsyncIterator[Row]:
        async with Door(self._kafka, "shut") as door:
            yield self._told(f"kafka://{door.address}/x"), {}

    @asynccontextmanager
    async def never_answers(self) -> AsyncIterator[Row]:
        async with Door(self._kafka, "deaf") as door:
            yield self._told(f"kafka://{door.address}/x"), {}

    @asynccontextmanager
    async def wrong_password(self) -> AsyncIterator[Row]:
        yield self._told(f"kafka://{self._faulty.asks}/x", **WRONG), {}

    @asynccontextmanager
    async def no_topic(self) -> AsyncIterator[Row]:
        yield self._told(f"kafka://{self._kafka}/t{uuid.uuid4().hex[:10]}"), {}

    @asynccontextmanager
    async def too_large(self) -> AsyncIterator[Row]:
        yield self._told(await self._topics(self._kafka, **{"max.message.bytes": "20000"})), {"large_at": 20}

    @asynccontextmanager
    async def disk_full(self) -> AsyncIterator[Row]:
        async with AsyncExitStack() as stack:
            door = await stack.enter_async_context(Door(self._kafka, "deaf"))
            told = self._told(f"kafka://{door.address}/x", **SMALL)
            spool = Path(told["EARWITNESS_HOME"]) / "spool"
            if not stack.enter_context(small_disk(spool, 64)):
                told["EARWITNESS_BOT__SPOOL_BYTES"] = "65536"
            yield told, {}

    def rows(self) -> dict[str, Callable[[], Any]]:
        return {
            BASE: self.nobody,
            HEALTHY: self.embedded,
            "healthy, Kafka": self.kafka,
            "log killed and back": self.away_and_back,
            "log never there": self.never_there,
            "log never answers": self.never_answers,
            "wrong password": self.wrong_password,
            "topic missing": self.no_topic,
            "event too large": self.too_large,
            "disk full, log deaf": self.disk_full,
        }


async def measure(row: Callable[[], Any], folder: Path, calls: int, seconds: float) -> dict[str, float]:
    """One bot with so many calls: milliseconds of its frames and its loop, and what the exit took."""
    place = folder / uuid.uuid4().hex
    place.mkdir()
    async with row() as (told, more):
        plans = [
            CallPlan(f"call-{n}", told, lasts_s=seconds, facts_per_s=50.0, **(more if n == 0 else {}))
            for n in range(calls)
        ]
        async with await BotProcess.start(Plan(plans), place) as bot:
            over = await bot.until(say="over")
            await bot.end()
    return {**over["frame_ms"], "loop_p99": over["loop_ms"]["p99"], "exit_s": bot.exit_took_s}


async def run(options: argparse.Namespace) -> None:
    with (
        broker_for_a_bench() as bootstrap,
        tempfile.TemporaryDirectory() as name,
        FaultyBroker.up(Path(name) / "broker") as faulty,
    ):
        folder = Path(name)
        rows = Faults(bootstrap, faulty, folder, options.seconds).rows()
        found: dict[str, list[dict[str, float]]] = {label: [] for label in rows}
        for turn in range(options.rounds):
            labels = list(rows) if turn % 2 == 0 else list(rows)[::-1]
            for label in labels:
                found[label].append(await measure(rows[label], folder, options.calls, options.seconds))
    names = ("p50", "p99", "max", "loop_p99", "exit_s")
    least = {label: {name: min(row[name] for row in values) for name in names} for label, values in found.items()}
    print(
        f"frames of 20 ms through the pipeline, {options.calls} calls of {options.seconds:g} s, {options.rounds} rounds"
    )
    print(f"{'ms, least of rounds':24}{'p50':>8}{'p99':>8}{'max':>8}{'p99 against none':>18}{'healthy':>9}", end="")
    print(f"{'loop p99':>10}{'exit, s':>9}")
    for label, row in least.items():
        print(
            f"{label:24}{row['p50']:8.2f}{row['p99']:8.2f}{row['max']:8.1f}{row['p99'] - least[BASE]['p99']:+18.2f}"
            f"{row['p99'] - least[HEALTHY]['p99']:+9.2f}{row['loop_p99']:10.2f}{row['exit_s']:9.2f}"
        )
    print("to reach: p99 within 2 ms of the healthy run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
