"""The log's own clock, partition by partition: what it says is how far time has come for the calls that lie there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, starmap
from operator import le
from typing import Final

import structlog

S: Final = 1_000_000_000
TURNED_BACK_NS: Final = 60 * S
"""What arrives so long before what came already tells that the log's clock was set back: a broker's may be, or another
broker's be right again. Of several brokers each has its own, a little apart."""
TURNS_TOLD: Final = 10
"""Of each partition."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PartitionClocks:
    """Append time of the newest record of each partition."""

    def __init__(self) -> None:
        self.ns: dict[int, int] = {}
        self.newest_ns = 0
        """The latest of them."""
        self.turns: dict[int, int] = {}
        """How often the clock of a partition was set back."""

    def note(self, partition: int, arrived_ns: int) -> bool:
        """A record arrived; whether that tells that the clock was set back. By one that ran ahead, all calls would look
        silent for as long."""
        clock_ns = self.ns.get(partition, -1)
        if arrived_ns > clock_ns:
            self.ns[partition] = arrived_ns
            self.newest_ns = max(self.newest_ns, arrived_ns)
            return False
        if arrived_ns >= clock_ns - TURNED_BACK_NS:
            return False
        turns = self.turns[partition] = self.turns.get(partition, 0) + 1
        if turns <= TURNS_TOLD:
            by_s = (clock_ns - arrived_ns) // S
            _log.warning("the log's clock was set back", partition=partition, by_s=by_s)
        self.ns[partition] = arrived_ns
        self.newest_ns = max(self.ns.values())
        return True

    def note_all(self, partition: int, times_ns: Sequence[int]) -> bool:
        """Records arrived, one after the other; False, and none noted, where one of them came before the one before
        it."""
        if times_ns[0] < self.ns.get(partition, -1) or not all(starmap(le, pairwise(times_ns))):
            return False
        self.ns[partition] = times_ns[-1]
        self.newest_ns = max(self.newest_ns, times_ns[-1])
        return True
