"""The report's shape and numbers, against an example worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.report import quantile, report

S = 1_000_000_000
Call = Callable[..., Any]

BY_HAND = """
{"v": 1, "measuring_point": "pipeline", "bounds": "default-1",
 "calls": [{"call_id": "c1", "measuring_point": "pipeline", "duration_s": 40.0,
   "end_cause": "caller", "outcome": "abandoned",
   "turns": [
     {"id": "t1", "u_on_s": 4.0, "u_off_s": 6.0, "class": "eligible", "answered_by": "a2", "a_on_s": 7.0,
      "response_latency_s": 1.0, "at_least_s": null, "reason": null,
      "parts_s": {"endpointing": 0.4, "queue": 0.1, "llm": 0.3, "aggregation": 0.05, "tts": 0.1, "output": 0.05},
      "owners_s": {"setting": 0.4, "bot": 0.15, "service": 0.4, "transport": 0.05},
      "waited_s": null, "unanswered": false, "premature_endpoint": false, "text": "where is my order",
      "evidence": {"u_on": "vad", "u_off": "vad", "a_on": "playout"}},
     {"id": "t2", "u_on_s": 9.0, "u_off_s": 10.0, "class": "eligible", "answered_by": null, "a_on_s": null,
      "response_latency_s": null, "at_least_s": null, "reason": null, "parts_s": {}, "owners_s": {},
      "waited_s": 30.0, "unanswered": true, "premature_endpoint": false, "text": "no wait",
      "evidence": {"u_on": "vad", "u_off": "vad"}}],
   "agent_turns": [
     {"id": "a1", "a_on_s": 0.5, "a_off_s": 3.5, "why": "greeting", "text": "Hello, how can I help?", "unspoken": null,
      "evidence": {"a_on": "playout", "a_off": "playout"}},
     {"id": "a2", "a_on_s": 7.0, "a_off_s": 9.4, "why": "user_turn", "text": "It is", "unspoken": "on its way.",
      "evidence": {"a_on": "playout", "a_off": "playout"}}],
   "overlaps": [
     {"id": "o1", "u_on_s": 9.0, "u_off_s": 10.0, "a_off_s": 9.4, "gave_way": true,
      "yielded_observed": true, "yielded_caused": true,
      "stop_latency_s": 0.4, "stop_at_least_s": null, "silent_for_s": 30.6,
      "talk_over_s": 0.4, "wanted": "yes", "class": null, "cell": "TP",
      "decided_by": "words", "labelled_by": null, "resumed_after_s": null, "terminal": null, "text": "no wait",
      "evidence": {"u_on": "vad", "u_off": "vad", "a_off": "playout"}}],
   "agent_interruptions": [],
   "dead_air": [{"start_s": 10.0, "end_s": 40.0, "agent_s": 30.0, "tool_s": 0.0, "hold_s": 0.0, "caller_s": 0.0,
      "evidence": {"start": "vad"}}],
   "unheard": [], "line": null, "notes": []}],
 "summary": {
   "response_latency": {"n": 2, "answered": 1, "unanswered": 1, "eligible": 2, "coverage": 1.0,
     "p50_s": null, "p90_s": null, "p95_s": null, "p99_s": null,
     "more_than_s": {"p50": 30.0, "p90": 30.0, "p95": 30.0, "p99": 30.0},
     "answered_only": {"p50_s": 1.0, "p95_s": 1.0}},
   "interruptions": {"tp": 1, "fn": 0, "fp": 0, "tn": 0, "unknown": 0, "terminal": 0, "spurious": 0,
     "missed_rate": null, "false_yield_rate": null, "reason": null},
   "stop_latency": {"n": 1, "never": 0, "p50_s": 0.4, "p90_s": 0.4, "p95_s": 0.4, "p99_s": 0.4, "more_than_s": {}},
   "agent_interruptions": 0, "dead_air": {"n": 1, "longest_s": 30.0, "agent_and_tool_s": 30.0, "reason": null},
   "unheard": {"dead_not_failed_calls": 0, "one_way_audio_calls": 0}, "line": null,
   "talk_ratio": {"caller": 0.065, "agent": 0.125, "both": 0.01, "nobody": 0.8},
   "outcomes": {"contained": 0, "in_scope": 1}},
 "agreement": null}
"""


def test_the_report_of_a_call_is_as_worked_out_by_hand(call: Call) -> None:
    told = (
        call()
        .connected(0.0)
        .run("g", "requested", 0.2, why="greeting")
        .say("g", 0.5, spoken="Hello, how can I help?")
        .play("g", 0.5, 3.5, truncated=False)
        .user(4.0, 6.0, "where is my order")
        .turn_end(6.4)
        .run("r", "requested", 6.5, why="user_turn")
        .run("r", "first_token", 6.8)
        .run("r", "first_text", 6.85)
        .run("r", "first_audio", 6.95)
        .say("r", 7.2, spoken="It is")
        .play("r", 7.0, 9.4, truncated=True)
        .interruption(9.3)
        .say("r", 9.4, unspoken="on its way.")
        .user(9.0, 10.0, "no wait")
        .end(40.0, "caller")
        .told()
    )
    assert json.loads(json.dumps(report(told.records))) == json.loads(BY_HAND)


def test_only_the_latest_revision_counts_and_what_was_taken_back_does_not(call: Call) -> None:
    records = call().user(1.0, 2.0, "hi").bot(3.0, 4.0).told().records
    turn = next(r for r in records if r.kind == "turn")
    older = turn.model_copy(update={"revision": -1, "response_latency_ns": 9 * S})
    gone = turn.model_copy(update={"id": "t9", "retracted": True})
    shown = report([*records, older, gone])
    assert [t["id"] for t in shown["calls"][0]["turns"]] == ["t1"]
    assert shown["summary"]["response_latency"]["p50_s"] == 1.0


def test_calls_are_pooled(call: Call) -> None:
    one = call().user(1.0, 2.0, "hi").bot(3.0, 4.0).end(5.0).told().records
    other = [r.model_copy(update={"call_id": "c2"}) for r in one]
    shown = report([*one, *other])
    assert [c["call_id"] for c in shown["calls"]] == ["c1", "c2"]
    assert shown["summary"]["response_latency"]["n"] == 2
    assert shown["summary"]["outcomes"] == {"contained": 2, "in_scope": 2}


def test_nothing_measured_is_none_and_never_zero() -> None:
    shown = report([])["summary"]
    assert (shown["response_latency"]["n"], shown["response_latency"]["coverage"]) == (0, None)
    assert shown["response_latency"]["p95_s"] is None
    assert shown["talk_ratio"]["agent"] is None
    assert shown["dead_air"]["longest_s"] is None


def test_where_one_side_is_not_observed_nothing_is_counted_as_none(call: Call) -> None:
    deaf = call(caller_edges=(), recogniser=False, mode="realtime").connected().bot(1.0, 5.0).end(30.0).told().records
    found = report(deaf)["summary"]
    assert found["dead_air"] == {"n": None, "longest_s": None, "agent_and_tool_s": None, "reason": "unobservable"}
    assert {found["interruptions"][name] for name in ("tp", "fn", "fp", "tn", "unknown", "spurious")} == {None}
    assert (found["interruptions"]["reason"], found["agent_interruptions"]) == ("unobservable", None)
    both = report([*deaf, *(r.model_copy(update={"call_id": "c2"}) for r in call().user(1, 2).end(9).told().records)])
    assert (both["summary"]["interruptions"]["tp"], both["summary"]["dead_air"]["n"]) == (0, 1)


def test_a_turn_cut_off_by_a_premature_endpoint_is_out_of_the_headline(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "four one").turn_end(2.3).bot(2.7, 3.1, asked=2.35, cut=True)
        .user(2.9, 4.0, "five five").interruption(3.05).turn_end(4.3).bot(5.0, 6.0).told()
    )  # fmt: skip
    assert [t.response_latency_ns for t in told.turns] == [S]
    found = report(told.records)
    assert found["summary"]["response_latency"]["n"] == 0
    assert [t["premature_endpoint"] for t in found["calls"][0]["turns"]] == [True]


@pytest.mark.parametrize(
    ("values", "censored", "percent", "expected"),
    [
        ([1, 2, 3, 4], [], 50, (2.5, None)),
        ([4, 1, 3, 2], [], 90, (3.7, None)),
        ([1], [], 99, (1.0, None)),
        ([], [], 50, (None, None)),
        ([1, 2, 3, 4], [12], 50, (3.0, None)),
        ([1, 2, 3, 4], [12], 75, (4.0, None)),
        ([1, 2, 3, 4], [12], 76, (None, 12.0)),
        ([1, 2, 3, 4], [7], 90, (None, 10.0)),
        ([], [3], 50, (None, 10.0)),
    ],
)
def test_percentiles_rank_waits_in_vain_above_every_value(
    values: list[int], censored: list[int], percent: int, expected: tuple[float | None, float | None]
) -> None:
    assert quantile([v * S for v in values], [c * S for c in censored], percent) == expected


def test_a_stop_that_never_came_is_ranked_last(call: Call) -> None:
    told = (
        call().bot(1.0, 3.4, cut=True).user(3.0, 4.0, "no wait").interruption(3.3)
        .bot(6.0, 20.0).user(21.0, 22.0, "and then").bot(23.0).user(24.0, 24.8, "stop it please").end(25.0).told()
    )  # fmt: skip
    stop = report(told.records)["summary"]["stop_latency"]
    assert (stop["n"], stop["never"], stop["p50_s"], stop["more_than_s"]["p50"]) == (2, 1, None, 10.0)


def test_calls_of_both_measuring_points_say_so(call: Call) -> None:
    live = call().user(1.0, 2.0, "hi").bot(3.0, 4.0).end(5.0).told().records
    taped = [r.model_copy(update={"call_id": "c2"}) for r in call(measuring_point="recording").end(5.0).told().records]
    assert [report(r)["measuring_point"] for r in (live, taped, [*live, *taped])] == ["pipeline", "recording", "mixed"]
    assert [c["measuring_point"] for c in report([*live, *taped])["calls"]] == ["pipeline", "recording"]


def test_audio_that_reached_nobody_and_the_line_are_in_the_report(call: Call) -> None:
    story = call().connected().bot(1.0, 4.0, why="greeting", cut=False)
    for at in (6.0, 12.0):
        story.user(at, at + 0.6, "hello?").turn_end(at + 0.8).bot(at + 1.4, at + 4.0, cut=False)
    story.put(15.0, "transport", event="quality", loss_ratio=0.02, jitter_ms=9.0)
    found = report(story.end(20.0).told().records)

    assert found["calls"][0]["unheard"] == [
        {
            "what": "one_way_audio", "by": "caller_asks", "lost": "agent", "start_s": 6.0, "end_s": None,
            "responses": [], "asked_s": [6.0, 12.0],
        }
    ]  # fmt: skip
    assert found["summary"]["unheard"] == {"dead_not_failed_calls": 0, "one_way_audio_calls": 1}
    assert found["summary"]["response_latency"]["answered"] == 0
    line = {"reports": 1, "loss_ratio_mean": 0.02, "loss_ratio_worst": 0.02, "jitter_ms_mean": 9.0}
    assert found["calls"][0]["line"] == found["summary"]["line"]
    assert found["summary"]["line"].items() >= line.items()
