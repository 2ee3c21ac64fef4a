"""When an agent was audible, from a recording: sound, by the rule of ``audible``, over whatever noise its line has."""

from __future__ import annotations

import numpy as np

from earwitness.monitor.audio.audible import AUDIBLE_DB, CLICK_NS, HANGOVER_NS
from earwitness.monitor.audio.bands import Floats, decibels, frame_levels
from earwitness.monitor.audio.caller_ear import AROUND_FRAMES, HOP_FRAMES, FrameSpan, runs
from earwitness.monitor.audio.echo import Leak

FRAME_NS = 10_000_000
FLOOR_SHARE = 0.05
OVER_FLOOR_DB = 10.0
OVER_LEAK_DB = 3.0


class AgentEar:
    """Sound on one channel, fed in order."""

    def __init__(self, rate_hz: int) -> None:
        self._step = rate_hz // 100
        self._levels: Floats = np.zeros(0, np.float32)
        self._leak_db: Floats = np.zeros(0, np.float32)
        self._first = 0
        self._done = 0
        self._open: list[tuple[int, int, int]] = []
        """Stretches of sound with how many frames of them are loud; the last may go on."""

    @property
    def spans(self) -> list[FrameSpan]:
        """Audible stretches in frames of 10 ms since the beginning, complete after ``stop``."""
        return [(first, last) for first, last, loud in self._open if loud * FRAME_NS >= CLICK_NS]

    def feed(self, samples: Floats, leak: Leak | None = None) -> None:
        """Whole frames of samples, full scale 1; ``leak`` is what was already taken out of them as the other side's."""
        frames = samples[: samples.size // self._step * self._step].reshape(-1, self._step)
        # A constant offset is no sound, however great.
        self._levels = np.concatenate((self._levels, decibels(frames.var(axis=1))))
        remains = np.zeros_like(samples) if leak is None else leak.samples * np.float32(np.sqrt(leak.left))
        self._leak_db = np.concatenate((self._leak_db, frame_levels(remains, self._step)))
        while self._levels.size >= self._done - self._first + HOP_FRAMES + AROUND_FRAMES:
            self._judge(HOP_FRAMES)

    def stop(self) -> None:
        """The recording is over."""
        while self._done - self._first < self._levels.size:
            self._judge(min(HOP_FRAMES, self._levels.size - (self._done - self._first)))

    def _judge(self, frames: int) -> None:
        start = self._done - self._first
        around = self._levels[max(0, start - AROUND_FRAMES) : start + frames + AROUND_FRAMES]
        gate_db = max(AUDIBLE_DB, float(np.quantile(around, FLOOR_SHARE)) + OVER_FLOOR_DB)
        levels = self._levels[start : start + frames]
        loud = (levels > gate_db) & (levels > self._leak_db[start : start + frames] + OVER_LEAK_DB)
        gap = HANGOVER_NS // FRAME_NS
        for first, last in runs(loud, gap):
            count = int(loud[first:last].sum())
            first, last = first + self._done, last + self._done  # noqa: PLW2901 - the same stretch, since the beginning
            if self._open and first - self._open[-1][1] < gap:
                before = self._open.pop()
                first, count = before[0], count + before[2]  # noqa: PLW2901
            self._open.append((first, last, count))
        self._done += frames
        drop = max(0, self._done - self._first - AROUND_FRAMES)
        self._first += drop
        self._levels, self._leak_db = self._levels[drop:], self._leak_db[drop:]
