"""Two lanes of speech over a call's time, one cell a slice of it: what a picture shows, in characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SPEECH, SILENCE = "▂", "·"
S = 1_000_000_000

MOST_LINES = 20
"""Of notes under the lanes."""

Span = tuple[int, int]
"""From, to, in nanoseconds of the call."""


@dataclass(frozen=True, slots=True)
class Scale:
    """``width`` cells over ``duration_ns``."""

    duration_ns: int
    width: int

    def cell(self, at_ns: int) -> int:
        """The cell that a moment lies in."""
        if self.duration_ns <= 0:
            return 0
        return max(0, min(self.width - 1, at_ns * self.width // self.duration_ns))


def lane(spans: Iterable[Span], scale: Scale) -> str:
    """A lane: speech is shown in every cell that it touches, so that no word is too short to be seen."""
    cells = [SILENCE] * scale.width
    for start, end in spans:
        for cell in range(scale.cell(start), scale.cell(max(start, end - 1)) + 1):
            cells[cell] = SPEECH
    return "".join(cells)


def written_in(cells: str, span: Span, text: str, scale: Scale) -> str:
    """Write a text over the silence of a span, between bars, where it fits."""
    first, last = scale.cell(span[0]), scale.cell(max(span[0], span[1] - 1))
    while first <= last and cells[first] == SPEECH:
        first += 1
    while last >= first and cells[last] == SPEECH:
        last -= 1
    room = last - first + 1
    if room < len(text) + 2 or SPEECH in cells[first : last + 1]:
        return cells
    return f"{cells[:first]}|{text.center(room - 2)}|{cells[last + 1 :]}"


def ruler(scale: Scale) -> str:
    """Times of the call above its lanes, at round steps."""
    steps_s = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200)
    most = max(1, scale.width // 14)
    days = -(-scale.duration_ns // (most * 86_400 * S))
    step_s = next((s for s in steps_s if scale.duration_ns / (s * S) <= most), 86_400 * days)
    cells = [" "] * scale.width
    for at_s in range(0, scale.duration_ns // S + 1, step_s):
        mark = minutes(at_s * S)
        at = scale.cell(at_s * S)
        if at + len(mark) <= scale.width and all(c == " " for c in cells[max(0, at - 1) : at + len(mark)]):
            cells[at : at + len(mark)] = mark
    return "".join(cells).rstrip()


def marks(notes: Sequence[tuple[int, str]], scale: Scale) -> list[str]:
    """Notes under the lanes, each at its moment, in as few lines as they need; beyond ``MOST_LINES`` only counted."""
    lines: list[str] = []
    unseen = 0
    for at_ns, text in sorted(notes):
        cell = scale.cell(at_ns)
        # A note that would run over the right edge points to its moment from the left.
        start, shown = (
            (cell, f"▲ {text}") if cell + len(text) + 2 <= scale.width else (cell - len(text) - 1, f"{text} ▲")
        )
        if start < 0:
            start, shown = cell, f"▲ {text}"
        for i, line in enumerate(lines):
            if len(line) + 2 <= start:
                lines[i] = line.ljust(start) + shown
                break
        else:
            if len(lines) < MOST_LINES:
                lines.append(" " * start + shown)
            else:
                unseen += 1
    return [*lines, f"… and {unseen:,} more: named below"] if unseen else lines


def minutes(at_ns: int) -> str:
    """``1:15``."""
    return f"{at_ns // S // 60}:{at_ns // S % 60:02}"


def hundredths(at_ns: int | None) -> str:
    """``0:18.40``."""
    if at_ns is None:
        return "?"
    hundredths_ = round(at_ns / 10_000_000)
    return f"{hundredths_ // 6000}:{hundredths_ // 100 % 60:02}.{hundredths_ % 100:02}"
