"""What shipping an event costs: microseconds of CPU of this process, from ``put`` to the batch appended, against a bare
deque whose payloads are joined.

    python tests/benchmarks/bench_writer.py

Events of 444 bytes at a pace of 50 a call and second, 200 calls, batches as they come; the best of three rounds, the
rows in turn. The last rows add what is before the writer: making, redacting and serialising the event. "In one thread"
is the same way without the writer's thread: from the fact into the buffer and out of it as records to append, in blocks
of 200 events of which the best counts, since what else runs on the machine only adds. Target: a fact becomes part of a
batch in at most 8 us, the writer's thread with it.
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

from earwitness.monitor.contract.events import Response, SpeechStarted, Stage, Tool, Transcript
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Outgoing
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.buffer import Buffer
from earwitness.processors.losses import Losses
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


def four_facts(recorder: Recorder, at_ns: int) -> None:
    """A call's usual mix: an edge, a milestone, a metric, a transcript."""
    recorder.emit(SpeechStarted, at_ns, party="caller", evidence="vad", edge_ns=at_ns)
    recorder.emit(Response, at_ns, response_id="r1", phase="requested", why="user_turn", cause_turn=1)
    recorder.emit(Stage, at_ns, service="llm", metric="ttfb", value_s=0.41, model="gpt-x", processor="LLM#0")
    recorder.emit(Transcript, at_ns, party="caller", text=TEXT, final=True, language="en")


def facts(sink: Sink) -> None:
    """Facts of all calls in turn."""
    redactor = Redaction(b"secret")
    recorders = [
        Recorder(f"call-{call:04d}", sink=sink, redactor=redactor, clock=Dates(), per_second=1e9, burst=1e9)
        for call in range(CALLS)
    ]
    flush: Callable[[float], Any] | None = getattr(sink, "flush_now", None)
    for i in range(EVENTS // 4):
        four_facts(recorders[i % CALLS], i * 1_000_000)
        if flush is not None and i % (BURST // 4) == 0:
            flush(30.0)


class Buffered(SilentSink):
    """A buffer that nobody empties but who measures."""

    def __init__(self) -> None:
        self.buffer = Buffer(8 * 2**20, Losses())

    def put(self, item: Outbound) -> None:
        self.buffer.put(item)


def fact_to_records() -> float:
    """Microseconds an event of the best block."""
    sink, redactor = Buffered(), Redaction(b"secret")
    recorders = [
        Recorder(f"call-{call:04d}", sink=sink, redactor=redactor, clock=Dates(), per_second=1e9, burst=1e9)
        for call in range(CALLS)
    ]
    best = float("inf")
    for block in range(EVENTS // 200):
        began = time.thread_time()
        for i in range(block * 50, block * 50 + 50):
            four_facts(recorders[i % CALLS], i * 1_000_000)
        records = [Outgoing(item.call_id, item.payload) for item in sink.buffer.take(256 * 1024, 500).items]
        best = min(best, time.thread_time() - began)
        assert len(records) == 200
    return best / 200 * 1e6


def numbers_on_the_loop(sink: Sink, flush: Callable[[], object]) -> float:
    """Microseconds that a tool's result full of numbers, 2,000 characters, keeps the bot's loop: the best of twenty."""
    rows = ", ".join(f'{{"id": {i * 7919 % 10**9:09}, "name": "item"}}' for i in range(60))[:2_000]
    recorder = Recorder("call", sink=sink, redactor=Redaction(b"secret"), clock=Dates(), per_second=1e9, burst=1e9)
    best = float("inf")
    for i in range(20):
        began = time.thread_time()
        recorder.emit(Tool, i, tool_call_id="t", name="find", phase="result", result=rows)
        best = min(best, time.thread_time() - began)
        flush()
    return best * 1e6


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
            "fact to batch, in one thread": fact_to_records,
        }
        found: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, measure in rows.items():
                found[name].append(measure())
        writer = Writer(settings("numbers"), Nowhere().open)
        at_once = numbers_on_the_loop(SilentSink(), int)
        later = numbers_on_the_loop(writer, lambda: writer.flush_now(30.0))
        writer.close(5.0)
    print(f"{'us of CPU per event':32} {'best':>7} {'median':>7}")
    for name, values in found.items():
        print(f"{name:32} {min(values):7.2f} {statistics.median(values):7.2f}")
    best = min(found["fact to batch, log in memory"])
    print(f"2,000 characters full of numbers on the bot's loop: {later:.0f} us, {at_once:.0f} if redacted there")
    met = "met" if best <= TARGET_US else "missed"
    print(f"target: fact to batch, the writer's thread with it, at most {TARGET_US:g} us: {met} ({best:.2f})")


if __name__ == "__main__":
    main()
