"""Two sets of calls side by side, each number with what can be told of it."""

from __future__ import annotations

from earwitness.monitor import wording
from earwitness.monitor.contract.comparison import ComparedNumber, ComparedSet, ComparedSide, Comparison

LABEL = 26
LABELS = {
    "response_latency_p50": "response latency p50",
    "response_latency_p90": "response latency p90",
    "response_latency_p95": "response latency p95",
    "answered_only_p50": "  answered turns only p50",
    "answered_only_p95": "  answered turns only p95",
    "unanswered": "unanswered turns",
    "coverage": "latency coverage",
    "missed_rate": "missed barge-ins",
    "false_yield_rate": "false yields",
    "stop_latency_p50": "stop latency p50",
    "agent_interruptions": "agent interrupts, a turn",
    "dead_air_per_call": "dead air ≥ 3 s, a call",
    "dead_air_owed_per_call": "  owed by agent and tool",
    "talk_caller": "talk: caller alone",
    "talk_agent": "talk: agent alone",
    "talk_both": "talk: both",
    "talk_nobody": "talk: nobody",
    "contained": "contained",
}
COUNTED = {
    "response_latency_p50": "turns", "response_latency_p90": "turns", "response_latency_p95": "turns",
    "answered_only_p50": "turns", "answered_only_p95": "turns", "unanswered": "turns", "coverage": "turns",
    "missed_rate": "barge-ins", "false_yield_rate": "overlaps", "stop_latency_p50": "barge-ins",
    "agent_interruptions": "turns",
}  # fmt: skip
"""What ``n`` counts; calls where nothing stands here."""
REASONS = {
    "covers_zero": "",
    "few_calls": "under 10 calls",
    "few_values": "too few values",
    "censored": "both touch unanswered",
    "never_varied": "the same in all",
    "not_measured": "not measured",
}


def compare_view(found: Comparison, *, in_progress: int = 0) -> list[str]:
    """The lines of a comparison."""
    lines = [_set("A", found.a), _set("B", found.b)]
    if found.shared_calls:
        lines.append(f"  note: {wording.plural(found.shared_calls, 'call')} in both sets")
    if in_progress:
        lines.append(f"  note: {wording.plural(in_progress, 'call')} still in progress, left out")
    if {*found.a.measuring_points} != {*found.b.measuring_points}:
        lines.append("  note: measured at different points: what differs may be the measuring and not the agent")
    heading = f"  {'':<{LABEL}}{'A':>10}{'B':>10}{'B − A':>11}   {'95 % interval':<22}{'':<13}n"
    lines += ["", heading, *(_number(number) for number in found.numbers)]
    if told := sum(number.interval is not None for number in found.numbers):
        lines += [
            "",
            f"  Intervals: {found.resamples:,} resamples of whole calls, 95 %. Of {told} such numbers",
            "  about one in twenty leaves out 0 by chance: trust first what you set out to change.",
        ]
    return lines


def _set(name: str, side: ComparedSet) -> str:
    points = " and ".join(side.measuring_points)
    calls = wording.plural(side.calls, "call")
    return f"{name}  {wording.printable(side.name, 80)}  {calls}, measured at the {points}"


def _number(number: ComparedNumber) -> str:
    a, b = (_side(side, number.unit) for side in (number.a, number.b))
    return (
        f"  {LABELS[number.name]:<{LABEL}}{a:>10}{b:>10}{_difference(number):>11}   {_interval(number):<22}"
        f"{_verdict(number):<13}{_counts(number)}"
    ).rstrip()


def _side(side: ComparedSide, unit: str) -> str:
    if side.more_than is not None:
        return f"> {side.more_than:.3g} s"
    return _amount(side.value, unit)


def _difference(number: ComparedNumber) -> str:
    for value, sign in ((number.difference_more_than, "> "), (number.difference_less_than, "< ")):
        if value is not None:
            return sign + _signed(value, number.unit)
    return wording.NOTHING if number.difference is None else _signed(number.difference, number.unit)


def _interval(number: ComparedNumber) -> str:
    """Both bounds with their unit once; why there is none, where there is none."""
    reason = REASONS[number.reason] if number.reason else ""
    if number.interval is None:
        return reason
    low, high = number.interval.low, number.interval.high
    if low is not None and high is not None:
        first, last = _signed(low, number.unit), _signed(high, number.unit)
        unit = last.partition(" ")[2]
        return f"{first.removesuffix(' ' + unit) if unit else first} to {last}"
    if low is not None:
        return f"over {_signed(low, number.unit)}"
    return f"under {_signed(high, number.unit)}" if high is not None else reason or "unbounded"


def _verdict(number: ComparedNumber) -> str:
    if number.verdict == "cannot_tell":
        return "cannot tell"
    return {"better": "better", "worse": "WORSE", "higher": "higher", "lower": "lower"}[number.verdict]


def _counts(number: ComparedNumber) -> str:
    if number.name in COUNTED:
        return f"{number.a.n:,.0f} / {number.b.n:,.0f} {COUNTED[number.name]}"
    return f"{number.a.calls:,} / {number.b.calls:,} calls"


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return wording.NOTHING
    match unit:
        case "s":
            return wording.short_time(value)
        case "s_per_call":
            return f"{value:.1f} s"
        case "ratio":
            return wording.percent(value)
        case _:
            return f"{value:.3g}"


def _signed(value: float, unit: str) -> str:
    """A difference with its sign; shares in percentage points."""
    sign = "−" if value < 0 else "+"
    match unit:
        case "ratio":
            return f"{sign}{abs(value) * 100:.1f} pp"
        case "s":
            return sign + wording.short_time(abs(value))
        case "s_per_call":
            return f"{sign}{abs(value):.1f} s"
        case _:
            return f"{sign}{abs(value):.3g}"
