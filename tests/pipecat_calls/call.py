"""Place a scripted call: a whole Pipecat pipeline on a virtual clock, offline, in a fraction of its length."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipecat_calls.virtual_clock import VirtualLoop, run_virtually  # isort: skip - before Pipecat is imported

from loguru import logger
from pipecat.frames.frames import LLMRunFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.turns.user_start import MinWordsUserTurnStartStrategy
from pipecat.turns.user_stop import TurnAnalyzerUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat_calls.line import Line, Truth
from pipecat_calls.script import Script
from pipecat_calls.services import EnergyVAD, OracleSTT, RealtimeModel, ScriptedLLM, ScriptedTurns, ToneTTS
from pipecat_calls.versions import PipelineParams, Worker, run_worker


@dataclass
class RunningCall:
    """The parts of a call that a test may reach into while it runs."""

    script: Script
    worker: Any
    line: Line
    user: Any
    assistant: Any
    llm: Any
    stt: Any
    tts: Any
    pipeline: list[Any] = field(default_factory=list)

    def now_s(self) -> float:
        """Seconds since the pipeline's clock began."""
        return float(self.worker._clock.get_time()) / 1e9

    async def hang_up(self) -> None:
        """The caller hangs up, and the application cancels the worker, as applications do."""
        await self.line.fire("on_client_disconnected", "client")
        await asyncio.sleep(0.02)
        await self.worker.cancel()


@dataclass
class Placed:
    """A call that is over."""

    truth: Truth
    seconds: float
    finished: bool
    call: RunningCall


Attach = Callable[[RunningCall], Any]
"""Called once the worker exists and before it runs; may be async."""


def _mutes(names: Sequence[str]) -> list[Any]:
    from pipecat.turns import user_mute

    return [getattr(user_mute, name)() for name in names]


def _build(
    script: Script,
    observers: list[Any],
    extra: dict[str, list[Any]],
    *,
    vad: Any = None,
    pcm: Any = None,
    model: Callable[[Script], Any] | None = None,
) -> RunningCall:
    clock: list[Any] = []
    line = Line(script, lambda: clock[0].get_time() / 1e9 if clock else 0.0, pcm)
    strategies = None
    if script.mode == "cascade":
        start = [MinWordsUserTurnStartStrategy(min_words=script.min_words)] if script.min_words else None
        stop = [TurnAnalyzerUserTurnStopStrategy(turn_analyzer=ScriptedTurns(script.verdicts))]
        strategies = UserTurnStrategies(start=start, stop=stop)  # type: ignore[arg-type]
    params: dict[str, Any] = {"user_mute_strategies": _mutes(script.mute), "user_idle_timeout": script.idle_s}
    if strategies is not None:
        params["user_turn_strategies"] = strategies
    if script.vad == "energy" and script.mode == "cascade":
        params["vad_analyzer"] = vad or EnergyVAD()
    pair = LLMContextAggregatorPair(
        LLMContext([{"role": "system", "content": "order desk"}]), user_params=LLMUserAggregatorParams(**params)
    )
    user, assistant = pair.user(), pair.assistant()
    stt: Any = None
    llm: Any
    tts: Any = None
    middle: list[Any]
    if script.mode == "cascade":
        stt, llm, tts = OracleSTT(script), ScriptedLLM(script), ToneTTS(script)
        middle = [stt, user, llm, tts]
    else:
        llm = (model or RealtimeModel)(script)
        middle = [user, llm]
    processors = [
        line.input(), *extra.get("after_input", []), *middle, *extra.get("before_output", []),
        line.output(), *extra.get("after_output", []), assistant,
    ]  # fmt: skip
    options: dict[str, Any] = {"enable_rtvi": script.rtvi, "enable_turn_tracking": False}
    worker = Worker(
        Pipeline(processors),
        params=PipelineParams(
            enable_metrics=script.metrics,
            enable_usage_metrics=script.metrics,
            audio_in_sample_rate=16_000,
            audio_out_sample_rate=24_000,
        ),
        observers=observers,
        **options,
    )
    clock.append(worker._clock)
    return RunningCall(script, worker, line, user, assistant, llm, stt, tts, processors)


async def _run(call: RunningCall, attach: Attach | None) -> bool:
    if attach is not None:
        done = attach(call)
        if inspect.isawaitable(done):
            await done
    if call.script.greets:
        await call.worker.queue_frame(LLMRunFrame())

    async def act() -> None:
        for event in sorted(call.script.events, key=lambda event: event.at_s):
            await asyncio.sleep(max(0.0, event.at_s - call.now_s()))
            done = event.do(call)
            if inspect.isawaitable(done):
                await done

    running = asyncio.ensure_future(run_worker(call.worker))
    acting = asyncio.ensure_future(act())
    ended, _ = await asyncio.wait({running}, timeout=call.script.ends_s)
    acting.cancel()
    if not ended:
        await call.worker.cancel()
        ended, _ = await asyncio.wait({running}, timeout=60)
    if running.done():
        running.result()
    else:
        running.cancel()
    if acting.done() and not acting.cancelled():
        acting.result()
    return bool(ended)


def place_call(
    script: Script,
    *,
    attach: Attach | None = None,
    observers: Callable[[], list[Any]] | None = None,
    extra: Callable[[], dict[str, list[Any]]] | None = None,
    loop: VirtualLoop | None = None,
    vad: Callable[[], Any] | None = None,
    pcm: Any = None,
    model: Callable[[Script], Any] | None = None,
    log_level: str = "ERROR",
) -> Placed:
    """Run the script to its end and say what was really heard.

    ``observers`` and ``extra`` (processors by place: ``after_input``, ``before_output``, ``after_output``) are made
    inside the loop. ``attach`` gets the call before it runs. ``vad`` makes another detector than the one by energy,
    ``pcm`` gives recorded audio for lines by number (16 kHz, int16), ``model`` makes another speech-to-speech service.
    """
    logger.remove()
    logger.add(sys.stderr, level=log_level)
    call = hold_call(script, attach=attach, observers=observers, extra=extra, vad=vad, pcm=pcm, model=model)
    return run_virtually(call, loop or VirtualLoop())


async def hold_call(
    script: Script,
    *,
    attach: Attach | None = None,
    observers: Callable[[], list[Any]] | None = None,
    extra: Callable[[], dict[str, list[Any]]] | None = None,
    vad: Callable[[], Any] | None = None,
    pcm: Any = None,
    model: Callable[[Script], Any] | None = None,
) -> Placed:
    """The same in the loop that runs: on an ordinary one the call takes its real time, and others may run beside it."""
    made = observers() if observers else []
    call = _build(script, made, extra() if extra else {}, vad=vad() if vad else None, pcm=pcm, model=model)
    finished = await _run(call, attach)
    return Placed(call.line.truth, call.now_s(), finished, call)
