"""What a window says of a measure: the one shape that alerts, /metrics, reports and views read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Labels = tuple[tuple[str, str], ...]
"""A label set: sorted (key, value) pairs, hashable. Keys: ``agent``, ``version``, ``mode``, declared ones."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A percentile. Exactly one of the two is set, or neither where n = 0: ``more_than_s`` where it touches a
    censored rank (definitions, "Latency": printed ``> 10 s``, above every threshold)."""

    value_s: float | None = None
    more_than_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One measure over one window and one group of label sets.

    ``n`` counts all values ranked, the censored ones included; ``eligible`` what could have been measured;
    ``count`` and ``denominator`` are the two sides of a rate. ``rate`` and the quantiles are None where nothing
    was measured: never 0. ``complete`` is False where the window begins before the oldest record kept or the
    watermark has not passed its end; ``restated`` counts late changes after its publication.
    """

    measure: str
    window_s: int
    as_of_ns: int
    labels: Labels = ()
    n: int = 0
    censored: int = 0
    eligible: int = 0
    coverage: float | None = None
    quantiles: Mapping[str, Quantile] = field(default_factory=dict[str, Quantile])
    """By ``p50``, ``p90``, ``p95``, ``p99``."""
    answered_only: Mapping[str, Quantile] = field(default_factory=dict[str, Quantile])
    count: int = 0
    denominator: int | None = None
    rate: float | None = None
    sum_s: float | None = None
    max_s: float | None = None
    by_class: Mapping[str, int] = field(default_factory=dict[str, int])
    """Counts by class where the measure has classes (``cell``, ``outcome``, ``part`` in ms, ``reason``)."""
    complete: bool = True
    restated: int = 0


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A bad example behind a number: where to look."""

    call_id: str
    subject: str
    """Turn or overlap id."""
    value_s: float | None
    at_s: float
    censored: bool = False


class Readings(Protocol):
    """A source of readings. ``as_of_ns`` is wall time; the same log and ``as_of_ns`` give the same bits."""

    def groups(self, by: Sequence[str], *, window_s: int, as_of_ns: int) -> list[Labels]:
        """The distinct values of the keys ``by`` among label sets seen in the window."""
        ...

    def read(self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = ()) -> Reading:
        """A measure over the label sets that agree with ``where`` (all of them for ``()``).

        Raises KeyError for a measure that the catalogue does not have or a window that is not kept.
        """
        ...

    def worst(
        self, measure: str, *, window_s: int, as_of_ns: int, where: Labels = (), limit: int = 3
    ) -> list[Exemplar]:
        """The worst examples, censored ones first, then by value."""
        ...
