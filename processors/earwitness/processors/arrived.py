"""Which of some records a log has already: asked where an acknowledgement did not come, before they are sent again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import Log, Outgoing

MOST_LOOKED_AT: Final = 200_000
"""Beyond so many records of others the search is given up; what is sent twice then is folded by identity."""
CLOCKS_DIFFER_NS: Final = 60 * 10**9
"""How far the log's clock and ours may be apart."""
_EMPTY_POLLS: Final = 2


async def arrived(
    log: Log, topic: str, wanted: Collection[Outgoing], *, start: Mapping[int, int], until_ns: int
) -> set[Outgoing]:
    """Those of ``wanted`` that the log has, byte for byte, from ``start`` on; sent last at ``until_ns``, wall time.

    Raises LogError.
    """
    left, found, looked_at, empty = set(wanted), set[Outgoing](), 0, 0
    ends = await log.end_positions(topic)
    asked = {partition_of(record.key, len(ends)) for record in wanted}
    goal: dict[int, int] = {
        partition: ends[partition] for partition in asked if start.get(partition, 0) < ends[partition]
    }
    if not goal:
        return found
    # Where none of them can be, nothing is read.
    reader = await log.reader(topic, start=ends | {partition: start.get(partition, 0) for partition in goal})
    try:
        while left and goal and looked_at < MOST_LOOKED_AT and empty < _EMPTY_POLLS:
            entries = await reader.poll(timeout_s=1.0)
            empty = 0 if entries else empty + 1
            looked_at += len(entries)
            for entry in entries:
                record = Outgoing(entry.key, entry.value)
                if record in left:
                    left.discard(record)
                    found.add(record)
                if entry.append_ns > until_ns + CLOCKS_DIFFER_NS:
                    goal.pop(entry.partition, None)
            at = reader.positions()
            for partition in [p for p, end in goal.items() if at.get(p, end) >= end]:
                del goal[partition]
    finally:
        await reader.close()
    return found
