"""What tool calls, service samples and the call as a whole count for (definitions, "Latency", "Outcomes", "Facts that
are counted, by name")."""

from __future__ import annotations

from typing import Final

from earwitness.monitor.measures.slots import CENSORED, ELIGIBLE, INVALID, UNMEASURED, VALUES
from earwitness.monitor.measures.tally import (
    LONGEST_CALL_NS,
    Fields,
    Tallies,
    count,
    duration,
    eligible,
    named,
    rate,
    valid,
    wait,
)

MOST_TIMES: Final = 1_000_000_000
"""No fact happens more often in a call; what claims to is invalid."""
FACTS: Final = frozenset({
    "phantom_speech", "interim_only", "end_inferred", "duplicate_reply", "generations", "empty_completion",
    "cancelled_generation", "tool_cancelled", "tool_error", "tool_timed_out", "speech_while_muted", "missed_because",
    "truncated_by_hangup", "stalled_turn", "spurious_interruption", "late_in_call", "stray", "tail_incomplete",
    "zero_variance", "dead_air_warning", "dead_air_critical", "invalid", "not_audible", "one_way_audio",
    "dead_not_failed", "words_without_speech", "no_frames_seen",
})  # fmt: skip
_STAGES: Final = {"ttfb": "service_ttfb", "processing": "service_processing"}


def tool_call(fields: Fields) -> Tallies:
    """A `ToolCall`."""
    status, duration_ns = fields["status"], fields["duration_ns"]
    if status == "running":
        return ()
    found = [count("tool_duration", status), eligible("tool_duration")]
    if status == "timed_out":
        found.append(wait("tool_duration", CENSORED, duration_ns))
    elif duration_ns is not None and status != "cancelled":
        found.append(duration("tool_duration", duration_ns))
    return found


def stage_sample(fields: Fields) -> Tallies:
    """A `StageSample`."""
    measure = _STAGES.get(fields["metric"])
    if measure is None:
        return ()
    value_ns, name = fields["value_ns"], named(measure, fields["service"])
    if fields["censored"]:
        slot, amount = CENSORED, min(max(value_ns or 0, 0), LONGEST_CALL_NS)
    elif not value_ns:
        slot, amount = UNMEASURED, 1
    elif valid(measure, value_ns):
        slot, amount = VALUES, value_ns
    else:
        slot, amount = INVALID, 1
    return (measure, ELIGIBLE, 1), (measure, slot, amount), (name, ELIGIBLE, 1), (name, slot, amount)


def call(fields: Fields) -> Tallies:
    """A `Call`; nothing while it goes on."""
    if fields["ended_ns"] is None:
        return ()
    outcome, facts, unheard = fields["outcome"], fields["facts"], fields["unheard"]
    found = [count("calls", f"{outcome or 'unknown'}/{fields['end_cause'] or 'unknown'}")]
    if fields["in_scope"]:
        found += rate("containment", hit=bool(fields["contained"]))
        found += rate("escalation", hit=outcome == "escalated")
        found += rate("abandoned", hit=outcome == "abandoned")
    found += rate("dead_air_calls", hit=facts.get("dead_air_warning", 0) > 0)
    found += rate("dead_air_critical_calls", hit=facts.get("dead_air_critical", 0) > 0)
    if fields["talk_ns"] or unheard:
        for what in ("dead_not_failed", "one_way_audio"):
            shown_by = sorted({one.by for one in unheard if one.what == what})
            found += rate(what, hit=bool(shown_by))
            if what == "one_way_audio":
                found += [count(what, by) for by in shown_by]
    for fact, times in sorted(facts.items()):
        found += _times("facts", fact if fact in FACTS else "other", times)
    found += _times("spurious_interruption", "", facts.get("spurious_interruption", 0))
    found += _times("faults", "", fields["faults"])
    found += _times("events_dropped", "", fields["dropped_events"])
    found += _times("events_missing", "", fields["missing_events"])
    return found


def _times(measure: str, klass: str, times: int) -> Tallies:
    if times > MOST_TIMES:
        return (count("facts", "invalid"),)
    return (count(measure, klass, times),) if times > 0 else ()
