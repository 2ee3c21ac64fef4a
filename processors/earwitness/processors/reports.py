"""Losses as events: ``health`` of source ``writer``, on the call that lost something."""

from __future__ import annotations

import secrets
from collections import OrderedDict

from earwitness.monitor.contract.events import Health
from earwitness.processors.losses import CallLosses
from earwitness.processors.sink import Outbound

SOURCE = "writer"
RANGES_PER_EVENT = 500
_CALLS_REMEMBERED = 10_000


class Reports:
    """Numbers the writer's own events, call by call."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._foreign: set[str] = set()
        self._mark = secrets.token_hex(3)

    def adopt(self, call_id: str) -> None:
        """A call of a process that is gone: its own writer has numbered its events, so this one takes another name."""
        if call_id not in self._last:
            self._foreign.add(call_id)

    def events(self, lost: CallLosses, *, buffer_bytes: int | None, spooled_events: int | None) -> list[Outbound]:
        """One event, or several where there are very many ranges."""
        source = f"{SOURCE}-{self._mark}" if lost.call_id in self._foreign else SOURCE
        seq, at_ns = self._last.pop(lost.call_id, (0, 0))
        at_ns = max(at_ns, lost.at_ns)
        made: list[Outbound] = []
        for first in range(0, len(lost.ranges), RANGES_PER_EVENT):
            event = Health(
                call_id=lost.call_id,
                source=source,
                seq=seq,
                at_ns=at_ns,
                wall_ns=lost.wall_ns,
                dropped=lost.ranges[first : first + RANGES_PER_EVENT],
                buffer_bytes=buffer_bytes,
                spooled_events=spooled_events,
            )
            payload = event.model_dump_json(exclude_none=True).encode()
            made.append(Outbound(lost.call_id, source, seq, "health", at_ns, lost.wall_ns, payload, droppable=0))
            seq += 1
        self._last[lost.call_id] = seq, at_ns
        if len(self._last) > _CALLS_REMEMBERED:
            self._last.popitem(last=False)
        return made
