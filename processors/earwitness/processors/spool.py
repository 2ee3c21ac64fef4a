"""Events on disk while the log is away: one append-only file per process, in order, gone once it is empty.

The owner holds a lock on its file, which the kernel frees when the process dies in whatever way; so the file of a dead
process can be known and adopted. No failure of the disk is raised: what could not be stored is the caller's still.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from earwitness.processors import spool_format as fmt
from earwitness.processors.sink import Outbound

SUFFIX = ".spool"
CHUNK_BYTES = 256 * 1024
_GRANTS = 64
"""Into how many parts the folder's room is cut: a file that has grown by one looks at the folder's size again."""
_HEADER_BYTES = 4096


class Disk(Protocol):
    """The part of `os` that a spool writes with; a test gives a disk that is full."""

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int: ...

    def ftruncate(self, fd: int, length: int, /) -> None: ...


class Chunk(NamedTuple):
    """Events as read, and the offset behind them."""

    items: list[Outbound]
    end: int


class SpoolFile:
    """One open and locked file; made by `SpoolFolder`."""

    def __init__(self, path: Path, fd: int, *, read_to: int, end: int, grant: Callable[[int], int], disk: Disk) -> None:
        self.path = path
        self._fd = fd
        self._read_to = read_to
        self._end = end
        self._grant = grant
        self._granted = end
        self._disk = disk

    @property
    def waiting_bytes(self) -> int:
        """What is not yet confirmed."""
        return self._end - self._read_to

    def append(self, items: Sequence[Outbound]) -> int | None:
        """Store events behind the others; the offset behind them. None where there is no room or the disk would not:
        then none of them is stored."""
        data = fmt.pack(items)
        if self._end + len(data) > self._granted:
            granted = self._grant(len(data))
            if granted < len(data):
                return None
            self._granted = self._end + granted
        try:
            written = 0
            while written < len(data):
                written += self._disk.pwrite(self._fd, data[written:], self._end + written)
        except OSError:
            with suppress(OSError):
                self._disk.ftruncate(self._fd, self._end)
            return None
        self._end += len(data)
        return self._end

    def read(self, max_bytes: int = CHUNK_BYTES) -> Chunk:
        """The oldest events not confirmed; none where the rest of the file is torn or cannot be read."""
        try:
            data = os.pread(self._fd, max_bytes, self._read_to)
            needed = fmt.frame_bytes(data)
            if needed is not None and needed > len(data):
                data = os.pread(self._fd, needed, self._read_to)
        except OSError:
            data = b""
        found = list(fmt.unpack(data, self._read_to))
        return Chunk([stored.item for stored in found], found[-1].end if found else self._read_to)

    def confirm(self, end: int) -> None:
        """What lies before ``end`` is on the log."""
        self._read_to = end
        with suppress(OSError):  # Not remembered: read again after a crash, which is safe.
            self._disk.pwrite(self._fd, fmt.offset(end), fmt.OFFSET_AT)

    def remove(self) -> None:
        """Delete the file and give the lock back."""
        with suppress(OSError):
            self.path.unlink()
        self.close()

    def close(self) -> None:
        """Leave the file to whoever adopts it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):
                os.close(fd)


class SpoolFolder:
    """The spool files of a machine, for one log. ``max_bytes`` bounds the whole folder; 0: nothing is ever stored."""

    def __init__(self, folder: Path, url: str, max_bytes: int, *, disk: Disk = os) -> None:
        self._folder = folder
        self._url = url
        self.max_bytes = max_bytes
        self._disk = disk

    def create(self) -> SpoolFile | None:
        """A new file, locked; None where there is no room or the disk would not."""
        if self.max_bytes <= 0:
            return None
        path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
        head = fmt.header(self._url)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        file = SpoolFile(path, fd, read_to=len(head), end=len(head), grant=self._grant, disk=self._disk)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink and self._disk.pwrite(fd, head, 0) == len(head):
                return file
        except OSError:
            pass
        file.remove()
        return None

    def adopt(self) -> SpoolFile | None:
        """The oldest file for this log whose process is gone, locked; None where there is none."""
        for path in self._files():
            try:
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(fd)
                head = fmt.read_header(os.pread(fd, _HEADER_BYTES, 0))
            except OSError:
                os.close(fd)
                continue
            if status.st_nlink and head is not None and head.url == self._url:
                return SpoolFile(path, fd, read_to=head.read_to, end=status.st_size, grant=self._grant, disk=self._disk)
            if status.st_nlink and head is None and status.st_size == 0:
                path.unlink(missing_ok=True)  # Made by a process that was killed in the next moment.
            os.close(fd)
        return None

    def _files(self) -> list[Path]:
        found: list[tuple[float, Path]] = []
        with suppress(OSError):
            for path in self._folder.glob(f"*{SUFFIX}"):
                with suppress(OSError):
                    found.append((path.stat().st_mtime, path))
        return [path for _, path in sorted(found)]

    def _grant(self, needed: int) -> int:
        """How much a file may grow by now: no more than there is room for in the folder."""
        used = 0
        for path in self._files():
            with suppress(OSError):
                used += path.stat().st_size
        return min(self.max_bytes - used, max(needed, self.max_bytes // _GRANTS))
