"""One side's voice in the other's channel: an echo of the agent on the caller's line, or channels that leak.

The delay shows as a peak in the whitened cross-correlation of both channels, up to 0.5 s; least squares over the
moments in which the other side alone is audible give the path. What goes through the path is then taken out of the
samples, so that somebody who speaks at the same time is still heard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from earwitness.monitor.audio.bands import Floats, frame_levels
from earwitness.monitor.audio.filtering import Doubles, filtered, lagged_sums, transform_size

Mask = npt.NDArray[np.bool_]

LONGEST_S = 0.5
TAPS_S = 0.02
AHEAD_S = 0.002
"""The path is sought from 2 ms before the peak to 18 ms after it: a small room."""
PEAK_OVER_MEAN = 8.0
"""Of 5 s: sounds that have nothing to do with each other reach 6, a leak 10 to 60."""
SOURCE_DB = -45.0
SOURCE_PEAK = 0.003
HEARD_DB = -68.0
UNDER_SOURCE_DB = 3.0
LOUDER_DB = 8.0
"""Frames louder than this over the usual level of the echo hold something else."""
LEAST_FRAMES = 50
KEPT = 0.8
"""How much of what was learnt weighs on, a hop later."""
MOST_LEFT = 0.7
LEAST_LEFT = 0.003
STILL_GOOD = 0.1
"""A path that leaves less than this of what it explains is not sought again."""
GOOD = 0.2
"""One that left more when it was found is sought on."""
WRONG = 0.8
"""One that leaves more than this is sought anew at once."""
EXPLAINED_DB = 1.0
"""Where the path takes out less than this, somebody speaks."""
STEADYING = 1e-3
OFTEN = 6
SELDOM = 4
"""After so many hops without a leak it is looked for in every fourth."""
LEAST_PAUSE = 3
MOST_PAUSE = 24


@dataclass(frozen=True, slots=True)
class Leak:
    """What of the other side was in a stretch of samples."""

    samples: Floats
    left: float
    """Share of its power that may be left after it was taken out."""
    delay_s: float


@dataclass(frozen=True, slots=True)
class _Hop:
    """A stretch of the channel."""

    heard: Doubles
    past: Doubles
    """The source, from the longest delay before the hop to its end."""
    levels: Floats
    """Of the frames heard, in dB."""


class LeakFinder:
    """Finds and takes out one side's voice in the other's channel; fed with the same stretch of both, hop by hop."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._step = rate_hz // 100
        self._taps = round(TAPS_S * rate_hz)
        self._ahead = round(AHEAD_S * rate_hz)
        self._past = round(LONGEST_S * rate_hz) + self._taps
        self._before: Doubles = np.zeros(self._past + self._ahead)
        """The source before the hop."""
        self._delay: int | None = None
        self._normal: Doubles = np.zeros((self._taps, self._taps))
        self._cross: Doubles = np.zeros(self._taps)
        self._path: Doubles | None = None
        self._left = 1.0
        self._rested, self._pause = 0, LEAST_PAUSE
        self._fruitless = 0
        """Hops since the path was sought, and how many it is left alone."""

    def take_out(self, heard: Floats, source: Floats) -> tuple[Floats, Leak | None]:
        """``heard`` without what of ``source`` is in it, and what that was; whole frames of both."""
        past = np.concatenate((self._before, source.astype(np.float64)))
        self._before = past[past.size - self._before.size :]
        if not heard.any() or float(np.abs(past).max()) < SOURCE_PEAK:
            return heard, None
        hop = _Hop(heard.astype(np.float64), past, frame_levels(heard, self._step))
        frames = self._source_alone(hop)
        made = self._learn(hop, frames) if frames.sum() >= LEAST_FRAMES else None
        if self._path is None or self._delay is None or self._left > MOST_LEFT:
            return heard, None
        leak = (self._through(hop) if made is None else made).astype(np.float32)
        rest = heard - leak
        louder = np.repeat(frame_levels(rest, self._step) > hop.levels, self._step)
        rest[louder] = heard[louder]  # what the path is not yet right about
        return rest, Leak(leak, max(self._left, LEAST_LEFT), self._delay / self._rate_hz)

    def _source_alone(self, hop: _Hop) -> Mask:
        """Frames in which the channel is audible, and quieter than the source has just been."""
        lead = self._before.size // self._step
        source = frame_levels(hop.past[hop.past.size - hop.heard.size - lead * self._step :], self._step)
        loudest = np.lib.stride_tricks.sliding_window_view(source, lead + 1).max(axis=1)[: hop.levels.size]
        alone: Mask = (loudest > SOURCE_DB) & (hop.levels > HEARD_DB) & (hop.levels < loudest - UNDER_SOURCE_DB)
        return alone

    def _learn(self, hop: _Hop, frames: Mask) -> Doubles | None:
        """Seek the path, if it is time to; what it makes of the source, if that is known by then."""
        made: Doubles | None = None
        if self._path is not None:
            made = self._through(hop)
            known = frames & self._usual(hop)
            rest = self._rest(hop, made, known) if known.sum() >= LEAST_FRAMES // 2 else 0.0
            self._rested += 1
            resting = self._rested < self._pause
            if rest < (WRONG if resting else max(STILL_GOOD, 2 * self._left)) and self._left < GOOD:
                return made
            self._pause = min(2 * self._pause, MOST_PAUSE)
        self._rested = 0
        self._fruitless += self._path is None or self._left > MOST_LEFT
        if self._fruitless > OFTEN and self._fruitless % SELDOM:
            return made
        delay = self._find_delay(hop.heard * np.repeat(frames, self._step), hop.past)
        if delay is None:
            return made
        if self._delay is None or abs(delay - self._delay) > self._ahead:
            self._delay = delay
            self._normal[:], self._cross[:], self._path, made = 0.0, 0.0, None, None
        frames = frames & self._usual(hop)
        if frames.sum() < LEAST_FRAMES // 2:
            return made
        kept, crossed = self._normal * KEPT, self._cross * KEPT
        if not self._fit(hop, frames, kept, crossed):
            return made
        made = self._through(hop)
        silent = frames & (frame_levels(hop.heard - made, self._step) < hop.levels - EXPLAINED_DB)
        if LEAST_FRAMES // 2 <= silent.sum() < frames.sum():
            frames = silent
            if self._fit(hop, frames, kept, crossed):
                made = self._through(hop)
        now = self._rest(hop, made, frames)
        self._left = now if self._left >= MOST_LEFT else KEPT * self._left + (1 - KEPT) * now
        return made

    def _find_delay(self, heard: Doubles, past: Doubles) -> int | None:
        """Samples by which the source comes late, if it is there at all."""
        half = self._rate_hz > 8_000
        a, b = (_halved(heard), _halved(past)) if half else (heard, past)
        size = transform_size(b.size)
        spectrum = np.fft.rfft(a, size) * np.conj(np.fft.rfft(b, size))
        weight = np.abs(spectrum)
        lags = np.fft.irfft(spectrum / np.maximum(weight, 1e-4 * weight.max() + 1e-20), size)
        shift = b.size - a.size  # sample 0 of what is heard is this one of the past
        longest = round(LONGEST_S * self._rate_hz) // (2 if half else 1)
        # lag l of the circular correlation is heard[n] with past[n - l]; a delay d is past[n + shift - d]
        window = np.abs(lags[(np.arange(longest) - shift) % size])
        peak = int(window.argmax())
        if window[peak] < PEAK_OVER_MEAN * np.sqrt(np.square(window).mean()):
            return None
        return peak * (2 if half else 1)

    def _usual(self, hop: _Hop) -> Mask:
        """Frames as loud as the echo of the source is there, by its usual level."""
        assert self._delay is not None
        start = hop.past.size - hop.heard.size - self._delay
        source = frame_levels(hop.past[start : start + hop.heard.size], self._step)
        active = (source > SOURCE_DB) & (hop.levels > HEARD_DB)
        if not active.any():
            return active
        usual = float(np.quantile((hop.levels - source)[active], 0.3))
        return active & (hop.levels - source < usual + LOUDER_DB)

    def _fit(self, hop: _Hop, frames: Mask, kept: Doubles, crossed: Doubles) -> bool:
        """Least squares over the frames, by the covariance method: its sums over stretches need only their rims.

        False where there are too few frames to fit anything.
        """
        taps, seen = self._taps, self._reaching(hop)
        # The path begins before the delay: where that is short, it would reach beyond the hop.
        within = (seen.size - taps + 1) // self._step
        stretches = [(a * self._step, b * self._step) for a, b in _stretches(frames[:within])]
        if not stretches:
            return False
        chosen = np.zeros((2, within * self._step))
        for a, b in stretches:
            chosen[0, a:b], chosen[1, a:b] = hop.heard[a:b], seen[a + taps - 1 : b + taps - 1]
        cross, row = lagged_sums(chosen, seen[: within * self._step + taps - 1], taps)
        heads = np.stack([seen[a : a + taps - 1][::-1] for a, _ in stretches])
        tails = np.stack([seen[b : b + taps - 1][::-1] for _, b in stretches])
        rims = heads.T @ heads - tails.T @ tails
        normal = np.empty((taps, taps))
        normal[0], normal[:, 0] = row, row
        for k in range(taps - 1):
            normal[k + 1, 1:] = normal[k, :-1] + rims[k]
        self._normal, self._cross = kept + normal, crossed + cross
        steady = np.eye(taps) * (STEADYING * self._normal[0, 0] + 1e-12)
        self._path = np.linalg.solve(self._normal + steady, self._cross)
        return True

    def _rest(self, hop: _Hop, made: Doubles, frames: Mask) -> float:
        """Share of the frames' power that is left when what goes through the path is taken out."""
        chosen = np.repeat(frames, self._step)
        heard = hop.heard[chosen]
        return float(np.square(heard - made[chosen]).sum() / max(float(np.square(heard).sum()), 1e-12))

    def _through(self, hop: _Hop) -> Doubles:
        """What the path makes of the source, for the samples of the hop."""
        assert self._path is not None
        seen = self._reaching(hop)
        return filtered(np.pad(seen, (0, hop.heard.size + self._taps - 1 - seen.size)), self._path)

    def _reaching(self, hop: _Hop) -> Doubles:
        """The source as the path takes it: from as many samples before the hop as it has taps, less one, on."""
        assert self._delay is not None
        first = hop.past.size - hop.heard.size - self._delay + self._ahead
        return hop.past[first - self._taps + 1 : first + hop.heard.size]


def _halved(samples: Doubles) -> Doubles:
    whole = samples[: samples.size // 2 * 2]
    half: Doubles = (whole[::2] + whole[1::2]) / 2
    return half


def _stretches(frames: Mask, least: int = 3) -> list[tuple[int, int]]:
    turns = np.diff(np.concatenate(([0], frames.astype(np.int8), [0])))
    pairs = zip(np.flatnonzero(turns == 1).tolist(), np.flatnonzero(turns == -1).tolist(), strict=True)
    return [(a, b) for a, b in pairs if b - a >= least]
