"""What watching costs a process that holds fifty calls: CPU and memory a call, and how late the event loop is.

    python tests/benchmarks/bench_harmless.py [--calls 50] [--seconds 20] [--rounds 3]

Real time: a caller's audio in 20 ms frames from one transport to the other and nothing between, so that fifty calls
leave a loop some air; a turn every six seconds (speech, interim words, a tool, an answer of two seconds at the pace of
a loudspeaker); real witnesses on the process's writer and an embedded log. Each value is a process of its own, the
order rotates, and each is set against the same round's run without Earwitness; ``empty observer`` is what Pipecat takes
to tell one of its own that does nothing, ``switched off`` ours in a call that is not watched. ``busy`` is how much of
its one core the process had; near 100 % the rest says nothing. How late the loop is depends on what else the machine
runs; the CPU that a turn of the loop takes does not, and is how late it would be alone. Both while all calls are under
way. Targets: below 0.3 % of a core and 3 MB a call without taps, below 1 % with them; the loop's p99 later by less than
1 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

CONFIGS = ("without", "empty observer", "switched off", "watched", "watched, with taps")
TURN_S, ANSWER_S = 6.0, 2.0
TICK_S, BEGINNING_S = 0.005, 3.0


async def _call(number: int, seconds: float, witness: Any, observers: Sequence[Any] = ()) -> None:
    """One call, as cheap as Pipecat lets it be, so that fifty of them leave the loop some air."""
    from benchmarks.bench_observer import _turn
    from pipecat.frames.frames import EndFrame, InputAudioRawFrame, OutputAudioRawFrame, StartFrame, TTSAudioRawFrame
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.transports.base_input import BaseInputTransport
    from pipecat.transports.base_output import BaseOutputTransport
    from pipecat.transports.base_transport import TransportParams
    from pipecat_calls.versions import Worker, run_worker
    from pipecat_calls.voice import AGENT_RATE, CALLER_RATE, speech

    from earwitness.processors.attaching import attach

    said, answer = speech(1.5, CALLER_RATE).tobytes(), speech(ANSWER_S, AGENT_RATE).tobytes()
    size = CALLER_RATE // 50 * 2
    quiet, around = bytes(size), int(TURN_S * 50)
    shift = number * 7 % around

    class Caller(BaseInputTransport):
        async def start(self, frame: StartFrame) -> None:
            await super().start(frame)
            await self.set_transport_ready(frame)
            self._speaking = self.create_task(self._speak())

        async def _speak(self) -> None:
            began = time.monotonic() + number % 20 / 1000
            for sent in range(int(seconds * 50)):
                at = (sent + shift) % around * size
                audio = said[at : at + size] if at + size <= len(said) else quiet
                await asyncio.sleep(max(0.0, began + sent / 50 - time.monotonic()))
                await self.push_audio_frame(InputAudioRawFrame(audio, CALLER_RATE, 1))

    class Speaker(BaseOutputTransport):
        due_s = 0.0

        async def start(self, frame: StartFrame) -> None:
            await super().start(frame)
            await self.set_transport_ready(frame)

        async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
            self.due_s = max(self.due_s, time.monotonic()) + frame.num_frames / frame.sample_rate
            await asyncio.sleep(max(0.0, self.due_s - time.monotonic()))
            return True

    sound = {"audio_in_enabled": True, "audio_out_enabled": True, "audio_out_end_silence_secs": 0}
    params = TransportParams(audio_in_sample_rate=CALLER_RATE, audio_out_sample_rate=AGENT_RATE, **sound)  # type: ignore[arg-type]
    worker = Worker(
        Pipeline([Caller(params), Speaker(params)]), observers=list(observers),
        enable_rtvi=False, enable_turn_tracking=False, idle_timeout_secs=None,
    )  # fmt: skip
    if witness is not None:
        attach(worker, witness=witness)
    running = asyncio.ensure_future(run_worker(worker))
    began, turn = time.monotonic(), 0
    while (at_s := 1.6 + turn * TURN_S + (around - shift) / 50) < seconds - ANSWER_S:
        await asyncio.sleep(max(0.0, began + at_s - time.monotonic()))
        frames = _turn(turn)
        await worker.queue_frames([*frames[:-2], TTSAudioRawFrame(answer, AGENT_RATE, 1), *frames[-2:]])
        turn += 1
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
    await worker.queue_frame(EndFrame())
    await running


async def _ticks(late: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        late.append(loop.time() - due)


def _time_turns(turns: list[float]) -> None:
    """Note the CPU that each turn of the loop takes: what a timer waits for where nobody else wants the core."""
    loop: Any = asyncio.get_running_loop()
    once = loop._run_once

    def turn() -> None:
        began = time.thread_time()
        once()
        turns.append(time.thread_time() - began)

    loop._run_once = turn


async def _measure(config: str, calls: int, seconds: float) -> dict[str, float]:
    import psutil
    from pipecat.observers.base_observer import BaseObserver

    from earwitness.processors.bot_settings import BotSettings
    from earwitness.processors.witness import Witness

    settings = BotSettings.from_env(os.environ, taps=config.endswith("taps"), off=config == "switched off")

    def watching() -> tuple[Any, tuple[Any, ...]]:
        if config == "empty observer":
            return None, (BaseObserver(observe_every_push=False),)
        if settings.off:
            return None, (Witness("bench", settings=settings).observer(),)
        return Witness("bench", settings=settings) if config != "without" else None, ()

    await _call(0, 1.0, *watching())  # imports, threads
    process, late, turns = psutil.Process(), list[float](), list[float]()
    _time_turns(turns)
    held, cpu, wall = process.memory_info().rss, time.process_time(), time.monotonic()
    most, kept = [held], list[float]()
    ticking = asyncio.ensure_future(_ticks(late))

    async def weigh() -> None:
        await asyncio.sleep(BEGINNING_S)
        late.clear()
        turns.clear()
        await asyncio.sleep(seconds * 0.9 - BEGINNING_S)
        most.append(process.memory_info().rss)
        ticking.cancel()
        kept.extend(sorted(turns))

    weighing = asyncio.ensure_future(weigh())
    made = [watching() for _ in range(calls)]
    await asyncio.gather(*(_call(number, seconds, *watched) for number, watched in enumerate(made)))
    await weighing
    spent, took = time.process_time() - cpu, time.monotonic() - wall
    late.sort()
    return {
        "core": spent / seconds / calls,
        "busy": spent / took,
        "mb": (max(most) - held) / 2**20 / calls,
        "turn_p99_ms": kept[int(len(kept) * 0.99)] * 1e3,
        "turn_max_ms": kept[-1] * 1e3,
        "p50_ms": late[len(late) // 2] * 1e3,
        "p99_ms": late[int(len(late) * 0.99)] * 1e3,
        "max_ms": late[-1] * 1e3,
    }


def _child(config: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", config]
    command += ["--calls", str(options.calls), "--seconds", str(options.seconds)]
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "EARWITNESS_HOME": home, "EARWITNESS_SECRET": "x"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        from loguru import logger

        logger.remove()
        print(json.dumps(asyncio.run(_measure(options.one, options.calls, options.seconds))))
        return
    found: dict[str, list[dict[str, float]]] = {config: [] for config in CONFIGS}
    for turn in range(options.rounds):
        first = turn % len(CONFIGS)
        for config in (*CONFIGS[first:], *CONFIGS[:first]):
            found[config].append(_child(config, options))
    print(f"{options.calls} calls in one process, {options.seconds:g} s, {options.rounds} rounds: medians")
    print(
        f"{'':20}{'core a call':>13}{'':8}{'':7}{'MB a call':>11}{'':7}{'CPU of a turn, ms':>26}{'loop late, ms':>32}"
    )
    head = f"{'':20}{'':13}{'added':>8}{'busy':>7}{'':11}{'added':>7}{'p99':>10}{'added':>8}{'max':>8}"
    print(f"{head}{'p50':>8}{'p99':>8}{'added':>8}{'max':>8}")
    for config in CONFIGS:
        rows = found[config]
        middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        added = {
            name: statistics.median(row[name] - base[name] for row, base in zip(rows, found["without"], strict=True))
            for name in rows[0]
        }
        print(
            f"{config:20}{middle['core']:13.2%}{added['core']:8.2%}{middle['busy']:7.0%}{middle['mb']:11.2f}"
            f"{added['mb']:7.2f}{middle['turn_p99_ms']:10.2f}{added['turn_p99_ms']:8.2f}{middle['turn_max_ms']:8.1f}"
            f"{middle['p50_ms']:8.2f}{middle['p99_ms']:8.2f}{added['p99_ms']:8.2f}{middle['max_ms']:8.1f}"
        )
    print("targets: added below 0.30 % and 3 MB, with taps below 1.00 %; loop p99 later by less than 1 ms")


if __name__ == "__main__":
    main()
