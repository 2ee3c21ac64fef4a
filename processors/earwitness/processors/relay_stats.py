"""What a relay says of itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class RelayStats:
    """The state behind the relay's ``/metrics``, ``/healthz`` and ``/readyz``."""

    shipped: int = 0
    """Events whose batch the target acknowledged, or had already."""
    found_there: int = 0
    """Of these, events that the target had though nobody had said so: not sent a second time."""
    retries: int = 0
    lost: Counter[str] = field(default_factory=Counter[str])
    """Events that will never arrive, by reason: ``retention``, ``too_large``."""
    adopted: int = 0
    """Events taken from the spools of dead processes."""
    lag_records: int = 0
    lag_s: float = 0.0
    """Age of the oldest event that is not shipped; 0 where all are."""
    ready: bool = False
    """Whether the embedded log is read."""
    log_away: bool = False
    """Whether the target did not answer the last time."""
    ticked_ns: int = 0
    """When the relay last looked at the clock, wall time."""
