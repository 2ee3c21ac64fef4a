"""Recordings, block by block: two channels out of a file of any length, in constant memory.

libsndfile (through soundfile) reads what telephony writes: RIFF, RF64 and extensible WAV, PCM of 8 to 32 bits, float,
G.711 mu-law and A-law, odd chunks, sizes that a stream never knew; FLAC and Ogg come for nothing. Sizes of 0, which a
recorder leaves behind that was killed, are mended (``wav_header``); audio that ends too early is said.
"""

from __future__ import annotations

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
from earwitness.monitor.audio.wav_header import Mended, WavSizes, wav_sizes
from earwitness.monitor.errors import BadInput

LEAST_RATE_HZ = 8_000
MOST_RATE_HZ = 48_000
BLOCK_S = 2.0
NOTABLE_S = 0.1
"""What is missing of less makes no difference: tools that count the header as audio are off by a little."""

MINUTES_S = 120.0
"""Longer times are said in minutes."""


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
        self._sizes = WavSizes()
        self._heard = 0
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
        while True:
            try:
                read: npt.NDArray[Any] = self._file.read(frames, "float32" if floats else "int16", always_2d=True)
            except (soundfile.LibsndfileError, RuntimeError, OSError) as error:
                raise self._bad(f"unreadable after {self._heard / self.rate_hz:.1f} s ({_reason(error)})") from error
            if not len(read):
                break
            self._heard += len(read)
            bad = int(read.size - np.isfinite(read).sum()) if floats else 0
            if bad:
                read = np.nan_to_num(read, nan=0.0, posinf=0.0, neginf=0.0)
            yield Block(_sixteen_bit(read[:, caller]), _sixteen_bit(read[:, agent]), bad)
        if not self._heard:
            raise self._bad("holds no audio; is it the finished recording?")

    def remarks(self) -> list[str]:
        """What a reader of the numbers must know of the file, once all blocks are read: less audio than its header
        says, bytes behind it that are none."""
        sizes, said = self._sizes, list[str]()
        claimed = self._file.frames
        if sizes.claimed is not None and sizes.there:
            claimed = max(claimed, self._heard * sizes.claimed / sizes.there)
        missing_s, claimed_s = (claimed - self._heard) / self.rate_hz, claimed / self.rate_hz
        if missing_s >= NOTABLE_S:
            few, what = (missing_s, "missing") if missing_s < MINUTES_S else (claimed_s - missing_s, "there")
            said.append(f"cut off: {_length(few)} of the {_length(claimed_s)} that its header says are {what}")
        if sizes.stray:
            sound_s = self._heard * sizes.stray / max(sizes.there, 1) / self.rate_hz
            perhaps = f", {_length(sound_s)} if they are audio" if sound_s >= 1 else ""
            said.append(f"{wording.plural(sizes.stray, 'byte')} after its audio are left out{perhaps}")
        return said

    def _opened(self) -> Any:
        try:
            if not self.path.is_file() and self.path.exists():
                raise self._bad("is no file; give a recording that lies on disk")
            size = self.path.stat().st_size
            if not size:
                raise self._bad("is empty")
            with self.path.open("rb") as raw:
                self._sizes = wav_sizes(raw, size)
            instead = self._sizes.instead
            # Names are bytes: those that are no UTF-8 are files too.
            return soundfile.SoundFile(Mended(self.path, instead) if instead else os.fsencode(self.path))
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


def _sixteen_bit(samples: npt.NDArray[Any]) -> Samples:
    if samples.dtype == np.int16:
        return np.ascontiguousarray(samples)
    return np.clip(np.rint(samples * np.float32(32768.0)), -32768, 32767).astype(np.int16)


def _length(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < MINUTES_S else wording.compact_span(seconds)


def _reason(error: Exception) -> str:
    """libsndfile's own words, without the path that it puts before them."""
    return wording.printable(str(getattr(error, "error_string", None) or error)).strip().rstrip(".")
