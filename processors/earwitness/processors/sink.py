"""The seam between a call's recorders, which make events, and the process's writer, which ships them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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
