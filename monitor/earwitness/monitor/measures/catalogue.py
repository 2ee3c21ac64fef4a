"""Every measure once: its name, unit, labels, place in the definitions and how it is shown.

Alert rules, ``/metrics``, reports, views and the reference docs take their names from here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from earwitness.monitor.measures.measure import Measure

S: Final = 1_000_000_000
_RESPONSE = "earwitness_response_latency_seconds"
WINDOW_RATE: Final = "earwitness_window_ratio"
"""The gauge that all rates of windows share, told apart by ``measure``."""

MEASURES: Final[tuple[Measure, ...]] = (
    Measure(
        "response_latency",
        "s",
        "latency",
        "Latency",
        "From the caller's last sound to the agent's first, of the turn that it answers.",
        (_RESPONSE, "earwitness_window_response_latency_seconds"),
        "ms",
        "reason",
        -3 * S // 10,
        headline=True,
        exemplars=True,
    ),
    Measure(
        "response_latency_all",
        "s",
        "latency",
        "Latency",
        "Response latency with the turns that a premature endpoint cut off.",
        (),
        "ms",
        "reason",
        -3 * S // 10,
        view_of="response_latency",
    ),
    Measure(
        "endpoint_delay",
        "s",
        "distribution",
        "Latency",
        "From the caller's last sound to the decision that the turn was over.",
        (),
        "ms",
        None,
        -3 * S // 10,
    ),
    Measure(
        "agent_ttfa",
        "s",
        "distribution",
        "Latency",
        "From the decision that the turn was over to the agent's first sound.",
        (),
        "ms",
        None,
        -3 * S // 10,
    ),
    Measure(
        "greeting_latency",
        "s",
        "latency",
        "Latency",
        "From connected to the agent's first sound, when nobody spoke before.",
        ("earwitness_greeting_latency_seconds",),
        "ms",
        "reason",
        exemplars=True,
    ),
    Measure(
        "stop_latency",
        "s",
        "latency",
        "Latency",
        "From the caller's onset to the agent's lasting silence, where the caller wanted the floor.",
        ("earwitness_stop_latency_seconds",),
        "ms",
        None,
        exemplars=True,
    ),
    Measure(
        "latency_part",
        "s",
        "distribution",
        "Latency",
        "Where a response latency goes, by part; the parts of a turn add up to it.",
        ("earwitness_latency_part_seconds",),
        "ms",
        "part",
        -3 * S // 10,
    ),
    Measure(
        "dead_air",
        "s",
        "distribution",
        "Latency",
        "Stretches of 3 s and more in which nobody was audible, by who owed speech.",
        ("earwitness_dead_air_seconds",),
        "s",
        "owner",
        exemplars=True,
    ),
    Measure(
        "dead_air_calls",
        "ratio",
        "rate",
        "Latency",
        "Calls with a stretch of 5 s or more in which agent or tool owed speech.",
        (WINDOW_RATE,),
        "of",
    ),
    Measure(
        "dead_air_critical_calls",
        "ratio",
        "rate",
        "Latency",
        "Calls with a stretch of 10 s or more in which agent or tool owed speech.",
        (WINDOW_RATE,),
        "of",
    ),
    Measure(
        "tool_duration",
        "s",
        "distribution",
        "Facts that are counted, by name",
        "How long tool calls took, by how they ended.",
        (),
        "ms",
        "status",
        exemplars=True,
    ),
    Measure(
        "service_ttfb",
        "s",
        "distribution",
        "Latency",
        "A service's own time to first byte; censored where none was seen.",
        (),
        "ms",
        "service",
        1,
    ),
    Measure(
        "service_processing",
        "s",
        "distribution",
        "Latency",
        "A service's own processing time; 0 is not measured.",
        (),
        "ms",
        "service",
        1,
    ),
    Measure(
        "unanswered",
        "ratio",
        "rate",
        "Latency",
        "Eligible turns that awaited an answer in vain, or wait 10 s and longer.",
        ("earwitness_unanswered_total", WINDOW_RATE),
        "of",
        headline=True,
    ),
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
        exemplars=True,
    ),
    Measure(
        "false_yield",
        "ratio",
        "rate",
        "Interruptions",
        "Sounds that wanted nothing and stopped the agent: FP / (FP + TN).",
        (WINDOW_RATE,),
        "of",
        exemplars=True,
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
        exemplars=True,
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
        exemplars=True,
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

BY_NAME: Final = {measure.name: measure for measure in MEASURES}
_NAME = re.compile(r"(?P<name>[a-z_]+)(?:\[(?P<klass>[^\]]*)\])?(?:\.(?P<stat>[a-z0-9_]+))?")


class UnknownMeasure(KeyError):
    """A name that the catalogue does not have; the text suggests the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Named:
    """A measure as named by a rule or a view: ``latency_part[llm].p95``."""

    measure: Measure
    klass: str | None
    """One class of it; None: the measure as a whole."""
    stat: str | None


def parse(name: str) -> Named:
    """A measure's name, with one class in brackets or without, with or without ``.stat``. Raises UnknownMeasure."""
    found = _NAME.fullmatch(name)
    measure = BY_NAME.get(found["name"]) if found else None
    if found is None or measure is None:
        base = found["name"] if found else re.split(r"[.\[]", name)[0]
        raise UnknownMeasure(f'unknown measure "{base}".{_did_you_mean(base, BY_NAME)}')
    stat, klass = found["stat"], found["klass"]
    if stat is not None and stat not in measure.stats:
        hint = _did_you_mean(stat, measure.stats) or f" It has: {', '.join(measure.stats)}"
        raise UnknownMeasure(f'"{measure.name}" has no ".{stat}".{hint}')
    if klass is not None and measure.class_key is None:
        raise UnknownMeasure(f'"{measure.name}" has no classes; leave out "[{klass}]"')
    return Named(measure, klass, stat)


def resolve(name: str) -> Named:
    """What a rule watches: ``response_latency.p95``; a measure with a single stat may go without.

    Raises UnknownMeasure, with a suggestion, where measure or stat is not in the catalogue.
    """
    named = parse(name)
    if named.stat is not None:
        return named
    if len(named.measure.stats) == 1:
        return Named(named.measure, named.klass, named.measure.stats[0])
    options = ", ".join(f"{named.measure.name}.{stat}" for stat in named.measure.stats)
    raise UnknownMeasure(f'"{name}" says no number. Write one of: {options}')


def stat_names() -> Iterator[str]:
    """Every ``measure.stat``."""
    return (f"{measure.name}.{stat}" for measure in MEASURES for stat in measure.stats)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f' Did you mean "{near[0]}"?' if near else ""
