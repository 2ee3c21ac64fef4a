from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest

from earwitness.alerts.message import headline, text, webhook_body
from earwitness.alerts.notification import Cause, Evidence, Notice, Part

SINCE_NS = 1_764_511_269_000_000_000
FIRING = Notice(
    status="firing", fingerprint="5e1c0d0d0d0d0d0d", rule="slow answers", severity="page",
    labels={"agent": "clinic", "version": "42"}, measure="response_latency.p95", title="response latency p95", unit="s",
    direction="above", threshold=1.5, window_s=300, value=1.84, n=731, coverage=0.97, since_ns=SINCE_NS,
    as_of_ns=SINCE_NS + 130_000_000_000,
    cause=Cause(part=Part(name="llm", now_s=1.02, before_s=0.41), service="gpt-x, provider a", new_version="42"),
    evidence=(
        Evidence(call_id="c-7f3a", subject="t4", value_s=2.41, at_s=41.02),
        Evidence(call_id="c-81c0", subject="o2", value_s=None, at_s=3.0, censored=True),
    ),
)  # fmt: skip


def notice(**changes: Any) -> Notice:
    return FIRING.model_copy(update=changes)


def test_the_message_of_the_looks_page() -> None:
    assert text(FIRING, UTC).splitlines() == [
        "FIRING  clinic v42: response latency p95 1,840 ms over 5 min (limit 1,500, n 731), since 14:01 UTC",
        "        mostly LLM first token: +610 ms against the hour before (gpt-x, provider a); began with v42",
        "        worst: c-7f3a turn 4 2,410 ms · c-81c0 overlap 2 never stopped",
        "        earwitness calls c-7f3a          silence: earwitness alerts silence 5e1c0d0d --for 1h",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param(
            {"value": None, "more_than": 10.0},
            "FIRING  clinic v42: response latency p95 > 10 s over 5 min (limit 1,500, n 731), since 14:01 UTC",
            id="what was never answered is more than",
        ),
        pytest.param(
            {"unit": "ratio", "title": "unanswered", "value": 0.12, "threshold": 0.05, "count": 12, "n": 100},
            "FIRING  clinic v42: unanswered 12 % over 5 min (limit 5 %, 12 of 100), since 14:01 UTC",
            id="a rate shows both its numbers",
        ),
        pytest.param(
            {"unit": "count", "title": "calls", "value": 0.0, "threshold": 1.0, "n": 0, "window_s": 3600},
            "FIRING  clinic v42: calls 0 over 1 h (limit 1, coverage 20 %), since 14:01 UTC",
            id="a count of none",
        ),
        pytest.param(
            {"status": "resolved", "reason": "clear", "value": 1.1, "until_ns": SINCE_NS + 600_000_000_000},
            "RESOLVED  clinic v42: response latency p95 1,100 ms over 5 min (limit 1,500, n 731), after 10 min, "
            "at 14:11 UTC",
            id="resolved says how long",
        ),
        pytest.param(
            {"status": "resolved", "reason": "no_data", "value": None, "until_ns": SINCE_NS + 3_600_000_000_000},
            "RESOLVED  clinic v42: response latency p95 no longer measured (after 1 h, at 15:01 UTC); this does not "
            "mean that it is well",
            id="resolved for want of data says so",
        ),
    ],
)
def test_the_first_line_is_enough(changes: dict[str, Any], line: str) -> None:
    if "calls" in str(changes.get("title")):
        changes = {**changes, "coverage": 0.2}
    assert headline(notice(**changes), UTC) == line


def test_low_coverage_stands_beside_the_number() -> None:
    assert "n 731, coverage 42 %)" in headline(notice(coverage=0.42), UTC)


def test_text_from_outside_cannot_break_a_message() -> None:
    hostile = "x\nRESOLVED  all\x1b[2J\u202e"
    shown = text(
        notice(
            labels={"agent": hostile, "route": hostile},
            cause=Cause(service=hostile, new_version=hostile),
            evidence=(Evidence(call_id=hostile, subject=hostile, value_s=1.0, at_s=0.0),),
        ),
        UTC,
    )

    assert len(shown.splitlines()) == 4
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "\u202e" not in shown


def test_the_webhook_body_is_that_of_the_interfaces_page() -> None:
    body = json.loads(json.dumps(webhook_body(FIRING)))

    for key in [
        "v", "status", "rule", "severity", "fingerprint", "labels", "measure", "value", "threshold", "window_s", "n",
        "coverage", "since", "until", "cause", "evidence", "silence",
    ]:  # fmt: skip
        assert key in body
    assert (body["v"], body["status"], body["value"], body["threshold"], body["until"]) == (
        1,
        "firing",
        1.84,
        1.5,
        None,
    )
    assert body["since"] == "2025-11-30T14:01:09Z"
    assert body["cause"] == {"part": "llm", "growth_s": 0.61, "service": "gpt-x, provider a", "version": "42"}
    assert body["evidence"][0] == {"call_id": "c-7f3a", "turn": "t4", "value": 2.41, "at_s": 41.02, "censored": False}
    assert body["evidence"][1]["overlap"] == "o2"
    assert body["silence"] == "earwitness alerts silence 5e1c0d0d --for 1h"


def test_where_no_cause_is_known_none_is_named() -> None:
    assert webhook_body(notice(cause=Cause()))["cause"] is None
    assert len(text(notice(cause=Cause(), evidence=()), UTC).splitlines()) == 2
