"""Recordings, block by block: two channels out of a file of any length, in constant memory.

libsndfile (through soundfile) reads what telephony writes: RIFF, RF64 and extensible WAV, PCM of 8 to 32 bits, float,
G.711 mu-law and A-law, odd chunks, sizes that a stream never knew; FLAC and Ogg come for nothing. Sizes of 0, which a
recorder leaves behind that was killed, are mended here.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from earwitness.monitor import wording
from earwitness.monitor.audio.resampling import Samples
from earwitness.monitor.errors import BadInput

LEAST_RATE_HZ = 8_000
MOST_RATE_HZ = 48_000
BLOCK_S = 2.0
HEADER_BYTES = 1 << 20
"""How far into a file the data chunk is looked for when its size reads 0."""
UNKNOWN_SIZE = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of both channels, 16-bit, of the same length."""

    caller: Samples
    agent: Samples
    not_numbers: int = 0
    """Samples of a float file that are NaN or infinite, read as 0."""


class StereoRecording:
    """A recording of one call, caller and agent on a channel each. A context manager.

    Raises ``BadInput`` for what is no such recording: unreadable, empty, no audio, one channel, more than two without
    both named, a rate outside 8 to 48 kHz. ``shown`` is what a complaint calls the file, its path unless given.
    """

    def __init__(
        self, path: Path, *, caller_channel: int = 0, agent_channel: int | None = None, shown: str | None = None
    ) -> None:
        self.path = path
        self._where = wording.printable(str(path) if shown is None else shown)
        self._file: Any = self._opened()
        try:
            self.rate_hz = int(self._file.samplerate)
            self.channels = int(self._file.channels)
            self.coding = f"{self._file.format} {self._file.subtype}"
            """Container and coding by libsndfile's names, such as ``WAV PCM_16``."""
            self.caller_channel, self.agent_channel = self._sides(caller_channel, agent_channel)
            if not LEAST_RATE_HZ <= self.rate_hz <= MOST_RATE_HZ:
                raise self._bad(f"sampled at {self.rate_hz} Hz; give it at 8,000 to 48,000 Hz")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> StereoRecording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def blocks(self) -> Iterator[Block]:
        """All samples in order, about 2 s at a time. Raises ``BadInput`` where the file cannot be read on."""
        frames = int(self.rate_hz * BLOCK_S)
        caller, agent = self.caller_channel, self.agent_channel
        floats = self._file.subtype in {"FLOAT", "DOUBLE"}
        heard = 0
        while True:
            try:
                read: npt.NDArray[Any] = self._file.read(frames, "float32" if floats else "int16", always_2d=True)
            except (soundfile.LibsndfileError, RuntimeError, OSError) as error:
                raise self._bad(f"unreadable after {heard / self.rate_hz:.1f} s ({_reason(error)})") from error
            if not len(read):
                break
            heard += len(read)
            bad = int(read.size - np.isfinite(read).sum()) if floats else 0
            if bad:
                read = np.nan_to_num(read, nan=0.0, posinf=0.0, neginf=0.0)
            yield Block(_sixteen_bit(read[:, caller]), _sixteen_bit(read[:, agent]), bad)
        if not heard:
            raise self._bad("holds no audio; is it the finished recording?")

    def _opened(self) -> Any:
        try:
            if not self.path.is_file() and self.path.exists():
                raise self._bad("is no file; give a recording that lies on disk")
            with self.path.open("rb") as raw:
                head = raw.read(HEADER_BYTES)
            if not head:
                raise self._bad("is empty")
            instead = _mending(head, self.path.stat().st_size)
            # Names are bytes: those that are no UTF-8 are files too.
            return soundfile.SoundFile(_Mended(self.path, instead) if instead else os.fsencode(self.path))
        except OSError as error:
            raise self._bad(f"cannot be read: {error.strerror or error}") from error
        except (soundfile.LibsndfileError, ValueError, TypeError, RuntimeError) as error:
            raise self._bad(f"is no audio that can be read ({_reason(error)}); give a stereo WAV file") from error

    def _sides(self, caller: int, agent: int | None) -> tuple[int, int]:
        if self.channels == 1:
            raise self._bad("is mono; caller and agent are needed on a channel each: record in stereo")
        if agent is None:
            if self.channels > 2:
                raise self._bad(
                    f"has {self.channels} channels; name both sides' with --caller-channel and --agent-channel"
                )
            agent = 1 - caller
        for party, channel in (("caller", caller), ("agent", agent)):
            if not 0 <= channel < self.channels:
                raise self._bad(f"has no channel {channel} for the {party}; its channels are 0 to {self.channels - 1}")
        if caller == agent:
            raise self._bad(f"channel {caller} cannot be both the caller's and the agent's")
        return caller, agent

    def _bad(self, what: str) -> BadInput:
        return BadInput(what, where=self._where)


class _Mended(io.RawIOBase):
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


def _mending(head: bytes, size: int) -> dict[int, bytes]:
    """What must be read instead where a WAV file's audio claims no bytes although bytes follow; mostly nothing."""
    if head[:4] not in {b"RIFF", b"RF64"} or head[8:12] != b"WAVE":
        return {}
    at = 12
    instead: dict[int, bytes] = {}
    while at + 8 <= len(head):
        name, length = head[at : at + 4], int.from_bytes(head[at + 4 : at + 8], "little")
        if name == b"ds64" and not any(head[at + 16 : at + 24]):
            instead = {0: b"RIFF"}  # its 64-bit sizes were never written: without them the size is unknown
        if name == b"data":
            if size <= at + 8:
                return {}
            return instead | ({at + 4: UNKNOWN_SIZE} if length == 0 else {})
        at += 8 + length + length % 2
    return {}


def _sixteen_bit(samples: npt.NDArray[Any]) -> Samples:
    if samples.dtype == np.int16:
        return np.ascontiguousarray(samples)
    return np.clip(np.rint(samples * np.float32(32768.0)), -32768, 32767).astype(np.int16)


def _reason(error: Exception) -> str:
    """libsndfile's own words, without the path that it puts before them."""
    return wording.printable(str(getattr(error, "error_string", None) or error)).strip().rstrip(".")
