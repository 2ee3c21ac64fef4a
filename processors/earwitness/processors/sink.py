"""The seam between a call's recorders, which make events, and the process's writer, which ships them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from earwitness.monitor.contract.events import EVENT_ADAPTER, AnyEvent


class Outbound(NamedTuple):
    """One redacted, serialised event on its way out. ``droppable``: 0 never, 1 when room runs out, 2 before those."""

    call_id: str
    source: str
    seq: int
    kind: str
    at_ns: int
    wall_ns: int
    payload: bytes
    droppable: int = 1


class Unredacted:
    """An event on its way whose text has still to be redacted: it lives in the buffer only, and what takes it out makes
    an `Outbound` of it first. It has no bytes that anybody could write by mistake; its ``payload`` has a length only,
    that of the text as it is."""

    __slots__ = ("_head", "_make", "_size", "at_ns", "call_id", "droppable", "kind", "seq", "source", "wall_ns")

    def __init__(self, head: Outbound, size: int, make: Callable[[], bytes]) -> None:
        """``head``: the event without its bytes. ``size``: of the bytes that it would have unredacted."""
        self.call_id, self.source, self.seq, self.kind = head.call_id, head.source, head.seq, head.kind
        self.at_ns, self.wall_ns, self.droppable = head.at_ns, head.wall_ns, head.droppable
        self._head, self._size, self._make = head, size, make

    @property
    def payload(self) -> Unredacted:
        return self

    def __len__(self) -> int:
        return self._size

    def made(self) -> Outbound:
        """The event, redacted and serialised. Raises what its making raises."""
        return self._head._replace(payload=self._make())


@dataclass(frozen=True, slots=True)
class SinkStats:
    """How full the way out is."""

    buffer_bytes: int
    spooled_events: int


class Sink(Protocol):
    """Takes events without ever blocking or raising. What it loses it reports itself, as ``health`` events of
    source ``writer`` with ranges of ``seq``."""

    def put(self, item: Outbound) -> None: ...

    def stats(self) -> SinkStats: ...

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        """Wait until all of the call put so far is on the log or in the spool; False where time ran out."""
        ...


@runtime_checkable
class PatientSink(Protocol):
    """A sink with a thread of its own, in which it redacts what takes long."""

    def put_unredacted(self, item: Unredacted) -> bool:
        """Take an event that has yet to be redacted; False where too many such wait: then nothing was taken."""
        ...


@runtime_checkable
class PatientRedactor(Protocol):
    """A redactor that tells what takes long, and can work in another thread meanwhile."""

    def takes_long(self, kind: str, fields: Mapping[str, Any]) -> bool:
        """Whether redacting these fields is too much work for an event loop that carries a call."""
        ...

    def for_another_thread(self) -> Redactor:
        """One that redacts just so, for one other thread."""
        ...


class Redactor(Protocol):
    """Takes personal data out of an event's fields before the event exists, and bounds their length: nothing before it
    cuts what was said."""

    def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an event of this kind with every text field redacted."""
        ...


class MemorySink:
    """A sink that keeps everything: for tests, and for calls that are analysed where they run."""

    def __init__(self) -> None:
        self.items: list[Outbound] = []

    def put(self, item: Outbound) -> None:
        self.items.append(item)

    def stats(self) -> SinkStats:
        return SinkStats(buffer_bytes=sum(len(item.payload) for item in self.items), spooled_events=0)

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        del call_id, timeout_s
        return True

    @property
    def events(self) -> list[AnyEvent]:
        """The events put so far, decoded, in the order of their putting."""
        return [EVENT_ADAPTER.validate_json(item.payload) for item in self.items]
