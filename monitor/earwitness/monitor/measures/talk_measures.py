"""The measures of who spoke over whom."""

from __future__ import annotations

from typing import Final

from earwitness.monitor.measures.measure import WINDOW_RATE, Measure

TALK: Final[tuple[Measure, ...]] = (
    Measure(
        "overlaps",
        "1",
        "count",
        "Interruptions",
        "Caller speech that began while the agent was audible, by cell of the 2x2 and class.",
        ("earwitness_overlaps_total",),
        "number",
        "cell",
    ),
    Measure(
        "missed_barge_in",
        "ratio",
        "rate",
        "Interruptions",
        "Callers who wanted the floor and did not get it: FN / (TP + FN).",
        (WINDOW_RATE,),
        "of",
    ),
    Measure(
        "false_yield",
        "ratio",
        "rate",
        "Interruptions",
        "Sounds that wanted nothing and stopped the agent: FP / (FP + TN).",
        (WINDOW_RATE,),
        "of",
    ),
    Measure(
        "false_yield_of_yields",
        "ratio",
        "rate",
        "Interruptions",
        "Stops that nobody wanted among all stops: FP / (FP + TP).",
        (WINDOW_RATE,),
        "of",
    ),
    Measure(
        "selectivity",
        "ratio",
        "rate",
        "Interruptions",
        "Talked through what wanted nothing: TN / (TN + FP), unweighted mean of the classes.",
        (WINDOW_RATE,),
        "percent",
        "class",
    ),
    Measure(
        "spurious_interruption",
        "1",
        "count",
        "Interruptions",
        "The agent was cut off and no caller speech is near.",
        (),
        "number",
    ),
    Measure(
        "agent_interruption",
        "ratio",
        "rate",
        "Interruptions",
        "Agent speech that began while the caller's turn was not over, per caller turn.",
        ("earwitness_agent_interruptions_total", WINDOW_RATE),
        "of",
        "cause",
    ),
)
