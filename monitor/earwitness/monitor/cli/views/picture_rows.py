"""A call's time broken into rows of a picture, so that half a second is wide enough however long it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.intervals import Span

LEFT, TRACK = 74.0, 1030.0
"""Where time begins in a row, and how wide a row's time is, in pixels."""
WIDTH = LEFT + TRACK + 16
STEPS_S = ((150, 20), (900, 30), (10_800, 60))
"""Up to how long a call, how many seconds a row."""
MOST_ROWS = 180
"""A call of more than three hours gets wider rows, not more."""


@dataclass(frozen=True, slots=True)
class Row:
    """``start_ns`` to ``end_ns`` of the call; ``wide_ns`` is what the full width stands for."""

    start_ns: int
    end_ns: int
    wide_ns: int

    def x(self, at_ns: int) -> float:
        """Where a moment lies; what lies outside stands at the nearer edge."""
        return LEFT + TRACK * (min(max(at_ns, self.start_ns), self.end_ns) - self.start_ns) / self.wide_ns

    def holds(self, at_ns: int) -> bool:
        """Whether a moment belongs to this row."""
        return self.start_ns <= at_ns < self.end_ns

    def pieces(self, spans: Iterable[Span]) -> Iterator[tuple[Span, float, float]]:
        """Spans that lie in this row, with where each begins and how wide it is: two pixels at least."""
        for start, end in spans:
            if end > self.start_ns and start < self.end_ns:
                left = self.x(start)
                yield (start, end), left, max(self.x(end) - left, 2.0)

    def ticks(self) -> Iterator[tuple[int, bool]]:
        """Round moments of this row, and whether each is written out."""
        wide_s = self.wide_ns // S
        step, written = (1, 1) if wide_s <= 12 else (1, 5) if wide_s <= 35 else (5, 10) if wide_s <= 200 else (0, 0)
        if not step:  # a call that no row can hold: an impossible one
            step = written = -(-wide_s // 10)
        first = -(-self.start_ns // (step * S)) * step
        for at_s in range(first, self.end_ns // S + 1, step):
            yield at_s * S, at_s % written == 0


def rows_of(length_ns: int) -> list[Row]:
    """The rows of a call, all of one scale and of whole seconds; no row at the end is a mere remnant."""
    end_ns = max(length_ns, S)
    step_s = next((step for upto, step in STEPS_S if end_ns <= upto * S), None)
    count = MOST_ROWS if step_s is None else max(1, round(end_ns / (step_s * S)))
    wide_ns = -(-end_ns // (count * S)) * S
    while step_s is not None and end_ns > wide_ns and 0 < end_ns % wide_ns < wide_ns / 3:
        wide_ns += S
    return [Row(start, min(start + wide_ns, end_ns), wide_ns) for start in range(0, end_ns, wide_ns)]
