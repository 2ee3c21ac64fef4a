"""What the live view shows, gathered from readings at one moment: numbers with their n, no words yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from earwitness.monitor.measures.reading import Exemplar, Labels, Reading, Readings

MEASURES = (
    "response_latency", "missed_barge_in", "false_yield", "dead_air_calls", "containment", "escalation", "calls",
    "calls_in_progress", "latency_part", "overlaps", "dead_air", "unanswered",
)  # fmt: skip
TREND_WINDOW_S = 60
TREND_STEPS = 24
TREND_STEP_S = 30
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent and version over the window."""

    group: Labels
    readings: Mapping[str, Reading]

    def __getitem__(self, measure: str) -> Reading:
        return self.readings[measure]


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """An alert as the view shows it."""

    status: str
    """``firing``, ``pending`` or ``resolved``."""
    since_ns: int
    until_ns: int | None
    what: str
    group: Labels
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class LogState:
    """How reading the log fares."""

    name: str
    lag_s: float = 0.0
    events_per_s: float = 0.0
    away: str | None = None
    """Why the log does not answer, where it does not."""
    set_aside: int = 0
    """Records that could not be read or claimed to be from the future."""


@dataclass(frozen=True, slots=True)
class TopData:
    """One frame."""

    now_ns: int
    window_s: int
    log: LogState
    rows: Sequence[AgentRow] = ()
    selected: int = 0
    alerts: Sequence[OpenAlert] = ()
    trend: Sequence[float | None] = ()
    """p95 of response latency of the chosen agent, a step each, oldest first; infinite where never answered."""
    worst: Exemplar | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def chosen(self) -> AgentRow | None:
        """The row that the lower half is about."""
        return self.rows[self.selected] if 0 <= self.selected < len(self.rows) else None


def gather_rows(readings: Readings, *, now_ns: int, window_s: int) -> list[AgentRow]:
    """A row for each agent and version that is there, those with calls first, then by name."""
    groups = set(readings.groups(("agent", "version"), window_s=window_s, as_of_ns=now_ns))
    rows = [
        AgentRow(group, {m: readings.read(m, window_s=window_s, as_of_ns=now_ns, where=group) for m in MEASURES})
        for group in sorted(groups)
    ]
    rows.sort(key=lambda row: -(row["calls_in_progress"].count + row["calls"].count > 0))
    return rows[:MOST_ROWS]


def trend(readings: Readings, group: Labels, *, now_ns: int) -> list[float | None]:
    """p95 of the response latency over one minute, every half minute; None where nothing was measured."""
    found: list[float | None] = []
    for step in range(TREND_STEPS - 1, -1, -1):
        at_ns = now_ns - step * TREND_STEP_S * 1_000_000_000
        reading = readings.read("response_latency", window_s=TREND_WINDOW_S, as_of_ns=at_ns, where=group)
        value = reading.quantiles.get("p95")
        if value is None or not reading.n:
            found.append(None)
        else:
            found.append(float("inf") if value.more_than_s is not None else value.value_s)
    return found


def worst_of(readings: Readings, group: Labels, *, now_ns: int, window_s: int) -> Exemplar | None:
    """The call to look at first: the longest wait, else a missed barge-in, else a false yield."""
    for measure in ("response_latency", "missed_barge_in", "false_yield", "dead_air"):
        found = readings.worst(measure, window_s=window_s, as_of_ns=now_ns, where=group, limit=1)
        # Silence that only the caller owed is nobody's worst call.
        if found and (measure != "dead_air" or found[0].censored or found[0].value_s):
            return found[0]
    return None
