"""What a file is, by how it begins: names lie, and standard input has none."""

from __future__ import annotations

import re
from typing import Final, Literal

from earwitness.monitor.recordings.rttm import TYPES

FileKind = Literal["audio", "rttm", "intervals", "ticks", "events"]

_AUDIO: Final = (
    b"RIFF",
    b"RF64",
    b"RIFX",
    b"FORM",
    b"fLaC",
    b"OggS",
    b"ID3",
    b"\xff\xfb",
    b"\xff\xf3",
    b".snd",
    b"caff",
)
_EVENT = re.compile(rb'"kind"\s*:')
_TICKS = re.compile(rb'"(?:simulations|tick_seconds|ticks)"\s*:')


def kind_of(head: bytes) -> FileKind:
    """The kind of a file that begins so. What is like nothing known is taken for an event log, whose reader says what
    is wrong with it."""
    if head.startswith(_AUDIO):
        return "audio"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        if _EVENT.search(text):
            return "events"
        return "ticks" if _TICKS.search(text) else "intervals"
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(b";;"):
            return "rttm" if line.split()[0].decode("latin-1") in TYPES else "events"
    return "rttm" if text.startswith(b";;") else "events"
