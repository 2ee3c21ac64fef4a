"""Against hotato's suites: speech intervals of good and of broken agents, and what a good one should have done.

Each entry goes the way that a user's file goes: intervals as JSON, events, fold, report. What is expected is worked out
here from the entry's segments, and the verdict from its own bounds.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from outside_data import outside_json

from earwitness.monitor.calls.heard import events_of
from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.recordings.intervals_file import read_intervals

SUITES = ("gold", "silver", "gold-defects", "silver-defects")
BY_LATENCY = {"gld-lat-sluggish-8k": 2.0, "svd-lat-sluggish-26": 2.6}
"""Their defect is a slow answer, of so many seconds: they have no bound for it."""
OVEREAGER, INVISIBLE = "svd-lat-overeager-08", "gld-quiet-caller-invisible"
"""Breaks into the caller's turn; a caller too quiet to be heard, which intervals do not show."""
JOINED_S = 0.3
"""Caller segments closer than that are one overlap."""

Entry = dict[str, Any]


def entries(suite: str) -> list[Entry]:
    """Those whose reference has segments of the caller."""
    found: list[Entry] = outside_json("truth", "overlap-intervals", f"{suite}.json")
    return [e for e in found if e["reference_render"]["caller_segments_sec"]]


def measured(entry: Entry) -> Any:
    render = entry["reference_render"]
    text = json.dumps(
        {
            "caller": render["caller_segments_sec"],
            "agent": render["agent_segments_sec"],
            "expect": [{"at_s": entry["caller_onset_sec"], "wanted": entry["expected"]["yield"]}],
            "duration_s": entry["duration_sec"],
        }
    )
    heard = read_intervals(text.encode(), entry["id"], call_id=entry["id"])
    return report(fold(events_of(heard)))["calls"][0]


def by_hand(entry: Entry) -> list[dict[str, Any]]:
    """Each overlap's onset, how long the agent took to stop, how long both spoke until then: from the segments."""
    agent = entry["reference_render"]["agent_segments_sec"]
    runs: list[list[float]] = []
    for on, off in entry["reference_render"]["caller_segments_sec"]:
        if runs and on - runs[-1][1] < JOINED_S:
            runs[-1][1] = off
        else:
            runs.append([on, off])
    found: list[dict[str, Any]] = []
    for on, off in runs:
        over = next((segment for segment in agent if segment[0] <= on < segment[1]), None)
        if over is not None:
            found.append({"on": on, "took": over[1] - on, "both": min(off, over[1]) - on})
    return found


@pytest.mark.parametrize("suite", SUITES)
def test_yield_time_to_yield_and_talk_over(suite: str) -> None:
    seen = 0
    for entry in entries(suite):
        rows, hand = measured(entry)["overlaps"], by_hand(entry)
        assert [r["u_on_s"] for r in rows] == [pytest.approx(h["on"]) for h in hand], entry["id"]
        for row, expected in zip(rows, hand, strict=True):
            named = abs(expected["on"] - entry["caller_onset_sec"]) <= 0.5
            # An expectation "not" is for every overlap of the entry, "wanted" for the one at the caller's onset.
            wanted = "no" if not entry["expected"]["yield"] else "yes" if named else "unknown"
            window = 0.6 if wanted == "no" else 2.0
            assert (row["wanted"], row["gave_way"]) == (wanted, expected["took"] <= window + 1e-9), entry["id"]
            assert row["a_off_s"] - row["u_on_s"] == pytest.approx(expected["took"], abs=1e-6), entry["id"]
            if wanted == "yes":
                assert row["stop_latency_s"] == pytest.approx(expected["took"], abs=1e-6), entry["id"]
            assert row["talk_over_s"] == pytest.approx(expected["both"], abs=1e-6), entry["id"]
            seen += 1
    assert seen >= {"gold": 18, "silver": 20, "gold-defects": 6, "silver-defects": 8}[suite]


@pytest.mark.parametrize("suite", SUITES)
def test_the_verdict_by_each_entrys_own_bounds(suite: str) -> None:
    for entry in entries(suite):
        if entry["id"] in (*BY_LATENCY, OVEREAGER, INVISIBLE):
            continue
        rows, bounds = measured(entry)["overlaps"], entry["expected"]
        if bounds["yield"]:
            row = next(r for r in rows if abs(r["u_on_s"] - entry["caller_onset_sec"]) <= 0.5)
            passed = (
                row["cell"] == "TP"
                and row["stop_latency_s"] <= bounds["max_time_to_yield_sec"]
                and row["talk_over_s"] <= bounds["max_talk_over_sec"]
            )
        else:
            passed = all(row["cell"] == "TN" for row in rows)
        assert passed is (entry["reference_verdict"] == "pass"), entry["id"]


def test_the_slow_ones_by_their_response_latency() -> None:
    slow = {e["id"]: e for suite in SUITES for e in entries(suite) if e["id"] in BY_LATENCY}
    assert set(slow) == set(BY_LATENCY)
    for name, entry in slow.items():
        assert [t["response_latency_s"] for t in measured(entry)["turns"]] == [pytest.approx(BY_LATENCY[name])]


def test_the_overeager_one_interrupts_once() -> None:
    call = measured(next(e for e in entries("silver-defects") if e["id"] == OVEREAGER))
    assert [(i["at_s"], i["cause"]) for i in call["agent_interruptions"]] == [(2.4, "overlap")]
    assert [(t["answered_by"], t["response_latency_s"]) for t in call["turns"]] == [("a2", None)]
