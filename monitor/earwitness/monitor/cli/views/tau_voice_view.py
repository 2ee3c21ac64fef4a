"""The tau-voice profile's numbers as a table, each with the count behind it."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor import wording
from earwitness.monitor.calls.profiles.tau_voice import TauVoice

LEAST_EVENTS = 10
"""The benchmark's own table hides what rests on fewer."""


def tau_voice_view(found: TauVoice, told: Sequence[str]) -> list[str]:
    """The lines for the profile; ``told`` says what was read, a safe line on each file."""
    n = found.counts
    answered = round((found.response_rate or 0) * n["response_total"])
    yielded = round((found.yield_rate or 0) * n["yield_total"])
    rows = (
        ("response latency, mean", _seconds(found.response_latency_mean), answered),
        ("response rate", wording.percent(found.response_rate), n["response_total"]),
        ("yield latency, mean", _seconds(found.yield_latency_mean), yielded),
        ("yield rate", wording.percent(found.yield_rate), n["yield_total"]),
        ("agent interrupts per turn", _number(found.agent_interruption_rate), n["response_total"]),
        ("selectivity, backchannels", wording.percent(found.selectivity_backchannel), n["backchannel_total"]),
        ("selectivity, vocal tics", wording.percent(found.selectivity_vocal_tic), n["vocal_tic_total"]),
        ("selectivity, not addressed", wording.percent(found.selectivity_non_directed), n["non_directed_total"]),
    )
    lines = [*told, f"  tau-voice profile, {wording.plural(n['n_simulations'], 'call')}: its rules, not ours", ""]
    for label, value, count in rows:
        few = f"   (the benchmark hides what rests on fewer than {LEAST_EVENTS})" if 0 < count < LEAST_EVENTS else ""
        lines.append(f"  {label:<28}{value:>10}   n {count}{few}")
    return lines


def _seconds(value_s: float | None) -> str:
    return wording.NOTHING if value_s is None else f"{value_s:.3f} s"


def _number(value: float | None) -> str:
    return wording.NOTHING if value is None else f"{value:.3f}"
