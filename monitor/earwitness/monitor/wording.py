"""How numbers, times and other people's text are written for people: one way everywhere.

Milliseconds with thousands separators up to 10 s, a dash where nothing was measured, and no character from
outside that could move a cursor, change a colour or turn the line around.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from earwitness.monitor.measures.reading import Quantile

NOTHING = "–"
_LAST_S = 253_370_764_800
"""The beginning of the year 9999, a year before Python's calendar ends."""

MOST_MARKS = 4
"""Accents and the like on one letter: more than any writing piles up."""
_BIDI_AND_UNSEEN = frozenset("\u061c\u180e\u200b\u200e\u200f\u2028\u2029\ufeff") | {
    chr(c) for c in (*range(0x202A, 0x202F), *range(0x2060, 0x2070))
}
_DROPPED_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str, limit: int = 200) -> str:
    """Text from outside, safe in one line of a terminal or message: whitespace single, control characters gone,
    no letter under a heap of marks."""
    words = " ".join(text[: limit * 4].split())
    kept = "".join(c for c in words if c not in _BIDI_AND_UNSEEN and unicodedata.category(c) not in _DROPPED_CATEGORIES)
    if not kept.isascii():
        kept = _low(kept)
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _low(text: str) -> str:
    """The text without marks piled up on one letter, which would run over the lines above and below."""
    piled, out = 0, list[str]()
    for c in text:
        piled = piled + 1 if unicodedata.combining(c) else 0
        if piled <= MOST_MARKS:
            out.append(c)
    return "".join(out)


def milliseconds(value_s: float | None) -> str:
    """``1,840``: a number of milliseconds without its unit."""
    return NOTHING if value_s is None else f"{value_s * 1000:,.0f}"


def short_time(value_s: float | None) -> str:
    """``310 ms``, ``2,410 ms``, ``12.4 s``, ``3 min``, ``1 h 5 min``."""
    if value_s is None:
        return NOTHING
    if abs(value_s) < 10:
        return f"{milliseconds(value_s)} ms"
    return f"{value_s:.1f} s" if abs(value_s) < 120 else span(value_s)


def quantile(value: Quantile | None) -> str:
    """``1,840`` (milliseconds), or ``> 10 s`` where it touches what was never answered."""
    if value is None:
        return NOTHING
    if value.more_than_s is not None:
        return f"> {value.more_than_s:.3g} s"
    return milliseconds(value.value_s)


def percent(ratio: float | None) -> str:
    """``61 %``; one decimal below ten and above 99."""
    if ratio is None:
        return NOTHING
    value = ratio * 100
    return f"{f'{value:.1f}'.removesuffix('.0')} %" if 0 < value < 9.95 or 99 < value < 99.95 else f"{value:.0f} %"


def span(seconds: float) -> str:
    """A length of time for windows and ages: ``45 s``, ``5 min``, ``1 h 5 min``, ``2 d``."""
    left = round(seconds)
    if left < 120 and left != 60:
        return f"{left} s"
    minutes, hours = left // 60, left // 3600
    if minutes < 120 and minutes != 60:
        return f"{minutes} min"
    if hours >= 48:
        return f"{hours // 24} d"
    rest = minutes % 60
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def compact_span(seconds: float) -> str:
    """``2m10s``, ``1h05m``, ``45s``: where a column is narrow."""
    left = max(0, round(seconds))
    hours, minutes, rest = left // 3600, left // 60 % 60, left % 60
    if hours >= 48:
        return f"{hours // 24}d"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def clock(wall_ns: int, zone: tzinfo | None = None, *, seconds: bool = False) -> str:
    """Time of day in ``zone`` (None: this machine's)."""
    return _moment(wall_ns, zone).strftime("%H:%M:%S" if seconds else "%H:%M")


def clock_with_zone(wall_ns: int, zone: tzinfo | None = None) -> str:
    """``14:01 CET``: for what is read elsewhere."""
    moment = _moment(wall_ns, zone)
    return f"{moment:%H:%M} {moment.tzname() or ''}".rstrip()


def utc_text(wall_ns: int) -> str:
    """``2026-11-30T14:01:09Z``: for machines."""
    return _moment(wall_ns, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def group_name(labels: Iterable[tuple[str, str]]) -> str:
    """``clinic v42 route=ivr`` for a label set; ``all agents`` for none."""
    given = {printable(key, 40): printable(value, 40) for key, value in labels}
    agent, version = given.pop("agent", None), given.pop("version", None)
    parts = [agent] if agent is not None else []
    if version is not None:
        parts.append(version if version[:1] == "v" or not version else f"v{version}")
    parts += [f"{key}={value}" for key, value in sorted(given.items())]
    return " ".join(part for part in parts if part) or "all agents"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 call``, ``3 calls``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _moment(wall_ns: int, zone: tzinfo | None) -> datetime:
    # Clocks of others may claim anything; what lies beyond the calendar is shown at its end.
    seconds = min(max(wall_ns // 1_000_000_000, 0), _LAST_S)
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone)
