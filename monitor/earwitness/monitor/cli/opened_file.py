"""A file that was named on the command line, or standard input, of which the beginning may be looked at first."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from earwitness.monitor.errors import BadInput

HEAD_BYTES = 65_536
_STDIN = "-"
EMPTY = '""'
"""How a name of no characters is shown: a variable of a script that was never set."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """``file`` reads from the beginning; ``head`` is what stands there; ``path`` is None for standard input."""

    shown: str
    head: bytes
    file: BinaryIO
    path: Path | None

    @contextmanager
    def on_disk(self) -> Generator[Path]:
        """The file as a path: what comes through a pipe is put down for as long as it is needed."""
        if self.path is not None and self.path.is_file():
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="earwitness-") as copy:
            shutil.copyfileobj(self.file, copy)
            copy.flush()
            yield Path(copy.name)


def is_there(name: str) -> bool:
    """Whether the file system has the name; False for one that no file system can have, and where nobody may look."""
    return os.path.exists(name)  # noqa: PTH110 - pathlib raises for names that are too long


@contextmanager
def opened(name: str) -> Generator[OpenedFile]:
    """Open a file, or standard input for ``-``. Raises BadInput for what cannot be opened or read."""
    shown = "standard input" if name == _STDIN else name or EMPTY
    if not name or "\0" in name:
        raise BadInput("is no name that a file can have", where=shown)
    try:
        if name == _STDIN:
            yield _beginning(shown, sys.stdin.buffer, None)
            return
        with Path(name).open("rb") as file:
            yield _beginning(shown, file, Path(name))
    except FileNotFoundError:
        raise BadInput("no such file", where=shown) from None
    except IsADirectoryError:
        raise BadInput("is a folder; name the files in it", where=shown) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", where=shown) from None


def _beginning(shown: str, file: BinaryIO, path: Path | None) -> OpenedFile:
    head = file.read(HEAD_BYTES)
    return OpenedFile(shown, head, io.BufferedReader(_Again(head, file), HEAD_BYTES), path)


class _Again(io.RawIOBase):
    """What was read of a file once more, and then its rest: standard input cannot be turned back."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        room = memoryview(buffer)
        taken = self._head[: len(room)] if self._head else memoryview(self._rest.read(len(room)))
        self._head = self._head[len(taken) :]
        room[: len(taken)] = taken
        return len(taken)
