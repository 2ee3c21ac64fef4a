"""What the monitor says of itself: how far behind it is, what it set aside, whose clocks are wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from earwitness.consumers.clock_skew import ClockSkews
from earwitness.consumers.timeline import FoldStats


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
    skews: ClockSkews = field(default_factory=ClockSkews)
