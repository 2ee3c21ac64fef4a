"""Resampling of calls: how far a pooled number would have moved with other calls of the same agent.

Turns of one call are alike, so whole calls are drawn, never turns. A resample is a row of weights, how often each call
was drawn; every number of a set is computed from the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST_CENSORED_S: Final = 10.0
CHUNK: Final = 2_000_000
CONFIDENCE: Final = 0.95
"""Numbers held at once: memory stays the same however many calls there are."""


class Ranked:
    """Values of many calls with waits in vain ranked above them all (definitions, "Latency", percentiles)."""

    def __init__(self, values: Sequence[Sequence[float]], censored: Sequence[Sequence[float]]) -> None:
        """``values`` and ``censored`` by call, in one order of calls."""
        given = np.array([v for own in values for v in own], np.float64)
        owner = np.repeat(np.arange(len(values)), [len(own) for own in values])
        order = np.argsort(given, kind="stable")
        self.values, self.owner = given[order], owner[order]
        waits = np.array([w for own in censored for w in own], np.float64)
        waiting = np.repeat(np.arange(len(censored)), [len(own) for own in censored])
        longest_first = np.argsort(-waits, kind="stable")
        self.waits, self.waiting = waits[longest_first], waiting[longest_first]

    def quantiles(self, weights: Ints, percents: Sequence[int]) -> tuple[Floats, Floats]:
        """Percentiles for each row of weights: the least and the greatest that each can be, [rows x percents].

        Both are the same where the value is known. Where the percentile touches a wait in vain, it is more than the
        greater of 10 s and the longest wait, without an upper bound. Without any value it can be anything.
        """
        rows = len(weights)
        # A growing count over all rows at once, each row in its own range, so that one search serves them all.
        upto = np.cumsum(weights[:, self.owner], axis=1)
        answered = upto[:, -1] if self.values.size else np.zeros(rows, np.int64)
        waited = weights[:, self.waiting]
        total = answered + waited.sum(axis=1)
        stride = int(total.max(initial=0)) + 1
        flat = (upto + np.arange(rows)[:, None] * stride).ravel()
        beyond = np.full(rows, LEAST_CENSORED_S)
        if self.waits.size:
            drawn = waited > 0
            longest = np.where(drawn.any(axis=1), self.waits[drawn.argmax(axis=1)], 0.0)
            beyond = np.maximum(beyond, longest)
        least, greatest = np.empty((rows, len(percents))), np.empty((rows, len(percents)))
        for column, percent in enumerate(percents):
            low, rest = np.divmod(percent * (total - 1), 100)
            high = low + (rest > 0)
            known = (total > 0) & (high < answered)
            value = np.full(rows, np.nan)
            if known.any():
                at = np.nonzero(known)[0]
                below = self._at_rank(flat, at, low[at], stride)
                above = self._at_rank(flat, at, high[at], stride)
                value[at] = below + (above - below) * rest[at] / 100
            least[:, column] = np.where(known, value, np.where(total > 0, beyond, -np.inf))
            greatest[:, column] = np.where(known, value, np.inf)
        return least, greatest

    def _at_rank(self, flat: Ints, rows: Ints, ranks: Ints, stride: int) -> Floats:
        """The value at a rank (from 0) of each of the rows."""
        found: Floats = self.values[
            np.searchsorted(flat, ranks + rows * stride, side="right") - rows * self.values.size
        ]
        return found


def draws(calls: int, resamples: int, rng: np.random.Generator, width: int) -> Iterator[Ints]:
    """Weights of ``resamples`` draws of as many calls as there are, in chunks of rows; ``width``: the longest row that
    is made of one."""
    rows = max(1, min(resamples, CHUNK // max(width, calls, 1)))
    for begin in range(0, resamples, rows):
        count = min(rows, resamples - begin)
        picked = rng.integers(0, calls, size=(count, calls)) + np.arange(count)[:, None] * calls
        yield np.bincount(picked.ravel(), minlength=count * calls).reshape(count, calls)


def levels(calls: int) -> tuple[float, float]:
    """Which percentiles of the resampled values bound the interval.

    Few calls vary less among their own resamples than new ones would, so the levels of a plain percentile interval are
    widened as Student's t and n - 1 demand ("expanded percentile interval", Hesterberg 2015). ``calls``: 2 or more.
    """
    normal = NormalDist()
    t = _student(normal.inv_cdf(0.5 + CONFIDENCE / 2), calls - 1)
    low = normal.cdf(-math.sqrt(calls / (calls - 1)) * t)
    return low, 1 - low


def _student(z: float, freedom: int) -> float:
    """Student's t from the normal quantile (Abramowitz and Stegun 26.7.5); within 0.001 from 8 degrees of freedom."""
    n = float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
