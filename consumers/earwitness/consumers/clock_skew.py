"""Whose wall clocks are wrong, and by how much."""

from __future__ import annotations

from typing import Final

S: Final = 1_000_000_000
SKEW_OVER_NS: Final = 60 * S
MOST_AGENTS: Final = 50
KEPT_MINUTES: Final = 60
"""An agent of which no call began for so long has no skew that could be told (D17)."""


class ClockSkews:
    """How far each agent's wall clock is ahead of the log's: the most that was seen of late.

    An event can be late for many reasons and early for one only, so the greatest of event time less arrival is the
    nearest to the skew itself.
    """

    def __init__(self) -> None:
        self._minutes: dict[str, tuple[int, int, int | None]] = {}

    def note(self, agent: str, ahead_ns: int, arrived_ns: int) -> None:
        """One event of an agent and how far its time was ahead of its arrival."""
        minute = arrived_ns // SKEW_OVER_NS
        known = self._minutes.get(agent)
        if known is None:
            if len(self._minutes) >= MOST_AGENTS:
                self._minutes = {name: seen for name, seen in self._minutes.items() if minute - seen[0] <= KEPT_MINUTES}
            if len(self._minutes) < MOST_AGENTS:
                self._minutes[agent] = (minute, ahead_ns, None)
        elif minute == known[0]:
            self._minutes[agent] = (minute, max(known[1], ahead_ns), known[2])
        elif minute > known[0]:
            self._minutes[agent] = (minute, ahead_ns, known[1])

    def by_agent(self, now_ns: int) -> dict[str, float]:
        """Seconds ahead (negative: behind, or delayed) by agent, of those that had calls of late."""
        return {
            agent: (now if before is None else max(now, before)) / S
            for agent, (minute, now, before) in self._minutes.items()
            if now_ns // SKEW_OVER_NS - minute <= KEPT_MINUTES
        }
