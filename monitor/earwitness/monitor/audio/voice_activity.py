"""When a caller began and ceased to speak, from the caller's audio alone.

Levels of 10 ms frames find the edges, webrtcvad confirms that it is speech: its own edges are late by up to a quarter
of a second, and it takes loud noise for speech. No clock: a chunk's arrival stamp is the only time known here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import webrtcvad  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from earwitness.monitor.audio.framing import FRAME_S, Framer, frame_levels_db
from earwitness.monitor.audio.noise_floor import SILENCE_DB, NoiseFloor
from earwitness.monitor.audio.resampling import Samples
from earwitness.monitor.audio.sample_clock import SampleClock

AGGRESSIVENESS = 2
CONFIRM_WINDOW = 12
CONFIRM_FRAMES = 6
"""Speech is believed when 6 of the last 12 frames are voiced and above the gate."""
HANGOVER_FRAMES = 20
"""0.2 s of quiet end a segment: the gaps within words are shorter; readers merge further."""
BACK_FRAMES = 40
BACK_HOLE_FRAMES = 3
VOICED_REACH_FRAMES = 30
"""Loud frames count as speech up to 0.3 s after webrtcvad's last word: it is deaf to a closing "s"."""
GATE_OVER_FLOOR_DB = 8.0
GATE_OVER_PEAK_DB = 3.0
EDGE_OVER_FLOOR_DB = 6.0
EDGE_OVER_PEAK_DB = 1.0
EDGE_UNDER_SPEECH_DB = 30.0
LEAST_GATE_DB = -58.0


@dataclass(frozen=True, slots=True)
class Edge:
    """A party began to speak or fell silent at ``edge_ns``, found out with the audio that arrived at ``noticed_ns``."""

    kind: Literal["onset", "end"]
    edge_ns: int
    noticed_ns: int
    snr_db: float | None = None
    """Speech over noise as measured up to now; under the bound ``snr_least_db`` the edge is not to be trusted."""
    voiced_ns: int | None = None
    """At an end: how much of the segment was voiced."""
    inferred: bool = False
    """No end was heard: the audio stopped."""


class _Vad(Protocol):
    def is_speech(self, buf: bytes, sample_rate: int) -> bool: ...


class SpeechDetector:
    """Voice activity on one stream of 16-bit audio: 8 to 192 kHz, any chunk size.

    Raises ``UnsupportedAudio`` for audio that it cannot judge.
    """

    def __init__(self, rate_hz: int, channels: int = 1) -> None:
        self._framer = Framer(rate_hz, channels)
        self._rate_hz = self._framer.rate_hz
        self._input_hz, self._channels = rate_hz, channels
        self._clock = SampleClock(rate_hz)
        self._vad: _Vad = webrtcvad.Vad(AGGRESSIVENESS)
        self._floor = NoiseFloor()
        self._frame = 0
        self._recent: deque[tuple[float, bool]] = deque(maxlen=BACK_FRAMES)
        self._confirm: deque[bool] = deque(maxlen=CONFIRM_WINDOW)
        self._speaking = False
        self._onset_frame = 0
        self._last_loud = 0
        self._last_voiced = -VOICED_REACH_FRAMES
        self._voiced_frames = 0
        self._segment_power = 0.0
        self._segment_frames = 0
        self._speech_db: float | None = None
        self._bytes = 0

    @property
    def speaking(self) -> bool:
        """Whether a segment is open."""
        return self._speaking

    def feed(self, audio: bytes | Samples, arrival_ns: int) -> list[Edge]:
        """Edges that become known with a chunk whose last sample arrived at ``arrival_ns``."""
        raw = audio if isinstance(audio, bytes) else audio.astype("<i2", copy=False).tobytes()
        return self.feed_all(((raw, arrival_ns),))

    def feed_all(self, chunks: Sequence[tuple[bytes, int]]) -> list[Edge]:
        """The same for several chunks, each with its arrival: cheaper, and a burst is known for one from its start."""
        if not chunks:
            return []
        for audio, arrival_ns in chunks:
            before = self._bytes // (2 * self._channels)
            self._bytes += len(audio)
            self._clock.arrived(self._bytes // (2 * self._channels) - before, arrival_ns)
        arrival_ns = chunks[-1][1]
        frames = self._framer.feed(chunks[0][0] if len(chunks) == 1 else b"".join(audio for audio, _ in chunks))
        levels = frame_levels_db(frames)
        if not levels:
            return []
        self._floor.feed(levels, in_speech=self._speaking)
        edges: list[Edge] = []
        for frame, level_db in zip(frames, levels, strict=True):
            edge = self._step(frame.tobytes(), level_db, arrival_ns)
            if edge is not None:
                edges.append(edge)
        return edges

    def stop(self, noticed_ns: int) -> list[Edge]:
        """The audio has ended, or paused for long: an open segment ends, inferred, with the last audio."""
        edges: list[Edge] = []
        if self._speaking:
            quiet = self._frame - 1 - self._last_loud
            heard_out = quiet > BACK_HOLE_FRAMES  # it had fallen silent already; only the hangover was not over
            edges = [self._end(noticed_ns, self._last_loud if heard_out else self._frame - 1, inferred=not heard_out)]
        self._recent.clear()
        self._confirm.clear()
        return edges

    def _step(self, frame: bytes, level_db: float, arrival_ns: int) -> Edge | None:
        now = self._frame
        self._frame += 1
        floor = self._floor
        gate_db = max(floor.level_db + GATE_OVER_FLOOR_DB, floor.peak_db + GATE_OVER_PEAK_DB, LEAST_GATE_DB)
        voiced = level_db > gate_db and self._vad.is_speech(frame, self._rate_hz)
        self._recent.append((level_db, voiced))
        self._confirm.append(voiced)
        if voiced:
            self._last_voiced = now
        if not self._speaking:
            if sum(self._confirm) >= CONFIRM_FRAMES:
                return self._begin(arrival_ns)
            if len(self._recent) == BACK_FRAMES:
                floor.quiet(self._recent[0][0])
            return None
        self._voiced_frames += voiced
        self._add_speech(level_db)
        if level_db > self._edge_gate_db() and now - self._last_voiced <= VOICED_REACH_FRAMES:
            self._last_loud = now
        if now - self._last_loud >= HANGOVER_FRAMES:
            return self._end(arrival_ns, self._last_loud, inferred=False)
        return None

    def _edge_gate_db(self) -> float:
        least = SILENCE_DB if self._speech_db is None else self._speech_db - EDGE_UNDER_SPEECH_DB
        floor = self._floor
        return max(floor.level_db + EDGE_OVER_FLOOR_DB, floor.peak_db + EDGE_OVER_PEAK_DB, least, LEAST_GATE_DB)

    def _add_speech(self, level_db: float) -> None:
        self._segment_power += 10.0 ** (level_db / 10.0)
        self._segment_frames += 1
        here_db = 10.0 * math.log10(self._segment_power / self._segment_frames)
        self._speech_db = here_db if self._speech_db is None else self._speech_db + 0.05 * (here_db - self._speech_db)

    def _begin(self, arrival_ns: int) -> Edge:
        """Walk back from the frames that confirmed speech to where the sound began."""
        recent = list(self._recent)
        window = range(len(recent) - len(self._confirm), len(recent))
        first_voiced = next(i for i in window if recent[i][1])
        self._segment_power = self._segment_frames = 0
        self._voiced_frames = 0
        for i in range(first_voiced, len(recent)):
            self._voiced_frames += recent[i][1]
            self._add_speech(recent[i][0])
        gate_db = self._edge_gate_db()
        onset = first_voiced
        for i in range(first_voiced - 1, -1, -1):
            if recent[i][0] > gate_db:
                onset = i
            elif onset - i > BACK_HOLE_FRAMES:
                break
        self._speaking = True
        self._onset_frame = self._frame - len(recent) + onset
        self._last_loud = self._frame - 1
        return Edge("onset", self._moment(self._onset_frame), arrival_ns, self._snr_db())

    def _end(self, arrival_ns: int, last_frame: int, *, inferred: bool) -> Edge:
        self._speaking = False
        self._confirm.clear()
        self._recent = deque(list(self._recent)[last_frame - self._frame + 1 :], maxlen=BACK_FRAMES)
        end_ns = self._moment(last_frame) + int(FRAME_S * 1e9)
        voiced = min(self._voiced_frames, last_frame + 1 - self._onset_frame)
        return Edge("end", end_ns, arrival_ns, self._snr_db(), int(voiced * FRAME_S * 1e9), inferred)

    def _moment(self, frame: int) -> int:
        return self._clock.at_ns(frame * self._input_hz // 100)

    def _snr_db(self) -> float | None:
        if self._speech_db is None:
            return None
        noise = self._floor.noise_power
        speech = 10.0 ** (self._speech_db / 10.0)
        return round(10.0 * math.log10(max(speech - noise, noise * 0.01) / noise), 1)
