"""Speech segments as diarisers write them: NIST RTTM, one line a segment.

``SPEAKER file channel start duration <NA> <NA> name <NA> [<NA>]``; ``LEXEME`` lines carry words. Other types of the
format and comments (``;;``) say nothing of who spoke when and are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from earwitness.monitor import wording
from earwitness.monitor.calls.heard import HeardCall, HeardWords
from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.intervals_file import mended
from earwitness.monitor.recordings.json_reading import seconds_as_ns
from earwitness.monitor.recordings.speech_spans import spoken

TYPES: Final = frozenset({
    "SPEAKER", "LEXEME", "SPKR-INFO", "SEGMENT", "NOSCORE", "NO_RT_METADATA", "NON-LEX", "NON-SPEECH", "FILLER",
    "EDIT", "IP", "SU", "CB", "A/P",
})  # fmt: skip


@dataclass(slots=True)
class _Talk:
    """What the lines of one recording say, by the speakers' names."""

    segments: dict[str, list[Span]] = field(default_factory=dict[str, list[Span]])
    words: list[tuple[str, int, int, str]] = field(default_factory=list[tuple[str, int, int, str]])


def read_rttm(
    text: bytes, where: str, *, call_id: str, caller: str | None = None, agent: str | None = None
) -> list[HeardCall]:
    """The recordings that an RTTM file tells of, in order of appearance; each ends with its last segment.

    ``caller`` and ``agent`` are the speakers' names; without them the speakers must be called ``caller`` and ``agent``
    (in any case), and where one of two is named the other is the other. Further speakers are others on the caller's
    side. Several recordings of one file are told apart as ``call_id:file``. Raises BadInput naming the line, and for
    speakers of whom nobody says who is who.
    """
    talks: dict[str, _Talk] = {}
    for number, fields in _lines(text, where):
        _take(talks, fields, f"{where}:{number}")
    if not any(talk.segments for talk in talks.values()):
        raise BadInput("holds no SPEAKER line: nobody spoke", where=where)
    names = list(dict.fromkeys(name for talk in talks.values() for name in talk.segments))
    caller, agent = _who(names, caller, agent, where)
    several = len(talks) > 1
    return [
        _heard(talk, f"{call_id}:{file}" if several else call_id, caller, agent)
        for file, talk in talks.items()
        if talk.segments
    ]


def _lines(text: bytes, where: str) -> Iterator[tuple[int, list[str]]]:
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where) from None
    for number, line in enumerate(decoded.splitlines(), start=1):
        fields = line.split()
        if fields and not fields[0].startswith(";;"):
            yield number, fields


def _take(talks: dict[str, _Talk], fields: list[str], where: str) -> None:
    kind = fields[0]
    if kind not in TYPES:
        raise BadInput(f'"{wording.printable(kind, 30)}" is no type of line that RTTM has', where=where)
    if kind not in ("SPEAKER", "LEXEME"):
        return
    if len(fields) < 8:
        raise BadInput(f"{wording.plural(len(fields), 'field')} where RTTM has 9 or 10", where=where)
    start, length = (_time(fields[n], name, where) for n, name in ((3, "start"), (4, "duration")))
    talk = talks.setdefault(fields[1], _Talk())
    if kind == "SPEAKER":
        talk.segments.setdefault(fields[7], []).append((start, start + length))
    elif fields[5] != "<NA>":
        talk.words.append((fields[7], start, start + length, fields[5]))


def _time(field_: str, name: str, where: str) -> int:
    try:
        seconds = math.nan if "_" in field_ else float(field_)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadInput(f'{name} "{wording.printable(field_, 20)}" is no number of seconds', where=where)
    if name == "duration" and seconds < 0:
        raise BadInput(f"a duration of {seconds:g} s: it ends before it begins", where=where)
    return seconds_as_ns(seconds, where)


def _who(names: list[str], caller: str | None, agent: str | None, where: str) -> tuple[str | None, str | None]:
    """The speakers' names for caller and agent; None: that side never speaks."""
    for option, name in (("--caller", caller), ("--agent", agent)):
        if name is not None and name not in names:
            raise BadInput(
                f'{option}: no speaker is called "{wording.printable(name, 40)}"; {_there(names)}', where=where
            )
    if caller is not None and caller == agent:
        raise BadInput("--caller and --agent name the same speaker", where=where)
    by_role = {role: [n for n in names if n.casefold() == role] for role in ("caller", "agent")}
    twice = next((found for found in by_role.values() if len(found) > 1), None)
    if twice and (caller is None or agent is None):
        raise BadInput(f"speakers {' and '.join(twice)}: say who is who with --caller and --agent", where=where)
    known_caller = caller if caller is not None else next((n for n in by_role["caller"] if n != agent), None)
    known_agent = agent if agent is not None else next((n for n in by_role["agent"] if n != caller), None)
    rest = [n for n in names if n not in (known_caller, known_agent)]
    if known_caller is not None and known_agent is not None:
        return known_caller, known_agent
    if (known_caller is None and known_agent is None) or len(rest) > 1:
        raise BadInput(f"{_there(names)}; say who is who with --caller NAME and --agent NAME", where=where)
    if not rest:
        return known_caller, known_agent
    return known_caller or rest[0], known_agent or rest[0]


def _there(names: list[str]) -> str:
    shown = [wording.printable(name, 40) for name in names[:6]]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f"its speakers are {', '.join(shown)}{more}" if len(names) > 1 else f"its only speaker is {shown[0]}"


def _heard(talk: _Talk, call_id: str, caller: str | None, agent: str | None) -> HeardCall:
    others = [span for name, own in talk.segments.items() if name not in (caller, agent) for span in own]
    sides = {
        "caller": spoken(talk.segments.get(caller or "", [])),
        "agent": spoken(talk.segments.get(agent or "", [])),
        "others": spoken(others),
    }
    words = tuple(
        HeardWords("caller" if name == caller else "agent", start, end, text)
        for name, start, end, text in talk.words
        if name in (caller, agent)
    )
    details = mended(sides)
    if caller not in (None, "caller") or agent not in (None, "agent"):
        details["speakers"] = f"caller {caller or 'silent'}, agent {agent or 'silent'}"
    return HeardCall(
        call_id,
        max([end for one in sides.values() for _, end in one.spans] + [w.end_ns for w in words]),
        sides["caller"].spans,
        sides["agent"].spans,
        words,
        others=sides["others"].spans,
        details=details,
    )
