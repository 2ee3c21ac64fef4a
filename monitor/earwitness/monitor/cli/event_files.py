"""Event logs as JSON lines: read, with every broken line named and set aside, never lost in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from earwitness.monitor.cli.opened_file import OpenedFile, opened
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event
from earwitness.monitor.errors import BadInput

MAX_LINE_BYTES = 4_000_000
MOST_NAMED = 10
"""Broken lines."""
AUDIO_ENDINGS = (".wav", ".wave", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".raw", ".pcm")
_OTHER_KINDS = {
    b"\x1f\x8b": "compressed by gzip; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first",
    b"PK": "a zip archive",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"SQLite format 3": "an embedded log; `earwitness calls --log` reads it",
}


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that is no event: a dead letter."""

    file: str
    line: int
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}: {self.detail}"


@dataclass(slots=True)
class EventFile:
    """What a file held."""

    name: str
    calls: dict[str, list[AnyEvent]] = field(default_factory=dict[str, list[AnyEvent]])
    events: int = 0
    broken: list[BrokenLine] = field(default_factory=list[BrokenLine])
    kinds: Counter[str] = field(default_factory=Counter[str])


def read_events(name: str) -> EventFile:
    """Read a file, or standard input for ``-``.

    Raises BadInput for what cannot be read or holds no event at all.
    """
    with opened(name) as given:
        return events_in(given)


def events_in(given: OpenedFile) -> EventFile:
    """Read an opened file. Raises BadInput for one that holds no event at all."""
    found = _read(given.shown, given.file)
    if found.events == 0:
        if not found.broken:
            raise BadInput("is empty", where=given.shown)
        if given.shown.lower().endswith(AUDIO_ENDINGS):
            raise BadInput("is no audio, whatever its name says; give a stereo WAV file", where=given.shown)
        first = found.broken[0]
        why = f"line {first.line}: {first.detail}"
        raise BadInput(
            f"holds no event; expected one JSON object a line, as on the events topic ({why})", where=given.shown
        )
    return found


def _read(name: str, file: BinaryIO) -> EventFile:
    found = EventFile(name)
    for number, line in enumerate(_lines(file), start=1):
        if number == 1 and (kind := _other_kind(line)):
            raise BadInput(f"is no recording and no event log: {kind}", where=name)
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if not text:
            continue
        try:
            if len(line) > MAX_LINE_BYTES:
                raise UnreadableRecord("invalid", f"longer than {MAX_LINE_BYTES // 1_000_000} MB")
            event = decode_event(text)
        except UnreadableRecord as error:
            found.broken.append(BrokenLine(name, number, error.reason, error.detail))
            continue
        found.calls.setdefault(event.call_id, []).append(event)
        found.events += 1
        found.kinds[event.kind] += 1
    return found


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines of a file; of one that is too long only its beginning, the rest of it is skipped."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)


def _other_kind(head: bytes) -> str | None:
    for magic, kind in _OTHER_KINDS.items():
        if head.startswith(magic):
            return kind
    return "binary" if b"\0" in head[:4096] else None


def named_lines(broken: Iterable[BrokenLine]) -> list[str]:
    """What to say of broken lines: the first by name, the others counted by reason."""
    lines = list(broken)
    said = [str(one) for one in lines[:MOST_NAMED]]
    if rest := lines[MOST_NAMED:]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(one.reason for one in rest).most_common())
        said.append(f"{len(rest)} more broken lines ({reasons})")
    return said
