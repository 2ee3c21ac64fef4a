"""Sound in time and pitch: the power of a channel in 10 ms steps and in bands as wide as hearing's own.

Noise lies in other bands than a voice: what stands out in some band is heard although the whole is no louder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

STEP_S = 0.01
BIN_HZ = 50
EDGES_HZ = (100, 200, 300, 400, 550, 700, 900, 1150, 1450, 1850, 2350, 3000, 3800, 4800, 6000, 7800)
"""At 8 kHz the bands above 3.8 kHz are left out."""


class BandPowers:
    """Band powers of one channel at 8 or 16 kHz, frame by frame. Each frame is seen through 20 ms around its middle."""

    def __init__(self, rate_hz: int) -> None:
        self.step = rate_hz // 100
        """Samples of a frame."""
        self._size = 2 * self.step
        bins = [edge // BIN_HZ for edge in EDGES_HZ if edge <= rate_hz * 0.49]
        self.count = len(bins) - 1
        """How many bands there are."""
        self._cuts = np.array(bins)
        window = np.hanning(self._size + 1)[:-1]
        self._window = window.astype(np.float32)
        self._scale = np.float32(2.0 / (self._size * np.square(window).sum()))
        self._held: Floats = np.zeros(self.step // 2, np.float32)

    def feed(self, samples: Floats) -> Floats:
        """Powers of the frames that are now whole, full scale 1, as an array of shape (frames, bands)."""
        held = np.concatenate((self._held, samples))
        frames = max(0, (held.size - self._size) // self.step + 1)
        self._held = held[frames * self.step :]
        if not frames or not held.any():
            return np.zeros((frames, self.count), np.float32)
        seen = np.lib.stride_tricks.sliding_window_view(held, self._size)[:: self.step][:frames]
        spectrum = np.fft.rfft(seen * self._window, axis=1)
        power = spectrum.real**2 + spectrum.imag**2
        summed = np.add.reduceat(power, self._cuts, axis=1)[:, :-1]
        return (summed * self._scale).astype(np.float32)

    def flush(self, frames: int) -> Floats:
        """The last ``frames`` frames, silence after them."""
        return self.feed(np.zeros(self._size + self.step * 2, np.float32))[:frames]


def smoothed(powers: Floats, frames: int) -> Floats:
    """Running mean over an odd number of frames; at the ends over what there is of them, the last repeated."""
    half = frames // 2
    padded = np.pad(powers, ((half + 1, half), (0, 0)), mode="edge").astype(np.float64)
    padded[0] = 0.0
    summed = np.cumsum(padded, axis=0)
    mean: Floats = ((summed[frames:] - summed[:-frames]) / frames).astype(np.float32)
    return mean


def excess(powers: Floats, noise: Floats) -> Floats:
    """How surely each frame holds more than noise of these band powers: 0 where it does not, no upper bound.

    The mean over bands of the log-likelihood ratio of sound plus noise against noise alone.
    """
    ratio = np.maximum(powers / noise, 1.0)
    sure: Floats = (ratio - 1.0 - np.log(ratio)).mean(axis=1).astype(np.float32)
    return sure


def decibels(power: npt.NDArray[np.floating]) -> Floats:
    """Power in dB of full scale, -100 for none."""
    level: Floats = (10.0 * np.log10(power + np.float32(1e-10))).astype(np.float32)
    return level


def frame_levels(samples: npt.NDArray[np.floating], step: int) -> Floats:
    """Level of each whole frame in dB, its own mean taken off."""
    return decibels(samples[: samples.size // step * step].reshape(-1, step).var(axis=1))
