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
                "missed_rate": 0.5, "false_yield_rate": 0.5, "reason": None,
            },
            "agent_interruptions": agent_interruptions,
            "dead_air": {"n": 12, "longest_s": 61.0, "agent_and_tool_s": 61.0, "reason": None},
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


def test_time_in_which_both_talk_is_nobodys_alone() -> None:
    lines = analyze_view(found(12), ["calls.jsonl"])

    assert "  talk ratio          caller alone 38 %   agent alone 44 %   both 2 %   nobody 16 %" in lines


def test_one_time_is_one_time() -> None:
    lines = analyze_view(found(12, agent_interruptions=1), ["calls.jsonl"])

    assert "  agent interrupts    1 time" in lines


def test_a_calls_row_counts_as_the_headline_does() -> None:
    whole = found(2)
    whole["summary"]["dead_air"]["n"] = 0
    turn = {"response_latency_s": 1.3, "unanswered": False, "premature_endpoint": False, "waited_s": None}
    turns = [
        turn, turn | {"response_latency_s": 0.1, "premature_endpoint": True},
        turn | {"response_latency_s": None, "unanswered": True, "waited_s": 24.5},
    ]  # fmt: skip
    call = {
        "call_id": "c1", "measuring_point": "pipeline", "duration_s": 60.0, "outcome": "abandoned", "turns": turns,
        "overlaps": [], "dead_air": [], "unheard": [],
    }  # fmt: skip
    lines = analyze_view(whole | {"calls": [call]}, ["calls.jsonl"])

    assert " ".join(lines[-1].split()) == "c1 1m00s 3 > 24.5 s > 24.5 s 0 abandoned while waiting"
    assert any("left out: 1 turn that the agent cut off" in line for line in lines)
    assert any(line.endswith("longest answered 1,300 ms") for line in lines)


def test_only_an_agent_that_may_have_been_asked_to_stop_has_a_time_to_stop() -> None:
    overlap: dict[str, Any] = {"gave_way": True, "terminal": None, "u_on_s": 1.0, "a_off_s": 1.4}
    overlaps: list[dict[str, Any]] = [overlap | {"wanted": wanted} for wanted in ("no", None)]
    overlaps.append(overlap | {"wanted": "yes", "a_off_s": 1.2, "gave_way": False, "terminal": "natural_end"})
    call = {
        "call_id": "c1", "measuring_point": "pipeline", "duration_s": 60.0, "outcome": None, "turns": [],
        "overlaps": overlaps, "dead_air": [], "unheard": [],
    }  # fmt: skip
    lines = analyze_view(found(2) | {"calls": [call, call | {"overlaps": []}]}, ["calls.jsonl"])

    assert "  overlaps            3 · agent gave way 2 · kept the floor 0 · ended by itself 1" in lines


def test_what_one_side_alone_cannot_tell_is_not_told() -> None:
    deaf = found(0)
    summary = deaf["summary"]
    summary["interruptions"]["reason"] = summary["dead_air"]["reason"] = "unobservable"
    summary["dead_air"]["n"] = summary["agent_interruptions"] = None
    lines = analyze_view(deaf, ["calls.jsonl"])

    assert sum(line.endswith("– (one-sided audio)") for line in lines) == 5
