"""Every way to end a process accounts for every event that its writer was given."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from bot_events import in_spools, on_log

from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFolder


@pytest.fixture
def bot(tmp_path: Path) -> BotSettings:
    return BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path / "home")}, strict=True, linger_s=2.0)


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
