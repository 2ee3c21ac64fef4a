"""Lines of a table within the width that a terminal surely has: longer ones go on below, where their text began."""

from __future__ import annotations

import re
import textwrap

WIDTH = 100
_BETWEEN = re.compile(r" · | {2,}")
"""What stands between the facts of a line; where a line ends after one, it is left away."""


def fitted(line: str, indent: int) -> list[str]:
    """The line in as many as it takes, those after the first indented. Broken between facts, within one only where it
    is longer than a line by itself; a single word is never broken."""
    if len(line) <= WIDTH:
        return [line]
    lines, at, between = [line[:indent]], indent, ""
    for end, after in [*((m.start(), m.group()) for m in _BETWEEN.finditer(line, indent)), (len(line), "")]:
        fact = line[at:end]
        if len(lines[-1]) + len(between) + len(fact) <= WIDTH:
            lines[-1] += between + fact
        else:
            first, *more = textwrap.wrap(fact, WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
            begun = len(lines) > 1 or bool(lines[0][indent:])
            lines = [*lines, " " * indent + first] if begun else [lines[0] + first]
            lines += [" " * indent + part for part in more]
        at, between = end + len(after), after
    return lines
