"""A call's fold as plain values, for bytes and back: what a worker keeps of a call that it lays aside or hands over.

Nothing in it is trusted: bytes that make no sense raise, and nothing is run. Events and records are in there as bytes
of their own, looked at when somebody needs them.
"""

from __future__ import annotations

import zlib
from itertools import accumulate, pairwise
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from earwitness.monitor.calls.arrivals import Hole
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.haste import Floor
from earwitness.monitor.calls.page import Content
from earwitness.monitor.calls.shelf import (
    FIELDS,
    Block,
    Shelved,
    ShelvedEvents,
    packed,
    retuple,
    shelve_events,
    unpacked,
)
from earwitness.monitor.calls.wants import Basis
from earwitness.monitor.contract.decoder import decode_event_fast, struct_of
from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.contract.records import RECORD_TYPES, Call, LineQuality, Unheard
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.fewer_bytes import is_squeezed, squeezed, unsqueezed

FORMAT: Final = 9 << 32 | zlib.crc32(repr(FIELDS).encode())
"""Another one where states of before can no longer be read: its upper half grows, or records have other fields."""
_CALL: Final = RECORD_TYPES.index(Call)


class NotAState(ValueError):
    """The bytes are no state of a call, or one of another format."""


class PublishedState(msgspec.Struct, array_like=True, frozen=True):
    """What was published. Records and shelves name what they share by its number in ``shared``."""

    shared: list[Content]
    kept: Block
    kept_share: list[int]
    shelves: dict[int, int]
    """What the records of a shelf share."""
    stacks: dict[int, list[int]]
    """Shelves that lie stacked, as the body of the first of them."""
    shelf_of: dict[str, int]
    taken: dict[int, list[str]]
    shelved: int


class ChapterState(msgspec.Struct, array_like=True, frozen=True):
    """A chapter whose records are put away, or the last one."""

    carry: Carry
    judged_ns: int
    looked_ns: int
    tried_ns: int
    edge_ns: int
    failed: int
    patience: int
    has_events: bool
    shelf: int | None
    overlaps: tuple[str, ...]


class TimelineHead(msgspec.Struct, array_like=True, frozen=True):
    """What is asked of a call between two looks at it; ``body`` is the rest of it."""

    format: int
    call_id: str
    bounds: str
    started_wall_ns: int | None
    last_at_ns: int
    offsets: dict[str, int]
    """Of the clocks of other processes."""
    ended: bool
    settled: bool
    pressing: bool
    due_ns: int
    final_due_ns: int
    floor: Floor
    body: bytes


class TimelineState(msgspec.Struct, array_like=True, frozen=True):
    """The rest of a call, as of the last look at it and the events since."""

    plain: bool
    late: int
    looked_ns: int
    sources: dict[str, tuple[int, int, list[Hole], int, list[Hole]]]
    duplicates: int
    moments_ns: list[list[int]]
    """Of the current entries, of what was learnt later, and of each chapter that has events."""
    chapters: list[ChapterState]
    standing: set[str]
    overlaps: dict[str, Basis]
    published: PublishedState


class PackedState(msgspec.Struct, array_like=True, frozen=True):
    """A `TimelineState` in few bytes, and what lies in few bytes already: events, and records on shelves."""

    state: bytes
    events: list[bytes]
    shelves: dict[int, bytes]


def event_bytes(shelved: ShelvedEvents) -> bytes:
    """Events that were put away, as bytes; those that were made by hand become what a log would give."""
    body = shelved.events
    if isinstance(body, bytes):
        return body
    made = [decode_event_fast(encode(e)) if isinstance(e, BaseModel) else e for e in body]
    again = shelve_events([(0, e.source, e.seq, e) for e in made]).events
    return again if isinstance(again, bytes) else packed([encode(e) for e in body])


def shelved_events(moments_ns: list[int], body: bytes) -> ShelvedEvents:
    """The way back of `event_bytes`. Raises UnreadableRecord or msgspec.MsgspecError."""
    if is_squeezed(body):
        return ShelvedEvents(moments_ns, body)
    bodies: list[bytes] = unpacked(body, list[bytes])
    return ShelvedEvents(moments_ns, tuple(decode_event_fast(one) for one in bodies))


def plain_record(record: Shelved) -> Shelved:
    """A record of which the contents are plain."""
    kind, record_id, revision, retracted, content = record
    if kind == _CALL:
        line: LineQuality | None = content["line"]
        plain = {"unheard": [one.model_dump() for one in content["unheard"]], "line": line and line.model_dump()}
        content = content | plain
    return kind, record_id, revision, retracted, content


def full_record(record: Shelved) -> Shelved:
    """The way back of `plain_record`."""
    kind, _, _, _, content = record
    retuple(kind, content)
    if kind == _CALL:
        content["unheard"] = tuple(_unheard(one) for one in content["unheard"])
        content["line"] = None if content["line"] is None else LineQuality.model_validate(content["line"])
    return record


def written(state: TimelineState, events: list[bytes], shelves: dict[int, bytes]) -> bytes:
    """The rest of a call as bytes."""
    state = msgspec.structs.replace(state, moments_ns=list(map(_steps, state.moments_ns)))
    try:
        plain = _ENCODER.encode(state)
    except OverflowError:
        plain = _JSON_ENCODER.encode(state)
    return packed(PackedState(squeezed(plain), events, shelves))


def read(body: bytes) -> tuple[TimelineState, list[bytes], dict[int, bytes]]:
    """The way back of `written`. Raises NotAState."""
    try:
        outer: PackedState = unpacked(body, PackedState)
        plain = unsqueezed(outer.state)
        state: TimelineState = (_JSON_STATES if plain[:1] == b"[" else _STATES).decode(plain)
        for chapter in state.chapters:
            _with_events(chapter.carry.facts)
        for steps in state.moments_ns:
            steps[:] = accumulate(steps)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
        raise NotAState(str(error)) from error
    return state, outer.events, outer.shelves


def read_head(dumped: bytes) -> TimelineHead:
    """The head of a call that was dumped. Raises NotAState."""
    try:
        head: TimelineHead = unpacked(dumped, TimelineHead)
    except (msgspec.MsgspecError, ValueError) as error:
        raise NotAState(str(error)) from error
    if head.format != FORMAT:
        raise NotAState(f"its format is {head.format}, this version reads {FORMAT}")
    return head


def _steps(moments_ns: list[int]) -> list[int]:
    """From moment to moment: half as many bytes as the moments."""
    return [after - before for before, after in pairwise((0, *moments_ns))]


def _with_events(facts: Facts) -> None:
    """The two events that facts keep whole."""
    for name in ("started", "ended"):
        value = getattr(facts, name)
        if value is not None:
            setattr(facts, name, msgspec.convert(value, _EVENTS[value["kind"]]))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"no rule for {type(value).__name__}")


def _model(kind: type[Any], value: Any) -> Any:
    return _unheard(value) if kind is Unheard else value


def _unheard(value: dict[str, Any]) -> Unheard:
    for name in ("responses", "moments_ns"):
        value[name] = tuple(value[name])
    return Unheard.model_validate(value)


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_plain)
_JSON_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
_STATES: Final = msgspec.msgpack.Decoder(TimelineState, dec_hook=_model)
_JSON_STATES: Final = msgspec.json.Decoder(TimelineState, dec_hook=_model)
_EVENTS: Final[dict[str, Any]] = {str(model.model_fields["kind"].default): struct_of(model) for model in EVENT_TYPES}
