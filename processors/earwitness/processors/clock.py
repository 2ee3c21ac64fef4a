"""The call's own clock: the pipeline's monotonic clock. The wall clock only dates what happens on it."""

from __future__ import annotations

import time
from collections.abc import Callable


class CallClock:
    """Nanoseconds since the pipeline began (definitions, "Time and evidence"). Stands at 0 until it follows a clock."""

    def __init__(self, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._read: Callable[[], int] | None = None
        self._wall_ns = wall_ns

    @property
    def running(self) -> bool:
        return self._read is not None

    def follow(self, read_ns: Callable[[], int]) -> None:
        """Take time from the pipeline's clock from now on; only the first clock counts."""
        if self._read is None:
            self._read = read_ns

    def now_ns(self) -> int:
        return max(0, self._read()) if self._read is not None else 0

    def wall_of(self, at_ns: int) -> int:
        """The wall time of a moment of the call, by the two clocks as they stand now."""
        return max(0, self._wall_ns() - (self.now_ns() - at_ns))
