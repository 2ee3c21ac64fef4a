"""What watching costs: a pipeline of ten pass-through processors, 20 ms audio frames and turns, in one run against
no observer, empty ones, and Pipecat's own.

Each value is a process of its own; the order is rotated from round to round; each is divided by the same round's
baseline. CPU is process time of all threads. ``python -m benchmarks.bench_observer --rounds 5`` in ``tests``.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

FRAMES = 20_000
TURNS = 50
PROCESSORS = 10
CONFIGS = ("none", "empty first push", "empty every push", "pipecat built-ins", "earwitness", "earwitness and taps")
TRACED = ("none", "empty first push", "earwitness", "earwitness and taps")
"""Configurations whose memory is measured, in a run of their own."""
BASE = "empty first push"
TARGET = 1.15


def _observers(config: str) -> tuple[list[Any], Callable[[Any], Any] | None]:
    """The observers of a configuration, and what to do with the worker before it runs."""
    from pipecat.observers.base_observer import BaseObserver

    if config == "empty first push":
        return [BaseObserver(observe_every_push=False)], None
    if config == "empty every push":
        return [BaseObserver()], None
    if config == "pipecat built-ins":
        from pipecat.observers.error_observer import ErrorObserver
        from pipecat.observers.function_call_observer import FunctionCallObserver
        from pipecat.observers.service_metrics_observer import ServiceMetricsObserver
        from pipecat.observers.speaking_observer import SpeakingObserver
        from pipecat.observers.turn_tracking_observer import TurnTrackingObserver
        from pipecat.observers.user_bot_latency_observer import UserBotLatencyObserver

        kinds = (
            TurnTrackingObserver, UserBotLatencyObserver, SpeakingObserver, ServiceMetricsObserver,
            FunctionCallObserver, ErrorObserver,
        )  # fmt: skip
        return [kind() for kind in kinds], None
    if config.startswith("earwitness"):
        from earwitness.processors.bot_settings import BotSettings
        from earwitness.processors.redaction import Redaction
        from earwitness.processors.sink import Outbound, SinkStats
        from earwitness.processors.witness import Witness

        class Nowhere:
            """Takes events as a buffer would, and forgets them."""

            def put(self, item: Outbound) -> None: ...

            def stats(self) -> SinkStats:
                return SinkStats(0, 0)

            async def flush(self, call_id: str, timeout_s: float) -> bool:
                return True

        taps = config.endswith("taps")
        settings = BotSettings.from_env({}, taps=taps)
        witness = Witness("bench", sink=Nowhere(), redactor=Redaction(b"secret"), settings=settings)
        return [witness.observer()], (lambda parts: witness.hook_taps(parts[0], None)) if taps else None
    return [], None


def _turn(n: int) -> list[Any]:
    """The frames of one turn: caller speaks, is understood, is answered with a tool in between."""
    from pipecat.frames import frames as f
    from pipecat.metrics.metrics import ProcessingMetricsData, TTFBMetricsData

    metrics = [TTFBMetricsData(processor="llm", value=0.2), ProcessingMetricsData(processor="llm", value=0.4)]
    words = ["here", "is", "what", "I", "found", "for", "you", "today", "it", "is", "on", "its", "way"]
    return [
        f.VADUserStartedSpeakingFrame(start_secs=0.2),
        f.UserStartedSpeakingFrame(),
        f.InterruptionFrame(),
        *(f.InterimTranscriptionFrame(" ".join(["word"] * k), "caller", "") for k in range(1, 7)),
        f.VADUserStoppedSpeakingFrame(stop_secs=0.2),
        f.TranscriptionFrame(f"where is my order number {n}", "caller", ""),
        f.UserStoppedSpeakingFrame(),
        f.LLMFullResponseStartFrame(),
        f.MetricsFrame(data=metrics),
        f.FunctionCallsStartedFrame(function_calls=[f.FunctionCallFromLLM("lookup", f"c{n}", {"n": n}, None)]),
        f.FunctionCallInProgressFrame(function_name="lookup", tool_call_id=f"c{n}", arguments={"n": n}),
        f.FunctionCallResultFrame(function_name="lookup", tool_call_id=f"c{n}", arguments={}, result={"ok": True}),
        *(f.LLMTextFrame(word + " ") for word in words),
        f.LLMFullResponseEndFrame(),
        f.TTSStartedFrame(context_id=f"t{n}"),
        f.BotStartedSpeakingFrame(),
        *(f.TTSTextFrame(word, "word") for word in words),
        f.BotStoppedSpeakingFrame(),
        f.TTSStoppedFrame(context_id=f"t{n}"),
    ]


async def _measure(config: str, trace: bool) -> dict[str, float]:
    from pipecat.frames.frames import EndFrame, Frame, InputAudioRawFrame
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.pipeline.worker import PipelineWorker
    from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
    from pipecat.workers.runner import WorkerRunner

    class Pass(FrameProcessor):
        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            await self.push_frame(frame, direction)

    class Last(Pass):
        seen = 0
        wanted = 0
        done = asyncio.Event()

        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            self.seen += 1
            if self.seen == self.wanted:
                self.done.set()

    observers, prepare = _observers(config)
    last = Last()
    chain = [*(Pass() for _ in range(PROCESSORS - 1)), last]
    worker = PipelineWorker(
        Pipeline(chain),
        observers=list(observers),
        enable_rtvi=False,
        enable_turn_tracking=False,
        idle_timeout_secs=None,
    )
    if prepare is not None:
        prepare(chain)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    started = asyncio.Event()

    async def on_started(*_: Any) -> None:
        started.set()

    worker.add_event_handler("on_pipeline_started", on_started)
    await started.wait()
    await asyncio.sleep(0.2)
    audio = bytes(640)
    every = FRAMES // TURNS
    last.seen, last.wanted = 0, 10**9
    queues = [proxy.queue for proxy in (worker._observer._proxies or {}).values()]
    gc.collect()
    if trace:
        tracemalloc.start()
        held = tracemalloc.get_traced_memory()[0]
    wall, cpu = time.perf_counter(), time.process_time()
    pushed = 0
    for n in range(FRAMES):
        await chain[0].queue_frame(InputAudioRawFrame(audio, 16_000, 1))
        pushed += 1
        if n % every == every - 1:
            for frame in _turn(n // every):
                await chain[0].queue_frame(frame)
                pushed += 1
        if n % 100 == 99:  # keep pace: a frame waits for those before it, as in a call
            last.wanted = pushed
            if last.seen < pushed:
                last.done.clear()
                await last.done.wait()
    for queue in queues:
        await queue.join()
    spent = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "frames": float(pushed)}
    if trace:
        gc.collect()
        spent["retained_kib"] = (tracemalloc.get_traced_memory()[0] - held) / 1024
        spent["peak_kib"] = (tracemalloc.get_traced_memory()[1] - held) / 1024
    await worker.queue_frame(EndFrame())
    await running
    return spent


def _child(config: str, trace: bool) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", config, *(["--trace"] if trace else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print ratios against the baselines of the same rounds, and memory kept over all frames."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        from loguru import logger

        logger.remove()
        print(json.dumps(asyncio.run(_measure(options.one, options.trace))))
        return
    cpu: dict[str, list[float]] = {config: [] for config in CONFIGS}
    for turn in range(options.rounds):
        order = [*CONFIGS[turn % len(CONFIGS) :], *CONFIGS[: turn % len(CONFIGS)]]
        for config in order if turn % 2 == 0 else reversed(order):
            spent = _child(config, False)
            cpu[config].append(spent["cpu_s"] / spent["frames"] * 1e6)
    kept = {config: _child(config, True) for config in TRACED}
    print(f"{PROCESSORS} processors, {FRAMES} audio frames of 20 ms and {TURNS} turns, {options.rounds} rounds")
    ratio = f"{'(min-max)':>14}"
    print(f"{'':22}{'us/frame':>9}{'x none':>8}{ratio}{'x empty':>9}{ratio}{'kept KiB':>10}{'peak':>9}")
    for config in CONFIGS:
        ratios = [[own / base for own, base in zip(cpu[config], cpu[name], strict=True)] for name in ("none", BASE)]
        none, empty = ratios
        memory = kept.get(config)
        own = [memory[name] - kept["none"][name] for name in ("retained_kib", "peak_kib")] if memory else []
        print(
            f"{config:22}{statistics.median(cpu[config]):9.1f}"
            f"{statistics.median(none):8.2f}{f'({min(none):.2f}-{max(none):.2f})':>14}"
            f"{statistics.median(empty):9.2f}{f'({min(empty):.2f}-{max(empty):.2f})':>14}"
            + "".join(f"{value:{width}.0f}" for value, width in zip(own, (10, 9), strict=False))
        )
    print(f"target: earwitness at most {TARGET} times the {BASE} observer, by CPU")


if __name__ == "__main__":
    main()
