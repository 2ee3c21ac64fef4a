"""Texts that take long to redact: made in the writer's thread, the same as ever, and nowhere to be seen before."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.contract.events import SpeechStarted, Tool, Transcript
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import LogUnavailable
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.buffer import Buffer
from earwitness.processors.losses import Losses
from earwitness.processors.recorder import Recorder
from earwitness.processors.redaction import LONG_TEXT, Redaction
from earwitness.processors.sink import MemorySink, Outbound, Unredacted
from earwitness.processors.writer import MOST_UNREDACTED_BYTES, Writer

SECRET = b"one secret"
NUMBER = "555 0142 99"
LONG = json.dumps([{"name": "row", "phone": f"+1 202 555 01{i:02}"} for i in range(60)])
TEXTS = [
    "my number is 2025550142",
    "the earliest on Friday please",
    LONG,
    "say 4711 again, four two one five five five",
]


class Dates:
    def wall_of(self, at_ns: int) -> int:
        return at_ns


def settings(folder: Path) -> BotSettings:
    return BotSettings.from_env({"EARWITNESS_HOME": str(folder)}, secret="x")


def speak(recorder: Recorder) -> None:
    """Texts of all kinds, and what has none between them."""
    for number, text in enumerate(TEXTS * 5):
        recorder.emit(SpeechStarted, number, party="caller", evidence="vad", edge_ns=number)
        recorder.emit(Transcript, number, party="caller", text=text, final=bool(number % 2), participant="P1")
        recorder.emit(Tool, number, tool_call_id="t", name="find", phase="started", arguments=text)


def test_the_same_events_in_the_same_order_as_if_they_had_been_made_at_once(tmp_path: Path, moody: Any) -> None:
    redactor, plain, log = Redaction(SECRET), MemorySink(), moody()
    writer = Writer(settings(tmp_path), log.open)
    for sink in (plain, writer):
        speak(Recorder("call", sink=sink, redactor=redactor, clock=Dates(), per_second=1e9, burst=1e9))
    assert writer.flush_now(30.0)
    writer.close(5.0)

    assert asyncio.run(log.values()) == [item.payload for item in plain.items]


def test_what_takes_long_is_redacted_in_the_writers_thread_and_nothing_else_is(tmp_path: Path, moody: Any) -> None:
    there: list[tuple[int, str]] = []

    class Watched(Redaction):
        def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
            there.append((threading.get_ident(), str(fields.get("text"))))
            return super().fields(kind, fields)

        def for_another_thread(self) -> Watched:
            return Watched(SECRET)

    log = moody()
    writer = Writer(settings(tmp_path), log.open)
    recorder = Recorder("call", sink=writer, redactor=Watched(SECRET), clock=Dates())
    for text in TEXTS:
        recorder.emit(Transcript, 1, party="caller", text=text, final=True)
    assert writer.flush_now(30.0)
    writer.close(5.0)

    here = [text for thread, text in there if thread == threading.get_ident()]
    assert here == [TEXTS[1]]
    assert sorted(text for _, text in there) == sorted(TEXTS)


def test_what_waits_has_no_bytes_and_is_spooled_redacted_only(tmp_path: Path) -> None:
    async def away() -> MemoryLog:
        raise LogUnavailable("away")

    writer = Writer(settings(tmp_path), away)
    recorder = Recorder("call", sink=writer, redactor=Redaction(SECRET), clock=Dates())
    recorder.emit(Transcript, 1, party="caller", text=f"my number is {NUMBER}", final=True)
    writer.flush_now(30.0)
    recorder.emit(Transcript, 2, party="caller", text=f"once more, {NUMBER}", final=True)
    writer.close(5.0)

    spooled = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert spooled.count(b'"transcript"') == 2
    assert NUMBER.encode() not in spooled
    assert spooled.count(b"<digits:") + spooled.count(b"<phone:") == 2


def test_a_process_that_ends_with_no_thread_left_makes_what_waits(tmp_path: Path, moody: Any) -> None:
    writer = Writer(settings(tmp_path), moody().open)
    writer.flush_now(1.0)
    writer._thread = threading.Thread()  # never started: the writer's own does not come up
    recorder = Recorder("call", sink=writer, redactor=Redaction(SECRET), clock=Dates())
    recorder.emit(Transcript, 1, party="caller", text=f"my number is {NUMBER}", final=True)
    assert writer.stats().buffer_bytes > 0
    writer.close(0.1)

    spooled = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b'"transcript"' in spooled
    assert NUMBER.encode() not in spooled


def test_more_than_an_exit_has_time_for_is_redacted_at_once(tmp_path: Path, moody: Any) -> None:
    writer = Writer(settings(tmp_path), moody().open)
    head = Outbound("call", "bot", 0, "transcript", 0, 0, b"")

    assert not writer.put_unredacted(Unredacted(head, MOST_UNREDACTED_BYTES + 1, lambda: b"{}"))
    assert writer.stats().buffer_bytes == 0
    assert writer.put_unredacted(Unredacted(head, 1_000, lambda: b"{}"))
    writer.close(5.0)


def test_an_event_that_cannot_be_redacted_is_reported_and_does_not_pass() -> None:
    losses = Losses()
    buffer = Buffer(1_000_000, losses)

    def fails() -> bytes:
        raise ZeroDivisionError

    head = Outbound("call", "bot", 3, "transcript", 0, 0, b"")
    buffer.put(Unredacted(head, 100, fails))
    buffer.put(Unredacted(head._replace(seq=4), 100, lambda: b"{}"))

    assert [(item.seq, item.payload) for item in buffer.take(10**9, 10**9).items] == [(4, b"{}")]
    (lost,) = losses.take()
    assert [(r.first_seq, r.last_seq) for r in lost.ranges] == [(3, 3)]


def test_what_is_being_redacted_can_be_had_by_who_cannot_wait() -> None:
    buffer = Buffer(1_000_000, Losses())
    seen: list[list[Outbound]] = []
    head = Outbound("call", "bot", 0, "transcript", 0, 0, b"")

    def slow() -> bytes:
        if not seen:
            seen.append([])
            seen[0] = buffer.unfinished()
        return b"{}"

    buffer.put(Unredacted(head, 100, slow))
    buffer.put(head._replace(seq=1, payload=b"[]"))
    buffer.take(10**9, 10**9)

    assert [(item.seq, item.payload) for item in seen[0]] == [(0, b"{}"), (1, b"[]")]
    assert buffer.unfinished() == []


@pytest.mark.parametrize(
    ("text", "long"),
    [("see you on Friday", False), ("x" * LONG_TEXT, False), ("x " * LONG_TEXT, True), (f"it is {NUMBER}", True)],
)
def test_what_takes_long(text: str, long: bool) -> None:
    assert Redaction(SECRET).takes_long("transcript", {"text": text}) is long
    assert not Redaction(SECRET, extra=[("id", "x+")]).takes_long("transcript", {"text": text})


def test_what_is_no_event_is_counted_at_once(tmp_path: Path, moody: Any) -> None:
    writer = Writer(settings(tmp_path), moody().open)
    recorder = Recorder("call", sink=writer, redactor=Redaction(SECRET), clock=Dates())

    assert recorder.emit(Transcript, 1, party="nobody", text=LONG, final=True) is None
    assert recorder.ledger.invalid == {"transcript": 1}
    assert recorder.emit(Transcript, 1, party="caller", text=LONG + "\ud800", final=True) == 0
    writer.close(5.0)


def test_a_number_with_slashes_is_taken_out_once_there_have_been_too_many_to_ask_about() -> None:
    text = "see 12/34/56/78 or a@example.com and " + " and ".join(f"20{i:02}55{i:02}42" for i in range(40))

    assert "12/34/56/78" in Redaction(SECRET).text("see 12/34/56/78")
    assert "12/34/56/78" not in Redaction(SECRET).text(text)
