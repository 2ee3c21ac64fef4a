"""What only the embedded log has to answer for: processes that die, a file that is wrong, a disk that ends."""

# ruff: noqa: ASYNC240 - small files of the tests' own

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import pytest
from log_places import poll_until, read

from earwitness.monitor.log.embedded import EmbeddedLog, EmbeddedSettings
from earwitness.monitor.log.embedded_file import LogFile, in_words
from earwitness.monitor.log.protocol import Entry, LogRefused, LogUnavailable, Outgoing, TopicSpec
from earwitness.monitor.log.url import SqliteUrl

WRITER = Path(__file__).with_name("append_process.py")
TOPIC = "earwitness.events"
HOUR_NS = 3_600 * 10**9

Opener = Callable[..., Awaitable[EmbeddedLog]]


class Clock:
    def __init__(self, now_ns: int = 1_800_000_000 * 10**9) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "log.db"


@pytest.fixture
async def open_log(path: Path) -> AsyncIterator[Opener]:
    opened: list[EmbeddedLog] = []

    async def one(*specs: TopicSpec, **kwargs: object) -> EmbeddedLog:
        specs = specs or (TopicSpec(TOPIC, 1),)
        log = await EmbeddedLog.open(SqliteUrl(path), specs, **kwargs)  # type: ignore[arg-type]
        opened.append(log)
        return log

    yield one
    for log in opened:
        await log.close()


def records(count: int, size: int = 10) -> list[Outgoing]:
    return [Outgoing(f"call-{i % 3}", b"x" * size) for i in range(count)]


async def kept(log: EmbeddedLog) -> list[int]:
    starts, ends = await log.start_positions(TOPIC), await log.end_positions(TOPIC)
    return list(range(starts[0], ends[0]))


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


async def read_all(log: EmbeddedLog) -> list[Entry]:
    reader = await log.reader(TOPIC)
    ends = await log.end_positions(TOPIC)
    return await poll_until(reader, lambda: reader.positions() == ends)


async def test_another_logs_append_is_heard_within_50_ms(open_log: Opener) -> None:
    here, there = await open_log(), await open_log()
    reader = await here.reader(TOPIC)
    delays_s: list[float] = []
    for _ in range(15):
        waiting = asyncio.create_task(reader.poll(timeout_s=10))
        await asyncio.sleep(0)
        await there.append(TOPIC, records(1))
        began = time.monotonic()
        await waiting
        delays_s.append(time.monotonic() - began)

    assert median(delays_s) < 0.05


async def test_records_over_age_go_a_bounded_number_at_a_time_oldest_first(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(keep_s=24 * 3600), clock_ns=clock)
    await log.append(TOPIC, records(1_500))
    clock.now_ns += 25 * HOUR_NS

    await log.append(TOPIC, records(10))
    after_one = await kept(log)
    clock.now_ns += 2 * 10**9
    await log.append(TOPIC, records(10))
    clock.now_ns += 2 * 10**9
    await log.append(TOPIC, records(10))

    assert 500 <= after_one[0] < 1_500
    assert await kept(log) == list(range(1_500, 1_530))


async def test_a_topics_own_retention_comes_before_the_logs(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(TopicSpec(TOPIC, 1, retention_ms=60_000), clock_ns=clock)
    await log.append(TOPIC, records(5))
    clock.now_ns += 61 * 10**9
    await log.append(TOPIC, records(5))

    assert await kept(log) == [5, 6, 7, 8, 9]


async def test_a_log_is_kept_as_long_as_the_monitor_was_told_whoever_writes_to_it(open_log: Opener) -> None:
    clock = Clock()
    bot = await open_log(clock_ns=clock)
    await bot.append(TOPIC, records(5))
    await open_log(settings=EmbeddedSettings(keep_s=30 * 24 * 3600, remember_kept=True))
    clock.now_ns += 29 * 24 * HOUR_NS
    await bot.append(TOPIC, records(5))
    assert await kept(bot) == list(range(10))

    await open_log(settings=EmbeddedSettings(keep_bytes=10**9, remember_kept=True))  # says nothing of the time
    clock.now_ns += 2 * 24 * HOUR_NS
    await (await open_log(clock_ns=clock)).append(TOPIC, records(5))
    assert await kept(bot) == list(range(5, 15))


async def test_a_log_that_remembers_nothing_keeps_8_days(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(remember_kept=True), clock_ns=clock)
    await open_log(settings=EmbeddedSettings(keep_s=30 * 24 * 3600))  # its own affair
    await log.append(TOPIC, records(5))
    clock.now_ns += 9 * 24 * HOUR_NS
    await log.append(TOPIC, records(5))
    assert await kept(log) == list(range(5, 10))


async def test_bytes_to_keep_are_remembered_too(open_log: Opener) -> None:
    clock = Clock()
    await open_log(settings=EmbeddedSettings(keep_bytes=2_000_000, remember_kept=True))
    bot = await open_log(clock_ns=clock)
    for _ in range(60):
        clock.now_ns += 2 * 10**9
        await bot.append(TOPIC, records(100, size=1_000))
    assert 1_000 < len(await kept(bot)) < 2_500


async def test_a_file_from_before_logs_remembered_anything_is_opened_and_remembers(
    open_log: Opener, path: Path
) -> None:
    await (await open_log()).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE meta")
    await open_log(settings=EmbeddedSettings(keep_s=3_600, remember_kept=True))
    assert (await (await open_log()).topics())[TOPIC].retention_ms == 3_600_000


async def test_over_its_bytes_the_log_forgets_the_oldest_and_stops_growing(open_log: Opener, path: Path) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(keep_bytes=2_000_000), clock_ns=clock)
    sizes: list[int] = []
    for _ in range(60):
        clock.now_ns += 2 * 10**9
        await log.append(TOPIC, records(100, size=1_000))
        sizes.append(path.stat().st_size)

    left = await kept(log)
    assert left[-1] == 5_999
    assert 1_000 < len(left) < 2_500
    assert max(sizes) < 4_000_000


async def test_a_compacted_topic_keeps_old_keys_and_loses_old_tombstones(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(TopicSpec(TOPIC, 1, compacted=True), clock_ns=clock)
    await log.append(TOPIC, [Outgoing("kept", b"1"), Outgoing("gone", b"2")])
    await log.append(TOPIC, [Outgoing("gone", None)])
    clock.now_ns += 24 * 30 * HOUR_NS
    await log.append(TOPIC, [Outgoing("new", b"3")])

    assert [(entry.offset, entry.key) for entry in await read_all(log)] == [(0, "kept"), (3, "new")]


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


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"call,latency\n1,2\n", "is no log; move it away", id="text"),
        pytest.param(b"SQLite format 3\0" + b"\x01" * 5_000, "damaged, or no log", id="damaged"),
    ],
)
async def test_a_file_that_is_no_log_is_refused_and_left_alone(
    open_log: Opener, path: Path, content: bytes, says: str
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(LogRefused, match=says) as caught:
        await open_log()

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


async def test_another_programs_database_is_refused(open_log: Opener, path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (a)")

    with pytest.raises(LogRefused, match="another program"):
        await open_log()


async def test_a_log_of_a_newer_version_is_refused(open_log: Opener, path: Path) -> None:
    await (await open_log()).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=99")

    with pytest.raises(LogRefused, match="newer Earwitness; upgrade"):
        await open_log()


async def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for wrong in (tmp_path, tmp_path / "file" / "log.db"):
        with pytest.raises(LogRefused, match=r"embedded log .*(folder|directory)"):
            await EmbeddedLog.open(SqliteUrl(wrong))


def test_a_file_that_may_only_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    sqlite3.connect(path).close()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db, pytest.raises(sqlite3.Error) as caught:
        db.execute("CREATE TABLE t (a)")

    words = in_words(caught.value, path, 5)

    assert isinstance(words, LogRefused)
    assert "may not be written" in str(words)


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


async def test_a_file_that_is_removed_is_made_anew_rather_than_written_unseen(open_log: Opener, path: Path) -> None:
    log = await open_log()
    reader = await log.reader(TOPIC)
    await log.append(TOPIC, records(5))
    await read(reader, 5)
    for file in path.parent.iterdir():
        file.unlink()

    await log.append(TOPIC, records(2))

    assert await kept(await open_log()) == [0, 1]
    assert len(await read(reader, 2)) == 2
    assert [(gap.expected, gap.resumed) for gap in reader.take_gaps()] == [(5, 0)]


async def test_only_its_owner_may_read_what_callers_said(open_log: Opener, path: Path) -> None:
    log = await open_log()
    await log.append(TOPIC, records(1))

    assert {file.stat().st_mode & 0o077 for file in [path.parent, *path.parent.iterdir()]} == {0}


async def test_the_event_loop_runs_on_while_the_file_is_held(open_log: Opener, path: Path) -> None:
    log = await open_log(settings=EmbeddedSettings(busy_timeout_s=0.3))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = asyncio.create_task(log.append(TOPIC, records(1)))
        longest_s, last = 0.0, time.monotonic()
        while not held.done():
            await asyncio.sleep(0)
            longest_s, last = max(longest_s, time.monotonic() - last), time.monotonic()
        with pytest.raises(LogUnavailable):
            await held

    assert longest_s < 0.2


async def test_a_pipe_or_device_is_refused_at_once(open_log: Opener, path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)

    with pytest.raises(LogRefused, match="device or pipe"):
        await asyncio.wait_for(open_log(), 5)


async def test_another_programs_database_is_left_as_it_was(open_log: Opener, path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
        theirs.commit()
    before = path.read_bytes()

    with pytest.raises(LogRefused, match="another program"):
        await open_log()

    assert path.read_bytes() == before
