"""What was measured beside what the scripts set out to make happen; says openly where the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    cells = (*CELLS, *sorted({*measured.cells, *wanted.cells} - set(CELLS)))
    lines = [
        _row("calls", measured.calls, wanted.calls),
        *_rows("overlaps", cells, measured.cells, wanted.cells),
        _row("turns answered", measured.answered, wanted.answered),
        _row("turns unanswered", measured.unanswered, wanted.unanswered),
        _row("dead air >= 3 s", measured.dead_air, wanted.dead_air),
        *_rows("outcome", sorted({*measured.outcomes, *wanted.outcomes}), measured.outcomes, wanted.outcomes),
        *_rows("ended by", sorted({*measured.end_causes, *wanted.end_causes}), measured.end_causes, wanted.end_causes),
    ]
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


def closing(lines: Sequence[Line], figures: Figures, folder: Path, call_id: str) -> list[str]:
    """The last words of a run: the numbers, the comparison, where the files are, what to try next."""
    percentiles = "   ".join(f"p{p} {figures.percentiles.get(p, '–')}" for p in PERCENTILES)
    differing = sum(not line.agrees for line in lines)
    verdict = f"{differing} of {len(lines)} rows differ" if differing else f"all {len(lines)} rows agree"
    log = folder / "log.db"
    return [
        "",
        f"Response latency, ms   {percentiles}   n {figures.n} of {figures.eligible} turns that could be measured",
        "",
        *table(lines),
        "",
        f"  {verdict}",
        "",
        f"Files   {folder}",
        "        log.db (the event log)  truth.json (what the callers heard)  summary.json  logs/",
        "Next    export PATH=.venv/bin:$PATH",
        f"        earwitness calls --log {log}",
        f"        earwitness calls {call_id} --log {log}",
        f"        earwitness top --log {log}",
        f"        python -m examples.demo.export_call {log} {call_id} > call.jsonl && earwitness analyze call.jsonl",
    ]


def _rows(what: str, names: Iterable[str], measured: Mapping[str, int], wanted: Mapping[str, int]) -> list[Line]:
    return [_row(f"{what} {name}", measured.get(name, 0), wanted.get(name, 0)) for name in names]


def _row(what: str, measured: int, wanted: int) -> Line:
    return Line(what, str(measured), str(wanted), measured == wanted)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
