"""What a call's settled chapters keep of their events and records: few bytes, until something comes back to them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_origin

import msgspec

from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.calls.page import Content
from earwitness.monitor.contract.decoder import pack_events, unpack_events
from earwitness.monitor.contract.records import RECORD_TYPES
from earwitness.monitor.fewer_bytes import squeezed_well, unsqueezed

Shelved = tuple[int, str, int, bool, Content]
"""A record: its kind by number in `RECORD_TYPES`, id, revision, whether it was taken back, contents."""


Block = tuple[list[list[int]], list[tuple[int, str, int, bool, int, list[Any]]]]
"""Which fields records have, by their numbers in the model; records, each with the place of its own among these, and
the values of the fields."""


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


def shelve_events(entries: Sequence[Entry], squeeze: Callable[[bytes], bytes] = squeezed_well) -> ShelvedEvents:
    """Put entries away."""
    events = [entry[3] for entry in entries]
    moments = [entry[0] for entry in entries]
    try:
        return ShelvedEvents(array("q", moments), pack_events(events, squeeze))
    except (TypeError, OverflowError):
        return ShelvedEvents(moments, tuple(events))


def apart(block: Sequence[Shelved]) -> Block:
    """Records with their fields by number: most of a record are the names of its fields, which its kind shares."""
    named: dict[tuple[int, tuple[str, ...]], int] = {}
    rows = [
        (kind, record_id, revision, gone, named.setdefault((kind, tuple(content)), len(named)), list(content.values()))
        for kind, record_id, revision, gone, content in block
    ]
    return [[_NUMBERS[kind][name] for name in names] for kind, names in named], rows


def together(block: Block) -> list[Shelved]:
    """The way back of `apart`. Raises ValueError or IndexError for what makes no sense."""
    numbers, rows = block
    found: list[Shelved] = []
    for kind, record_id, revision, gone, at, values in rows:
        names = FIELDS[kind]
        content = {names[number]: value for number, value in zip(numbers[at], values, strict=True)}
        retuple(kind, content)
        found.append((kind, record_id, revision, gone, content))
    return found


def shelve(block: Sequence[Shelved]) -> bytes:
    """Put records of plain contents away. Raises TypeError for other contents."""
    return squeezed_well(packed(apart(block)))


def unshelve(body: bytes) -> list[Shelved]:
    """The records that were put away."""
    return together(_BLOCKS.decode(plain) if (plain := unsqueezed(body))[:1] != b"[" else unpacked(plain, Block))


def stack(shelves: Sequence[bytes]) -> bytes:
    """Several shelves in one: what they say alike stands there once. `unstack` has each again."""
    return squeezed_well(packed([unsqueezed(body) for body in shelves]))


def unstack(body: bytes) -> list[bytes]:
    """The shelves that were stacked."""
    found: list[bytes] = unpacked(unsqueezed(body), list[bytes])
    return [squeezed_well(plain) for plain in found]


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


FIELDS: Final = [tuple(kind.model_fields) for kind in RECORD_TYPES]
"""Of each kind of record the names of its fields: shelves name them by number."""
_NUMBERS: Final = [{name: number for number, name in enumerate(names)} for names in FIELDS]
_ENCODER: Final = msgspec.msgpack.Encoder()
_BLOCKS: Final = msgspec.msgpack.Decoder(Block)
_JSON_ENCODER: Final = msgspec.json.Encoder()
_TUPLES: Final = [
    tuple(name for name, info in kind.model_fields.items() if get_origin(info.annotation) is tuple)
    for kind in RECORD_TYPES
]
"""Fields of each kind of record that are tuples."""
