"""A stereo recording of a call, if the site asks for one: caller left, agent right, both where they were heard.

Consent is the site's matter: nothing is recorded unless a folder is named. The two tracks are laid out by time and not
by byte counts, so overlaps can be measured on the file. Disk trouble ends the recording and nothing else.
"""

from __future__ import annotations

import os
import wave
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import structlog

from earwitness.monitor.audio.framing import one_channel
from earwitness.monitor.audio.resampling import Resampler
from earwitness.monitor.audio.sample_clock import SampleClock
from earwitness.monitor.call_names import recording_name
from earwitness.processors.one_thread import OneThread
from earwitness.processors.voice_activity import Chunk

RATE_HZ = 16_000
SETTLE_S = 2.0
"""How long a stretch stays open for audio that is late, or that plays later than it was written."""
BLOCK_S = 1.0
HELD_S = 20.0
"""Audio further ahead than this is not kept: no transport's own queue is that long."""
LOOSE_S = 0.02
"""Chunks within this of the one before are laid seamlessly behind it."""
UNWRITTEN_BLOCKS = 30

_log = structlog.get_logger(__name__)


class CallRecording:
    """Mixes the tracks of one call into a file. Not safe for several threads: ears run on one.

    ``folder`` is made if it is missing; a name that is taken gets a number. Nothing here raises for disk trouble:
    ``failed`` says why the recording ended early.
    """

    def __init__(self, folder: Path, call_id: str, disk: Executor | None = None) -> None:
        self._disk = disk or disk_executor()
        self._file = _WavFile(folder, recording_name(call_id))
        self._held: npt.NDArray[np.int16] = np.zeros((int(HELD_S * RATE_HZ), 2), np.int16)
        self._base = 0
        """Position in the call of the first held sample."""
        self._reach = 0
        self._closed = False
        self.caller = RecordedTrack(self, 0)
        self.agent = RecordedTrack(self, 1)
        self._submitted = 0
        self._owed = 0
        self.missing_blocks = 0
        """Stretches of a second that the disk was too slow for; silence stands for them."""

    @property
    def path(self) -> Path | None:
        """The file; None until its first second was written."""
        return self._file.path

    @property
    def failed(self) -> str | None:
        """Why the recording ended early."""
        return self._file.failed

    def lay(self, side: int, position: int, pcm: npt.NDArray[np.int16]) -> None:
        """Put samples of a side at a position of the call; what was written already stays as it is."""
        if self._closed or self._file.failed is not None:
            return
        if position < self._base:
            pcm = pcm[self._base - position :]
            position = self._base
        fits = max(0, self._base + len(self._held) - position)
        pcm = pcm[:fits]
        if pcm.size:
            self._held[position - self._base : position - self._base + pcm.size, side] = pcm
            self._reach = max(self._reach, position + pcm.size)

    def erase(self, side: int, position: int) -> None:
        """Silence on a side from a position on: it was laid, and then not played."""
        self._held[max(0, position - self._base) :, side] = 0

    def settle(self, now_ns: int) -> None:
        """Write what lies further back than late audio may come."""
        block = int(BLOCK_S * RATE_HZ)
        settled = now_ns * RATE_HZ // 1_000_000_000 - int(SETTLE_S * RATE_HZ)
        while settled - self._base >= block:
            if self._reach > self._base:
                self._write(block)
            else:  # nobody has been heard since: no need to carry silence about
                self._owed += settled - self._base
                self._base = settled

    def close(self) -> None:
        """Write the rest and close the file, in the disk's thread."""
        if self._closed:
            return
        self._closed = True
        rest = self._reach - self._base
        if rest > 0:
            self._write(min(rest, len(self._held)))
        if self.missing_blocks:
            _log.warning(
                "a recording has silence where the disk was too slow", file=str(self.path), s=self.missing_blocks
            )
        self._disk.submit(self._file.close)

    def _write(self, samples: int) -> None:
        block = self._held[:samples].tobytes()
        self._held[:-samples] = self._held[samples:]
        self._held[-samples:] = 0
        self._base += samples
        if self._file.failed is not None:
            return
        if self._submitted - self._file.appended >= UNWRITTEN_BLOCKS:
            self.missing_blocks += 1
            self._owed += samples
            return
        self._submitted += 1
        owed, self._owed = self._owed, 0
        self._disk.submit(self._file.append, owed, block)


class RecordedTrack:
    """One side of a recording, at any rate and channel count."""

    def __init__(self, recording: CallRecording, side: int) -> None:
        self._recording = recording
        self._side = side
        self._form = (0, 0)
        self._resampler = Resampler(RATE_HZ, RATE_HZ)
        self._clock = SampleClock(RATE_HZ)
        self._next = 0

    def add(self, chunk: Chunk, start_ns: int) -> None:
        """Lay a chunk where it began to play."""
        self._follow(chunk)
        self._recording.settle(chunk.arrival_ns)
        self._lay(chunk, start_ns)

    def arrived(self, chunks: Sequence[Chunk]) -> None:
        """Lay chunks of one form where their arrivals say that they were spoken: late ones are dated together."""
        self._follow(chunks[0])
        first = self._clock.end
        for chunk in chunks:
            self._clock.arrived(chunk.samples, chunk.arrival_ns)
        self._recording.settle(self._clock.at_ns(first))
        for chunk in chunks:
            self._lay(chunk, self._clock.at_ns(first))
            first += chunk.samples
        self._recording.settle(chunks[-1].arrival_ns)

    def _follow(self, chunk: Chunk) -> None:
        form = (chunk.rate_hz, chunk.channels)
        if form != self._form:
            self._form = form
            self._resampler = Resampler(chunk.rate_hz, RATE_HZ)
            self._clock = SampleClock(chunk.rate_hz)

    def _lay(self, chunk: Chunk, start_ns: int) -> None:
        whole = len(chunk.audio) - len(chunk.audio) % (2 * chunk.channels)
        position = max(0, start_ns) * RATE_HZ // 1_000_000_000
        if abs(position - self._next) > LOOSE_S * RATE_HZ:
            self._next = position
        laid = self._resampler.feed(one_channel(chunk.audio[:whole], chunk.channels))
        self._recording.lay(self._side, self._next, laid)
        self._next += laid.size

    def cut(self, at_ns: int) -> None:
        """What was to play after ``at_ns`` was thrown away."""
        position = at_ns * RATE_HZ // 1_000_000_000
        if self._next > position:
            self._recording.erase(self._side, position)
            self._next = position


class _WavFile:
    """The file, in the disk's thread. Its header is right after every block: a killed process leaves a good file."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._raw: IO[bytes] | None = None
        self._wave: wave.Wave_write | None = None
        self.path: Path | None = None
        self.failed: str | None = None
        self.appended = 0

    def append(self, silence: int, block: bytes) -> None:
        """``silence`` samples, then the block."""
        self.appended += 1
        if self.failed is not None:
            return
        try:
            writer = self._wave or self._open()
            if silence:
                writer.writeframes(bytes(silence * 4))
            writer.writeframes(block)
        except (OSError, wave.Error) as error:
            self.failed = str(error)
            _log.warning("a recording ended early", file=self._name, error=self.failed)
            self.close()

    def close(self) -> None:
        writer, self._wave = self._wave, None
        raw, self._raw = self._raw, None
        for file in (writer, raw):
            try:
                if file is not None:
                    file.close()
            except (OSError, wave.Error) as error:
                self.failed = self.failed or str(error)

    def _open(self) -> wave.Wave_write:
        self._folder.mkdir(parents=True, exist_ok=True)
        stem = self._name.removesuffix(".wav")
        for number in range(1, 1000):
            path = self._folder / (self._name if number == 1 else f"{stem}-{number}.wav")
            try:
                self._raw = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
                break
            except FileExistsError:
                continue
        else:
            raise OSError(f"{self._folder}: a thousand recordings named {stem}")
        writer = wave.open(self._raw, "wb")  # noqa: SIM115 - closed with the call
        writer.setnchannels(2)
        writer.setsampwidth(2)
        writer.setframerate(RATE_HZ)
        self._wave, self.path = writer, path
        return writer


disk_executor = OneThread("earwitness-recording")
"""The one thread of this process that writes recordings, apart from the one that listens: disks stall."""
