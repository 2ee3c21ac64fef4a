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
    heard: str = ""
    """By the callers' own stopwatch and ears at the far end of the line, where they can tell: then this is the truth
    that the measured number must agree with, for a slow machine can make a script late."""


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
        *_rows("outcome", sorted({*measured.outcomes, *wanted.outcomes}), measured.outcomes, wanted.outcomes),
        *_rows("ended by", sorted({*measured.end_causes, *wanted.end_causes}), measured.end_causes, wanted.end_causes),
    ]
    for rule, agent, status in sorted(measured.alerts | wanted.alerts):
        alert = (rule, agent, status)
        lines.append(
            _row(f"alert {rule}, {agent}, {status}", int(alert in measured.alerts), int(alert in wanted.alerts))
        )
    return lines


def far_end(measured: Counts, wanted: Counts, figures: Figures, calls: Sequence[Placed]) -> list[Line]:
    """The rows that the far end can check with its own ears: silences, and how long callers waited."""
    silences = sum(len(call.dead_air_s()) for call in calls)
    waits = [wait for call in calls for wait in call.waits_s()]
    true_s = float(np.percentile(waits, 50)) if waits else None
    p50_s = figures.answered_p50_s
    close = p50_s == true_s if p50_s is None or true_s is None else abs(true_s - p50_s) <= _AGREES_WITHIN_S
    return [
        Line(
            "dead air >= 3 s",
            str(measured.dead_air),
            str(wanted.dead_air),
            measured.dead_air == silences,
            str(silences),
        ),
        Line(
            "turns timed",
            str(measured.answered),
            str(wanted.answered),
            measured.answered == len(waits),
            str(len(waits)),
        ),
        Line("p50 of answered turns", _ms(p50_s), "", close, _ms(true_s)),
    ]


def table(lines: Sequence[Line]) -> list[str]:
    """The comparison as text."""
    what = max(len(line.what) for line in lines)
    rows = [f"  {'':<{what}}  {'measured':>9}  {'heard':>9}  {'intended':>9}"]
    for line in lines:
        note = "" if line.agrees else "   <- differs"
        rows.append(f"  {line.what:<{what}}  {line.measured:>9}  {line.heard:>9}  {line.intended:>9}{note}")
    return rows


def closing(lines: Sequence[Line], figures: Figures, folder: Path, call_id: str) -> list[str]:
    """The last words of a run: the numbers, the comparison, where the files are, what to try next."""
    percentiles = "   ".join(f"p{p} {figures.percentiles.get(p, '–')}" for p in PERCENTILES)
    differing = sum(not line.agrees for line in lines)
    verdict = f"{differing} of {len(lines)} rows differ" if differing else f"all {len(lines)} rows agree"
    late = sum(line.heard not in ("", line.intended) and line.intended != "" for line in lines)
    return [
        "",
        f"Response latency, ms   {percentiles}   n {figures.n} of {figures.eligible} eligible",
        "",
        "  measured: by Earwitness. heard: by the callers at the far end. intended: by the scripts.",
        *table(lines),
        "",
        f"  {verdict}",
        *(["  this machine was too slow for the scripts: what was heard is not what they intended"] if late else []),
        "",
        f"Files   {folder}",
        "        log.db (the event log)  truth.json (what the callers heard)  summary.json  logs/",
        f"Next    export PATH=$PWD/.venv/bin:$PATH LOG={folder / 'log.db'}",
        "        earwitness calls --log $LOG",
        f"        earwitness calls {call_id} --log $LOG",
        "        earwitness top --log $LOG",
        f"        python -m examples.demo.export_call $LOG {call_id} > call.jsonl && earwitness analyze call.jsonl",
    ]


def _rows(what: str, names: Iterable[str], measured: Mapping[str, int], wanted: Mapping[str, int]) -> list[Line]:
    return [_row(f"{what} {name}", measured.get(name, 0), wanted.get(name, 0)) for name in names]


def _row(what: str, measured: int, wanted: int) -> Line:
    return Line(what, str(measured), str(wanted), measured == wanted)


def _ms(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds * 1000:,.0f} ms"
