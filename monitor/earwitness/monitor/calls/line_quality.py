"""What transports told of the line: loss, jitter, round trip, each as mean and worst; absent where none told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.contract.records import LineQuality

NAMES: Final = ("loss_ratio", "jitter_ms", "round_trip_ms")


def line_told(facts: Facts) -> LineQuality | None:
    """Of one call; None where its transport told nothing."""
    if not facts.line_reports:
        return None
    means = {f"{name}_mean": round(total / n, 6) for name, (n, total, _) in facts.line.items()}
    worst = {f"{name}_worst": worst for name, (_, _, worst) in facts.line.items()}
    return LineQuality.model_validate({"reports": facts.line_reports, **means, **worst})


def pooled_line(lines: Iterable[LineQuality | None]) -> dict[str, Any] | None:
    """Of several calls, the means weighted by their reports; None where no transport told anything."""
    told = [line for line in lines if line is not None]
    if not told:
        return None
    pooled: dict[str, Any] = {"reports": sum(line.reports for line in told)}
    for name in NAMES:
        means = [(getattr(line, f"{name}_mean"), line.reports) for line in told]
        known = [(mean, n) for mean, n in means if mean is not None]
        weight = sum(n for _, n in known)
        pooled[f"{name}_mean"] = round(sum(mean * n for mean, n in known) / weight, 6) if weight else None
        pooled[f"{name}_worst"] = max(
            (worst for line in told if (worst := getattr(line, f"{name}_worst")) is not None), default=None
        )
    return pooled
