"""What the monitor says of itself: how far behind it is, whether it moves, what it set aside, how the bots fare."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from earwitness.consumers.bot_health import BotHealth, Bots
from earwitness.consumers.clock_skew import ClockSkews
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.timeline import FoldStats

S = 1_000_000_000


class Deliveries(Protocol):
    """How alerts get out, by sink. ``failures`` are attempts, ``given_up`` notices that it never got."""

    delivered: dict[str, int]
    failures: dict[str, int]
    given_up: dict[str, int]

    @property
    def waiting(self) -> dict[str, int]: ...


@dataclass(slots=True)
class SelfMetrics:
    """The state behind ``/metrics``' own names, ``/healthz`` and ``/readyz``."""

    stats: FoldStats = field(default_factory=FoldStats)
    events: Counter[str] = field(default_factory=Counter[str])
    """Events handled for the first time, by kind: what was only read again after a restart is not among them."""
    ready: bool = False
    """Whether the past was folded."""
    log_away: bool = False
    ticked_ns: int = 0
    """When the monitor last looked at the clock."""
    moved_ns: int = 0
    """When it last read something, or had nothing left to read; 0: it has not begun."""
    skews: ClockSkews = field(default_factory=ClockSkews)
    health: BotHealth = field(default_factory=BotHealth)
    fold: TimelineFold | None = None
    commits_refused: int = 0
    """Positions that the group did not remember, since their partition had moved on."""
    partitions: dict[str, int] = field(default_factory=dict[str, int])
    """How many each topic has, by kind (``events``)."""
    deliveries: Deliveries | None = None
    """None: nobody is told of anything."""
    _records: int = -1

    def note_progress(self, now_ns: int, records: int, lag_records: int) -> None:
        """How many records were read so far, and how many wait."""
        if records != self._records or not lag_records:
            self.moved_ns = now_ns
        self._records = records

    def stalled_s(self, now_ns: int) -> float:
        """For how long the position has stood still though the log has more; 0 while it moves, and while the log is
        away: then there is nothing to move to."""
        if not self.moved_ns or self.log_away or not self.stats.lag_records:
            return 0.0
        return max(0, now_ns - self.moved_ns) / S

    def bots(self, now_ns: int) -> Bots:
        """How the bots fare."""
        return Bots() if self.fold is None else self.health.now(self.fold, now_ns)
