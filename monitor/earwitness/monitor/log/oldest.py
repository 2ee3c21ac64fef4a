"""Since when a log waits for somebody to read on."""

from __future__ import annotations

from collections.abc import Mapping

from earwitness.monitor.log.protocol import Log


async def oldest_unread_ns(log: Log, topic: str, positions: Mapping[int, int]) -> int | None:
    """When the first of the records from these positions on was appended; None where there is none. Raises LogError."""
    ends = await log.end_positions(topic)
    found: list[int] = []
    for partition, position in positions.items():
        if position >= ends.get(partition, 0):
            continue
        # A reader of its own each, since one poll may be filled by one partition alone.
        reader = await log.reader(topic, start=ends | {partition: position})
        try:
            found += [entry.append_ns for entry in await reader.poll(timeout_s=2.0, max_records=1)]
        finally:
            await reader.close()
    return min(found, default=None)
