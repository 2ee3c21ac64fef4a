"""What a WAV file's header says of its audio, against what lies in the file: sizes wrong, missing or too large.

Recorders are killed before they write the sizes, uploads end early, tools append: libsndfile reads on or stops without
a word, and an hour that became a minute would be measured as a call of a minute.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

UNKNOWN_SIZE = b"\xff\xff\xff\xff"
STREAMED = 0x7FFF_0000
"""What writes to a pipe does not know the size, and claims 2 GB, 4 GB or a little less."""
MOST_CHUNKS = 1_000


@dataclass(frozen=True, slots=True)
class WavSizes:
    """Bytes of a WAV file's audio. ``claimed`` is None where nothing is claimed, or the file is no WAV file."""

    claimed: int | None = None
    there: int = 0
    """From the beginning of the audio, no more than claimed."""
    stray: int = 0
    """What follows and is no part of a WAV file."""
    instead: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """What must be read instead, by position, where audio claims no bytes although bytes follow; mostly nothing."""


def wav_sizes(file: BinaryIO, size: int) -> WavSizes:
    """Walk the chunks of a file of ``size`` bytes."""
    head = file.read(12)
    if head[:4] not in {b"RIFF", b"RF64"} or head[8:12] != b"WAVE":
        return WavSizes()
    wide: int | None = None
    instead: dict[int, bytes] = {}
    at = 12
    for _ in range(MOST_CHUNKS):
        chunk = _chunk(file, at)
        if chunk is None:
            break
        name, length = chunk
        if name == b"ds64":
            wide = int.from_bytes(file.read(16)[8:], "little")
            if not wide:
                instead = {0: b"RIFF"}  # its 64-bit sizes were never written: without them the size is unknown
        if name == b"data":
            if size <= at + 8:
                return WavSizes(claimed=length or None)
            if not length:
                return WavSizes(instead=instead | {at + 4: UNKNOWN_SIZE})
            claimed = wide if head[:4] == b"RF64" and length == 0xFFFF_FFFF else length
            if not claimed or (claimed == length and length >= STREAMED):
                return WavSizes(instead=instead)
            there = min(claimed, size - at - 8)
            return WavSizes(claimed, there, _stray(file, at + 8 + claimed, size), instead)
        at += 8 + length + length % 2
    return WavSizes()


def _chunk(file: BinaryIO, at: int) -> tuple[bytes, int] | None:
    file.seek(at)
    head = file.read(8)
    return (head[:4], int.from_bytes(head[4:], "little")) if len(head) == 8 else None


def _stray(file: BinaryIO, at: int, size: int) -> int:
    """Bytes from the first on that belong to no chunk; what fills up to a whole number of words is no such byte."""
    at += at % 2
    for _ in range(MOST_CHUNKS):
        chunk = _chunk(file, at)
        if chunk is None:
            break
        name, length = chunk
        if not (name.isascii() and name.decode("ascii").isprintable()) or at + 8 + length > size:
            break
        at += 8 + length + length % 2
    return max(0, size - at)


class Mended(io.RawIOBase):
    """A file with some bytes of its header read as others, for libsndfile."""

    def __init__(self, path: Path, instead: dict[int, bytes]) -> None:
        self._raw = path.open("rb")
        self._instead = {at + i: value for at, text in instead.items() for i, value in enumerate(text)}

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any) -> int:
        at = self._raw.tell()
        view = memoryview(buffer).cast("B")
        count = self._raw.readinto(view)
        for place, value in self._instead.items():
            if at <= place < at + count:
                view[place - at] = value
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
