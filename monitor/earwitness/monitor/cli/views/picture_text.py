"""Words in a picture: made harmless, measured by estimate, broken into lines. Nobody knows the reader's fonts, so the
estimate is that of a wide one."""

from __future__ import annotations

import unicodedata

from earwitness.monitor import wording

NARROW, USUAL, WIDE = 0.32, 0.59, 1.05
"""Widths of characters in parts of the font's size."""
BOLD = 13.0
"""Size by which bold text of size 12 is measured."""
_NARROW = frozenset("iljtfrI.,:;'!|()[] ·")


def width_of(text: str, size: float) -> float:
    """About how wide a text is, in pixels; rather too wide than too narrow."""
    return size * sum(_share(c) for c in text)


def _share(character: str) -> float:
    if character in _NARROW:
        return NARROW
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in "MWmw@%—…":
        return WIDE if ord(character) > 0x2E7F else 0.88
    return USUAL


def wrapped(text: str, room: float, size: float, most_lines: int) -> list[str]:
    """The text in at most ``most_lines`` lines of ``room`` pixels; what does not fit ends in an ellipsis."""
    words = wording.printable(text, 600).split()
    lines: list[str] = []
    while words and len(lines) < most_lines:
        last = len(lines) == most_lines - 1
        line, words = _line(words, room, size)
        if last and words:
            line = cut(f"{line} {words[0]}…", room, size)
            words = []
        lines.append(line)
    return [line for line in lines if line]


def _line(words: list[str], room: float, size: float) -> tuple[str, list[str]]:
    line, *left = words
    while left and width_of(f"{line} {left[0]}", size) <= room:
        line = f"{line} {left.pop(0)}"
    if width_of(line, size) <= room or len(line) < 2:
        return line, left
    # One word alone is wider than the room: scripts without spaces are broken anywhere.
    n = max(1, sum(1 for k in range(1, len(line)) if width_of(line[:k], size) <= room))
    return (line[:n], [line[n:], *left]) if line[n:] else (line, left)


def cut(text: str, room: float, size: float) -> str:
    """The text, or its beginning with an ellipsis, within ``room`` pixels; nothing where not even that has room."""
    if width_of(text, size) <= room:
        return text
    kept = text.rstrip("…")
    while kept and width_of(kept + "…", size) > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if kept.strip() else ""
