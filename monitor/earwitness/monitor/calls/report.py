"""The numbers of one call or many, from their records, as JSON-ready data: what ``earwitness analyze --json`` prints.

The shape is ``contract.report``'s. Exact: percentiles rank every value by itself (definitions, "Latency"), nothing is
binned. Seconds are rounded to 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.line_quality import pooled_line
from earwitness.monitor.contract.records import AnyRecord, Overlap, Turn, Unheard
from earwitness.monitor.contract.report import REPORT_ADAPTER

QUANTILES: Final = (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99))
LEAST_DENOMINATOR: Final = 10
"""A rate with a smaller denominator is shown as counts only (definitions, "Interruptions")."""
LEAST_CENSORED_NS: Final = 10 * S

Json = dict[str, Any]


def report(records: Iterable[AnyRecord], *, bounds: str | None = None, agreement: Json | None = None) -> Json:
    """The report over the latest revisions of the given records, call by call in order of first appearance.

    ``bounds`` is the id of the bounds in force; by default that of the records. ``agreement``: how far kinds of
    evidence agree, which only the events tell; None where nobody looked.
    """
    calls: dict[str, list[Any]] = {}
    for record in latest(records):
        calls.setdefault(record.call_id, []).append(record)
    everything = [r for own in calls.values() for r in own]
    used = sorted({r.bounds for r in everything})
    points = sorted({c.measuring_point for c in _of(everything, "call")})
    content = {
        "v": 1,
        "measuring_point": "mixed" if len(points) > 1 else points[0] if points else "pipeline",
        "bounds": bounds if bounds is not None else "+".join(used) or "default-1",
        "calls": [_call(call_id, own) for call_id, own in calls.items()],
        "summary": _summary(everything),
        "agreement": agreement,
    }
    shown: Json = REPORT_ADAPTER.dump_python(REPORT_ADAPTER.validate_python(content), by_alias=True)
    return shown


def latest(records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """Of each (call, id) the latest revision, without what was taken back."""
    newest: dict[tuple[str, str], AnyRecord] = {}
    for record in records:
        key = (record.call_id, record.id)
        before = newest.get(key)
        if before is None or record.revision >= before.revision:
            newest[key] = record
    return [r for r in newest.values() if not r.retracted]


def quantile(values_ns: Sequence[int], censored_ns: Sequence[int], percent: int) -> tuple[float | None, float | None]:
    """A percentile of ``values_ns`` with ``censored_ns`` (waits in vain) ranked above them all.

    Returns (value in seconds, None), or (None, "more than" in seconds) where it touches a censored rank, or
    (None, None) where nothing was ranked. Linear interpolation between neighbouring ranks.
    """
    ranked = sorted(values_ns)
    n = len(ranked) + len(censored_ns)
    if n == 0:
        return None, None
    low, rest = divmod(percent * (n - 1), 100)
    high = low + (1 if rest else 0)
    if high >= len(ranked):
        return None, _s(max(LEAST_CENSORED_NS, *censored_ns))
    return _s(ranked[low] + (ranked[high] - ranked[low]) * rest / 100), None


def _s(value_ns: float | None) -> float | None:
    return None if value_ns is None else round(value_ns / S, 6)


def _of(records: Iterable[Any], kind: str) -> list[Any]:
    return [r for r in records if r.kind == kind]


def _call(call_id: str, records: Sequence[Any]) -> Json:
    call = next(iter(_of(records, "call")), None)
    return {
        "call_id": call_id,
        "measuring_point": "pipeline" if call is None else call.measuring_point,
        "duration_s": None if call is None else _s(call.duration_ns),
        "end_cause": None if call is None else call.end_cause,
        "outcome": None if call is None else call.outcome,
        "turns": [_turn(t) for t in _in_time(_of(records, "turn"), "u_on_ns", "u_off_ns", "a_on_ns")],
        "agent_turns": [
            {
                "id": a.id,
                "a_on_s": _s(a.a_on_ns),
                "a_off_s": _s(a.a_off_ns),
                "why": a.why,
                "text": a.text,
                "unspoken": a.unspoken,
                "evidence": dict(a.evidence),
            }
            for a in _in_time(_of(records, "agent_turn"), "a_on_ns")
        ],
        "overlaps": [_overlap(o) for o in _in_time(_of(records, "overlap"), "u_on_ns")],
        "agent_interruptions": [
            {"at_s": _s(i.at_ns), "cause": i.cause, "evidence": dict(i.evidence)}
            for i in _in_time(_of(records, "agent_interruption"), "at_ns")
        ],
        "dead_air": [
            {
                "start_s": _s(d.start_ns),
                "end_s": _s(d.end_ns),
                "agent_s": _s(d.agent_ns),
                "tool_s": _s(d.tool_ns),
                "hold_s": _s(d.hold_ns),
                "caller_s": _s(d.caller_ns),
                "evidence": dict(d.evidence),
            }
            for d in _in_time(_of(records, "dead_air"), "start_ns")
        ],
        "unheard": [] if call is None else [_unheard(u) for u in call.unheard],
        "line": pooled_line([call.line] if call is not None else []),
    }


def _in_time(records: Iterable[Any], *moments: str) -> list[Any]:
    def place(record: Any) -> int:
        known: list[int] = [at for name in moments if (at := getattr(record, name)) is not None]
        return known[0] if known else int(record.event_wall_ns)

    return sorted(records, key=place)


def _turn(turn: Turn) -> Json:
    return {
        "id": turn.id,
        "u_on_s": _s(turn.u_on_ns),
        "u_off_s": _s(turn.u_off_ns),
        "class": turn.turn_class,
        "answered_by": turn.answered_by,
        "a_on_s": _s(turn.a_on_ns),
        "response_latency_s": _s(turn.response_latency_ns),
        "at_least_s": _s(turn.at_least_ns),
        "reason": turn.reason,
        "parts_s": {name: _s(part_ns) for name, part_ns in turn.parts_ns.items()},
        "owners_s": {name: _s(owned_ns) for name, owned_ns in turn.owners_ns.items()},
        "waited_s": _s(turn.waited_ns),
        "unanswered": turn.unanswered or turn.overdue,
        "premature_endpoint": turn.premature_endpoint,
        "text": turn.text,
        "evidence": dict(turn.evidence),
    }


def _overlap(overlap: Overlap) -> Json:
    return {
        "id": overlap.id,
        "u_on_s": _s(overlap.u_on_ns),
        "u_off_s": _s(overlap.u_off_ns),
        "a_off_s": _s(overlap.a_off_ns),
        "gave_way": overlap.gave_way,
        "yielded_observed": overlap.yielded_observed,
        "yielded_caused": overlap.yielded_caused,
        "stop_latency_s": _s(overlap.stop_latency_ns),
        "stop_at_least_s": _s(overlap.stop_at_least_ns),
        "silent_for_s": _s(overlap.silent_for_ns),
        "talk_over_s": _s(overlap.talk_over_ns),
        "wanted": overlap.wanted,
        "class": overlap.want_class,
        "cell": overlap.cell,
        "decided_by": overlap.decided_by,
        "labelled_by": overlap.labelled_by,
        "resumed_after_s": _s(overlap.resumed_after_ns),
        "terminal": overlap.terminal,
        "text": overlap.text,
        "evidence": dict(overlap.evidence),
    }


def _unheard(unheard: Unheard) -> Json:
    return {
        "what": unheard.what,
        "by": unheard.by,
        "lost": unheard.lost,
        "start_s": _s(unheard.at_ns),
        "end_s": _s(unheard.until_ns),
        "responses": list(unheard.responses),
        "asked_s": [_s(at) for at in unheard.moments_ns],
    }


def _summary(records: Sequence[Any]) -> Json:
    calls = _of(records, "call")
    stretches = _of(records, "dead_air")
    seen = _is_observed(calls)
    lengths = [d.end_ns - d.start_ns if d.end_ns is not None else _owed(d) for d in stretches]
    return {
        "response_latency": _latency(_of(records, "turn")),
        "interruptions": _interruptions(_of(records, "overlap"), calls, seen=seen),
        "stop_latency": _stop_latency(_of(records, "overlap")),
        "agent_interruptions": len(_of(records, "agent_interruption")) if seen else None,
        "dead_air": {
            "n": len(stretches) if seen else None,
            "longest_s": _s(max(lengths, default=None)),
            "agent_and_tool_s": _s(sum(d.agent_ns + d.tool_ns for d in stretches)) if seen else None,
            "reason": None if seen else "unobservable",
        },
        "unheard": {
            f"{what}_calls": sum(any(u.what == what for u in c.unheard) for c in calls)
            for what in ("dead_not_failed", "one_way_audio")
        },
        "line": pooled_line([c.line for c in calls]),
        "talk_ratio": _talk_ratio(calls),
        "outcomes": {
            "contained": sum(c.contained is True for c in calls),
            "in_scope": sum(c.in_scope is True for c in calls),
        },
    }


def _is_observed(calls: Sequence[Any]) -> bool:
    """Whether both sides of any call are observed: where none is, that nothing was found means nothing (A44)."""
    return not calls or any(call.talk_ns or call.ended_ns is None for call in calls)


def _owed(stretch: Any) -> int:
    owed: int = stretch.agent_ns + stretch.tool_ns + stretch.hold_ns + stretch.caller_ns
    return owed


def _latency(turns: Iterable[Turn]) -> Json:
    """The headline: eligible turns, those cut off by a premature endpoint left out (B08)."""
    counted = [t for t in turns if t.turn_class == "eligible" and not t.premature_endpoint]
    values = [t.response_latency_ns for t in counted if t.response_latency_ns is not None]
    waits = [t.waited_ns or 0 for t in counted if t.response_latency_ns is None and (t.unanswered or t.overdue)]
    n = len(values) + len(waits)
    return {
        "n": n,
        "answered": len(values),
        "unanswered": len(waits),
        "eligible": len(counted),
        "coverage": n / len(counted) if counted else None,
        **_quantiles(values, waits),
        "answered_only": {f"p{p}_s": quantile(values, (), p)[0] for p in (50, 95)},
    }


def _quantiles(values_ns: Sequence[int], censored_ns: Sequence[int]) -> Json:
    found = {name: quantile(values_ns, censored_ns, percent) for name, percent in QUANTILES}
    shown: Json = {f"{name}_s": value for name, (value, _) in found.items()}
    shown["more_than_s"] = {name: beyond for name, (_, beyond) in found.items() if beyond is not None}
    return shown


def _stop_latency(overlaps: Iterable[Overlap]) -> Json:
    """Over the overlaps in which the caller wanted the floor; a stop that never came is ranked last."""
    wanted = [o for o in overlaps if o.cell in ("TP", "FN")]
    values = [o.stop_latency_ns for o in wanted if o.stop_latency_ns is not None]
    never = sum(o.stop_latency_ns is None and o.stop_at_least_ns is None and o.a_off_ns is None for o in wanted)
    return {"n": len(values) + never, "never": never, **_quantiles(values, [0] * never)}


def _interruptions(overlaps: Sequence[Overlap], calls: Iterable[Any], *, seen: bool) -> Json:
    cells = {c: sum(o.cell == c for o in overlaps) for c in ("TP", "FN", "FP", "TN")}
    counts = {
        "tp": cells["TP"],
        "fn": cells["FN"],
        "fp": cells["FP"],
        "tn": cells["TN"],
        "unknown": sum(o.wanted == "unknown" and o.terminal is None for o in overlaps),
        "terminal": sum(o.terminal is not None and o.cell is None for o in overlaps),
        "spurious": sum(c.facts.get("spurious_interruption", 0) for c in calls),
    }
    return {
        **(counts if seen else dict.fromkeys(counts)),
        "reason": None if seen else "unobservable",
        "missed_rate": _rate(cells["FN"], cells["TP"] + cells["FN"]),
        "false_yield_rate": _rate(cells["FP"], cells["FP"] + cells["TN"]),
    }


def _rate(count: int, denominator: int) -> float | None:
    return count / denominator if denominator >= LEAST_DENOMINATOR else None


def _talk_ratio(calls: Iterable[Any]) -> Json:
    """Shares of the time of the calls whose both sides are observed."""
    observed = [c.talk_ns for c in calls if c.talk_ns]
    names = ("caller", "agent", "both", "nobody")
    time = {name: sum(t.get(name, 0) for t in observed) for name in names}
    whole = sum(time.values())
    return {name: round(time[name] / whole, 6) if whole else None for name in names}
