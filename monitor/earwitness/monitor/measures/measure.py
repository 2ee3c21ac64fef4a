"""What is to be said of a measure, once; the measures themselves stand in ``catalogue``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["latency", "distribution", "rate", "count", "gauge"]
"""``latency``: durations with those who waited in vain ranked above every value; ``distribution``: durations, the
censored counted apart; ``rate``: a count over a denominator; ``count``; ``gauge``: what is so at this moment."""
Unit = Literal["s", "ratio", "1"]
Shown = Literal["ms", "s", "percent", "of", "number"]
"""``of``: "2 of 31"; the others as they read."""

S: Final = 1_000_000_000
WINDOW_RATE: Final = "earwitness_window_ratio"
"""The gauge that all rates of windows share, told apart by ``measure``."""
STATS: Final[dict[Kind, tuple[str, ...]]] = {
    "latency": ("p50", "p90", "p95", "p99", "count", "coverage"),
    "distribution": ("p50", "p90", "p95", "p99", "count", "coverage"),
    "rate": ("rate", "count"),
    "count": ("count",),
    "gauge": ("count",),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    ``least_ns``: under it a value is invalid, never clamped (A08). ``class_key``: what its classes are called
    (``part``, ``service``); ``headline`` says that it is kept over 3 d and 7 d too.
    """

    name: str
    unit: Unit
    kind: Kind
    section: str
    """Heading of the definitions page."""
    help: str
    prometheus: tuple[str, ...] = ()
    shown: Shown = "number"
    class_key: str | None = None
    least_ns: int = 0
    headline: bool = False
    view_of: str | None = None
    """The measure whose values this one reads in another way."""

    @property
    def stats(self) -> tuple[str, ...]:
        """What a rule can ask of it: ``response_latency.p95``."""
        return ("coverage",) if self.name == "coverage" else STATS[self.kind]

    @property
    def ranks_censored(self) -> bool:
        """Whether those who waited in vain stand above every value, or are only counted beside (A11)."""
        return self.kind == "latency"
