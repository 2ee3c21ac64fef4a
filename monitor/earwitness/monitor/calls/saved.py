"""A call laid aside: few bytes and what is asked of it between two looks. What comes meanwhile waits in it.

So a worker holds many more calls than it could keep at hand, and one that begins again wakes each call only when it is
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.haste import WAITING
from earwitness.monitor.calls.shelf import packed, unpacked
from earwitness.monitor.calls.timeline import LEARNT_LATER, CallTimeline
from earwitness.monitor.calls.timeline_state import NotAState, TimelineHead, read_head
from earwitness.monitor.contract.decoder import decode_event_fast, pack_events, unpack_events
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import UnreadableRecord, encode
from earwitness.monitor.fewer_bytes import NotSqueezed, is_squeezed

BLOCK: Final = 8
"""Events that wait are packed together by so many."""


class NotSaved(Exception):
    """The bytes are no saved call."""


class Saved(msgspec.Struct, array_like=True, frozen=True):
    """A saved call: as it was when it was last looked at, or at any later event, and the events since."""

    dumped: bytes
    waiting: list[bytes]


class SleepingCall:
    """A `CallTimeline` as bytes, with the same answers. ``woken`` is the timeline itself."""

    __slots__ = (
        "_awake", "_dumped", "_floor", "_loose", "_offsets", "_packed", "bounds", "call_id", "due_ns", "ended",
        "final_due_ns", "last_at_ns", "pressing", "started_wall_ns",
    )  # fmt: skip

    def __init__(self, dumped: bytes, waiting: list[bytes], *, bounds: Bounds) -> None:
        """Raises NotAState."""
        head: TimelineHead = read_head(dumped)
        self.call_id = head.call_id
        self.bounds = bounds
        self.started_wall_ns = head.started_wall_ns
        self.last_at_ns = head.last_at_ns
        self.ended = head.ended
        self.pressing = head.pressing
        self.due_ns = head.due_ns
        self.final_due_ns = head.final_due_ns
        self._floor = head.floor
        self._offsets = head.offsets
        self._dumped = dumped
        self._packed = waiting
        self._loose: list[AnyEvent] = []
        self._awake: CallTimeline | None = None
        if waiting:
            # Who has the floor, and what presses, is told by the events again.
            self._packed = []
            for event in _events(waiting):
                self.add(event)

    @classmethod
    def of(cls, timeline: CallTimeline) -> SleepingCall:
        """The call as it is, laid aside."""
        return cls(timeline.dump(), [], bounds=timeline.bounds)

    def add(self, event: AnyEvent) -> bool:
        """Let an event wait. Whether it is a duplicate is seen when the call wakes."""
        if self._awake is not None or event.kind == "call_started":
            # The first event may bring other clocks, and is looked at next in any case.
            awake = self.woken()
            taken = awake.add(event)
            self._show(awake)
            return taken
        self._loose.append(event)
        if len(self._loose) == BLOCK:
            self._packed.append(_packed(self._loose))
            self._loose = []
        at_ns = max(event.at_ns + self._offsets.get(event.source, 0), 0) if self._offsets else event.at_ns
        if event.kind not in LEARNT_LATER:
            self.last_at_ns = max(self.last_at_ns, at_ns)
        if not self.pressing and (event.kind not in WAITING or self.ended):
            if self._floor.is_overlap(event):
                self.due_ns = min(self.due_ns, at_ns + self.bounds.stop_silence_ns)
            self.pressing = self.ended or self._floor.is_pressing(event)
        return True

    def woken(self) -> CallTimeline:
        """The timeline, with all that waited, from now on. Raises NotAState."""
        if self._awake is None:
            self._awake = self._made()
            self._packed, self._loose, self._dumped = [], [], b""
            self._show(self._awake)
        return self._awake

    def _made(self) -> CallTimeline:
        awake = CallTimeline.load(self._dumped, bounds=self.bounds)
        for event in (*_events(self._packed), *self._loose):
            awake.add(event)
        return awake

    def _show(self, awake: CallTimeline) -> None:
        self.started_wall_ns, self.last_at_ns, self.ended = awake.started_wall_ns, awake.last_at_ns, awake.ended
        self.pressing, self.due_ns, self.final_due_ns = awake.pressing, awake.due_ns, awake.final_due_ns

    def advance(self, as_of_ns: int) -> list[AnyRecord]:
        """See `CallTimeline.advance`."""
        awake = self.woken()
        changed = awake.advance(as_of_ns)
        self._show(awake)
        return changed

    def replaced(self, record_id: str) -> AnyRecord | None:
        """See `CallTimeline.replaced`."""
        return self.woken().replaced(record_id)

    def counts_alike(self, record_id: str) -> bool:
        """See `CallTimeline.counts_alike`."""
        return self.woken().counts_alike(record_id)

    def records(self, *, retracted: bool = False) -> list[AnyRecord]:
        """See `CallTimeline.records`. It sleeps on: who asks for all calls wants no memory for all of them at once."""
        return (self._made() if self._awake is None else self._awake).records(retracted=retracted)

    def saved(self) -> bytes:
        """All of it."""
        if self._awake is not None:
            return saved(self._awake)
        return packed(Saved(self._dumped, [*self._packed, _packed(self._loose)] if self._loose else self._packed))


class ResumedCall(SleepingCall):
    """A call as it was saved once, with the events since: ``judged`` of them were there when it was last looked at, as
    of ``judged_at_ns``; None: not since."""

    __slots__ = ("_before", "_judged", "_judged_at_ns", "_since")

    def __init__(self, before: SleepingCall, since: Sequence[bytes], *, judged: int, judged_at_ns: int | None) -> None:
        """Raises NotSaved."""
        super().__init__(before._dumped, [], bounds=before.bounds)
        self._before: SleepingCall | None = before
        self._since = list(since)
        self._judged = judged
        self._judged_at_ns = judged_at_ns
        try:
            for block in self._since:
                unpack_events(block)
        except (msgspec.MsgspecError, NotSqueezed) as error:
            raise NotSaved(str(error)) from error

    def woken(self) -> CallTimeline:
        """The timeline, looked at as it was. Raises NotAState."""
        awake = super().woken()
        self._before, self._since = None, []
        return awake

    def _made(self) -> CallTimeline:
        assert self._before is not None
        awake = self._before._made()
        events = [event for block in self._since for event in unpack_events(block)]
        for event in events[: self._judged]:
            awake.add(event)
        if self._judged_at_ns is not None:
            awake.advance(self._judged_at_ns)
        for event in (*events[self._judged :], *_events(self._packed), *self._loose):
            awake.add(event)
        return awake

    def saved(self) -> bytes:
        """All of it."""
        return saved(self._made() if self._awake is None else self._awake)


def saved(call: Any) -> bytes:
    """A call as bytes, for `restored`; ``call`` is a `CallTimeline` or a `SleepingCall`."""
    return call.saved() if isinstance(call, SleepingCall) else packed(Saved(call.dump(), []))


def restored(body: bytes, *, bounds: Bounds) -> SleepingCall:
    """The call again, asleep. Raises NotSaved where the bytes are none, or were judged by other bounds."""
    try:
        found: Saved = unpacked(body, Saved)
        call = SleepingCall(found.dumped, found.waiting, bounds=bounds)
        if read_head(found.dumped).bounds != bounds.id:
            raise NotSaved("it was judged by other bounds")
    except (msgspec.MsgspecError, NotAState, UnreadableRecord, ValueError) as error:
        raise NotSaved(str(error)) from error
    return call


def _packed(events: list[AnyEvent]) -> bytes:
    try:
        return pack_events(events)
    except (TypeError, OverflowError):
        return packed([encode(event) for event in events])


def _events(blocks: list[bytes]) -> list[AnyEvent]:
    found: list[AnyEvent] = []
    for block in blocks:
        if is_squeezed(block):
            found += unpack_events(block)
        else:
            bodies: list[bytes] = unpacked(block, list[bytes])
            found += [decode_event_fast(body) for body in bodies]
    return found
