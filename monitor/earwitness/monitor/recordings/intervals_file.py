"""Speech intervals of a call: ``{"caller": [[start_s, end_s], ...], "agent": [...]}`` (interfaces, "analyze")."""

from __future__ import annotations

from typing import Final

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.heard import HeardCall
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.json_reading import as_ns, as_object, as_text, parsed
from earwitness.monitor.recordings.speech_spans import Spoken, spans_of
from earwitness.monitor.recordings.words import expectations_of, lie_within, words_of

KEYS: Final = ("caller", "agent", "others", "words", "expect", "duration_s", "language")


def read_intervals(text: bytes, where: str, *, call_id: str) -> HeardCall:
    """The call that an intervals file tells of. Times count from the recording's beginning.

    ``duration_s`` is the recording's length; without it the recording ends where the last interval or word does.
    Intervals of one party may come in any order; those that overlap are one. Raises BadInput with the place of what is
    wrong, and for a file that holds neither speech nor a length.
    """
    given = as_object(parsed(text, where), where, KEYS, ("caller", "agent"))
    sides = {party: spans_of(given.get(party, []), f"{where}: {party}") for party in ("caller", "agent", "others")}
    words = words_of(given.get("words", []), f"{where}: words")
    expectations = expectations_of(given.get("expect", []), f"{where}: expect")
    details = mended(sides)
    if "language" in given:
        details["language"] = as_text(given["language"], f"{where}: language")
    last = max((end for one in sides.values() for _, end in one.spans), default=0)
    last = max([last, *(w.end_ns for w in words)])
    duration = last
    if given.get("duration_s") is not None:
        duration = as_ns(given["duration_s"], f"{where}: duration_s")
        _fits(sides, duration, where)
    lie_within(words, expectations, duration, (f"{where}: words", f"{where}: expect"))
    if duration == 0:
        raise BadInput("holds no speech and no duration_s: there is nothing to measure", where=where)
    return HeardCall(
        call_id,
        duration,
        sides["caller"].spans,
        sides["agent"].spans,
        words,
        expectations,
        others=sides["others"].spans,
        details=details,
    )


def mended(sides: dict[str, Spoken]) -> dict[str, str]:
    """What to say of intervals that were not as they should be."""
    said: dict[str, str] = {}
    joined, empty = sum(one.joined for one in sides.values()), sum(one.empty for one in sides.values())
    if joined:
        said["joined"] = f"{wording.plural(joined, 'interval')} joined to others of the same party"
    if empty:
        said["empty"] = f"{wording.plural(empty, 'interval')} without length left out"
    return said


def _fits(sides: dict[str, Spoken], duration_ns: int, where: str) -> None:
    for party, one in sides.items():
        beyond = next((span for span in one.spans if span[1] > duration_ns), None)
        if beyond is not None:
            raise BadInput(
                f"speech to {beyond[1] / S:g} s, beyond the recording's duration_s of {duration_ns / S:g} s",
                where=f"{where}: {party}",
            )
