"""The bytes of a spool file. A header names the log that the events are for and how far they have been read; then
follow events, each with its length and checksum, so that a tail torn by a kill is known for what it is."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from earwitness.processors.sink import Outbound

MAGIC = b"EWSPOOL1"
_FRAME = struct.Struct("<II")
_EVENT = struct.Struct("<HHHBQQQ")
_HEADER = struct.Struct("<8sQI")
OFFSET_AT = len(MAGIC)
"""Where the header keeps the offset of the next event to be read."""
MAX_EVENT_BYTES = 64 * 1024 * 1024


class Header(NamedTuple):
    """``url``: the log that the events are for. ``read_to``: offset of the next event to be read."""

    url: str
    read_to: int
    size: int


class Stored(NamedTuple):
    """An event as read, and the offset behind it."""

    item: Outbound
    end: int


def header(url: str) -> bytes:
    name = url.encode()
    size = _HEADER.size + len(name)
    return _HEADER.pack(MAGIC, size, len(name)) + name


def read_header(data: bytes) -> Header | None:
    """None where this is no spool file."""
    if len(data) < _HEADER.size:
        return None
    magic, read_to, length = _HEADER.unpack_from(data)
    size = _HEADER.size + length
    if magic != MAGIC or len(data) < size or read_to < size:
        return None
    return Header(data[_HEADER.size : size].decode("utf-8", "replace"), read_to, size)


def offset(read_to: int) -> bytes:
    """What to write at ``OFFSET_AT``."""
    return struct.pack("<Q", read_to)


def pack(items: Iterable[Outbound]) -> bytes:
    """The events as they follow each other in the file."""
    parts: list[bytes] = []
    for item in items:
        call, source, kind = item.call_id.encode(), item.source.encode(), item.kind.encode()
        body = b"".join(
            (
                _EVENT.pack(
                    len(call), len(source), len(kind), item.droppable, item.seq, item.at_ns, item.wall_ns
                ),
                call,
                source,
                kind,
                item.payload,
            )
        )  # fmt: skip
        parts += [_FRAME.pack(len(body), zlib.crc32(body)), body]
    return b"".join(parts)


def unpack(data: bytes, base: int) -> Iterator[Stored]:
    """The whole events in ``data``, which lies at offset ``base``; ends at the first that is torn or cut."""
    at = 0
    while at + _FRAME.size <= len(data):
        length, checksum = _FRAME.unpack_from(data, at)
        end = at + _FRAME.size + length
        if length < _EVENT.size or end > len(data):
            return
        body = data[at + _FRAME.size : end]
        if zlib.crc32(body) != checksum:
            return
        yield Stored(_event(body), base + end)
        at = end


def frame_bytes(data: bytes) -> int | None:
    """How long the event is that begins here, frame and all; None where the bytes cannot say."""
    if len(data) < _FRAME.size:
        return None
    length: int = _FRAME.unpack_from(data)[0]
    return _FRAME.size + length if _EVENT.size <= length <= MAX_EVENT_BYTES else None


def _event(body: bytes) -> Outbound:
    call, source, kind, droppable, seq, at_ns, wall_ns = _EVENT.unpack_from(body)
    at = _EVENT.size
    names = body[at : at + call + source + kind].decode("utf-8", "replace")
    if len(names) != call + source + kind:  # Not plain ASCII: cut the bytes, not the characters.
        first, second, third = at + call, at + call + source, at + call + source + kind
        ids = [body[a:b].decode("utf-8", "replace") for a, b in ((at, first), (first, second), (second, third))]
    else:
        ids = [names[:call], names[call : call + source], names[call + source :]]
    return Outbound(ids[0], ids[1], seq, ids[2], at_ns, wall_ns, body[at + call + source + kind :], droppable)
