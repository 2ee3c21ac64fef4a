"""What a relay knows, after a kill, of the batch that was under way: one small file beside the log it ships.

The file is locked while a relay runs, and the kernel frees the lock when the process dies in whatever way: there is
one relay for a log and a target, and its successor may take over at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from earwitness.monitor.errors import BadInput


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Records that were sent and perhaps not acknowledged.

    ``ends``: where the target's partitions ended before the first attempt, so that whatever arrived lies from there on.
    ``upto``: by the source's partition, the offset behind the last of them. ``until_ns``: wall time of the last
    attempt.
    """

    ends: Mapping[int, int]
    upto: Mapping[int, int]
    until_ns: int


def mark_path(log: Path, target: str) -> Path:
    """Where the mark of the relay from this log to this target lies."""
    return log.with_name(f"{log.name}.relay-{hashlib.sha256(target.encode()).hexdigest()[:8]}")


def is_running(path: Path) -> bool:
    """Whether a relay holds this mark."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


class RelayMark:
    """The file, locked; made by `take`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.under_way = _parsed(os.pread(fd, 1 << 20, 0))
        """As written last; None: nothing is known to be under way."""

    @classmethod
    def take(cls, path: Path) -> Self:
        """Lock the file, making it where it is missing. Raises BadInput where another relay has it."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BadInput(
                f"cannot be written ({error.strerror}); mend the rights of its folder", where=str(path)
            ) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cls(fd)
        except OSError:
            os.close(fd)
            raise BadInput(
                "another relay ships this log to this target; one is enough, end it first", where=str(path)
            ) from None

    def write(self, under_way: UnderWay) -> None:
        """Remember what is about to be sent. A disk that would not is no reason to send nothing: then a kill in the
        next moments may repeat a batch."""
        self.under_way = under_way
        body = {"ends": under_way.ends, "upto": under_way.upto, "until_ns": under_way.until_ns}
        data = json.dumps(body).encode() + b"\n"
        with suppress(OSError):
            os.pwrite(self._fd, data, 0)
            os.ftruncate(self._fd, len(data))

    def settle(self) -> None:
        """All of it is committed. The file need not say so, since the committed positions do."""
        self.under_way = None

    def close(self) -> None:
        """Give the lock back; the file stays."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _parsed(data: bytes) -> UnderWay | None:
    """None where the file is empty or, after a loss of power, no longer whole."""
    try:
        body: Any = json.loads(data.split(b"\n", 1)[0])
        return UnderWay(_numbers(body["ends"]), _numbers(body["upto"]), int(body["until_ns"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _numbers(given: Any) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in given.items()}
