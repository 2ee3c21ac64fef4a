"""What shipping an event costs: microseconds of CPU of this process, from ``put`` to the batch appended, against a bare
deque whose payloads are joined.

    python tests/benchmarks/bench_writer.py

Events of 444 bytes at a pace of 50 a call and second, 200 calls, batches as they come; the best of three rounds, the
rows in turn. The last rows add what is before the writer: making, redacting and serialising the event. Target: a fact
becomes part of a batch in at most 8 us.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from earwitness.monitor.contract.events import Response, SpeechStarted, Stage, Transcript
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Outgoing
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.recorder import Recorder
from earwitness.processors.redaction import Redaction
from earwitness.processors.sink import Outbound, Sink
from earwitness.processors.writer import SilentSink, Writer

EVENTS, CALLS, BURST, ROUNDS, TARGET_US = 30_000, 200, 300, 3, 8.0
TEXT = "so I would like to move my appointment from Tuesday to the earliest one on Friday"


class Nowhere(MemoryLog):
    """A log that takes everything at once and keeps nothing."""

    async def open(self) -> Nowhere:
        return self

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        del topic, records


class Dates:
    def wall_of(self, at_ns: int) -> int:
        return 1_700_000_000_000_000_000 + at_ns


def outbounds() -> list[Outbound]:
    payload = b'{"v":1,"kind":"speech_started"' + b" " * 413 + b"}"
    return [
        Outbound(f"call-{i % CALLS:04d}", "bot", i // CALLS, "speech_started", i, i, payload) for i in range(EVENTS)
    ]


def cpu_us(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return (time.process_time() - began) / EVENTS * 1e6


def bare(items: Sequence[Outbound]) -> None:
    waiting: deque[Outbound] = deque()
    for first in range(0, EVENTS, BURST):
        for item in items[first : first + BURST]:
            waiting.append(item)
        b"".join([waiting.popleft().payload for _ in range(len(waiting))])


def through(writer: Writer, items: Sequence[Outbound]) -> None:
    """In bursts, each of which has left before the next: as a live bot's events do."""
    for first in range(0, EVENTS, BURST):
        for item in items[first : first + BURST]:
            writer.put(item)
        writer.flush_now(30.0)


def put_only(items: Sequence[Outbound], settings: BotSettings) -> float:
    """What the bot's own loop pays."""
    writer = Writer(settings, Nowhere().open)
    writer.put(items[0])
    writer.flush_now(30.0)
    spent = 0.0
    for first in range(0, EVENTS, BURST):
        began = time.thread_time()
        for item in items[first : first + BURST]:
            writer.put(item)
        spent += time.thread_time() - began
        writer.flush_now(30.0)
    writer.close(5.0)
    return spent / EVENTS * 1e6


def facts(sink: Sink) -> None:
    """A call's usual mix: edges, milestones, metrics, a transcript."""
    redactor = Redaction(b"secret")
    recorders = [
        Recorder(f"call-{call:04d}", sink=sink, redactor=redactor, clock=Dates(), per_second=1e9, burst=1e9)
        for call in range(CALLS)
    ]
    flush: Callable[[float], Any] | None = getattr(sink, "flush_now", None)
    for i in range(EVENTS // 4):
        recorder, at_ns = recorders[i % CALLS], i * 1_000_000
        recorder.emit(SpeechStarted, at_ns, party="caller", evidence="vad", edge_ns=at_ns)
        recorder.emit(Response, at_ns, response_id="r1", phase="requested", why="user_turn", cause_turn=1)
        recorder.emit(Stage, at_ns, service="llm", metric="ttfb", value_s=0.41, model="gpt-x", processor="LLM#0")
        recorder.emit(Transcript, at_ns, party="caller", text=TEXT, final=True, language="en")
        if flush is not None and i % (BURST // 4) == 0:
            flush(30.0)


def main() -> None:
    items = outbounds()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        def settings(name: str) -> BotSettings:
            return BotSettings.from_env({"EARWITNESS_HOME": str(home / name)}, secret="x")

        def writer_to_memory() -> None:
            writer = Writer(settings("memory"), Nowhere().open)
            through(writer, items)
            writer.close(5.0)

        def writer_to_sqlite() -> None:
            writer = Writer(settings("sqlite"))
            through(writer, items)
            writer.close(5.0)

        def fact_to_batch() -> None:
            writer = Writer(settings("facts"), Nowhere().open)
            facts(writer)
            writer.close(5.0)

        rows: dict[str, Callable[[], float]] = {
            "bare deque and join": lambda: cpu_us(lambda: bare(items)),
            "put, as the bot's loop sees it": lambda: put_only(items, settings("put")),
            "put to batch, log in memory": lambda: cpu_us(writer_to_memory),
            "put to batch, SQLite": lambda: cpu_us(writer_to_sqlite),
            "fact to event, no writer": lambda: cpu_us(lambda: facts(SilentSink())),
            "fact to batch, log in memory": lambda: cpu_us(fact_to_batch),
        }
        found: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, measure in rows.items():
                found[name].append(measure())
    print(f"{'us of CPU per event':32} {'best':>7} {'median':>7}")
    for name, values in found.items():
        print(f"{name:32} {min(values):7.2f} {statistics.median(values):7.2f}")
    best = min(found["fact to batch, log in memory"])
    print(f"target: fact to batch at most {TARGET_US:g} us: {'met' if best <= TARGET_US else 'missed'} ({best:.2f})")


if __name__ == "__main__":
    main()
