"""What one revision of a record adds to the measures. Pure: windows add the new revision's and take the old one's.

The rules are the definitions' "Latency", "Interruptions", "Outcomes" and "Records, windows, labels"; each function
below is one record kind. A turn that is not decided yet adds nothing but itself as a caller turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple

from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Overlap,
    StageSample,
    ToolCall,
    Turn,
)
from earwitness.monitor.measures import slots
from earwitness.monitor.measures.catalogue import BY_NAME, S

LONGEST_CALL_NS: Final = 7_200 * S
"""No duration inside a call is longer; what claims to be is invalid (A08)."""
DEAD_AIR_WARNING_NS: Final = 5 * S
DEAD_AIR_CRITICAL_NS: Final = 10 * S
PREMATURE: Final = "premature_endpoint"
"""Class of the latencies that are out of the headline (B08)."""
FACTS: Final = frozenset({
    "phantom_speech", "interim_only", "end_inferred", "duplicate_reply", "generations", "empty_completion",
    "cancelled_generation", "tool_cancelled", "tool_error", "tool_timed_out", "speech_while_muted", "missed_because",
    "truncated_by_hangup", "stalled_turn", "spurious_interruption", "late_in_call", "stray", "tail_incomplete",
    "zero_variance", "dead_air_warning", "dead_air_critical", "invalid", "not_audible", "one_way_audio",
    "dead_not_failed", "words_without_speech", "no_frames_seen",
})  # fmt: skip


class What(IntEnum):
    """What a contribution's ``amount`` is: a duration in nanoseconds for the first three, else how many. Its number is
    the slot that it is counted in, for durations the first of their bins."""

    VALUE = slots.VALUES
    CENSORED = slots.CENSORED
    AT_LEAST = slots.AT_LEAST
    ELIGIBLE = slots.ELIGIBLE
    INVALID = slots.INVALID
    UNMEASURED = slots.UNMEASURED
    COUNT = slots.COUNT
    DENOMINATOR = slots.DENOMINATOR


class Contribution(NamedTuple):
    """One thing that a record adds to one class of one measure (``""``: the measure as a whole)."""

    measure: str
    klass: str
    what: What
    amount: int


def contributions(record: AnyRecord) -> tuple[Contribution, ...]:
    """All that a revision of a record counts for; nothing where it was taken back."""
    if record.retracted:
        return ()
    return tuple(_RULES[record.kind](record))


def _count(measure: str, klass: str = "", amount: int = 1) -> Contribution:
    return Contribution(measure, klass, What.COUNT, amount)


def _rate(measure: str, hit: bool, klass: str = "") -> Iterator[Contribution]:
    yield Contribution(measure, klass, What.DENOMINATOR, 1)
    if hit:
        yield Contribution(measure, klass, What.COUNT, 1)


def valid(measure: str, value_ns: int, ended_ns: int | None = None) -> bool:
    """Whether a duration can be one (A08): not below its measure's least value, not longer than a call, nor than its
    own call was at ``ended_ns``."""
    longest_ns = LONGEST_CALL_NS if ended_ns is None else min(ended_ns, LONGEST_CALL_NS)
    return BY_NAME[measure].least_ns <= value_ns <= longest_ns


def _duration(measure: str, value_ns: int, klass: str = "", ended_ns: int | None = None) -> Iterator[Contribution]:
    """A value, or the fact that it is none: counted, never clamped."""
    is_value = valid(measure, value_ns, ended_ns)
    yield (
        Contribution(measure, klass, What.VALUE, value_ns)
        if is_value
        else Contribution(measure, klass, What.INVALID, 1)
    )


def _turn(turn: Turn) -> Iterator[Contribution]:
    yield Contribution("agent_interruption", "", What.DENOMINATOR, 1)
    if turn.turn_class != "eligible":
        yield _count("response_latency", f"class/{turn.turn_class}")
        return
    waits = turn.unanswered or turn.overdue
    latency_ns = turn.response_latency_ns
    if latency_ns is None and turn.reason is None and not waits:
        return
    klass = PREMATURE if turn.premature_endpoint else ""
    yield Contribution("response_latency", klass, What.ELIGIBLE, 1)
    if klass:
        yield _count("response_latency", PREMATURE)
    else:
        yield from _rate("unanswered", hit=waits and latency_ns is None)
    if latency_ns is not None:
        yield from _turn_latency(turn, latency_ns, klass)
        return
    if waits:
        yield Contribution("response_latency", klass, What.CENSORED, turn.waited_ns or 0)
    if turn.at_least_ns is not None:
        yield Contribution("response_latency", klass, What.AT_LEAST, turn.at_least_ns)
    if turn.reason == "invalid":
        yield Contribution("response_latency", klass, What.INVALID, 1)
    elif turn.reason is not None:
        yield _count("response_latency", f"reason/{turn.reason}")


def _turn_latency(turn: Turn, latency_ns: int, klass: str) -> Iterator[Contribution]:
    yield from _duration("response_latency", latency_ns, klass, turn.a_on_ns)
    if klass or not valid("response_latency", latency_ns, turn.a_on_ns):
        return
    for name, value_ns in (("endpoint_delay", turn.endpoint_delay_ns), ("agent_ttfa", turn.agent_ttfa_ns)):
        if value_ns is not None:
            yield Contribution(name, "", What.ELIGIBLE, 1)
            yield from _duration(name, value_ns)
    if turn.parts_ns:
        yield _count("latency_part")
    for part, part_ns in turn.parts_ns.items():
        yield from _duration("latency_part", part_ns, part)


def _agent_turn(turn: AgentTurn) -> Iterator[Contribution]:
    if turn.greeting_latency_ns is not None:
        yield Contribution("greeting_latency", "", What.ELIGIBLE, 1)
        yield from _duration("greeting_latency", turn.greeting_latency_ns)
    elif turn.why == "greeting" and turn.greeting_reason is not None:
        if turn.greeting_reason != "user_spoke_first":
            yield Contribution("greeting_latency", "", What.ELIGIBLE, 1)
        yield _count("greeting_latency", f"reason/{turn.greeting_reason}")


def _overlap(overlap: Overlap) -> Iterator[Contribution]:
    cell, klass = overlap.cell, overlap.want_class or ""
    yield _count("overlaps", overlap_class(overlap))
    if cell in ("TP", "FN"):
        yield from _rate("missed_barge_in", hit=cell == "FN")
    if cell in ("FP", "TN"):
        yield from _rate("false_yield", hit=cell == "FP")
        yield from _rate("selectivity", hit=cell == "TN", klass=klass)
    if cell in ("TP", "FP"):
        yield from _rate("false_yield_of_yields", hit=cell == "FP")
    if overlap.wanted == "yes" and overlap.terminal is None:
        yield from _stop_latency(overlap)


def _stop_latency(overlap: Overlap) -> Iterator[Contribution]:
    yield Contribution("stop_latency", "", What.ELIGIBLE, 1)
    if overlap.stop_latency_ns is not None:
        yield from _duration("stop_latency", overlap.stop_latency_ns)
    elif overlap.stop_at_least_ns is not None:
        yield Contribution("stop_latency", "", What.AT_LEAST, overlap.stop_at_least_ns)
    elif overlap.gave_way is False:
        yield Contribution("stop_latency", "", What.CENSORED, overlap.talk_over_ns or 0)


def overlap_class(overlap: Overlap) -> str:
    """``cell/class`` of an overlap: ``FP/noise``, ``TP/``; outside the 2x2 the cell says why it is there."""
    if overlap.cell is not None:
        return f"{overlap.cell}/{overlap.want_class or ''}"
    if overlap.terminal is not None:
        return f"terminal/{overlap.terminal}"
    if overlap.wanted is None:
        return f"set_aside/{overlap.decided_by or ''}"
    return "unknown/"


def _agent_interruption(interruption: AgentInterruption) -> Iterator[Contribution]:
    yield _count("agent_interruption")
    yield _count("agent_interruption", interruption.cause)


def _dead_air(stretch: DeadAir) -> Iterator[Contribution]:
    owners = {
        "agent": stretch.agent_ns,
        "tool": stretch.tool_ns,
        "hold": stretch.hold_ns,
        "caller": stretch.caller_ns,
    }
    yield from _duration("dead_air", sum(owners.values()))
    for owner, owned_ns in owners.items():
        if owned_ns:
            yield from _duration("dead_air", owned_ns, owner)


def _tool_call(tool: ToolCall) -> Iterator[Contribution]:
    if tool.status == "running":
        return
    yield _count("tool_duration", tool.status)
    yield Contribution("tool_duration", "", What.ELIGIBLE, 1)
    if tool.status == "timed_out":
        yield Contribution("tool_duration", "", What.CENSORED, tool.duration_ns or 0)
    elif tool.duration_ns is not None and tool.status != "cancelled":
        yield from _duration("tool_duration", tool.duration_ns)


def _stage_sample(sample: StageSample) -> Iterator[Contribution]:
    measure = {"ttfb": "service_ttfb", "processing": "service_processing"}.get(sample.metric)
    if measure is None:
        return
    for klass in ("", sample.service):
        yield Contribution(measure, klass, What.ELIGIBLE, 1)
        if sample.censored:
            yield Contribution(measure, klass, What.CENSORED, sample.value_ns or 0)
        elif not sample.value_ns:
            yield Contribution(measure, klass, What.UNMEASURED, 1)
        else:
            yield from _duration(measure, sample.value_ns, klass)


def _call(call: Call) -> Iterator[Contribution]:
    if call.ended_ns is None:
        return
    yield _count("calls", f"{call.outcome or 'unknown'}/{call.end_cause or 'unknown'}")
    if call.in_scope:
        yield from _rate("containment", hit=bool(call.contained))
        yield from _rate("escalation", hit=call.outcome == "escalated")
        yield from _rate("abandoned", hit=call.outcome == "abandoned")
    yield from _rate("dead_air_calls", hit=call.facts.get("dead_air_warning", 0) > 0)
    yield from _rate("dead_air_critical_calls", hit=call.facts.get("dead_air_critical", 0) > 0)
    if call.talk_ns or call.unheard:
        for what in ("dead_not_failed", "one_way_audio"):
            shown_by = sorted({one.by for one in call.unheard if one.what == what})
            yield from _rate(what, hit=bool(shown_by))
            if what == "one_way_audio":
                yield from (_count(what, by) for by in shown_by)
    for fact, times in sorted(call.facts.items()):
        if times > 0:
            yield _count("facts", fact if fact in FACTS else "other", times)
    for measure, times in (
        ("spurious_interruption", call.facts.get("spurious_interruption", 0)),
        ("faults", call.faults),
        ("events_dropped", call.dropped_events),
    ):
        if times > 0:
            yield _count(measure, "", times)


_RULES: dict[str, Callable[[Any], Iterator[Contribution]]] = {
    "turn": _turn,
    "agent_turn": _agent_turn,
    "overlap": _overlap,
    "agent_interruption": _agent_interruption,
    "dead_air": _dead_air,
    "tool_call": _tool_call,
    "stage_sample": _stage_sample,
    "call": _call,
}
