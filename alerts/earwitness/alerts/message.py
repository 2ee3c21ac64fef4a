"""A notice in words, for people whose first line must be enough, and as the webhook's body, for programs."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Any

from earwitness.alerts.notification import Evidence, Notice
from earwitness.alerts.quantities import Unit
from earwitness.monitor import wording
from earwitness.monitor.call_names import call_name

INDENT = "\n        "
PART_WORDS = {
    "endpointing": "end of turn",
    "recognition": "recogniser",
    "hold": "turn model waiting",
    "queue": "bot before the model",
    "llm": "LLM first token",
    "tools": "tools",
    "aggregation": "text on its way to speech",
    "tts": "speech synthesis",
    "output": "audio out",
    "model": "speech model",
    "unattributed": "parts without a milestone",
}

SUBJECT_KINDS = {"t": "turn", "o": "overlap", "d": "dead air", "a": "reply"}
"""What the first letter of a record's id says."""


def silence_command(fingerprint: str) -> str:
    """What to type to hear no more of it for a while."""
    return f"earwitness alerts silence {fingerprint[:8]} --for 1h"


def text(notice: Notice, zone: tzinfo | None = None) -> str:
    """The message, two to four lines. ``zone`` None: this machine's."""
    lines = [headline(notice, zone)]
    if notice.status == "firing":
        lines += [line for line in (cause_line(notice), worst_line(notice)) if line]
        worst = notice.evidence[0].call_id if notice.evidence else None
        look = f"earwitness calls {call_name(worst, 80)}" if worst else "earwitness top"
        lines.append(f"{look}          silence: {silence_command(notice.fingerprint)}")
    return INDENT.join(lines)


def headline(notice: Notice, zone: tzinfo | None = None) -> str:
    """``FIRING  clinic v42: response latency p95 1,840 ms over 5 min (limit 1,500, n 731), since 14:01``."""
    who = wording.group_name(notice.group)
    if notice.status == "firing":
        since = f"since {wording.clock_with_zone(notice.since_ns, zone)}"
        return f"FIRING  {who}: {measured(notice)}, {since}"
    until_ns = notice.until_ns if notice.until_ns is not None else notice.as_of_ns
    lasted = wording.span((until_ns - notice.since_ns) / 1e9)
    ended = f"after {lasted}, at {wording.clock_with_zone(until_ns, zone)}"
    match notice.reason:
        case "no_data":
            return f"RESOLVED  {who}: {notice.title} no longer measured ({ended}); this does not mean that it is well"
        case "rule_gone":
            return f'RESOLVED  {who}: the rule "{wording.printable(notice.rule)}" is gone ({ended})'
        case _:
            return f"RESOLVED  {who}: {measured(notice)}, {ended}"


def measured(notice: Notice) -> str:
    """``response latency p95 1,840 ms over 5 min (limit 1,500, n 731)``."""
    bits = [f"limit {amount(notice, notice.threshold, bare=True)}"]
    if notice.unit != "count" or notice.n:
        bits.append(f"{notice.count} of {notice.n}" if notice.count is not None else f"n {notice.n:,}")
    if notice.coverage is not None and notice.coverage < 0.9:
        bits.append(f"coverage {wording.percent(notice.coverage)}")
    return f"{notice.title} {value(notice)} over {wording.span(notice.window_s)} ({', '.join(bits)})"


def value(notice: Notice) -> str:
    """The value with its unit: ``1,840 ms``, ``> 10 s``, ``12 %``, ``3``."""
    if notice.more_than is not None:
        return f"> {notice.more_than:.3g} s"
    return wording.NOTHING if notice.value is None else amount(notice, notice.value)


def amount(notice: Notice, number: float, *, bare: bool = False) -> str:
    """A number in the notice's unit; ``bare`` leaves ``ms`` out."""
    return in_unit(notice.unit, number, bare=bare)


def in_unit(unit: Unit, number: float, *, bare: bool = False) -> str:
    """``1,840 ms``, ``5.0 %``, ``3``."""
    match unit:
        case "s":
            in_ms = abs(number) < 10
            return wording.milliseconds(number) if bare and in_ms else wording.short_time(number)
        case "ratio":
            return wording.percent(number)
        case "count":
            return f"{number:,.0f}"


def cause_line(notice: Notice) -> str | None:
    """What grew, and since which version, where that is known."""
    cause, bits = notice.cause, list[str]()
    if cause.part is not None:
        name = PART_WORDS.get(cause.part.name, wording.printable(cause.part.name, 40))
        bits.append(f"mostly {name}: {cause.part.growth_s * 1000:+,.0f} ms against the hour before")
    if cause.service:
        bits.append(f"({wording.printable(cause.service, 60)})")
    said = " ".join(bits)
    if cause.new_version:
        began = f"began with {wording.group_name((('version', cause.new_version),))}"
        said = f"{said}; {began}" if said else began
    return said or None


def worst_line(notice: Notice) -> str | None:
    """The worst calls of the window."""
    if not notice.evidence:
        return None
    return "worst: " + " · ".join(_exemplar(example) for example in notice.evidence)


def webhook_body(notice: Notice) -> dict[str, Any]:
    """The JSON that webhooks get (interfaces, "Alert rules"); seconds, shares of 1 or counts, by the measure's unit."""
    cause = {
        "part": notice.cause.part.name if notice.cause.part else None,
        "growth_s": round(notice.cause.part.growth_s, 6) if notice.cause.part else None,
        "service": notice.cause.service,
        "version": notice.cause.new_version,
    }
    return {
        "v": 1,
        "status": notice.status,
        "rule": notice.rule,
        "severity": notice.severity,
        "fingerprint": notice.fingerprint,
        "labels": dict(notice.labels),
        "measure": notice.measure,
        "value": notice.value,
        "more_than": notice.more_than,
        "unit": notice.unit,
        "threshold": notice.threshold,
        "direction": notice.direction,
        "window_s": notice.window_s,
        "n": notice.n,
        "coverage": notice.coverage,
        "since": wording.utc_text(notice.since_ns),
        "until": None if notice.until_ns is None else wording.utc_text(notice.until_ns),
        "reason": notice.reason,
        "cause": {key: known for key, known in cause.items() if known is not None} or None,
        "evidence": [
            {
                "call_id": e.call_id,
                SUBJECT_KINDS.get(e.subject[:1], "subject").replace(" ", "_"): e.subject,
                "value": e.value_s,
                "at_s": e.at_s,
                "censored": e.censored,
            }
            for e in notice.evidence
        ],
        "silence": silence_command(notice.fingerprint),
        "text": text(notice, UTC),
    }


def subject_words(subject: str) -> str:
    """``turn 4`` for ``t4``, ``overlap 2`` for ``o2``."""
    if subject[:1] in SUBJECT_KINDS and subject[1:].isdigit():
        return f"{SUBJECT_KINDS[subject[0]]} {subject[1:]}"
    return wording.printable(subject, 40)


def _exemplar(example: Evidence) -> str:
    if example.censored:
        shown = "never stopped" if example.subject.startswith("o") else "unanswered"
    else:
        shown = "" if example.value_s is None else wording.short_time(example.value_s)
    return f"{call_name(example.call_id, 60)} {subject_words(example.subject)} {shown}".rstrip()
