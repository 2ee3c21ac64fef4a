"""How a call's id is shown where room is short, so that what is shown can be typed (``earwitness calls`` takes the
beginning of an id), and how a recording of it is named."""

from __future__ import annotations

import re

from earwitness.monitor import wording

SHOWN_DIGITS = 8
_RANDOM = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


NAME_LENGTH = 100


def recording_name(call_id: str) -> str:
    """A file name without surprises for any call id: letters, digits, dot, dash and underscore, at most 100 of them."""
    clean = re.sub(r"[^A-Za-z0-9._-]", "_", call_id).lstrip(".")[:NAME_LENGTH]
    return f"{clean or 'call'}.wav"


def call_name(call_id: str, limit: int = 40) -> str:
    """A random id's first eight digits; an id that somebody chose as it is."""
    if _RANDOM.fullmatch(call_id):
        return call_id[:SHOWN_DIGITS]
    return wording.printable(call_id, limit)
