from __future__ import annotations

from typing import Any

from earwitness.monitor.cli.views.analyze_view import analyze_view


def found(n: int, agent_interruptions: int = 0) -> dict[str, Any]:
    quantiles: dict[str, Any] = {f"p{p}_s": 12.345 for p in (50, 90, 95, 99)}
    return {
        "measuring_point": "pipeline",
        "bounds": "default-1",
        "calls": [],
        "agreement": None,
        "summary": {
            "response_latency": {
                "n": n, "answered": n, "unanswered": 0, "eligible": n, "coverage": 1.0, **quantiles,
                "more_than_s": {}, "answered_only": {},
            },
            "interruptions": {
                "tp": 10, "fn": 10, "fp": 10, "tn": 10, "unknown": 10, "terminal": 10, "spurious": 10,
                "missed_rate": 0.5, "false_yield_rate": 0.5,
            },
            "agent_interruptions": agent_interruptions,
            "dead_air": {"n": 12, "longest_s": 61.0, "agent_and_tool_s": 61.0},
            "unheard": {"dead_not_failed_calls": 0, "one_way_audio_calls": 0},
            "line": None,
            "talk_ratio": {"caller": 0.38, "agent": 0.44, "both": 0.02, "nobody": 0.16},
            "outcomes": {"contained": 0, "in_scope": 0},
        },
    }  # fmt: skip


def test_every_line_fits_100_columns() -> None:
    assert max(len(line) for line in analyze_view(found(1_000), ["calls.jsonl"])) <= 100


def test_a_percentile_of_too_few_values_is_not_shown() -> None:
    text = "\n".join(analyze_view(found(12), ["calls.jsonl"]))

    assert "p90 12.3 s   p95 – (n < 20)   p99 – (n < 100)" in text


def test_one_time_is_one_time() -> None:
    lines = analyze_view(found(12, agent_interruptions=1), ["calls.jsonl"])

    assert "  agent interrupts    1 time" in lines
