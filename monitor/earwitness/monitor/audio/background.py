"""What a line sounds like while nobody speaks into it, told from both sides of a moment.

Loud and quiet frames of some 20 s are told apart; the quiet ones give the noise of each band, and how far noise alone
goes beyond its mean gives the bars that speech must clear. Voices of others clear a bar made for hiss, so each line
gets its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from earwitness.monitor.audio.bands import Floats, decibels, excess, smoothed

NOTICE_FRAMES = 9
EDGE_FRAMES = 3
LEAST_NOTICE = 1.0
LEAST_EDGE = 0.6
NOISE_SHARE = 0.95
"""The bars lie where noise stays under this often, times the factors below."""
NOTICE_FACTOR = 1.5
EDGE_FACTOR = 1.2
IDLE_DB = -75.0
"""Below this lines do not differ: coded silence, dither, an idle microphone."""
FLOOR_POWER = 10.0**-7.8
GATED_DB = -90.0
GATED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Background:
    """Noise of one stretch of a channel."""

    bands: Floats
    """Mean power of each band."""
    notice: float
    """``excess`` over which smoothed frames may be speech."""
    edge: float
    """The same for the short frames that place edges."""
    gated: bool
    """The line is digitally silent between sounds: something before it let only speech through."""


def background(powers: Floats, levels_db: Floats) -> Background:
    """From the frames of a stretch and what surrounds it; ``levels_db`` of the same frames, all bands together."""
    wide = smoothed(powers, NOTICE_FRAMES)
    level = decibels(wide.sum(axis=1))
    low, high = _two_levels(np.maximum(level, IDLE_DB))
    quiet = level <= (low + high) / 2
    bands = np.maximum(powers[quiet].mean(axis=0), np.float32(FLOOR_POWER / powers.shape[1]))
    notice = float(np.quantile(excess(wide[quiet], bands), NOISE_SHARE)) * NOTICE_FACTOR
    edge = float(np.quantile(excess(smoothed(powers, EDGE_FRAMES)[quiet], bands), NOISE_SHARE)) * EDGE_FACTOR
    gated = float((levels_db <= GATED_DB).mean()) > GATED_SHARE
    return Background(bands, max(notice, LEAST_NOTICE), max(edge, LEAST_EDGE), gated)


def _two_levels(level: Floats) -> tuple[float, float]:
    """Means of the quiet and of the loud frames, by two-means."""
    low, high = (float(value) for value in np.quantile(level, (0.1, 0.97)))
    for _ in range(8):
        quiet = level <= (low + high) / 2
        if quiet.all() or not quiet.any():
            break
        low, high = float(level[quiet].mean()), float(level[~quiet].mean())
    return low, high
