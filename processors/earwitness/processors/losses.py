"""What was lost on the way out, as ranges of ``seq``, until it can be reported.

A ledger forgets nothing and stays small: ranges that touch are one range.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

from earwitness.monitor.contract.events import DroppedRange
from earwitness.processors.sink import Outbound, Unredacted

Reason = Literal["buffer_full", "spool_full", "too_large", "shutdown", "refused"]


@dataclass(frozen=True, slots=True)
class CallLosses:
    """What one call lost: the latest moment of it on the call's clock and on the wall, and the ranges by source."""

    call_id: str
    at_ns: int
    wall_ns: int
    ranges: tuple[DroppedRange, ...]

    @property
    def count(self) -> int:
        return sum(lost.last_seq - lost.first_seq + 1 for lost in self.ranges)


@dataclass(slots=True)
class _Call:
    at_ns: int = 0
    wall_ns: int = 0
    ranges: dict[tuple[str, Reason], list[list[int]]] = field(default_factory=dict[tuple[str, Reason], list[list[int]]])


class Losses:
    """The ledger. Any thread may note; ``total`` counts every event ever lost."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._lock = threading.RLock()
        self.total = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def note(self, item: Outbound | Unredacted, reason: Reason) -> None:
        """One event will never come."""
        with self._lock:
            self.total += 1
            self._note(item, reason)

    def take(self) -> list[CallLosses]:
        """Everything since the last take, call by call."""
        with self._lock:
            calls, self._calls = self._calls, {}
        return [
            CallLosses(
                call_id,
                call.at_ns,
                call.wall_ns,
                tuple(
                    DroppedRange(first_seq=first, last_seq=last, reason=reason, source=source)
                    for (source, reason), ranges in sorted(call.ranges.items())
                    for first, last in ranges
                ),
            )
            for call_id, call in calls.items()
        ]

    def _note(self, item: Outbound | Unredacted, reason: Reason) -> None:
        call = self._calls.setdefault(item.call_id, _Call())
        call.at_ns, call.wall_ns = max(call.at_ns, item.at_ns), max(call.wall_ns, item.wall_ns)
        ranges = call.ranges.setdefault((item.source, reason), [])
        at = bisect_right(ranges, [item.seq, item.seq])
        if at > 0 and ranges[at - 1][1] >= item.seq - 1:
            at -= 1
            ranges[at][1] = max(ranges[at][1], item.seq)
        else:
            ranges.insert(at, [item.seq, item.seq])
        if at + 1 < len(ranges) and ranges[at + 1][0] <= ranges[at][1] + 1:
            ranges[at][1] = max(ranges[at][1], ranges.pop(at + 1)[1])
