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

Doubles = npt.NDArray[np.float64]
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
        frames = self._source_alone(heard, past)
        if frames.sum() >= LEAST_FRAMES:
            self._learn(heard.astype(np.float64), past, frames)
        if self._path is None or self._delay is None or self._left > MOST_LEFT:
            return heard, None
        leak = self._through(past, heard.size).astype(np.float32)
        rest = heard - leak
        louder = np.repeat(frame_levels(rest, self._step) > frame_levels(heard, self._step), self._step)
        rest[louder] = heard[louder]  # what the path is not yet right about
        return rest, Leak(leak, max(self._left, LEAST_LEFT), self._delay / self._rate_hz)

    def _source_alone(self, heard: Floats, past: Doubles) -> Mask:
        """Frames in which the channel is audible, and quieter than the source has just been."""
        level = frame_levels(heard, self._step)
        lead = self._before.size // self._step
        source = frame_levels(past[past.size - heard.size - lead * self._step :].astype(np.float32), self._step)
        loudest = np.lib.stride_tricks.sliding_window_view(source, lead + 1).max(axis=1)[: level.size]
        alone: Mask = (loudest > SOURCE_DB) & (level > HEARD_DB) & (level < loudest - UNDER_SOURCE_DB)
        return alone

    def _learn(self, heard: Doubles, past: Doubles, frames: Mask) -> None:
        if self._path is not None:
            known = frames & self._usual(heard, past)
            rest = self._rest(heard, past, known) if known.sum() >= LEAST_FRAMES // 2 else 0.0
            self._rested += 1
            resting = self._rested < self._pause
            if rest < (WRONG if resting else max(STILL_GOOD, 2 * self._left)) and self._left < GOOD:
                return
            self._pause = min(2 * self._pause, MOST_PAUSE)
        self._rested = 0
        self._fruitless += self._path is None or self._left > MOST_LEFT
        if self._fruitless > OFTEN and self._fruitless % SELDOM:
            return
        mask = np.repeat(frames, self._step)
        delay = self._find_delay(heard * mask, past)
        if delay is None:
            return
        if self._delay is None or abs(delay - self._delay) > self._ahead:
            self._delay = delay
            self._normal[:], self._cross[:], self._path = 0.0, 0.0, None
        frames = frames & self._usual(heard, past)
        if frames.sum() < LEAST_FRAMES // 2:
            return
        kept, crossed = self._normal * KEPT, self._cross * KEPT
        self._fit(heard, past, frames, kept, crossed)
        if self._path is None:
            return
        silent = self._reduced(heard, past, frames)
        if LEAST_FRAMES // 2 <= silent.sum() < frames.sum():
            frames = silent
            self._fit(heard, past, frames, kept, crossed)
        now = self._rest(heard, past, frames)
        self._left = now if self._left >= MOST_LEFT else KEPT * self._left + (1 - KEPT) * now

    def _find_delay(self, heard: Doubles, past: Doubles) -> int | None:
        """Samples by which the source comes late, if it is there at all."""
        half = self._rate_hz > 8_000
        a, b = (_halved(heard), _halved(past)) if half else (heard, past)
        size = 1 << (b.size + a.size // 8).bit_length()
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

    def _usual(self, heard: Doubles, past: Doubles) -> Mask:
        """Frames as loud as the echo of the source is there, by its usual level."""
        assert self._delay is not None
        start = past.size - heard.size - self._delay
        source = frame_levels(past[start : start + heard.size].astype(np.float32), self._step)
        level = frame_levels(heard.astype(np.float32), self._step)
        active = (source > SOURCE_DB) & (level > HEARD_DB)
        if not active.any():
            return active
        usual = float(np.quantile((level - source)[active], 0.3))
        return active & (level - source < usual + LOUDER_DB)

    def _fit(self, heard: Doubles, past: Doubles, frames: Mask, kept: Doubles, crossed: Doubles) -> None:
        """Least squares over the frames, by the covariance method: its sums over stretches need only their rims."""
        assert self._delay is not None
        taps, first = self._taps, past.size - heard.size - self._delay + self._ahead
        row, cross = np.zeros(taps), crossed.copy()
        heads: list[Doubles] = []
        tails: list[Doubles] = []
        for begin, end in _stretches(frames):
            a, b = begin * self._step, end * self._step
            seen = past[first + a - taps + 1 : first + b]
            if seen.size < b - a + taps - 1:
                continue
            size = 1 << (seen.size + b - a).bit_length()
            spectrum = np.fft.rfft(seen, size)
            both = np.stack((heard[a:b], seen[taps - 1 :]))
            sums = np.fft.irfft(spectrum * np.conj(np.fft.rfft(both, size)), size)[:, :taps][:, ::-1]
            cross += sums[0]
            row += sums[1]
            heads.append(seen[: taps - 1][::-1])
            tails.append(seen[b - a :][::-1])
        if not heads:
            return
        rims = np.stack(heads).T @ np.stack(heads) - np.stack(tails).T @ np.stack(tails)
        normal = np.empty((taps, taps))
        normal[0], normal[:, 0] = row, row
        for k in range(taps - 1):
            normal[k + 1, 1:] = normal[k, :-1] + rims[k]
        self._normal, self._cross = kept + normal, cross
        steady = np.eye(taps) * (STEADYING * self._normal[0, 0] + 1e-12)
        self._path = np.linalg.solve(self._normal + steady, self._cross)

    def _reduced(self, heard: Doubles, past: Doubles, frames: Mask) -> Mask:
        """Of the frames those that the path explains: in the others somebody speaks."""
        rest = heard - self._through(past, heard.size)
        less = (
            frame_levels(rest.astype(np.float32), self._step) < frame_levels(heard.astype(np.float32), self._step) - 1.0
        )
        return frames & less

    def _rest(self, heard: Doubles, past: Doubles, frames: Mask) -> float:
        """Share of the frames' power that is left when what goes through the path is taken out."""
        chosen = np.repeat(frames, self._step)
        rest = (heard - self._through(past, heard.size))[chosen]
        return float(np.square(rest).sum() / max(float(np.square(heard[chosen]).sum()), 1e-12))

    def _through(self, past: Doubles, size: int) -> Doubles:
        """What the path makes of the source, for the last ``size`` samples."""
        assert self._path is not None
        assert self._delay is not None
        first = past.size - size - self._delay + self._ahead
        seen = past[first - self._taps + 1 : first + size]
        seen = np.pad(seen, (0, size + self._taps - 1 - seen.size))
        length = 1 << (seen.size + self._taps).bit_length()
        made = np.fft.irfft(np.fft.rfft(seen, length) * np.fft.rfft(self._path, length), length)
        through: Doubles = made[self._taps - 1 : self._taps - 1 + size]
        return through


def _halved(samples: Doubles) -> Doubles:
    half: Doubles = samples[: samples.size // 2 * 2].reshape(-1, 2).mean(axis=1)
    return half


def _stretches(frames: Mask, least: int = 3) -> list[tuple[int, int]]:
    turns = np.diff(np.concatenate(([0], frames.astype(np.int8), [0])))
    pairs = zip(np.flatnonzero(turns == 1).tolist(), np.flatnonzero(turns == -1).tolist(), strict=True)
    return [(a, b) for a, b in pairs if b - a >= least]
