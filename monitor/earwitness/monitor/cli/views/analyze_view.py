"""The report of ``earwitness analyze`` as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from earwitness.monitor import wording
from earwitness.monitor.cli.views.call_words import OUTCOME_WORDS
from earwitness.monitor.cli.views.top_view import LEAST_N

LABEL = 20
QUANTILES = ("p50", "p90", "p95", "p99")
Json = dict[str, Any]


def analyze_view(found: Json, names: Sequence[str], *, most_calls: int = 50) -> list[str]:
    """The lines for a report; ``names`` say what was read."""
    calls: list[Json] = found["calls"]
    lines = [wording.printable(name) for name in names]
    lines.append(
        f"  measured at the {found['measuring_point']}, bounds {found['bounds']}, {wording.plural(len(calls), 'call')}"
    )
    summary: Json = found["summary"]
    lines += ["", *_latency(summary["response_latency"]), *_interruptions(summary), *_dead_air(summary["dead_air"])]
    lines += [_row("talk ratio", _talk(summary["talk_ratio"])), _row("outcomes", _outcomes(summary["outcomes"], calls))]
    if calls:
        lines += ["", f"  {'call':<24}{'lasted':>8}{'turns':>7}{'p50 ms':>9}{'worst':>9}{'overlaps':>10}  outcome"]
        lines += [_call(call) for call in calls[:most_calls]]
    if len(calls) > most_calls:
        lines.append(f"  {len(calls) - most_calls:,} more calls: --json has them all")
    return lines


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _latency(latency: Json) -> list[str]:
    if not latency["n"]:
        reason = f"none measured of {latency['eligible']} eligible" if latency["eligible"] else "no turns to answer"
        return [_row("response latency", reason)]
    bits = [f"n {latency['n']}", f"unanswered {latency['unanswered']}"]
    bits.append(f"coverage {wording.percent(latency['coverage'])} of {latency['eligible']}")
    middle, *high = (f"{name} {_quantile(latency, name)}" for name in QUANTILES)
    lines = [_row("response latency", "   ".join((*bits, middle))), _row("", "   ".join(high))]
    if latency["unanswered"]:
        only = latency["answered_only"]
        shown = f"p50 {_ms(only['p50_s'])}   p95 {_ms(only['p95_s'])}   (n {latency['answered']})"
        lines.append(_row("  answered turns only", shown))
    return lines


def _quantile(latency: Json, name: str) -> str:
    if latency["n"] < LEAST_N[name]:
        return f"– (n < {LEAST_N[name]})"
    more = latency["more_than_s"].get(name)
    return f"> {more:.3g} s" if more is not None else _ms(latency[f"{name}_s"])


def _ms(value_s: float | None) -> str:
    return wording.NOTHING if value_s is None else wording.short_time(value_s)


def _interruptions(summary: Json) -> list[str]:
    i: Json = summary["interruptions"]
    shown = [
        f"barge-ins {i['tp'] + i['fn']}: yielded {i['tp']}, missed {i['fn']}",
        f"others {i['fp'] + i['tn']}: false yield {i['fp']}, talked through {i['tn']}",
        f"unknown {i['unknown']}",
    ]
    lines = [_row("interruptions", shown[0]), _row("", " · ".join(shown[1:]))]
    rates = [
        f"{label} {wording.percent(i[name])} of {n}"
        for label, name, n in (
            ("missed", "missed_rate", i["tp"] + i["fn"]), ("false yield", "false_yield_rate", i["fp"] + i["tn"]),
        )
        if i[name] is not None
    ]  # fmt: skip
    beside = [f"{name.replace('_', ' ')} {i[name]}" for name in ("terminal", "spurious") if i[name]]
    if rates or beside:
        lines.append(_row("", " · ".join((*rates, *beside))))
    lines.append(_row("agent interrupts", wording.plural(summary["agent_interruptions"], "time")))
    return lines


def _dead_air(dead: Json) -> list[str]:
    if not dead["n"]:
        return [_row("dead air ≥ 3 s", "none")]
    longest = f"longest {_ms(dead['longest_s'])} · " if dead["longest_s"] is not None else ""
    return [
        _row("dead air ≥ 3 s", f"{dead['n']} · {longest}agent or tool owed speech for {_ms(dead['agent_and_tool_s'])}")
    ]


def _talk(ratio: Json) -> str:
    if any(share is None for share in ratio.values()) or not ratio:
        return f"{wording.NOTHING} (one-sided audio)"
    return "   ".join(f"{who} {wording.percent(share)}" for who, share in ratio.items())


def _outcomes(outcomes: Json, calls: Sequence[Json]) -> str:
    counts: dict[str, int] = {}
    for call in calls:
        name = call["outcome"] or "unknown"
        counts[name] = counts.get(name, 0) + 1
    said = " · ".join(f"{OUTCOME_WORDS.get(name, name.replace('_', ' '))} {n}" for name, n in sorted(counts.items()))
    return f"contained {outcomes['contained']} of {outcomes['in_scope']} in scope" + (f"   ({said})" if said else "")


def _call(call: Json) -> str:
    timed = sorted(turn["response_latency_s"] for turn in call["turns"] if turn["response_latency_s"] is not None)
    middle = (timed[(len(timed) - 1) // 2] + timed[len(timed) // 2]) / 2 if timed else None
    lasted = wording.compact_span(call["duration_s"]) if call["duration_s"] is not None else wording.NOTHING
    outcome = OUTCOME_WORDS.get(call["outcome"] or "", (call["outcome"] or "unknown").replace("_", " "))
    worst = wording.milliseconds(timed[-1] if timed else None)
    name, turns, overlaps = wording.printable(call["call_id"], 23), len(call["turns"]), len(call["overlaps"])
    numbers = f"{lasted:>8}{turns:>7}{wording.milliseconds(middle):>9}{worst:>9}{overlaps:>10}"
    return f"  {name:<24}{numbers}  {outcome}"
