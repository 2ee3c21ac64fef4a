"""Amounts as people write them in rules: ``2m``, ``1.5s``, ``300ms``, ``5%``, ``3``."""

from __future__ import annotations

import math
import re
from typing import Literal

Unit = Literal["s", "ratio", "count"]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def duration_s(text: object) -> float:
    """Seconds of ``300ms``, ``1.5s``, ``2m``, ``6h``, ``7d``; a bare 0 needs no unit. Raises ValueError."""
    if text in (0, "0"):
        return 0.0
    if isinstance(text, str) and (match := _DURATION.fullmatch(text.strip())):
        return float(match[1]) * _SECONDS[match[2]]
    raise ValueError(f"{_shown(text)} is no duration; write a number and its unit, such as 300ms, 1.5s, 2m or 6h")


def ratio(text: object) -> float:
    """A share of 1 from ``5%`` or ``0.05``. Raises ValueError."""
    value: float | None = None
    if isinstance(text, str) and (stripped := text.strip()).endswith("%"):
        number = stripped[:-1].strip()
        value = float(number) / 100 if _NUMBER.fullmatch(number) else None
    elif _is_number(text):
        value = float(str(text))
    if value is None or not 0 <= value <= 1:
        raise ValueError(f"{_shown(text)} is no share; write a percentage such as 5%")
    return value


def count(text: object) -> float:
    """A number of things. Raises ValueError."""
    if not _is_number(text) or float(str(text)) < 0:
        raise ValueError(f"{_shown(text)} is no count; write a plain number such as 3")
    return float(str(text))


def amount(text: object, unit: Unit) -> float:
    """A threshold in the unit of its measure. Raises ValueError."""
    return {"s": duration_s, "ratio": ratio, "count": count}[unit](text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: object) -> str:
    text = str(value)
    return f'"{text if len(text) <= 40 else text[:37] + "..."}"'
