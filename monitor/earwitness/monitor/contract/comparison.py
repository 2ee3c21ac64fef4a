"""What ``earwitness compare --json`` prints: two sets of calls, number by number."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class ComparedSet(_Shape):
    """One side: what was asked for, and the calls that it came to."""

    name: str
    calls: int
    measuring_points: tuple[Literal["pipeline", "recording"], ...]


class ComparedSide(_Shape):
    """A number on one side. ``value`` null with ``more_than``: the percentile touches turns that were never answered
    (definitions, "Latency"); both null: nothing was measured."""

    value: float | None
    more_than: float | None
    n: float
    """Values ranked, or the ratio's denominator: turns, overlaps, calls, seconds of talk."""
    calls: int
    """Calls that have any."""


class Interval(_Shape):
    """Where B - A lies with 95 % confidence; null: no bound on that side."""

    low: float | None
    high: float | None


class ComparedNumber(_Shape):
    """One number and B - A. ``difference_more_than`` or ``difference_less_than`` stands for ``difference`` where one
    side is known only as "more than"."""

    name: str
    unit: Literal["s", "ratio", "per_call", "s_per_call", "per_turn"]
    better: Literal["lower", "higher"] | None
    a: ComparedSide
    b: ComparedSide
    difference: float | None
    difference_more_than: float | None
    difference_less_than: float | None
    interval: Interval | None
    verdict: Literal["better", "worse", "higher", "lower", "cannot_tell"]
    reason: Literal["covers_zero", "few_calls", "few_values", "censored", "never_varied", "not_measured"] | None
    """Why it cannot be told."""


class Comparison(_Shape):
    """Two sets of calls. Intervals are made by resampling calls, not turns; the same calls give the same intervals."""

    v: Literal[1] = 1
    bounds: str
    confidence: float
    resamples: int
    a: ComparedSet
    b: ComparedSet
    shared_calls: int
    """Calls that are in both sets."""
    numbers: tuple[ComparedNumber, ...]
