"""A call's fold as bytes and back, so that it can go on elsewhere.

The fold is a function of the call's events and of the moment, so the events in the order of their coming, and the
moment up to which it was judged, are all of it. They are kept packed and folded again when somebody needs the call.
"""

from __future__ import annotations

from typing import Final

import msgspec

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.page import NEVER
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import pack_events, unpack_events
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord

BLOCK: Final = 64
"""Events that are packed together."""


class NotSaved(Exception):
    """The bytes are no saved call."""


class Saved(msgspec.Struct, array_like=True, frozen=True):
    """A saved call. ``judged`` of its events were there when it was last judged, as of ``as_of_ns`` of its clock."""

    call_id: str
    blocks: list[bytes]
    judged: int
    as_of_ns: int | None
    started_wall_ns: int | None
    last_at_ns: int
    ended: bool
    pressing: bool
    due_ns: int
    final_due_ns: int


class KeptCall:
    """A `CallTimeline` that can be saved, and is folded only when somebody needs it. ``changed`` since it was last
    saved."""

    def __init__(self, call_id: str, *, bounds: Bounds) -> None:
        self.call_id = call_id
        self.bounds = bounds
        self.changed = True
        self.started_wall_ns: int | None = None
        self.last_at_ns = 0
        self.ended = False
        self.pressing = False
        self.due_ns = NEVER
        self.final_due_ns = NEVER
        self._live: CallTimeline | None = CallTimeline(call_id, bounds=bounds)
        self._blocks: list[bytes] = []
        self._loose: list[AnyEvent] = []
        self._count = 0
        self._judged = 0
        self._as_of_ns: int | None = None

    def add(self, event: AnyEvent) -> bool:
        """See `CallTimeline.add`."""
        live = self._live or self._folded()
        self.changed = True
        self._loose.append(event)
        self._count += 1
        if len(self._loose) == BLOCK:
            self._blocks.append(pack_events(self._loose))
            self._loose = []
        taken = live.add(event)
        self._note(live)
        return taken

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        """See `CallTimeline.advance`."""
        live = self._live or self._folded()
        self.changed = True
        self._judged, self._as_of_ns = self._count, as_of_ns
        changed = live.advance(as_of_ns)
        self._note(live)
        return changed

    def replaced(self, record_id: str) -> AnyRecord | None:
        """See `CallTimeline.replaced`."""
        return (self._live or self._folded()).replaced(record_id)

    def counts_alike(self, record_id: str) -> bool:
        """See `CallTimeline.counts_alike`."""
        return (self._live or self._folded()).counts_alike(record_id)

    def records(self, *, retracted: bool = False) -> list[AnyRecord]:
        """See `CallTimeline.records`."""
        return (self._live or self._folded()).records(retracted=retracted)

    def saved(self) -> bytes:
        """All of it."""
        blocks = [*self._blocks, pack_events(self._loose)] if self._loose else self._blocks
        self.changed = False
        return msgspec.msgpack.encode(
            Saved(
                self.call_id,
                blocks,
                self._judged,
                self._as_of_ns,
                self.started_wall_ns,
                self.last_at_ns,
                self.ended,
                self.pressing,
                self.due_ns,
                self.final_due_ns,
            )
        )

    @classmethod
    def restored(cls, body: bytes, *, bounds: Bounds) -> KeptCall:
        """The call again; its events are looked at when it is needed. Raises NotSaved."""
        try:
            saved = msgspec.msgpack.decode(body, type=Saved)
        except msgspec.MsgspecError as error:
            raise NotSaved(str(error)) from error
        kept = cls(saved.call_id, bounds=bounds)
        kept.changed = False
        kept.started_wall_ns, kept.last_at_ns = saved.started_wall_ns, saved.last_at_ns
        kept.ended, kept.pressing = saved.ended, saved.pressing
        kept.due_ns, kept.final_due_ns = saved.due_ns, saved.final_due_ns
        kept._blocks, kept._judged, kept._as_of_ns = list(saved.blocks), saved.judged, saved.as_of_ns
        kept._live = None
        return kept

    def _folded(self) -> CallTimeline:
        live = CallTimeline(self.call_id, bounds=self.bounds)
        events = [event for block in self._blocks for event in unpack_events(block)]
        events += self._loose
        self._count = len(events)
        for event in events[: self._judged]:
            live.add(event)
        if self._as_of_ns is not None:
            live.advance(self._as_of_ns)
        for event in events[self._judged :]:
            live.add(event)
        self._live = live
        return live

    def _note(self, live: CallTimeline) -> None:
        self.started_wall_ns, self.last_at_ns = live.started_wall_ns, live.last_at_ns
        self.ended, self.pressing = live.ended, live.pressing
        self.due_ns, self.final_due_ns = live.due_ns, live.final_due_ns
