"""The log as the courier uses it: opened when first needed, given up when it hangs, one append at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from earwitness.monitor.log.protocol import Log, Outgoing, RecordTooLarge
from earwitness.monitor.log.topics import EVENTS, topic_name
from earwitness.processors.sink import Outbound

T = TypeVar("T")
LEAVE_S = 5.0


class LogClient:
    """``open_log`` is awaited before the first append, and again after `leave`."""

    def __init__(self, open_log: Callable[[], Awaitable[Log]]) -> None:
        self._open_log = open_log
        self._log: Log | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    async def deliver(self, items: Sequence[Outbound]) -> list[Outbound]:
        """Append events in their order; on return the log has all of them but those returned, which are too large.

        Raises what opening and appending raise; some of the events may have been taken then.
        """
        if self._log is None:
            self._log = await self._open_log()
        topic = topic_name(self._log.prefix, EVENTS)
        return await append_what_fits(self._log, topic, items, record_of)

    def leave(self) -> None:
        """Close the log without waiting for it."""
        if self._log is not None:
            leaving = asyncio.get_running_loop().create_task(_close(self._log, LEAVE_S))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            self._log = None

    async def close(self, timeout_s: float) -> None:
        """Close the log if it lets itself be closed in time."""
        if self._log is not None:
            await _close(self._log, timeout_s)


_outgoing: Final = Outgoing._make
"""What the constructor does, at little more than half the price: every event pays it."""


def record_of(item: Outbound) -> Outgoing:
    """An event as a log takes it."""
    return _outgoing((item.call_id, item.payload, None))


async def append_what_fits(target: Log, topic: str, items: Sequence[T], outgoing: Callable[[T], Outgoing]) -> list[T]:
    """Append items in their order; on return the log has all of them but those returned, which are too large.

    Raises LogError; some may have been taken then.
    """
    records = [outgoing(item) for item in items]
    try:
        await target.append(topic, records)
    except RecordTooLarge as refusal:
        if refusal.unwritten is not None:
            unwritten = {id(record) for record in refusal.unwritten}
            items = [item for item, record in zip(items, records, strict=True) if id(record) in unwritten]
        if len(items) == 1:
            return list(items)
        # The log does not say which it is: halves find it, and the others go on in their order.
        middle = len(items) // 2
        first = await append_what_fits(target, topic, items[:middle], outgoing)
        return first + await append_what_fits(target, topic, items[middle:], outgoing)
    return []


async def _close(target: Log, timeout_s: float) -> None:
    with suppress(Exception):
        await asyncio.wait_for(target.close(), timeout_s)
