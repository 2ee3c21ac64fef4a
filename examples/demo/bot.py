"""A bot process of the demo: one deployed agent that takes several calls at once.

``python -m examples.demo.bot AGENT --llm URL --recogniser URL --clips DIR``; the parent places calls by JSON lines on
standard input: ``{"call": "c01", "scenario": "visit"}``. Facts come back on standard output.

Each agent shows one of the three ways in: taps and observer by hand, ``attach``, or no line at all, where the parent
sets ``PIPECAT_SETUP_FILES``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from examples.demo.callers import AGENT_VOICE, AGENTS, CALLER_VOICE, SCENARIOS, WARM_UP, Agent, Scenario
from examples.demo.child import announce, orders
from examples.demo.clips import RATE, Clips
from examples.demo.far_end import FarEnd, Moment
from examples.demo.line import Line
from examples.demo.llm_server import HEADER, MODEL
from examples.demo.stt_pocketsphinx import PocketSphinxSTT
from examples.demo.tts_clips import ClipTTS
from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import EndWorkerFrame, FunctionCallResultProperties, LLMRunFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.turns.user_start import MinWordsUserTurnStartStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from earwitness.processors import Witness, attach

LONGEST_CALL_S = 60.0


class Bot:
    """What the calls of one process share."""

    def __init__(self, agent: Agent, llm_url: str, recogniser_url: str, clips: Clips) -> None:
        self._agent = agent
        self._llm_url = llm_url
        self._recogniser_url = recogniser_url
        self._clips = clips
        self._workers: set[PipelineWorker] = set()

    async def hang_up(self) -> None:
        """End the calls that are still going on."""
        await asyncio.gather(*(worker.cancel() for worker in self._workers))

    async def warm_up(self) -> None:
        """Take a call that nobody watches, as bots do before their first: it loads models and opens connections."""
        Witness(self._agent.name).caller_tap()
        os.environ["EARWITNESS_OFF"] = "1"
        try:
            await self.take("warm-up", WARM_UP)
        finally:
            del os.environ["EARWITNESS_OFF"]

    async def take(self, call: str, scenario: Scenario) -> None:
        """Take one call from its first ring to its end."""
        clock_offset_s = time.time() - time.monotonic()

        def told(moment: Moment) -> None:
            announce(
                call=call,
                fact="speech",
                party=moment.party,
                what=moment.what,
                text=moment.text,
                wall_s=round(moment.at_s + clock_offset_s, 4),
            )

        person = FarEnd(scenario, lambda text: self._clips.get(CALLER_VOICE, text), told, seed=len(call))
        line = Line(person)
        worker = await asyncio.to_thread(self._worker, line, scenario, call)

        async def hung_up(*_: Any) -> None:
            await worker.cancel()

        line.add_event_handler("on_client_disconnected", hung_up)
        announce(call=call, fact="started", wall_s=round(time.time(), 4))
        await worker.queue_frame(LLMRunFrame())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        self._workers.add(worker)
        try:
            await asyncio.wait_for(runner.run(), LONGEST_CALL_S)
        except TimeoutError:
            announce(call=call, fact="overran")
        self._workers.discard(worker)
        announce(call=call, fact="ended", wall_s=round(time.time(), 4), worst_lag_s=round(line.worst_lag_s, 3))

    def _worker(self, line: Line, scenario: Scenario, call: str) -> PipelineWorker:
        llm = OpenAILLMService(
            api_key="none-needed",
            base_url=self._llm_url,
            default_headers={HEADER: scenario.name},
            settings=OpenAILLMService.Settings(model=MODEL, system_instruction="You answer the telephone."),
        )
        tools = sorted({r.tool for r in scenario.replies if r.tool})
        for name in tools:
            llm.register_function(name, _tool(name, scenario.tool_s.get(name, 0.1)))
        schemas = [FunctionSchema(name=name, description=name, properties={}, required=[]) for name in tools]
        context = LLMContext([], tools=ToolsSchema(standard_tools=list(schemas)))
        words = self._agent.min_words
        strategies = UserTurnStrategies(start=[MinWordsUserTurnStartStrategy(min_words=words)]) if words else None
        aggregators = LLMContextAggregatorPair(
            context,
            user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer(), user_turn_strategies=strategies),
        )
        by_hand = None
        if self._agent.attached == "by_hand":
            by_hand = Witness(self._agent.name, self._agent.version, call_id=call)
        stages: list[FrameProcessor] = [
            line.input(),
            *([by_hand.caller_tap()] if by_hand else []),
            PocketSphinxSTT(self._recogniser_url),
            aggregators.user(),
            llm,
            ClipTTS(self._clips, AGENT_VOICE),
            line.output(),
            *([by_hand.agent_tap()] if by_hand else []),
            aggregators.assistant(),
        ]
        worker = PipelineWorker(
            Pipeline(stages),
            params=PipelineParams(
                enable_metrics=True,
                enable_usage_metrics=True,
                audio_in_sample_rate=RATE,
                audio_out_sample_rate=RATE,
            ),
            observers=[by_hand.observer()] if by_hand else [],
            enable_rtvi=False,
        )
        if self._agent.attached == "attach":
            attach(worker, self._agent.name, self._agent.version, call_id=call)
        return worker


def _tool(name: str, takes_s: float) -> Any:
    """A tool of the agent; ``end_call`` and a hand-over end the call once what was said has been heard."""

    async def run(call: FunctionCallParams) -> None:
        if name == "end_call":
            await call.result_callback({"ok": True}, properties=FunctionCallResultProperties(run_llm=False))
            await call.llm.push_frame(EndWorkerFrame(reason="the conversation is over"))
            return
        await asyncio.sleep(takes_s)
        if name != "transfer_to_human":
            await call.result_callback({"ok": True})
            return
        await call.result_callback({"ok": True}, properties=FunctionCallResultProperties(run_llm=False))
        await call.llm.push_frame(EndWorkerFrame(reason="handed over to a human"))

    return run


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", choices=sorted(AGENTS))
    parser.add_argument("--llm", required=True)
    parser.add_argument("--recogniser", required=True)
    parser.add_argument("--clips", type=Path, required=True)
    wanted = parser.parse_args()
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    bot = Bot(AGENTS[wanted.agent], wanted.llm, wanted.recogniser, Clips(wanted.clips))
    await bot.warm_up()
    announce(ready=True)
    async with asyncio.TaskGroup() as calls:
        async for order in orders():
            calls.create_task(bot.take(order["call"], SCENARIOS[order["scenario"]]))
        await bot.hang_up()


if __name__ == "__main__":
    asyncio.run(_main())
    sys.exit(0)
