"""The file of an embedded log: one that is wrong, of another program, not to be written, removed, or seen by others."""

# ruff: noqa: ASYNC240 - small files of the tests' own

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from embedded_logs import TOPIC, Opener, kept, records
from log_places import read

from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.embedded_file import in_words
from earwitness.monitor.log.protocol import LogRefused
from earwitness.monitor.log.url import SqliteUrl


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
