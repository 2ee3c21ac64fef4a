"""One writer per process: it never blocks or raises."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bot_events import in_spools, on_log

from earwitness.monitor.log.protocol import LogUnavailable
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFolder
from earwitness.processors.writer import SilentSink, Writer, close_all, process_writer

Event = Callable[..., Outbound]
AWAY = LogUnavailable("nobody answers")


@pytest.fixture
def bot(tmp_path: Path) -> BotSettings:
    return BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path / "home")}, strict=True, linger_s=2.0)


@pytest.fixture
def opened() -> Iterator[Callable[..., Writer]]:
    writers: list[Writer] = []

    def make(settings: BotSettings, *rest: Any) -> Writer:
        writers.append(Writer(settings, *rest))
        return writers[-1]

    yield make
    for writer in writers:
        writer.close(2.0)


async def test_a_flush_from_the_bots_loop_waits_for_the_log(
    bot: BotSettings, opened: Callable[..., Writer], event: Event
) -> None:
    writer = opened(bot)
    for seq in range(1_000):
        writer.put(event(seq))
    assert await writer.flush("call", 5.0)
    stored = await asyncio.to_thread(on_log, bot)
    assert [data["seq"] for data in stored] == list(range(1_000))
    assert writer.stats().buffer_bytes == 0
    assert await writer.flush("call", 5.0)


async def test_a_flush_before_anything_was_put_is_done(bot: BotSettings, opened: Callable[..., Writer]) -> None:
    others = {t for t in threading.enumerate() if t.name == "earwitness-writer"}
    assert await opened(bot).flush("call", 5.0)
    assert {t for t in threading.enumerate() if t.name == "earwitness-writer"} <= others


async def test_a_flush_with_a_log_that_hangs_ends_with_the_events_on_disk(
    bot: BotSettings, opened: Callable[..., Writer], moody: Any, event: Event
) -> None:
    writer = opened(bot.model_copy(update={"linger_s": 0.02}), moody("hang").open)
    writer.put(event(0))
    assert await writer.flush("call", 5.0)
    assert writer.stats().spooled_events == 1


async def test_a_flush_that_can_store_nothing_ends_when_its_time_is_up(
    bot: BotSettings, opened: Callable[..., Writer], moody: Any, event: Event
) -> None:
    writer = opened(bot.model_copy(update={"spool_bytes": 0}), moody("hang").open)
    writer.put(event(0))
    assert not await writer.flush("call", 0.05)


async def test_d05_puts_do_not_wait_for_a_log_that_hangs(
    bot: BotSettings, opened: Callable[..., Writer], moody: Any, event: Event
) -> None:
    writer = opened(bot.model_copy(update={"spool_bytes": 0, "buffer_bytes": 100_000}), moody("hang").open)
    loop = asyncio.get_running_loop()
    items = [event(seq) for seq in range(20_000)]
    began_s = loop.time()
    for item in items:
        writer.put(item)
    assert loop.time() - began_s < 2.0
    assert writer.lost > 19_000
    assert writer.stats().buffer_bytes <= 100_000
    began_s = loop.time()
    await asyncio.to_thread(writer.close, 0.5)
    assert loop.time() - began_s < 1.5


async def test_a_log_that_cannot_be_opened_harms_nobody(
    bot: BotSettings, opened: Callable[..., Writer], event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> Any:
        raise RuntimeError("no such driver")

    writer = opened(bot, fails)
    writer.put(event(0))
    assert await writer.flush("call", 5.0)
    await asyncio.to_thread(writer.close)
    assert in_spools(bot) == [0]
    assert "no such driver" in caplog.text


async def test_a_thread_that_did_all_it_had_to_does_not_complain_of_what_the_interpreter_refuses(
    bot: BotSettings,
    opened: Callable[..., Writer],
    event: Event,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def looks_up_a_name() -> Any:
        await asyncio.to_thread(int)
        raise AWAY

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    writer = opened(bot, looks_up_a_name)
    writer.put(event(0))
    assert await writer.flush("call", 5.0)
    thread = next(one for one in threading.enumerate() if one.name == "earwitness-writer")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    writer.stop(5.0)
    thread.join(30)

    assert not thread.is_alive()
    assert in_spools(bot) == [0]
    assert "the writer failed" not in caplog.text


def test_an_event_that_is_none_is_refused_without_an_exception(
    bot: BotSettings, opened: Callable[..., Writer], caplog: pytest.LogCaptureFixture
) -> None:
    opened(bot).put("no event")  # type: ignore[arg-type]
    assert "could not be put" in caplog.text


def test_what_is_put_after_the_end_is_stored(bot: BotSettings, opened: Callable[..., Writer], event: Event) -> None:
    writer = opened(bot)
    writer.put(event(0))
    writer.close(5.0)
    writer.put(event(1))
    writer.put(event(2))
    writer.close(0.0)
    assert [data["seq"] for data in on_log(bot)] == [0]
    assert list(bot.spool_folder.iterdir()) != []


def test_a_thread_that_is_stuck_does_not_keep_its_events(
    bot: BotSettings, opened: Callable[..., Writer], event: Event
) -> None:
    stuck, free = threading.Event(), threading.Event()

    async def blocks() -> Any:
        stuck.set()
        free.wait(30)
        raise AWAY

    writer = opened(bot, blocks)
    writer.put(event(0))
    assert stuck.wait(30)
    writer.put(event(1))
    writer.close(0.05)
    spooled = json.loads(json.dumps(sorted(_seqs_of_open_spool(bot))))
    free.set()
    assert spooled == [0, 1]


def _seqs_of_open_spool(settings: BotSettings) -> list[int]:
    """Read past the lock that this process itself holds."""
    (path,) = settings.spool_folder.iterdir()
    copy = settings.home / "copy"
    copy.mkdir()
    (copy / path.name).write_bytes(path.read_bytes())
    file = SpoolFolder(copy, settings.log, 10**9).adopt()
    assert file is not None
    seqs = [item.seq for item in file.read().items]
    file.close()
    return seqs


def test_many_writers_of_one_process_take_no_longer_to_close_than_one(
    bot: BotSettings, opened: Callable[..., Writer], moody: Any, event: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = bot.model_copy(update={"exit_flush_s": 3.0, "linger_s": 0.02})
    writers = [opened(settings, moody("hang").open) for _ in range(5)]
    for writer in writers:
        writer.put(event(0))
        assert asyncio.run(writer.flush("call", 30.0))
    monkeypatch.setattr("earwitness.processors.writer._registry", dict(enumerate(writers)))
    began_s = time.monotonic()
    close_all()
    # One after the other they would take 11 s at least: each gives its log over 2 s.
    assert time.monotonic() - began_s < 10.0
    assert in_spools(bot) == [0] * 5


def test_one_writer_serves_a_process_and_none_where_it_is_switched_off(bot: BotSettings) -> None:
    assert process_writer(bot) is process_writer(bot.model_copy(update={"agent": "other"}))
    off = process_writer(bot.model_copy(update={"off": True}))
    assert isinstance(off, SilentSink)
    assert not bot.home.exists()
