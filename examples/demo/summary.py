"""What was measured beside what the scripts set out to make happen; says openly where the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from examples.demo.switchboard import Placed

CELLS = ("TP", "FN", "FP", "TN")
PERCENTILES = (50, 90, 95, 99)
_AGREES_WITHIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """What both sides can count."""

    calls: int
    cells: Mapping[str, int]
    outcomes: Mapping[str, int]
    end_causes: Mapping[str, int]
    dead_air: int
    answered: int
    unanswered: int
    alerts: frozenset[tuple[str, str, str]]
    """(rule, agent, ``firing`` or ``resolved``)."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Percentiles of response latency in seconds; ``more_than`` where a rank is censored."""

    n: int
    eligible: int
    percentiles: Mapping[int, str] = field(default_factory=dict)
    answered_p50_s: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the comparison."""

    what: str
    measured: str
    intended: str
    agrees: bool


def intended(calls: Iterable[Placed], alerts: Iterable[tuple[str, str, str]]) -> Counts:
    """What the scripts of these calls set out to make happen, in Earwitness's own words."""
    calls = list(calls)
    intents = [call.scenario.intent for call in calls]
    return Counts(
        calls=len(calls),
        cells=Counter(i.overlap for i in intents if i.overlap),
        outcomes=Counter(i.outcome for i in intents),
        end_causes=Counter(i.end_cause for i in intents),
        dead_air=sum(i.dead_air for i in intents),
        answered=sum(i.answered for i in intents),
        unanswered=sum(i.unanswered for i in intents),
        alerts=frozenset(alerts),
    )


def compare(measured: Counts, wanted: Counts) -> list[Line]:
    """The rows of the summary."""
    lines = [_row("calls", measured.calls, wanted.calls)]
    lines += [_row(f"overlaps {cell}", measured.cells.get(cell, 0), wanted.cells.get(cell, 0)) for cell in CELLS]
    lines.append(_row("turns answered", measured.answered, wanted.answered))
    lines.append(_row("turns unanswered", measured.unanswered, wanted.unanswered))
    lines.append(_row("dead air >= 3 s", measured.dead_air, wanted.dead_air))
    for name in sorted({*measured.outcomes, *wanted.outcomes}):
        lines.append(_row(f"outcome {name}", measured.outcomes.get(name, 0), wanted.outcomes.get(name, 0)))
    for name in sorted({*measured.end_causes, *wanted.end_causes}):
        lines.append(_row(f"ended by {name}", measured.end_causes.get(name, 0), wanted.end_causes.get(name, 0)))
    for rule, agent, status in sorted(measured.alerts | wanted.alerts):
        alert = (rule, agent, status)
        lines.append(
            _row(f"alert {rule}, {agent}, {status}", int(alert in measured.alerts), int(alert in wanted.alerts))
        )
    return lines


def stopwatch(figures: Figures, calls: Iterable[Placed]) -> Line:
    """Median response latency as measured, beside the far end's own stopwatch."""
    waits = [wait for call in calls for wait in call.waits_s()]
    if not waits or figures.answered_p50_s is None:
        return Line("p50 of answered turns", "none", "none", figures.answered_p50_s is None and not waits)
    true_s = float(np.percentile(waits, 50))
    return Line(
        "p50 of answered turns",
        _ms(figures.answered_p50_s),
        f"{_ms(true_s)} by the callers' stopwatch, n {len(waits)}",
        abs(true_s - figures.answered_p50_s) <= _AGREES_WITHIN_S,
    )


def table(lines: Sequence[Line]) -> list[str]:
    """The comparison as text."""
    widths = [max(len(line.what) for line in lines), max(8, *(len(line.measured) for line in lines))]
    rows = [f"  {'':<{widths[0]}}  {'measured':>{widths[1]}}  as the scripts intended"]
    for line in lines:
        note = "" if line.agrees else "   <- differs"
        rows.append(f"  {line.what:<{widths[0]}}  {line.measured:>{widths[1]}}  {line.intended}{note}")
    return rows


def _row(what: str, measured: int, wanted: int) -> Line:
    return Line(what, str(measured), str(wanted), measured == wanted)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
