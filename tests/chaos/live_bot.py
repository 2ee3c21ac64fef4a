"""A bot as a process of its own: real Pipecat calls in real time, each with a witness and a log of its own.

    python -m chaos.live_bot PLAN.json          (in tests)

Tells on standard output, a line of JSON each: what a call came to when it ends, ``losing`` when a first event was
given up, and ``over`` when all calls have ended. A line on standard input ends them. Before an event is put on its
way, its identity is written to the file ``made``: so even of a bot that was killed it is known what it had to say.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from earwitness.processors.sink import Outbound, SinkStats

FRAME_S = 0.02


@dataclass(frozen=True)
class CallPlan:
    """One call. ``environ``: what its witness is told; None: nobody watches it. ``facts_per_s``: facts of the
    application beside those of the call. ``large_at``: the number of a fact with 60,000 characters."""

    name: str
    environ: dict[str, str] | None = None
    starts_s: float = 0.0
    lasts_s: float = 5.0
    facts_per_s: float = 20.0
    large_at: int | None = None


@dataclass(frozen=True)
class Plan:
    """What a bot does. ``on_sigterm``: it asked for a flush at SIGTERM. ``file_bytes``: how long any file may get,
    where there is no small disk."""

    calls: list[CallPlan]
    made: str | None = None
    on_sigterm: bool = False
    file_bytes: int | None = None

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path

    @staticmethod
    def read(path: Path) -> Plan:
        data = json.loads(path.read_text())
        return Plan(**{**data, "calls": [CallPlan(**call) for call in data["calls"]]})


@dataclass
class Delays:
    """Seconds that audio frames took from the transport's input to its output, and that the loop was late."""

    frames: list[float] = field(default_factory=list)
    loop: list[float] = field(default_factory=list)


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Noting:
    """A sink that writes down what goes through it, before it does."""

    def __init__(self, sink: Any, fd: int | None) -> None:
        self._sink = sink
        self._fd = fd

    def put(self, item: Outbound) -> None:
        if self._fd is not None:
            os.write(self._fd, f"{item.call_id} {item.source} {item.seq} {time.monotonic_ns()}\n".encode())
        self._sink.put(item)

    def stats(self) -> SinkStats:
        stats: SinkStats = self._sink.stats()
        return stats

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        flushed: bool = await self._sink.flush(call_id, timeout_s)
        return flushed


def _parts(delays: Delays) -> dict[str, list[Any]]:
    """Two processors that time what passes both."""
    from pipecat.frames.frames import Frame, InputAudioRawFrame
    from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

    class First(FrameProcessor):
        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if isinstance(frame, InputAudioRawFrame):
                frame.metadata["passed_s"] = time.perf_counter()
            await self.push_frame(frame, direction)

    class Last(FrameProcessor):
        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if isinstance(frame, InputAudioRawFrame) and "passed_s" in frame.metadata:
                delays.frames.append(time.perf_counter() - frame.metadata["passed_s"])
            await self.push_frame(frame, direction)

    return {"after_input": [First()], "before_output": [Last()]}


def _witness(plan: CallPlan, fd: int | None) -> Any:
    from earwitness.processors.bot_settings import BotSettings
    from earwitness.processors.witness import Witness
    from earwitness.processors.writer import process_writer

    settings = BotSettings.from_env(plan.environ or {}, strict=True)
    sink = Noting(process_writer(settings), fd)
    return Witness("desk", "1", call_id=plan.name, sink=sink, settings=settings)


async def hold(plan: CallPlan, delays: Delays, fd: int | None, enough: asyncio.Event) -> dict[str, Any]:
    """The call from its start to its end, and what it came to."""
    from pipecat.frames.frames import EndFrame
    from pipecat_calls.call import RunningCall, hold_call
    from pipecat_calls.script import At, Reply, Say, Script

    from earwitness.processors.attaching import attach

    ends: list[float] = []

    async def end(call: RunningCall) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(plan.lasts_s):
                await enough.wait()
        ends.append(time.monotonic())
        await call.worker.queue_frame(EndFrame())

    rounds = min(30, int(plan.lasts_s / 4) + 1)
    script = Script(
        lines=tuple(Say("where is my order please", after_s=0.5) for _ in range(rounds)),
        replies=tuple(Reply("It is on its way to you.") for _ in range(rounds + 1)),
        events=(At(0.0, end),),
        ends_s=plan.lasts_s + 60,
    )
    witness = None if plan.environ is None else _witness(plan, fd)
    facts: asyncio.Task[None] | None = None

    async def say_facts() -> None:
        number, began = 0, time.monotonic()
        while witness is not None and not ends:
            text = os.urandom(30_000).hex() if number == plan.large_at else None
            witness.app("step", text or float(number))
            number += 1
            await asyncio.sleep(max(0.0, began + number / plan.facts_per_s - time.monotonic()))

    def put_on(call: RunningCall) -> None:
        nonlocal facts
        if witness is not None:
            attach(call.worker, witness=witness)
            facts = asyncio.ensure_future(say_facts())

    await asyncio.sleep(plan.starts_s)
    tell(call=plan.name, say="begins")
    placed = await hold_call(script, attach=put_on, extra=lambda: _parts(delays))
    ended_s = time.monotonic()
    if facts is not None:
        await facts
    came_to: dict[str, Any] = {
        "call": plan.name,
        "say": "ended",
        "finished": placed.finished,
        "end_took_s": round(ended_s - ends[0], 3) if ends else None,
        "answers": len(placed.truth.agent),
    }
    if witness is not None:
        writer = witness._sink._sink
        came_to |= {"lost": writer.lost, "spooled": writer.stats().spooled_events}
    return came_to


async def _watch(delays: Delays, peaks: dict[str, float]) -> None:
    """How late the loop is, how much the process holds, and how much the fullest buffer."""
    from earwitness.processors import writer

    process = psutil.Process()
    loop = asyncio.get_running_loop()
    ticks = 0
    while True:
        due = loop.time() + 0.01
        await asyncio.sleep(0.01)
        delays.loop.append(loop.time() - due)
        ticks += 1
        if ticks % 10 == 0:
            writers: list[Any] = list(writer._registry.values())
            held = [one.stats().buffer_bytes for one in writers]
            if not peaks.get("lost") and any(one.lost for one in writers):
                peaks["lost"] = 1
                tell(say="losing")
            peaks["buffer_bytes"] = max(peaks.get("buffer_bytes", 0), *held, 0)
            peaks["rss_mb"] = max(peaks.get("rss_mb", 0.0), process.memory_info().rss / 2**20)


def _told(enough: asyncio.Event) -> None:
    """Something came on standard input; its end says nothing."""
    if os.read(0, 100):
        enough.set()
    else:
        asyncio.get_running_loop().remove_reader(0)


async def run(plan: Plan) -> None:
    """Hold all calls of a plan side by side."""
    fd = os.open(plan.made, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if plan.made else None
    delays = Delays()
    peaks: dict[str, float] = {}
    watching = asyncio.ensure_future(_watch(delays, peaks))
    began_mb = psutil.Process().memory_info().rss / 2**20
    cpu_s = time.process_time()
    enough = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, _told, enough)
    for came_to in asyncio.as_completed([hold(call, delays, fd, enough) for call in plan.calls]):
        tell(**await came_to)
    spent_s = time.process_time() - cpu_s
    watching.cancel()
    asyncio.get_running_loop().remove_reader(0)
    tell(
        say="over", cpu_s=spent_s, began_mb=began_mb, at_ns=time.monotonic_ns(), **peaks,
        frame_ms=spread(delays.frames), loop_ms=spread(delays.loop),
    )  # fmt: skip


def spread(values: list[float]) -> dict[str, float]:
    """Milliseconds: median, 99th percentile, longest, and how many."""
    ordered = sorted(values)
    if not ordered:
        return {"n": 0}
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    found = {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3 for name, share in at.items()}
    return {**{name: round(value, 3) for name, value in found.items()}, "n": len(ordered)}


def main() -> None:
    plan = Plan.read(Path(sys.argv[1]))
    if plan.file_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (plan.file_bytes, resource.RLIM_INFINITY))
    if plan.on_sigterm:
        from earwitness.processors.shutdown import flush_on_sigterm

        flush_on_sigterm()
    from loguru import logger
    from pipecat_calls import call  # noqa: F401 - before anything is measured

    logger.remove()
    asyncio.run(run(plan))


if __name__ == "__main__":
    main()
