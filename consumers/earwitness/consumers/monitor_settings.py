"""What the monitor can be told. The command line fills it from the settings file; the defaults need nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """Settings of the timeline worker and its metrics page."""

    label_keys: Mapping[str, Sequence[str] | None] = field(default_factory=dict[str, Sequence[str] | None])
    """Declared label keys with their values; none: whatever comes, up to ``max_label_values``."""
    max_label_values: int = 50
    max_label_sets: int = 2_000
    bounds: Bounds = DEFAULT_BOUNDS
    replay_s: int = 86_400
    """How much of the past is folded again at the start; windows that reach back further are incomplete."""
    longest_call_s: int = 7_200
    call_kept_s: int = 7_200
    """How long an ended call can still be changed by what is learnt of it later."""
    calls_at_hand: int | None = 10_000
    """So many calls stay as they are worked with; of others few bytes are kept between two looks. None: of no call."""
    future_s: int = 60
    """An event further ahead of its arrival than this is set aside."""
    group: str = "timeline"
    keep_state: bool = True
    """Whether the state is kept on the log, so that a restart and another worker go on from there."""
    keep_every_s: float = 15.0
    """How often what changed of it is written, and offsets are committed."""
    poll_s: float = 0.2
    gather_s: float = 0.1
    """Events that come singly are gathered for so long and folded together, at a tenth of the cost."""
    tick_s: float = 1.0
    """How often open calls are judged by the wall clock, and alerts looked at."""
    metrics: bool = True
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 9464
    gauge_windows_s: tuple[int, ...] = (60, 300, 3_600, 86_400)
    """Windows that ``/metrics`` shows."""
