"""What others that plug into a Pipecat call report of it: Pipecat's own observers, and OpenInference's instrumentation.

Each is attached as its documentation says, with its defaults, and read through what it gives its users: events, spans.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pipecat_calls.virtual_clock import WALL_START_S  # isort: skip - before others keep a reference to the clock

from openinference.instrumentation.pipecat import PipecatInstrumentor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pipecat.observers.turn_tracking_observer import TurnTrackingObserver
from pipecat.observers.user_bot_latency_observer import LatencyBreakdown, UserBotLatencyObserver


@dataclass(frozen=True)
class Sample:
    """A response latency as reported, and the stretch of the call within which its answer began, in seconds."""

    latency_s: float
    since_s: float
    until_s: float


class LatencyPeer:
    """Pipecat's `UserBotLatencyObserver`, read by its events. Tools are named as parts of a latency only."""

    def __init__(self) -> None:
        self.observer = UserBotLatencyObserver()
        self.samples: list[Sample] = []
        self.tools = 0
        self.observer.add_event_handler("on_latency_measured", self._measured)
        self.observer.add_event_handler("on_latency_breakdown", self._explained)

    async def _measured(self, _: Any, latency_s: float) -> None:
        now_s = time.time() - WALL_START_S
        self.samples.append(Sample(latency_s, now_s, now_s))

    async def _explained(self, _: Any, breakdown: LatencyBreakdown) -> None:
        self.tools += len(breakdown.function_calls)


class TurnPeer:
    """Pipecat's `TurnTrackingObserver`, read by its events."""

    def __init__(self) -> None:
        self.observer = TurnTrackingObserver()
        self.turns = 0
        self.interrupted = 0
        self.observer.add_event_handler("on_turn_ended", self._ended)

    async def _ended(self, _: Any, number: int, seconds: float, was_interrupted: bool) -> None:
        self.turns += 1
        self.interrupted += was_interrupted


class SpanPeer:
    """OpenInference's instrumentation, read by its spans of one call."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self.samples: list[Sample] = []
        self.turns = self.interrupted = self.tools = 0
        for span in exporter.get_finished_spans():
            said = dict(span.attributes or {})
            if said.get("openinference.span.kind") == "TOOL":
                self.tools += 1
            if "conversation.turn_number" not in said:
                continue
            self.turns += 1
            self.interrupted += said["conversation.was_interrupted"] is True
            latency_s = said.get("conversation.user_to_bot_latency")
            if isinstance(latency_s, float):
                since_s, until_s = ((at or 0) / 1e9 - WALL_START_S for at in (span.start_time, span.end_time))
                self.samples.append(Sample(latency_s, since_s, until_s))


@contextmanager
def openinference() -> Iterator[InMemorySpanExporter]:
    """OpenInference's instrumentation while the block runs, its spans kept in memory.

    It wraps the constructor of `PipelineWorker` for the whole process, and adds an observer of its own to every worker
    that is made; after the block the constructor is as before.
    """
    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=100_000))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = PipecatInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield exporter
    finally:
        instrumentor.uninstrument()
        provider.shutdown()
