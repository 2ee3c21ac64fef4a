"""Why a number may have moved: what grew against the hour before. A hint for a person, never a verdict."""

from __future__ import annotations

from earwitness.alerts.notification import Cause, Part
from earwitness.alerts.rules import Rule
from earwitness.monitor.contract.latency_parts import LATENCY_PARTS
from earwitness.monitor.measures.reading import Labels, Readings

PARTS = tuple(part.name for part in LATENCY_PARTS)

BEFORE_S = 3_600
LEAST_TURNS = 10
"""With fewer turns on either side nothing is said."""
LEAST_GROWTH_S = 0.05


def cause_of(rule: Rule, where: Labels, readings: Readings, as_of_ns: int) -> Cause:
    """The latency part that grew most and a version that is new, each where it is known."""
    before_ns = as_of_ns - rule.window_s * 1_000_000_000
    part = None
    if rule.target.measure.startswith(("response_latency", "agent_ttfa", "unanswered")):
        part = _grown_part(where, readings, rule.window_s, as_of_ns, before_ns)
    return Cause(part=part, new_version=_new_version(where, readings, before_ns))


def _grown_part(where: Labels, readings: Readings, window_s: int, as_of_ns: int, before_ns: int) -> Part | None:
    now = _means(where, readings, window_s, as_of_ns)
    before = _means(where, readings, BEFORE_S, before_ns)
    if now is None or before is None:
        return None
    name = max(PARTS, key=lambda part: now.get(part, 0.0) - before.get(part, 0.0))
    part = Part(name=name, now_s=now.get(name, 0.0), before_s=before.get(name, 0.0))
    return part if part.growth_s >= LEAST_GROWTH_S else None


def _means(where: Labels, readings: Readings, window_s: int, as_of_ns: int) -> dict[str, float] | None:
    """Seconds of each part per answered turn, so that their growths add up to that of the mean latency."""
    try:
        turns = readings.read("response_latency", window_s=window_s, as_of_ns=as_of_ns, where=where)
        answered = turns.n - turns.censored
        if answered < LEAST_TURNS:
            return None
        sums = {
            part: readings.read(f"latency_part[{part}]", window_s=window_s, as_of_ns=as_of_ns, where=where).sum_s
            for part in PARTS
        }
    except KeyError:
        return None
    return {part: total / answered for part, total in sums.items() if total is not None}


def _new_version(where: Labels, readings: Readings, before_ns: int) -> str | None:
    labels = dict(where)
    agent, version = labels.get("agent"), labels.get("version")
    if agent is None or version is None:
        return None
    try:
        seen = readings.groups(("agent", "version"), window_s=BEFORE_S, as_of_ns=before_ns)
    except KeyError:
        return None
    earlier = {dict(group).get("version") for group in seen if dict(group).get("agent") == agent}
    return version if earlier and version not in earlier else None
