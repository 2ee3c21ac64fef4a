"""What a call's settled chapters keep of their events and records: few bytes, until something comes back to them."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, get_origin

import msgspec

from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.calls.page import Content
from earwitness.monitor.contract.decoder import pack_events, unpack_events
from earwitness.monitor.contract.records import RECORD_TYPES

Shelved = tuple[int, str, int, bool, Content]
"""A record: its kind by number in `RECORD_TYPES`, id, revision, whether it was taken back, contents."""


@dataclass(frozen=True, slots=True)
class ShelvedEvents:
    """Entries of one chapter, in order. Events that were made by hand stay as they are, and so do numbers that no
    machine word holds: somebody's clock may claim anything."""

    moments_ns: Sequence[int]
    events: bytes | tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.moments_ns)

    def entries(self) -> list[Entry]:
        """The entries again."""
        events = unpack_events(self.events) if isinstance(self.events, bytes) else self.events
        return [(at, e.source, e.seq, e) for at, e in zip(self.moments_ns, events, strict=True)]


def shelve_events(entries: Sequence[Entry]) -> ShelvedEvents:
    """Put entries away."""
    events = [entry[3] for entry in entries]
    moments = [entry[0] for entry in entries]
    try:
        return ShelvedEvents(array("q", moments), pack_events(events))
    except (TypeError, OverflowError):
        return ShelvedEvents(moments, tuple(events))


def shelve(block: Sequence[Shelved]) -> bytes:
    """Put records of plain contents away. Raises TypeError for other contents."""
    return zlib.compress(packed(block), 1)


def unshelve(body: bytes) -> list[Shelved]:
    """The records that were put away."""
    found: list[Shelved] = unpacked(zlib.decompress(body), list[Shelved])
    for kind, _, _, _, content in found:
        retuple(kind, content)
    return found


def packed(plain: object) -> bytes:
    """A value as bytes. Integers that no machine word holds come as JSON, which begins otherwise."""
    try:
        body = _ENCODER.encode(plain)
    except OverflowError:
        body = _JSON_ENCODER.encode(plain)
    # The encoder's own bytes hold on to a third more than they show.
    return bytes(memoryview(body))


def unpacked(body: bytes, kind: Any) -> Any:
    """The value again, ``kind`` an array or one like an array. Raises msgspec.MsgspecError."""
    if body[:1] == b"[":
        return msgspec.json.decode(body, type=kind)
    return msgspec.msgpack.decode(body, type=kind)


def retuple(kind: int, content: Content) -> None:
    """Give a record's contents their tuples back: as bytes they are lists, and would compare as something else."""
    for name in _TUPLES[kind]:
        if name in content:
            content[name] = tuple(content[name])


_ENCODER: Final = msgspec.msgpack.Encoder()
_JSON_ENCODER: Final = msgspec.json.Encoder()
_TUPLES: Final = [
    tuple(name for name, info in kind.model_fields.items() if get_origin(info.annotation) is tuple)
    for kind in RECORD_TYPES
]
"""Fields of each kind of record that are tuples."""
