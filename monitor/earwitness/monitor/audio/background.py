"""What a line sounds like while nobody speaks into it, told from both sides of a moment.

Loud and quiet frames of some 20 s are told apart; the quiet ones give the noise of each band, and how far noise alone
goes beyond its mean gives the bars that speech must clear. Voices of others clear a bar made for hiss, so each line
gets its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
MOST_NOISE = 2.0
"""Noise, voices of others too, goes beyond its own mean by less than this; a voice by far more."""
MOST_SPLITS = 4
LEAST_QUIET_FRAMES = 50
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


def background(powers: Floats, levels_db: Floats, before: Background | None = None) -> Background:
    """From the frames of a stretch and what surrounds it; ``levels_db`` of the same frames, all bands together.

    Where somebody speaks without a pause the quiet frames are speech too: then the quieter among them are taken, and
    where there is no pause at all, what was ``before``.
    """
    wide, narrow = smoothed(powers, NOTICE_FRAMES), smoothed(powers, EDGE_FRAMES)
    level = np.maximum(decibels(wide.sum(axis=1)), np.float32(IDLE_DB))
    gated = float((levels_db <= GATED_DB).mean()) > GATED_SHARE
    idle = FLOOR_POWER / powers.shape[1]
    quiet = np.ones(level.size, np.bool_)
    for _ in range(MOST_SPLITS):
        quiet &= level <= sum(_two_levels(level[quiet])) / 2
        if quiet.sum() < min(LEAST_QUIET_FRAMES, level.size // 4):
            break
        bands = _mean(powers[quiet], idle)
        notice = float(np.quantile(excess(wide[quiet], bands), NOISE_SHARE))
        if notice <= MOST_NOISE:
            edge = float(np.quantile(excess(narrow[quiet], bands), NOISE_SHARE))
            return Background(
                bands, max(notice * NOTICE_FACTOR, LEAST_NOTICE), max(edge * EDGE_FACTOR, LEAST_EDGE), gated
            )
    if before is not None:
        return replace(before, gated=gated)
    return Background(np.zeros(powers.shape[1], np.float32) + np.float32(idle), LEAST_NOTICE, LEAST_EDGE, gated)


def _mean(powers: Floats, least: float) -> Floats:
    """Mean power of each band, no less than ``least``."""
    mean: Floats = np.maximum(powers.mean(axis=0), np.float32(least))
    return mean


def _two_levels(level: Floats) -> tuple[float, float]:
    """Means of the quiet and of the loud frames, by two-means."""
    low, high = (float(value) for value in np.quantile(level, (0.1, 0.97)))
    for _ in range(8):
        quiet = level <= (low + high) / 2
        if quiet.all() or not quiet.any():
            break
        low, high = float(level[quiet].mean()), float(level[~quiet].mean())
    return low, high
