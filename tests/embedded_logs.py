"""What tests of the embedded log share: a clock of their own, records, and what is left in the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from log_places import poll_until

from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.protocol import Entry, Outgoing

TOPIC = "earwitness.events"
HOUR_NS = 3_600 * 10**9

Opener = Callable[..., Awaitable[EmbeddedLog]]


class Clock:
    def __init__(self, now_ns: int = 1_800_000_000 * 10**9) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def records(count: int, size: int = 10) -> list[Outgoing]:
    return [Outgoing(f"call-{i % 3}", b"x" * size) for i in range(count)]


async def kept(log: EmbeddedLog) -> list[int]:
    starts, ends = await log.start_positions(TOPIC), await log.end_positions(TOPIC)
    return list(range(starts[0], ends[0]))


async def read_all(log: EmbeddedLog) -> list[Entry]:
    reader = await log.reader(TOPIC)
    ends = await log.end_positions(TOPIC)
    return await poll_until(reader, lambda: reader.positions() == ends)
