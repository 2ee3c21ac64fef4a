"""The bounded buffer between a call and the writer: any thread puts, one thread takes, nobody waits.

When room runs out it gives up the oldest interim facts first, then the oldest others, and never the end of a call.
What was put unredacted is redacted as it is taken, in the taker's thread: nothing leaves here before.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple, cast

from earwitness.processors.losses import Losses, Reason
from earwitness.processors.sink import Outbound, Unredacted

log = logging.getLogger("earwitness.writer")

ITEM_OVERHEAD_BYTES = 320
"""What an event takes in memory beside its payload."""
RESERVE_BYTES = 256 * 1024
"""Room that only events that are never dropped may use."""


class Taken(NamedTuple):
    """Events in the order of their putting. Everything put up to and with number ``upto`` has left the buffer."""

    items: list[Outbound]
    upto: int


class Buffer:
    """``losses`` is told what is given up, with the ``reason`` that holds at present: the writer sets it to what it
    meets. ``wake_bytes``: from how much on the taker should come at once."""

    def __init__(
        self,
        max_bytes: int,
        losses: Losses,
        *,
        wake_bytes: int = 256 * 1024,
        reserve_bytes: int = RESERVE_BYTES,
    ) -> None:
        self.reason: Reason = "buffer_full"
        self._wake_bytes = wake_bytes
        self._max_bytes = max_bytes
        self._reserve_bytes = reserve_bytes
        self._losses = losses
        # Reentrant: a finaliser that runs inside may put an event.
        self._lock = threading.RLock()
        self._lanes: tuple[deque[tuple[int, Outbound | Unredacted]], ...] = (deque(), deque(), deque())
        self._bytes = 0
        self._count = 0
        self._making: list[Outbound | Unredacted] = []

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def count(self) -> int:
        """How many events were ever put: the number of the last."""
        return self._count

    def __len__(self) -> int:
        return sum(map(len, self._lanes))

    def put(self, item: Outbound | Unredacted) -> bool:
        """Keep an event, giving up lesser ones where room lacks. True if the taker should be told: the first event, or
        the one with which much has gathered."""
        size = len(item.payload) + ITEM_OVERHEAD_BYTES
        with self._lock:
            self._count += 1
            if self._bytes + size > self._max_bytes and not self._make_room(size, item.droppable):
                self._losses.note(item, self.reason)
                return self._bytes == 0
            before = self._bytes
            self._bytes = after = before + size
            self._lanes[item.droppable].append((self._count, item))
            return before == 0 or before < self._wake_bytes <= after

    def take(self, max_bytes: int, max_items: int) -> Taken:
        """The oldest events, at least one where there is one."""
        items, upto = self._take(max_bytes, max_items)
        if not any(map(_unredacted, items)):
            return Taken(cast("list[Outbound]", items), upto)
        self._making = items
        made = self._made(items, note=True)
        self._making = []
        return Taken(made, upto)

    def unfinished(self) -> list[Outbound]:
        """What was taken and is being redacted at this moment: for who cannot wait for the taker."""
        return self._made(self._making, note=False)

    def _made(self, items: Sequence[Outbound | Unredacted], *, note: bool) -> list[Outbound]:
        made: list[Outbound] = []
        for item in items:
            try:
                made.append(item.made() if isinstance(item, Unredacted) else item)
            except Exception:
                if note:
                    log.exception("an event could not be redacted, and is given up")
                    self._losses.note(item, self.reason)
        return made

    def _take(self, max_bytes: int, max_items: int) -> tuple[list[Outbound | Unredacted], int]:
        items: list[Outbound | Unredacted] = []
        room = max_bytes
        never, some, first = self._lanes
        with self._lock:
            upto = self._count
            if (
                self._bytes <= max_bytes and len(self) <= max_items
            ):  # As a rule: everything, in the order of its putting.
                items = [item for _, item in sorted([*never, *some, *first], key=_number_of)]
                for lane in self._lanes:
                    lane.clear()
                self._bytes = 0
                return items, upto
            while never or some or first:
                lane = some
                if not (some and not never and not first):  # Mostly there is one kind only.
                    lane = min((lane for lane in self._lanes if lane), key=_number)
                number, item = lane[0]
                room -= len(item.payload)
                if items and (room < 0 or len(items) >= max_items):
                    upto = number - 1
                    break
                lane.popleft()
                self._bytes -= len(item.payload) + ITEM_OVERHEAD_BYTES
                items.append(item)
            return items, upto

    def _make_room(self, size: int, droppable: int) -> bool:
        limit = self._max_bytes + (self._reserve_bytes if droppable == 0 else 0)
        if size > limit:
            return False
        # An event never drives out one that is worth more.
        for lane in self._lanes[: max(droppable, 1) - 1 : -1]:
            while lane and self._bytes + size > self._max_bytes:
                _, old = lane.popleft()
                self._bytes -= len(old.payload) + ITEM_OVERHEAD_BYTES
                self._losses.note(old, self.reason)
        return self._bytes + size <= limit


_number_of = itemgetter(0)


def _unredacted(item: object) -> bool:
    return isinstance(item, Unredacted)


def _number(lane: deque[tuple[int, Outbound | Unredacted]]) -> int:
    return lane[0][0]
