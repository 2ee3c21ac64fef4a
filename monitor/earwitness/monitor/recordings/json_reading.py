"""JSON that people and tools write, read strictly: every mistake is one line that names the file and the place.

Times are seconds in the file and nanoseconds here.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.errors import BadInput

MOST_BYTES = 256_000_000
LONGEST_S = 172_800
"""Two days: what claims to lie later was given in another unit."""
_NAMES = {bool: "true or false", str: "text", int: "a number", float: "a number", type(None): "null"}


def parsed(text: bytes, where: str) -> Any:
    """The JSON value in ``text``. Raises BadInput for what is no JSON, NaN and infinity included."""
    if len(text) > MOST_BYTES:
        raise BadInput(f"is larger than {MOST_BYTES // 1_000_000} MB", where=where)

    def no_constant(word: str) -> NoReturn:
        raise BadInput(f"{word} is no number; leave out what was not measured", where=where)

    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
        if twice is not None:
            raise BadInput(f'"{wording.printable(twice, 40)}" is given twice', where=where)
        return dict(pairs)

    try:
        return json.loads(text.decode("utf-8-sig"), parse_constant=no_constant, object_pairs_hook=no_twins)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where) from None
    except json.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})", where=where) from None
    except RecursionError:
        raise BadInput("is nested too deeply", where=where) from None
    except ValueError:  # an integer of more digits than Python reads
        raise BadInput("holds a number that is far too long", where=where) from None


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    if isinstance(value, list):
        return "a list"
    return next((name for kind, name in _NAMES.items() if isinstance(value, kind)), "an object")


def as_list(value: object, where: str) -> list[object]:
    """The value, which must be a list. Raises BadInput."""
    if not isinstance(value, list):
        raise BadInput(f"a list was expected, not {kind_of(value)}", where=where)
    return cast("list[object]", value)


def as_object(value: object, where: str, known: Sequence[str], needed: Iterable[str] = ()) -> dict[str, Any]:
    """The value, which must be an object with none but known keys and all that are needed. Raises BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"an object was expected, not {kind_of(value)}", where=where)
    found = cast("dict[str, Any]", value)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f'Did you mean "{near[0]}"?' if near else f"Known are {', '.join(known)}."
            raise BadInput(f'unknown key "{wording.printable(key, 40)}". {hint}', where=where)
    for key in needed:
        if key not in found:
            raise BadInput(f'"{key}" is missing', where=where)
    return found


def as_text(value: object, where: str) -> str:
    """The value, which must be text. Raises BadInput."""
    if not isinstance(value, str):
        raise BadInput(f"text was expected, not {kind_of(value)}", where=where)
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise BadInput("holds half a character (a lone surrogate)", where=where)
    return value


def as_truth(value: object, where: str) -> bool:
    """The value, which must be true or false. Raises BadInput."""
    if not isinstance(value, bool):
        raise BadInput(f"true or false was expected, not {kind_of(value)}", where=where)
    return value


def as_ns(value: object, where: str) -> int:
    """Seconds as nanoseconds. Raises BadInput for what is no number, negative, infinite or beyond two days."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"a number of seconds was expected, not {kind_of(value)}", where=where)
    return seconds_as_ns(
        float(value) if isinstance(value, float) or abs(value) <= LONGEST_S else LONGEST_S + 1.0, where
    )


def seconds_as_ns(seconds: float, where: str) -> int:
    """The same for a number that was read already."""
    if math.isnan(seconds):
        raise BadInput("NaN is no number; leave out what was not measured", where=where)
    if seconds < 0:
        raise BadInput(f"{seconds:g} s is before the recording began; times count from its beginning", where=where)
    if seconds > LONGEST_S:
        raise BadInput("is more than two days; times are in seconds", where=where)
    return round(seconds * S)
