"""The spool keeps events in order through kills, full disks and other processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.processors import spool_format as fmt
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFile, SpoolFolder

Event = Callable[..., Outbound]
URL = "sqlite:///somewhere/log.db"


class FullDisk:
    """A disk with room for so many bytes; ``torn``: a write that does not fit is written in part first."""

    def __init__(self, room: int, *, torn: bool = False) -> None:
        self.room = room
        self.torn = torn

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int:
        if len(data) > self.room:
            if self.torn and self.room:
                written = os.pwrite(fd, data[: self.room], offset)
                self.room = 0
                return written
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd: int, length: int, /) -> None:
        os.ftruncate(fd, length)


def made(folder: SpoolFolder) -> SpoolFile:
    file = folder.create()
    assert file is not None
    return file


def drained(file: SpoolFile, max_bytes: int = 1_000) -> list[int]:
    seqs: list[int] = []
    while True:
        items, end = file.read(max_bytes)
        if not items:
            return seqs
        seqs += [item.seq for item in items]
        file.confirm(end)


def test_events_come_back_as_they_were_and_in_order(spool_folder: Path, event: Event) -> None:
    file = made(SpoolFolder(spool_folder, URL, 10**6))
    items = [event(seq, size=100 + 37 * seq) for seq in range(20)]
    file.append(items[:5])
    file.append(items[5:])
    read: list[Outbound] = []
    while file.waiting_bytes:
        some, end = file.read(700)
        read += some
        file.confirm(end)
    assert read == items


@given(st.text(max_size=9), st.text(max_size=9), st.integers(0, 2**63), st.binary(max_size=50), st.integers(0, 2))
def test_any_event_comes_back_as_it_was(call: str, source: str, number: int, payload: bytes, droppable: int) -> None:
    names = [name.encode("utf-8", "replace").decode() for name in (call, source)]
    item = Outbound(names[0], names[1], number, "kind", number, number, payload, droppable)
    assert next(fmt.unpack(fmt.pack([item, item]), 7)).item == item


def test_an_event_larger_than_a_read_is_read_whole(spool_folder: Path, event: Event) -> None:
    file = made(SpoolFolder(spool_folder, URL, 10**6))
    file.append([event(0, size=5_000), event(1)])
    assert drained(file, max_bytes=100) == [0, 1]


def test_what_is_confirmed_is_not_read_again_by_who_adopts_the_file(spool_folder: Path, event: Event) -> None:
    folder = SpoolFolder(spool_folder, URL, 10**6)
    file = made(folder)
    file.append([event(seq) for seq in range(10)])
    items, end = file.read(1_000)
    file.confirm(end)
    file.close()
    adopted = folder.adopt()
    assert adopted is not None
    assert drained(adopted) == list(range(len(items), 10))


def test_a_file_is_adopted_only_when_its_process_is_gone_and_only_once(spool_folder: Path, event: Event) -> None:
    folder = SpoolFolder(spool_folder, URL, 10**6)
    file = made(folder)
    file.append([event(0)])
    assert folder.adopt() is None
    file.close()
    adopted = folder.adopt()
    assert adopted is not None
    assert folder.adopt() is None
    adopted.remove()
    assert list(spool_folder.iterdir()) == []


def test_the_file_of_another_log_is_left_alone(spool_folder: Path, event: Event) -> None:
    file = made(SpoolFolder(spool_folder, "kafka://elsewhere:9092/earwitness", 10**6))
    file.append([event(0)])
    file.close()
    assert SpoolFolder(spool_folder, URL, 10**6).adopt() is None
    assert len(list(spool_folder.iterdir())) == 1


def test_a_file_that_is_no_spool_is_left_alone(spool_folder: Path) -> None:
    spool_folder.mkdir(parents=True)
    (spool_folder / "1-note.spool").write_text("somebody's own file, by an odd name")
    assert SpoolFolder(spool_folder, URL, 10**6).adopt() is None
    assert (spool_folder / "1-note.spool").exists()


@pytest.mark.parametrize("cut", [1, 7, 60, 200])
def test_a_tail_that_a_kill_tore_is_left_out(spool_folder: Path, event: Event, cut: int) -> None:
    folder = SpoolFolder(spool_folder, URL, 10**6)
    file = made(folder)
    file.append([event(0), event(1), event(2)])
    file.close()
    os.truncate(file.path, file.path.stat().st_size - cut)
    adopted = folder.adopt()
    assert adopted is not None
    assert drained(adopted) == [0, 1]
    assert adopted.waiting_bytes > 0


def test_a_byte_that_changed_on_disk_is_seen(spool_folder: Path, event: Event) -> None:
    folder = SpoolFolder(spool_folder, URL, 10**6)
    file = made(folder)
    file.append([event(0)])
    middle = file.append([event(1), event(2)])
    file.close()
    assert middle is not None
    data = bytearray(file.path.read_bytes())
    data[-300] ^= 1
    file.path.write_bytes(data)
    adopted = folder.adopt()
    assert adopted is not None
    assert drained(adopted) == [0]


def test_the_folder_as_a_whole_is_bounded(spool_folder: Path, event: Event) -> None:
    folder = SpoolFolder(spool_folder, URL, 10_000)
    one, two = made(folder), made(folder)
    batch = [event(seq) for seq in range(10)]
    stored = [file.append(batch) is not None for file in (one, two, one, two, one, two)]
    assert any(stored)
    assert not all(stored)
    assert sum(path.stat().st_size for path in spool_folder.iterdir()) <= 10_000
    assert SpoolFolder(spool_folder, URL, 0).create() is None


@pytest.mark.parametrize("torn", [False, True])
def test_a_full_disk_stores_none_of_a_batch_and_recovers(spool_folder: Path, event: Event, torn: bool) -> None:
    disk = FullDisk(1_000, torn=torn)
    folder = SpoolFolder(spool_folder, URL, 10**6, disk=disk)
    file = made(folder)
    assert file.append([event(0), event(1)]) is not None
    assert file.append([event(seq) for seq in range(2, 9)]) is None
    disk.room = 10_000
    assert file.append([event(9)]) is not None
    file.close()
    adopted = folder.adopt()
    assert adopted is not None
    assert drained(adopted) == [0, 1, 9]
    assert adopted.waiting_bytes == 0


def test_a_disk_that_is_full_from_the_beginning_gives_no_file_and_leaves_none(spool_folder: Path) -> None:
    assert SpoolFolder(spool_folder, URL, 10**6, disk=FullDisk(0)).create() is None
    assert list(spool_folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    folder = SpoolFolder(tmp_path / "home" / "spool", URL, 10**6)
    assert folder.create() is None
    assert folder.adopt() is None


KILLED = """
import os, signal, sys
from pathlib import Path
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFolder
file = SpoolFolder(Path(sys.argv[1]), sys.argv[2], 10**6).create()
file.append([Outbound("call", "bot", seq, "stage", seq, seq, b"{}") for seq in range(50)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_stored_is_adopted_whole(spool_folder: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(spool_folder), URL], check=False, timeout=60)
    assert killed.returncode == -9
    adopted = SpoolFolder(spool_folder, URL, 10**6).adopt()
    assert adopted is not None
    assert drained(adopted) == list(range(50))
