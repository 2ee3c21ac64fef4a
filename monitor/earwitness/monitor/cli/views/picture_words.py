"""Where the words of a side stand in a picture: beside their own speech, up to where that side speaks next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from earwitness.monitor.cli.views.picture_rows import LEFT, TRACK, Row
from earwitness.monitor.cli.views.picture_text import wrapped

LINE = 14.0
SIZE = 12.0
MOST_LINES = 3
LEAST_ROOM = 34.0

Who = Literal["caller", "agent"]


@dataclass(frozen=True, slots=True)
class Words:
    """What was said from ``start_ns`` on."""

    start_ns: int
    end_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """Lines of text in a row, from ``x`` on."""

    row: Row
    who: Who
    x: float
    lines: tuple[str, ...]


def placed_words(rows: Sequence[Row], said: Sequence[Words], who: Who) -> list[Placed]:
    """Each text in the row that has most room for it, in at most three lines, cut where it does not fit."""
    ordered = sorted(said, key=lambda w: (w.start_ns, w.end_ns))
    placed: list[Placed] = []
    for n, words in enumerate(ordered):
        following = ordered[n + 1].start_ns if n + 1 < len(ordered) else None
        best: tuple[float, Row, float] | None = None
        for row in rows:
            if row.end_ns <= words.start_ns or row.start_ns >= max(words.end_ns, words.start_ns + 1):
                continue
            x = row.x(words.start_ns)
            reach = LEFT + TRACK if following is None or following >= row.end_ns else row.x(following) - 8
            if best is None or reach - x > best[0]:
                best = (reach - x, row, x)
        if best is None:
            continue
        room, row, x = best
        if lines := wrapped(words.text, max(room, LEAST_ROOM), SIZE, MOST_LINES):
            placed.append(Placed(row, who, x, tuple(lines)))
    return placed
