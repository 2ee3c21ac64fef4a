"""The measures of calls as a whole: outcomes, counted facts, coverage."""

from __future__ import annotations

from typing import Final

from earwitness.monitor.measures.measure import WINDOW_RATE, Measure

CALLS: Final[tuple[Measure, ...]] = (
    Measure(
        "containment",
        "ratio",
        "rate",
        "Outcomes",
        "Calls that ended without a human and without failing, of those in scope.",
        (WINDOW_RATE,),
        "percent",
        headline=True,
    ),
    Measure(
        "escalation",
        "ratio",
        "rate",
        "Outcomes",
        "Calls handed over to a human, of those in scope.",
        (WINDOW_RATE,),
        "percent",
        headline=True,
    ),
    Measure(
        "abandoned",
        "ratio",
        "rate",
        "Outcomes",
        "Calls that the caller left while waiting for an answer, of those in scope.",
        (WINDOW_RATE,),
        "percent",
        headline=True,
    ),
    Measure(
        "calls",
        "1",
        "count",
        "Outcomes",
        "Ended calls, by outcome and end cause.",
        ("earwitness_calls_total",),
        "number",
        "outcome",
    ),
    Measure(
        "calls_in_progress",
        "1",
        "gauge",
        "Records, windows, labels",
        "Calls that have begun and not ended.",
        ("earwitness_calls_in_progress",),
        "number",
    ),
    Measure(
        "facts", "1", "count", "Facts that are counted, by name", "Facts of ended calls, by name.", (), "number", "fact"
    ),
    Measure(
        "faults",
        "1",
        "count",
        "Facts that are counted, by name",
        "Errors in ended calls, each once at its origin.",
        (),
        "number",
    ),
    Measure(
        "dead_not_failed",
        "ratio",
        "rate",
        "Facts that are counted, by name",
        "Calls in which speech was synthesised and never played while nothing failed, of those whose sides are seen.",
        ("earwitness_dead_not_failed_calls_total", WINDOW_RATE),
        "of",
    ),
    Measure(
        "one_way_audio",
        "ratio",
        "rate",
        "Facts that are counted, by name",
        "Calls in which audio reached one side only, by what shows it, of those whose sides are seen.",
        ("earwitness_one_way_audio_calls_total", WINDOW_RATE),
        "of",
        "shown_by",
    ),
    Measure(
        "events_dropped",
        "1",
        "count",
        "Records, windows, labels",
        "Events of ended calls that will never come.",
        ("earwitness_dropped_events_total",),
        "number",
    ),
    Measure(
        "events_missing",
        "1",
        "count",
        "Records, windows, labels",
        "Events of ended calls that a gap in their numbers shows to be missing and that nobody reported as dropped.",
        ("earwitness_missing_events_total",),
        "number",
    ),
    Measure(
        "coverage",
        "ratio",
        "gauge",
        "Time and evidence",
        "Turns whose response latency is known, of those that are eligible.",
        ("earwitness_coverage_ratio",),
        "percent",
        view_of="response_latency",
    ),
)
