"""What a relay cannot bring: which events, of which calls, as far as it can be known, and the ``health`` that says so.

While the target is away the embedded log is the buffer, and its retention goes on deleting. The relay therefore notes
who the oldest events are before they go: a bounded number from the front of each partition, looked at every second.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from earwitness.monitor.contract.call_facts import DroppedRange, Health
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event, encode
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.processors.losses import Losses
from earwitness.processors.reports import Reports
from earwitness.processors.sink import Outbound

NOTED_MOST: Final = 10_000
"""Events noted from the front of each partition."""
_AT_ONCE: Final = 500


class _Noted(NamedTuple):
    offset: int
    item: Outbound | None
    """None: bytes that do not say whose they are."""


class LossesAhead:
    """Notes the unshipped events at the front of the embedded log, and which of them retention took."""

    def __init__(self, source: Log, topic: str) -> None:
        self._source = source
        self._topic = topic
        self._noted: dict[int, deque[_Noted]] = {}
        self._losses = Losses()
        self._numbered = Reports()
        self._waiting: list[Outgoing] = []

    async def look(self, positions: Mapping[int, int], starts: Mapping[int, int]) -> None:
        """See what retention took up to ``starts``, and note what lies at the front from ``positions`` on, which is
        what nobody has read. Raises LogError."""
        for partition, position in positions.items():
            start = starts.get(partition, 0)
            self.gone(partition, start)
            noted = self._noted.setdefault(partition, deque())
            if len(noted) < NOTED_MOST:
                await self._note(partition, max(noted[-1].offset + 1 if noted else position, start), noted)

    async def _note(self, partition: int, start: int, noted: deque[_Noted]) -> None:
        ends = await self._source.end_positions(self._topic)
        if start >= ends.get(partition, 0):
            return
        reader = await self._source.reader(self._topic, start=ends | {partition: start})
        try:
            while len(noted) < NOTED_MOST:
                entries = await reader.poll(timeout_s=0, max_records=_AT_ONCE)
                noted += [_Noted(e.offset, _identity(e.value)) for e in entries if e.partition == partition]
                if len(entries) < _AT_ONCE:
                    return
                await asyncio.sleep(0)  # between two parts the relay's own work goes on
        finally:
            await reader.close()

    def gone(self, partition: int, before: int) -> None:
        """Retention took all that nobody had read before this offset."""
        noted = self._noted.get(partition)
        while noted and noted[0].offset < before:
            item = noted.popleft().item
            if item is not None:
                self._losses.note(item, "buffer_full")

    def read(self, positions: Mapping[int, int]) -> None:
        """These positions are reached: what lies before them is in hand, or told of."""
        for partition, noted in self._noted.items():
            while noted and noted[0].offset < positions.get(partition, 0):
                noted.popleft()

    def reports(self) -> list[Outgoing]:
        """``health`` events that name what was lost, until `reported`."""
        for lost in self._losses.take():
            self._numbered.adopt(lost.call_id)
            events = self._numbered.events(lost, buffer_bytes=None, spooled_events=None)
            self._waiting += [Outgoing(event.call_id, event.payload) for event in events]
        return self._waiting

    def reported(self) -> None:
        """The target has them."""
        self._waiting = []


def too_large(record: Outgoing) -> Outgoing | None:
    """The ``health`` event that says of an event that the log would not take it; the same each time. None where its
    bytes do not say whose it is."""
    item = _identity(record.value)
    if item is None:
        return None
    dropped = DroppedRange(first_seq=item.seq, last_seq=item.seq, reason="too_large", source=item.source)
    report = Health(
        call_id=item.call_id, source=f"relay-{item.source}-{item.seq}", seq=0, at_ns=item.at_ns, wall_ns=item.wall_ns,
        dropped=(dropped,),
    )  # fmt: skip
    return Outgoing(record.key, encode(report))


def _identity(value: bytes | None) -> Outbound | None:
    try:
        event = decode_event(value or b"")
    except UnreadableRecord:
        return None
    return Outbound(event.call_id, event.source, event.seq, event.kind, event.at_ns, event.wall_ns, b"")
