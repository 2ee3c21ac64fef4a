"""What only the embedded log has to answer for: processes that die or fall silent, locks, clocks, a disk that ends."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from embedded_logs import HOUR_NS, TOPIC, Clock, Opener, kept, read_all, records
from log_places import read

from earwitness.monitor.log.embedded import EmbeddedSettings
from earwitness.monitor.log.embedded_file import LogFile
from earwitness.monitor.log.protocol import LogUnavailable, TopicSpec

WRITER = Path(__file__).with_name("append_process.py")


async def test_kill_9_of_a_writer_loses_nothing_that_was_acknowledged(open_log: Opener, path: Path) -> None:
    log = await open_log(TopicSpec(TOPIC, 4))
    for life in range(3):
        writer = await asyncio.create_subprocess_exec(
            sys.executable, str(WRITER), f"sqlite://{path}", TOPIC, f"life{life}", "100000", "20",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert writer.stdout is not None
        acknowledged = -1
        while acknowledged < 30 * (life + 1):
            acknowledged = int(await writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest, _ = await writer.communicate()
        for line in rest.split(b"\n")[:-1]:  # the last may be cut
            acknowledged = int(line)

        got = await read_all(log)
        mine = sorted(int((e.value or b"").split()[1]) for e in got if e.key.startswith(f"life{life}-"))

        assert mine[: (acknowledged + 1) * 20] == list(range((acknowledged + 1) * 20))
        assert len(mine) % 20 == 0, "a batch is there as a whole or not at all"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_who_bears_a_members_name_after_it_takes_up_at_once_what_it_owned(open_log: Opener) -> None:
    log = await open_log()
    await log.append(TOPIC, records(10))
    killed = await log.reader(TOPIC, group="g", member="relay")
    await read(killed, 10)
    await killed.commit({0: 4})

    heir = await log.reader(TOPIC, group="g", member="relay")
    assert [entry.offset for entry in await heir.poll(timeout_s=0)] == [4, 5, 6, 7, 8, 9]
    assert await heir.commit({0: 10}) == {0: 10}
    assert await log.groups(TOPIC) == ["g"]


async def test_a_second_log_of_a_process_leaves_the_first_its_locks(open_log: Opener, path: Path) -> None:
    log = await open_log()
    await log.append(TOPIC, records(1))
    await open_log()
    journal = path.with_name("log.db-wal")
    before = journal.stat().st_ino
    for life in range(3):
        # The last to leave a file deletes its journal: this process is still there.
        writer = await asyncio.create_subprocess_exec(
            sys.executable, str(WRITER), f"sqlite://{path}", TOPIC, f"life{life}", "2", "5",
            stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert await writer.wait() == 0
        assert journal.stat().st_ino == before
        await log.append(TOPIC, records(1))

    assert len(await read_all(log)) == 1 + 3 * 11
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_another_logs_append_is_heard_at_the_next_look_of_which_there_is_one_within_50_ms(
    open_log: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = await open_log(), await open_log()
    reader = await here.reader(TOPIC)
    has_news, looks = LogFile.has_news, list[bool]()

    def looked(file: LogFile) -> bool:
        looks.append(has_news(file))
        return looks[-1]

    monkeypatch.setattr(LogFile, "has_news", looked)
    for _ in range(15):
        looks.clear()
        waiting = asyncio.create_task(reader.poll(timeout_s=60))
        while not looks or looks[-1]:  # noqa: ASYNC110 - nobody tells when it looks
            await asyncio.sleep(0)
        before = len(looks)
        await there.append(TOPIC, records(1))
        after = len(looks)
        assert len(await waiting) == 1
        # One that was under way meanwhile may have seen it already.
        assert any(looks[before : after + 1])

    assert here.settings.look_every_s < 0.05


async def test_a42_the_append_time_never_falls_when_the_clock_is_set_back(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(clock_ns=clock)
    await log.append(TOPIC, records(1))
    noon = clock.now_ns
    clock.now_ns -= 2 * HOUR_NS
    await log.append(TOPIC, records(1))
    clock.now_ns = noon + 5
    await log.append(TOPIC, records(1))

    assert [entry.append_ns for entry in await read_all(log)] == [noon, noon, noon + 5]


async def test_a_member_that_falls_silent_loses_its_partitions_after_the_session(open_log: Opener) -> None:
    clock = Clock()
    settings = EmbeddedSettings(session_s=10, heartbeat_s=1)
    log = await open_log(TopicSpec(TOPIC, 2), settings=settings, monotonic_ns=clock)
    silent = await log.reader(TOPIC, group="g")
    clock.now_ns += 9 * 10**9
    other = await log.reader(TOPIC, group="g")
    assert other.positions() == {}

    clock.now_ns += 2 * 10**9
    await other.poll(timeout_s=0)

    assert set(other.positions()) == {0, 1}
    assert await silent.commit({0: 1, 1: 1}) == {}


async def test_members_noted_before_the_machine_was_started_anew_are_out(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(TopicSpec(TOPIC, 2), monotonic_ns=clock)
    await log.reader(TOPIC, group="g")
    clock.now_ns = 10**9

    survivor = await log.reader(TOPIC, group="g")

    assert set(survivor.positions()) == {0, 1}


async def test_a_log_held_by_another_process_is_unavailable_in_bounded_time(open_log: Opener, path: Path) -> None:
    log = await open_log(settings=EmbeddedSettings(busy_timeout_s=0.1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailable, match=r"another process held it for 0\.1 s"):
            await log.append(TOPIC, records(1))
        other.execute("ROLLBACK")

    await log.append(TOPIC, records(1))

    assert await kept(log) == [0]


async def test_a_full_disk_is_unavailable_and_the_log_goes_on_when_there_is_room(open_log: Opener) -> None:
    log = await open_log()

    def limit(pages: int) -> Callable[[LogFile], None]:
        return lambda file: file.db.execute(f"PRAGMA max_page_count={pages}").close()

    await log.work(limit(40))
    with pytest.raises(LogUnavailable, match="disk is full"):
        await log.append(TOPIC, records(100, size=5_000))
    await log.append(TOPIC, records(1))
    await log.work(limit(100_000))
    await log.append(TOPIC, records(100, size=5_000))

    assert await kept(log) == list(range(101))


async def test_the_event_loop_runs_on_while_the_file_is_held(open_log: Opener, path: Path) -> None:
    log = await open_log(settings=EmbeddedSettings(busy_timeout_s=0.3))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = asyncio.create_task(log.append(TOPIC, records(1)))
        turns = 0
        while not held.done():
            await asyncio.sleep(0)
            turns += 1
        with pytest.raises(LogUnavailable):
            await held

    # Waiting for the file in the loop itself, it would turn two or three times.
    assert turns > 50


async def test_where_no_thread_can_be_started_the_file_is_served_without_one(
    open_log: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    log = await open_log()

    await log.append(TOPIC, records(3))
    found = await kept(log)
    await log.close()

    assert found == [0, 1, 2]
