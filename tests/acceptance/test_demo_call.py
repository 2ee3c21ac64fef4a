"""One recorded call of the demo, analysed from its event log, gives the numbers worked out by hand beside it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "data" / "demo_call.jsonl"
EARWITNESS = Path(sys.executable).with_name("earwitness")
CALLER_S, AGENT_S, BOTH_S, PART_S = 0.060, 0.040, 0.100, 0.060
"""By how much an edge of either party, a number made of both, and a part of a latency may be off."""
RANKED_WITHIN = 0.02


@pytest.fixture(scope="module")
def by_hand() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LOG.with_suffix(".json").read_text())
    return found


@pytest.fixture(scope="module")
def analysis() -> dict[str, Any]:
    done = subprocess.run([EARWITNESS, "analyze", LOG, "--json"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def call(analysis: dict[str, Any]) -> dict[str, Any]:
    (found,) = analysis["calls"]
    return dict(found)


def test_the_call_is_known_with_its_end_and_outcome(call: dict[str, Any], by_hand: dict[str, Any]) -> None:
    for key in ("call_id", "end_cause", "outcome"):
        assert call[key] == by_hand[key]
    assert call["duration_s"] == pytest.approx(by_hand["duration_s"], abs=PART_S)


def test_every_turn_has_its_edges_and_its_response_latency(call: dict[str, Any], by_hand: dict[str, Any]) -> None:
    assert [turn["text"] for turn in call["turns"]] == [turn["text"] for turn in by_hand["turns"]]
    for turn, hand in zip(call["turns"], by_hand["turns"], strict=True):
        assert turn["class"] == "eligible"
        assert turn["u_on_s"] == pytest.approx(hand["u_on_s"], abs=CALLER_S)
        assert turn["u_off_s"] == pytest.approx(hand["u_off_s"], abs=CALLER_S)
        assert turn["a_on_s"] == pytest.approx(hand["a_on_s"], abs=AGENT_S)
        assert turn["response_latency_s"] == pytest.approx(hand["response_latency_s"], abs=BOTH_S)


def test_the_parts_are_those_of_the_log_and_add_up_to_the_latency(
    call: dict[str, Any], by_hand: dict[str, Any]
) -> None:
    for turn, hand in zip(call["turns"], by_hand["turns"], strict=True):
        assert sum(turn["parts_s"].values()) == pytest.approx(turn["response_latency_s"], abs=1e-5)
        assert {part for part, s in turn["parts_s"].items() if s > 0} == set(hand["parts_s"])
        for part, seconds in hand["parts_s"].items():
            assert turn["parts_s"][part] == pytest.approx(seconds, abs=PART_S), part


def test_what_the_agent_made_audible_is_what_the_far_end_heard(call: dict[str, Any], by_hand: dict[str, Any]) -> None:
    for turn, hand in zip(call["agent_turns"], by_hand["agent_turns"], strict=True):
        assert (turn["why"], turn["text"]) == (hand["why"], hand["text"])
        assert turn["a_on_s"] == pytest.approx(hand["a_on_s"], abs=AGENT_S)
        assert turn["a_off_s"] == pytest.approx(hand["a_off_s"], abs=AGENT_S)
    assert [bool(turn["unspoken"]) for turn in call["agent_turns"]] == [False, True, False, False]


def test_the_interruption_is_a_true_barge_in_that_was_yielded_to(call: dict[str, Any], by_hand: dict[str, Any]) -> None:
    (overlap,), (hand,) = call["overlaps"], by_hand["overlaps"]
    for key in ("cell", "wanted", "decided_by"):
        assert overlap[key] == hand[key]
    assert overlap["u_on_s"] == pytest.approx(hand["u_on_s"], abs=CALLER_S)
    assert overlap["stop_latency_s"] == pytest.approx(hand["stop_latency_s"], abs=BOTH_S)
    assert overlap["talk_over_s"] == pytest.approx(hand["talk_over_s"], abs=BOTH_S)
    assert call["agent_interruptions"] == []


def test_there_is_no_dead_air(call: dict[str, Any], by_hand: dict[str, Any]) -> None:
    assert call["dead_air"] == by_hand["dead_air"]


def test_the_summary_ranks_the_three_latencies(analysis: dict[str, Any], by_hand: dict[str, Any]) -> None:
    latency, hand = analysis["summary"]["response_latency"], by_hand["response_latency"]
    for key in ("n", "answered", "unanswered", "eligible", "coverage"):
        assert latency[key] == hand[key]
    for key in ("p50_s", "p90_s", "p95_s", "p99_s"):
        assert latency[key] == pytest.approx(hand[key], rel=RANKED_WITHIN)


def test_the_talk_ratio_shares_the_whole_call(analysis: dict[str, Any], by_hand: dict[str, Any]) -> None:
    ratio = analysis["summary"]["talk_ratio"]
    assert sum(ratio.values()) == pytest.approx(1.0, abs=0.01)
    for who, share in by_hand["talk_ratio"].items():
        assert ratio[who] == pytest.approx(share, abs=0.01), who


def test_counts_over_the_call_are_one_barge_in_and_one_contained_call(analysis: dict[str, Any]) -> None:
    interruptions = analysis["summary"]["interruptions"]
    assert {cell: interruptions[cell] for cell in ("tp", "fn", "fp", "tn", "unknown")} == {
        "tp": 1,
        "fn": 0,
        "fp": 0,
        "tn": 0,
        "unknown": 0,
    }
    assert analysis["summary"]["outcomes"]["contained"] == analysis["summary"]["outcomes"]["in_scope"] == 1
