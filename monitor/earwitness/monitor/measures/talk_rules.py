"""What turns, agent turns, overlaps, agent interruptions and dead air count for (definitions, "Latency",
"Interruptions"). A turn that is not decided yet adds nothing but itself as a caller turn."""

from __future__ import annotations

from typing import Final

from earwitness.monitor.contract.records import Turn
from earwitness.monitor.measures.slots import AT_LEAST, CENSORED, COUNT, DENOMINATOR, INVALID, VALUES
from earwitness.monitor.measures.tally import (
    LEAST_NS,
    LONGEST_CALL_NS,
    Fields,
    Tallies,
    Tally,
    count,
    duration,
    eligible,
    named,
    rate,
    valid,
    wait,
)

PREMATURE: Final = "premature_endpoint"
"""Class of the latencies that are out of the headline (B08)."""

_CALLER_TURN: Final = ("agent_interruption", DENOMINATOR, 1)
_HEADLINE: Final = "response_latency"
_LEAST_HEADLINE_NS: Final = LEAST_NS[_HEADLINE]
_CUT_OFF: Final = named(_HEADLINE, PREMATURE)
_ELIGIBLE: Final = eligible(_HEADLINE)
_ELIGIBLE_CUT_OFF: Final = (eligible(_CUT_OFF), count(_CUT_OFF))
_UNANSWERED: Final = rate("unanswered", hit=True)
_ANSWERED: Final = rate("unanswered", hit=False)
_DELAY: Final = eligible("endpoint_delay")
_TTFA: Final = eligible("agent_ttfa")
_PARTED: Final = count("latency_part")
_LEAST_PART_NS: Final = LEAST_NS["latency_part"]
_PARTS: Final = {
    part: named("latency_part", part)
    for part in ("endpointing", "recognition", "hold", "queue", "llm", "tools", "aggregation", "tts", "output", "model",
                 "unattributed")
}  # fmt: skip
"""Names that are needed for every turn."""
_OWNERS: Final = {owner: named("dead_air", owner) for owner in ("agent", "tool", "hold", "caller")}
_GREETING: Final = eligible("greeting_latency")
_STOP: Final = eligible("stop_latency")


def turn(fields: Fields) -> Tallies:
    """A `Turn`."""
    found = [_CALLER_TURN, *headline(fields)]
    if len(found) == 1 or fields["turn_class"] != "eligible" or fields["premature_endpoint"]:
        return found
    is_measured = len(found) > 2 and found[2][1] == VALUES
    found += _UNANSWERED if fields["response_latency_ns"] is None and _waits(fields) else _ANSWERED
    if is_measured:
        _where_it_went(fields, found)
    return found


def headline(fields: Fields) -> Tallies:
    """What a `Turn` counts for in ``response_latency`` alone."""
    if fields["turn_class"] != "eligible":
        return (count(_HEADLINE, f"class/{fields['turn_class']}"),)
    latency_ns, reason, waits = fields["response_latency_ns"], fields["reason"], _waits(fields)
    if latency_ns is None and reason is None and not waits:
        return ()
    name, found = _HEADLINE, [_ELIGIBLE]
    if fields["premature_endpoint"]:
        name, found = _CUT_OFF, [*_ELIGIBLE_CUT_OFF]
    if latency_ns is not None:
        is_value = valid(_HEADLINE, latency_ns, fields["a_on_ns"])
        found.append((name, VALUES, latency_ns) if is_value else (name, INVALID, 1))
        return found
    if waits:
        found.append(wait(name, CENSORED, fields["waited_ns"]))
    if fields["at_least_ns"] is not None:
        found.append(wait(name, AT_LEAST, fields["at_least_ns"]))
    if reason == "invalid":
        found.append((name, INVALID, 1))
    elif reason is not None:
        found.append(count(_HEADLINE, f"reason/{reason}"))
    return found


def plain_latency_ns(turn: Turn) -> int | None:
    """The response latency of a `Turn` for which `headline` says that and nothing else; None: it says what it says."""
    latency_ns, a_on_ns = turn.response_latency_ns, turn.a_on_ns
    if latency_ns is None or turn.premature_endpoint or turn.turn_class != "eligible":
        return None
    longest_ns = LONGEST_CALL_NS if a_on_ns is None or a_on_ns > LONGEST_CALL_NS else a_on_ns
    return latency_ns if _LEAST_HEADLINE_NS <= latency_ns <= longest_ns else None


def _waits(fields: Fields) -> bool:
    return bool(fields["unanswered"] or fields["overdue"])


def _where_it_went(fields: Fields, found: list[Tally]) -> None:
    delay_ns, ttfa_ns, parts_ns = fields["endpoint_delay_ns"], fields["agent_ttfa_ns"], fields["parts_ns"]
    if delay_ns is not None:
        found += (_DELAY, duration("endpoint_delay", delay_ns))
    if ttfa_ns is not None:
        found += (_TTFA, duration("agent_ttfa", ttfa_ns))
    if parts_ns:
        found.append(_PARTED)
        for part, part_ns in parts_ns.items():
            part_name = _PARTS.get(part) or named("latency_part", part)
            is_value = _LEAST_PART_NS <= part_ns <= LONGEST_CALL_NS
            found.append((part_name, VALUES, part_ns) if is_value else (part_name, INVALID, 1))


def agent_turn(fields: Fields) -> Tallies:
    """An `AgentTurn`."""
    latency_ns, reason = fields["greeting_latency_ns"], fields["greeting_reason"]
    if latency_ns is not None:
        return _GREETING, duration("greeting_latency", latency_ns)
    if reason is None or fields["why"] != "greeting":
        return ()
    absent = count("greeting_latency", f"reason/{reason}")
    return (absent,) if reason == "user_spoke_first" else (_GREETING, absent)


def overlap(fields: Fields) -> Tallies:
    """An `Overlap`."""
    cell, klass = fields["cell"], fields["want_class"] or ""
    found = [count("overlaps", overlap_class(fields))]
    if cell in ("TP", "FN"):
        found += rate("missed_barge_in", hit=cell == "FN")
    if cell in ("FP", "TN"):
        found += rate("false_yield", hit=cell == "FP")
        found += rate("selectivity", hit=cell == "TN", klass=klass)
    if cell in ("TP", "FP"):
        found += rate("false_yield_of_yields", hit=cell == "FP")
    if fields["wanted"] == "yes" and fields["terminal"] is None:
        found += _stop(fields)
    return found


def _stop(fields: Fields) -> Tallies:
    if fields["stop_latency_ns"] is not None:
        return _STOP, duration("stop_latency", fields["stop_latency_ns"])
    if fields["stop_at_least_ns"] is not None:
        return _STOP, wait("stop_latency", AT_LEAST, fields["stop_at_least_ns"])
    if fields["gave_way"] is False:
        return _STOP, wait("stop_latency", CENSORED, fields["talk_over_ns"])
    return (_STOP,)


def overlap_class(fields: Fields) -> str:
    """``cell/class`` of an overlap: ``FP/noise``, ``TP/``; outside the 2x2 the cell says why it is there."""
    if fields["cell"] is not None:
        return f"{fields['cell']}/{fields['want_class'] or ''}"
    if fields["terminal"] is not None:
        return f"terminal/{fields['terminal']}"
    if fields["wanted"] is None:
        return f"set_aside/{fields['decided_by'] or ''}"
    return "unknown/"


def agent_interruption(fields: Fields) -> Tallies:
    """An `AgentInterruption`."""
    return ("agent_interruption", COUNT, 1), count("agent_interruption", fields["cause"])


def dead_air(fields: Fields) -> Tallies:
    """A `DeadAir`."""
    whole_ns, found = 0, list[Tally]()
    for owner, name in _OWNERS.items():
        owned_ns = fields[f"{owner}_ns"]
        whole_ns += owned_ns
        if owned_ns:
            is_value = 0 <= owned_ns <= LONGEST_CALL_NS
            found.append((name, VALUES, owned_ns) if is_value else (name, INVALID, 1))
    found.append(duration("dead_air", whole_ns))
    return found
