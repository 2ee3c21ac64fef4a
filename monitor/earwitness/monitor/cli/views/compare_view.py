"""Two sets of calls side by side, each number with what can be told of it."""

from __future__ import annotations

from earwitness.monitor import wording
from earwitness.monitor.cli.views.columns import fitted
from earwitness.monitor.contract.comparison import ComparedNumber, ComparedSet, ComparedSide, Comparison

LABEL = 21
LABELS = {
    "response_latency_p50": "response latency p50",
    "response_latency_p90": "response latency p90",
    "response_latency_p95": "response latency p95",
    "answered_only_p50": "  answered only p50",
    "answered_only_p95": "  answered only p95",
    "unanswered": "unanswered turns",
    "coverage": "latency coverage",
    "missed_rate": "missed barge-ins",
    "false_yield_rate": "false yields",
    "stop_latency_p50": "stop latency p50",
    "agent_interruptions": "agent interrupts/turn",
    "dead_air_per_call": "dead air ≥ 3 s a call",
    "dead_air_owed_per_call": "  owed by agent, tool",
    "talk_caller": "talk: caller alone",
    "talk_agent": "talk: agent alone",
    "talk_both": "talk: both",
    "talk_nobody": "talk: nobody",
    "contained": "contained",
}
COUNTED = frozenset({
    "response_latency_p50", "response_latency_p90", "response_latency_p95", "answered_only_p50", "answered_only_p95",
    "unanswered", "coverage", "missed_rate", "false_yield_rate", "stop_latency_p50", "agent_interruptions",
})  # fmt: skip
"""Where ``n`` counts what the number is of, as ``LEGEND`` says; calls elsewhere."""
LEGEND = "n: caller turns; missed, stop latency: barge-ins; false yields: overlaps; from dead air on: calls."
REASONS = {
    "covers_zero": "",
    "few_calls": "under 10 calls",
    "few_values": "too few values",
    "censored": "touch unanswered",
    "never_varied": "the same in all",
    "not_measured": "not measured",
}


def compare_view(found: Comparison, *, in_progress: int = 0) -> list[str]:
    """The lines of a comparison."""
    lines = [*_set("A", found.a), *_set("B", found.b)]
    if found.shared_calls:
        lines.append(f"  note: {wording.plural(found.shared_calls, 'call')} in both sets")
    if in_progress:
        lines.append(f"  note: {wording.plural(in_progress, 'call')} still in progress, left out")
    if {*found.a.measuring_points} != {*found.b.measuring_points}:
        lines.append("  note: measured at different points: what differs may be the measuring and not the agent")
    heading = f"  {'':<{LABEL}}{'A':>9}{'B':>9}{'B − A':>12}  {'95 % interval':<18}{'':<12}n A / B"
    lines += ["", heading, *(_number(number) for number in found.numbers), "", f"  {LEGEND}"]
    if told := sum(number.interval is not None for number in found.numbers):
        lines += [
            f"  Intervals: {found.resamples:,} resamples of whole calls, 95 %. Of {told} such numbers",
            "  about one in twenty leaves out 0 by chance: trust first what you set out to change.",
        ]
    return lines


def _set(name: str, side: ComparedSet) -> list[str]:
    points = " and ".join(side.measuring_points)
    calls = wording.plural(side.calls, "call")
    return fitted(f"{name}  {wording.printable(side.name)}  {calls}, measured at the {points}", 3)


def _number(number: ComparedNumber) -> str:
    a, b = (_side(side, number.unit) for side in (number.a, number.b))
    return (
        f"  {LABELS[number.name]:<{LABEL}}{a:>9}{b:>9}{_difference(number):>12}  {_interval(number):<18}"
        f"{_verdict(number):<12}{_counts(number)}"
    )


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
    """Both bounds, in the unit of the difference beside them; why there is none, where there is none."""
    reason = REASONS[number.reason] if number.reason else ""
    if number.interval is None:
        return reason
    low, high = number.interval.low, number.interval.high
    if low is not None and high is not None:
        known = (number.difference, number.difference_more_than, number.difference_less_than)
        beside = next((value for value in known if value is not None), low)
        (first, _, unit), (last, _, other), (_, _, shown) = (
            _signed(value, number.unit).partition(" ") for value in (low, high, beside)
        )
        if unit == other == shown:
            return f"{first} to {last}"
        return f"{low:+.1f} to {high:+.1f} s".replace("-", "−")  # milliseconds here and seconds there
    if low is not None:
        return f"over {_signed(low, number.unit)}"
    return f"under {_signed(high, number.unit)}" if high is not None else reason or "unbounded"


def _verdict(number: ComparedNumber) -> str:
    if number.verdict == "cannot_tell":
        return "cannot tell"
    return {"better": "better", "worse": "WORSE", "higher": "higher", "lower": "lower"}[number.verdict]


def _counts(number: ComparedNumber) -> str:
    if number.name in COUNTED:
        return f"{number.a.n:,.0f} / {number.b.n:,.0f}"
    return f"{number.a.calls:,} / {number.b.calls:,}"


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
