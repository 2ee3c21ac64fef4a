"""The report of ``earwitness analyze`` as a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from earwitness.monitor import wording
from earwitness.monitor.cli.views.agreement_view import agreement_lines
from earwitness.monitor.cli.views.call_words import OUTCOME_WORDS
from earwitness.monitor.cli.views.columns import fitted
from earwitness.monitor.cli.views.top_view import LEAST_N
from earwitness.monitor.cli.views.unheard_words import SHOWN_BY_WORDS, UNHEARD_WORDS, line_words
from earwitness.monitor.contract.records import LineQuality

LABEL = 20
POINT_WORDS = {
    "pipeline": "at the pipeline", "recording": "at the recording", "mixed": "at the pipeline and in recordings",
}  # fmt: skip
QUANTILES = ("p50", "p90", "p95", "p99")
MOST_CALLS, MOST_FILES = 50, 20
UNSEEN = f"{wording.NOTHING} (one-sided audio)"
Json = dict[str, Any]


def analyze_view(found: Json, told: Sequence[str]) -> list[str]:
    """The lines for a report; ``told`` says what was read, a safe line on each file."""
    calls: list[Json] = found["calls"]
    files = [fit for text in told[:MOST_FILES] for line in text.split("\n") for fit in fitted(line, 4)]
    if len(told) > MOST_FILES:
        files.append(f"and {wording.plural(len(told) - MOST_FILES, 'more file')}")
    measured = POINT_WORDS[found["measuring_point"]]
    lines = [f"  measured {measured}, bounds {found['bounds']}, {wording.plural(len(calls), 'call')}"]
    summary: Json = found["summary"]
    lines += ["", *_latency(summary, calls), *_overlaps(found), *_interruptions(found)]
    times: int | None = summary["agent_interruptions"]
    lines += [_row("agent interrupts", UNSEEN if times is None else wording.plural(times, "time"))]
    lines += [*_dead_air(summary["dead_air"], calls), *_unheard(calls)]
    lines += [_row("talk ratio", _talk(summary["talk_ratio"]))]
    if summary["line"] is not None:
        lines.append(_row("line", line_words(LineQuality(**summary["line"]))))
    live = [call for call in calls if call["outcome"] is not None]
    if live or found["measuring_point"] == "pipeline":
        lines.append(_row("outcomes", _outcomes(summary["outcomes"], live)))
    lines += [_row(label, text) for label, text in agreement_lines(found["agreement"])]
    if len(calls) > 1 or live:
        lines += ["", f"  {'call':<24}{'lasted':>7}{'turns':>6}{'p50 ms':>9}{'worst':>9}{'overlaps':>10}  outcome"]
        lines += [_call(call) for call in calls[:MOST_CALLS]]
    if len(calls) > MOST_CALLS:
        lines.append(f"  {len(calls) - MOST_CALLS:,} more calls: --json has them all")
    return [*files, *(fit for line in lines for fit in fitted(line, 2 + LABEL))]


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _latency(summary: Json, calls: Sequence[Json]) -> list[str]:
    latency: Json = summary["response_latency"]
    if not latency["eligible"] and summary["dead_air"]["reason"] is not None:
        return [_row("response latency", UNSEEN)]
    cut_off = sum(t["premature_endpoint"] for call in calls for t in call["turns"])
    left_out = [_row("", f"left out: {wording.plural(cut_off, 'turn')} that the agent cut off")] if cut_off else []
    if not latency["n"]:
        reason = f"none measured of {latency['eligible']} eligible" if latency["eligible"] else "no turns to answer"
        return [_row("response latency", reason), *left_out]
    bits = [f"n {latency['n']}", f"unanswered {latency['unanswered']}"]
    bits.append(f"coverage {wording.percent(latency['coverage'])} of {latency['eligible']}")
    middle, *high = (f"{name} {_quantile(latency, name)}" for name in QUANTILES)
    longest = max((value for call in calls for value in _latencies(call)), default=0.0)
    high += [f"longest answered {_ms(longest)}"] if longest > 0 else []
    lines = [_row("response latency", "   ".join((*bits, middle))), _row("", "   ".join(high)), *left_out]
    if latency["unanswered"]:
        only = latency["answered_only"]
        shown = f"p50 {_ms(only['p50_s'])}   p95 {_ms(only['p95_s'])}   (n {latency['answered']})"
        lines.append(_row("  answered only", shown))
    return lines


def _latencies(call: Json) -> list[float]:
    """A call's response latencies as the headline counts them, shortest first."""
    counted = (t["response_latency_s"] for t in call["turns"] if not t["premature_endpoint"])
    return sorted(value for value in counted if value is not None)


def _quantile(latency: Json, name: str) -> str:
    if latency["n"] < LEAST_N[name]:
        return f"– (n < {LEAST_N[name]})"
    more = latency["more_than_s"].get(name)
    return f"> {more:.3g} s" if more is not None else _ms(latency[f"{name}_s"])


def _ms(value_s: float | None) -> str:
    return wording.NOTHING if value_s is None else wording.short_time(value_s)


def _overlaps(found: Json) -> list[str]:
    """What the agent did about caller speech over its own, whatever the caller wanted."""
    overlaps: list[Json] = [o for call in found["calls"] for o in call["overlaps"]]
    if not overlaps:
        return [_row("overlaps", UNSEEN if found["summary"]["interruptions"]["reason"] else "none")]
    ended = sum(o["terminal"] == "natural_end" for o in overlaps)
    gave, kept = (
        sum(o["gave_way"] is way and o["terminal"] != "natural_end" for o in overlaps) for way in (True, False)
    )
    # How fast the agent stopped tells something only where it may have been asked to.
    meant = (o for o in overlaps if o["gave_way"] and o["wanted"] in ("yes", "unknown"))
    stops = [o["a_off_s"] - o["u_on_s"] for o in meant if o["a_off_s"] is not None]
    shown = [f"agent gave way {gave}" + (f" (stop {_ms(median(stops))} median)" if stops else "")]
    shown.append(f"kept the floor {kept}")
    if ended:
        shown.append(f"ended by itself {ended}")
    if len(overlaps) > gave + kept + ended:
        shown.append(f"cannot tell {len(overlaps) - gave - kept - ended}")
    lines = [_row("overlaps", f"{len(overlaps)} · {' · '.join(shown)}")]
    recorded = [o for c in found["calls"] if c["measuring_point"] == "recording" for o in c["overlaps"]]
    unknown = [o for o in recorded if o["wanted"] == "unknown"]
    if any(o["text"] is None for o in unknown):
        lines.append(_row("", "what the caller wanted: unknown without words (--words, --expect)"))
    elif unknown:
        lines.append(_row("", f"what the caller wanted: its words do not tell in {len(unknown)} (--expect)"))
    return lines


def _interruptions(found: Json) -> list[str]:
    i: Json = found["summary"]["interruptions"]
    if i["reason"] is not None:
        return [_row("interruptions", UNSEEN)]
    decided = i["tp"] + i["fn"] + i["fp"] + i["tn"]
    lines: list[str] = []
    beside = [f"{name.replace('_', ' ')} {i[name]}" for name in ("terminal", "spurious") if i[name]]
    if decided or found["measuring_point"] == "pipeline":
        lines.append(_row("interruptions", f"barge-ins {i['tp'] + i['fn']}: yielded {i['tp']}, missed {i['fn']}"))
        others = f"others {i['fp'] + i['tn']}: false yield {i['fp']}, talked through {i['tn']}"
        lines.append(_row("", f"{others} · unknown {i['unknown']}"))
    elif beside:
        beside.insert(0, f"unknown {i['unknown']}")
    rates = [
        f"{label} {wording.percent(i[name])} of {n}"
        for label, name, n in (
            ("missed", "missed_rate", i["tp"] + i["fn"]), ("false yield", "false_yield_rate", i["fp"] + i["tn"]),
        )
        if i[name] is not None
    ]  # fmt: skip
    if rates or beside:
        lines.append(_row("" if lines else "interruptions", " · ".join((*rates, *beside))))
    return lines


def _dead_air(dead: Json, calls: Sequence[Json]) -> list[str]:
    if not dead["n"]:
        return [_row("dead air ≥ 3 s", "none" if dead["n"] == 0 else UNSEEN)]
    if len(calls) == 1:
        worst = max(calls[0]["dead_air"], key=_length)
        owed = {name: worst[f"{name}_s"] for name in ("agent", "tool", "hold", "caller")}
        who = max(owed, key=lambda name: owed[name])
        owes = {"tool": "a tool ran", "hold": "announced", "agent": "agent owed speech", "caller": "caller owed speech"}
        longest = "longest " if dead["n"] > 1 else ""
        place = f"{wording.short_time(_length(worst))} at {_moment(worst['start_s'])}"
        return [_row("dead air ≥ 3 s", f"{dead['n']} · {longest}{place}, {owes[who]}")]
    longest = f"longest {_ms(dead['longest_s'])} · " if dead["longest_s"] is not None else ""
    return [
        _row("dead air ≥ 3 s", f"{dead['n']} · {longest}agent or tool owed speech for {_ms(dead['agent_and_tool_s'])}")
    ]


def _unheard(calls: Sequence[Json]) -> list[str]:
    """Calls in which audio reached nobody; none is not worth a line."""
    lines: list[str] = []
    for what, label in UNHEARD_WORDS.items():
        found = [(call["call_id"], u) for call in calls for u in call["unheard"] if u["what"] == what]
        if not found:
            continue
        (call_id, first), ids = found[0], {call_id for call_id, _ in found}
        where = f"from {_moment(first['start_s'])}" + (
            f" in {wording.printable(call_id, 40)}" if len(calls) > 1 else ""
        )
        shown = sorted({SHOWN_BY_WORDS[u["by"]] for _, u in found})
        many = f"{wording.plural(len(ids), 'call')} of {len(calls)} · " if len(calls) > 1 else ""
        lines.append(_row(label, f"{many}{where}: {', '.join(shown)}"))
    return lines


def _length(stretch: Json) -> float:
    if stretch["end_s"] is not None:
        return float(stretch["end_s"] - stretch["start_s"])
    return float(sum(stretch[f"{name}_s"] for name in ("agent", "tool", "hold", "caller")))


def _moment(at_s: float) -> str:
    """``1:11.9`` into the call."""
    tenths = round(at_s * 10)
    return f"{tenths // 600}:{tenths % 600 // 10:02}.{tenths % 10}"


def _talk(ratio: Json) -> str:
    if any(share is None for share in ratio.values()) or not ratio:
        return UNSEEN
    alone = {"caller": "caller alone", "agent": "agent alone"}
    return "   ".join(f"{alone.get(who, who)} {wording.percent(share)}" for who, share in ratio.items())


def _outcomes(outcomes: Json, calls: Sequence[Json]) -> str:
    counts: dict[str, int] = {}
    for call in calls:
        name = call["outcome"] or "unknown"
        counts[name] = counts.get(name, 0) + 1
    said = " · ".join(f"{OUTCOME_WORDS.get(name, name.replace('_', ' '))} {n}" for name, n in sorted(counts.items()))
    return f"contained {outcomes['contained']} of {outcomes['in_scope']} in scope" + (f"   ({said})" if said else "")


def _call(call: Json) -> str:
    waits = [t["waited_s"] or 0.0 for t in call["turns"] if t["unanswered"] and not t["premature_endpoint"]]
    timed = [*_latencies(call), *(float("inf") for _ in waits)]
    half = (timed[(len(timed) - 1) // 2] + timed[len(timed) // 2]) / 2 if timed else None
    in_vain = f"> {max(10.0, *waits):.3g} s" if waits else ""
    middle, worst = (
        in_vain if v == float("inf") else wording.milliseconds(v) for v in (half, max(timed, default=None))
    )
    lasted = wording.compact_span(call["duration_s"]) if call["duration_s"] is not None else wording.NOTHING
    outcome = OUTCOME_WORDS.get(call["outcome"] or "", (call["outcome"] or wording.NOTHING).replace("_", " "))
    name, turns, overlaps = wording.printable(call["call_id"], 23), len(call["turns"]), len(call["overlaps"])
    numbers = f"{lasted:>7}{turns:>6}{middle:>9}{worst:>9}{overlaps:>10}"
    return f"  {name:<24}{numbers}  {outcome}"
