"""One writer per process: it never blocks or raises, and every way to end a process accounts for every event."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.log.open import open_log
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


def on_log(settings: BotSettings) -> list[dict[str, Any]]:
    """Everything on the embedded log, in order."""

    async def read() -> list[dict[str, Any]]:
        log = await open_log(settings.log)
        reader = await log.reader("earwitness.events")
        found: list[dict[str, Any]] = []
        while entries := await reader.poll(timeout_s=0):
            found += [json.loads(entry.value or b"") for entry in entries]
        await reader.close()
        await log.close()
        return found

    return asyncio.run(read())


def in_spools(settings: BotSettings) -> list[int]:
    """The seqs in files that some process has left."""
    folder = SpoolFolder(settings.spool_folder, settings.log, 10**9)
    seqs: list[int] = []
    files = []
    while (file := folder.adopt()) is not None:
        files.append(file)
        while file.waiting_bytes:
            items, end = file.read()
            assert items
            seqs += [item.seq for item in items]
            file.confirm(end)
    for file in files:
        file.close()
    return seqs


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


SCRIPT = """
import asyncio, os, signal, sys, threading
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.shutdown import flush_on_sigterm
from earwitness.processors.sink import Outbound
from earwitness.processors.writer import process_writer

settings = BotSettings.from_env(os.environ, strict=True)
writer = process_writer(settings)

def put(first, last):
    for seq in range(first, last):
        payload = b'{"source": "bot", "seq": %d}' % seq
        writer.put(Outbound("call", "bot", seq, "stage", seq, seq, payload))

def say(word):
    print(word, flush=True)
"""


def finish(bot: BotSettings, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", SCRIPT + script],
        env={**os.environ, "EARWITNESS_HOME": str(bot.home), "EARWITNESS_BOT__EXIT_FLUSH_S": "20", **environ},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def accounted(bot: BotSettings) -> tuple[list[int], list[int]]:
    """The bot's seqs that are on the log, and those that are in the spool only."""
    acked = sorted(data["seq"] for data in on_log(bot) if data["source"] == "bot")
    return acked, sorted(set(in_spools(bot)) - set(acked))


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("", 0, id="normally"),
        pytest.param("raise SystemExit(3)", 3, id="with a code"),
        pytest.param("raise RuntimeError('the bot failed')", 1, id="by an exception"),
        pytest.param(
            'def refuse(_): raise RuntimeError("can\'t create new thread at interpreter shutdown")\n'
            "threading.Thread.start = refuse",
            0,
            id="where no thread starts any more",
        ),
        pytest.param("async def main(): put(1000, 1100)\nasyncio.run(main())\nput(1100, 1200)", 0, id="loop closed"),
        pytest.param(
            "flush_on_sigterm(20.0)\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()", -15, id="by SIGTERM"
        ),
        pytest.param(
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\nflush_on_sigterm(20.0)\n"
            "os.kill(os.getpid(), signal.SIGTERM)\nthreading.Event().wait(30)",
            7,
            id="by the application's own SIGTERM handler",
        ),
    ],
)
def test_d07_however_a_process_ends_its_events_are_on_the_log(bot: BotSettings, end: str, code: int) -> None:
    ended = finish(bot, f"put(0, 1000)\n{end}\n")
    assert ended.returncode == code, ended.stderr
    acked, spooled = accounted(bot)
    assert acked == list(range(1_200 if "1200" in end else 1_000))
    assert spooled == []


def test_d07_what_is_put_while_the_interpreter_ends_is_kept_too(bot: BotSettings) -> None:
    ended = finish(bot, "import atexit\natexit.register(lambda: put(1000, 1010))\nput(0, 1000)\n")
    assert ended.returncode == 0, ended.stderr
    acked, spooled = accounted(bot)
    assert acked + spooled == list(range(1_010))


def test_d07_sigterm_reaches_an_asyncio_application_once(bot: BotSettings) -> None:
    ended = finish(
        bot,
        """
async def main():
    told = asyncio.Queue()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.put_nowait, "once")
    flush_on_sigterm(20.0)
    put(0, 1000)
    os.kill(os.getpid(), signal.SIGTERM)
    await told.get()
    put(1000, 1001)
    await writer.flush("call", 2.0)
    for thread in threading.enumerate():
        if thread.name == "earwitness-sigterm":
            await asyncio.to_thread(thread.join)
    say(told.qsize())
asyncio.run(main())
""",
    )
    assert (ended.returncode, ended.stdout) == (0, "0\n"), ended.stderr
    assert accounted(bot) == (list(range(1_001)), [])


def test_d07_with_the_log_locked_by_another_process_the_rest_is_left_in_the_spool(bot: BotSettings) -> None:
    assert finish(bot, "put(0, 10)").returncode == 0
    holder = sqlite3.connect(bot.log.removeprefix("sqlite://"), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    ended = finish(bot, "import time\nput(10, 1000)\nsys.stderr.write('x')\n")
    assert ended.returncode == 0, ended.stderr
    holder.execute("ROLLBACK")
    holder.close()
    acked, spooled = accounted(bot)
    assert acked[:10] == list(range(10))
    assert sorted(acked + spooled) == list(range(1_000))


def test_d07_after_kill_9_no_more_than_a_linger_is_lost_and_the_next_process_sends_the_rest(bot: BotSettings) -> None:
    # Nobody listens there: everything goes to the spool.
    kafka = {"EARWITNESS_LOG": "kafka://127.0.0.1:1/earwitness"}
    killed = finish(
        bot,
        """
put(0, 1000)
assert asyncio.run(writer.flush("call", 10.0))
put(1000, 1010)
os.kill(os.getpid(), signal.SIGKILL)
""",
        **kafka,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    spool = SpoolFolder(bot.spool_folder, "kafka://127.0.0.1:1/earwitness", 10**9)
    left = spool.adopt()
    assert left is not None
    items, _ = left.read(10**6)
    assert [item.seq for item in items][:1_000] == list(range(1_000))
    left.close()
    # The same file, as if it had been for this machine's log, which a next process opens.
    renamed = spool_for(bot, items)
    following = finish(bot, "put(5000, 5001)\nassert asyncio.run(writer.flush('call', 10.0))\nwriter.close(5.0)\n")
    assert following.returncode == 0, following.stderr
    assert not renamed.exists()
    assert [data["seq"] for data in on_log(bot) if data["seq"] < 1_000] == list(range(1_000))


def spool_for(bot: BotSettings, items: list[Outbound]) -> Path:
    file = SpoolFolder(bot.spool_folder, bot.log, 10**9).create()
    assert file is not None
    file.append(items)
    file.close()
    return file.path


def test_a_forked_child_has_a_writer_of_its_own(bot: BotSettings) -> None:
    ended = finish(
        bot,
        """
put(0, 500)
child = os.fork()
if child == 0:
    put(500, 600)
    assert asyncio.run(writer.flush("call", 10.0))
    os._exit(0)
put(600, 1000)
assert os.waitpid(child, 0)[1] == 0
""",
    )
    assert ended.returncode == 0, ended.stderr
    seqs = sorted(data["seq"] for data in on_log(bot))
    assert seqs == list(range(1_000))


def test_the_kill_switch_leaves_no_trace(bot: BotSettings) -> None:
    ended = finish(bot, "put(0, 1000)\nsay(threading.active_count())", EARWITNESS_OFF="1")
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr
    assert not bot.home.exists()
