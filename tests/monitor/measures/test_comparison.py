"""Two sets of calls: what is told apart is there, what is not is said to be unknown, and intervals keep their word."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calls_of import sample_calls

from earwitness.monitor.calls.report import report
from earwitness.monitor.measures.call_sample import CallSample, sample_of
from earwitness.monitor.measures.comparison import NUMBERS, Difference, compare

NAMES = [number.name for number in NUMBERS]


def told(a: Sequence[CallSample], b: Sequence[CallSample], **more: Any) -> dict[str, Difference]:
    return {d.number.name: d for d in compare(a, b, **more)}


def calls_with(
    count: int,
    rng: np.random.Generator,
    *,
    mean_s: float = 1.0,
    between_s: float = 0.2,
    within_s: float = 0.2,
    turns: int = 8,
    missed: float = 0.2,
) -> list[CallSample]:
    """Calls whose turns lie around a mean of their own (``between_s``)."""
    found: list[CallSample] = []
    for n in range(count):
        own = mean_s + rng.normal(0, between_s)
        values = tuple(float(v) for v in own + rng.normal(0, within_s, turns))
        wrong = int(rng.binomial(2, missed))
        sums = {"ranked": turns, "eligible": turns, "caller_turns": turns, "FN": wrong, "TP": 2 - wrong}
        found.append(CallSample(f"c{n}", values, sums=dict(sums)))
    return found


def flat(count: int, value_s: float = 1.0, waits: int = 0, **sums: float) -> list[CallSample]:
    """Calls of ten turns that are all alike, up to the order of their size."""
    counted = {"ranked": 10, "unanswered": waits} | sums
    return [
        CallSample(f"c{n}", tuple(value_s + k / 1000 for k in range(10 - waits)), (12.0,) * waits, sums=dict(counted))
        for n in range(count)
    ]


def test_each_side_reads_as_the_report_says() -> None:
    calls = {f"c{n}": records for n, records in enumerate(sample_calls(24, seed=3))}
    everything = [r.model_copy(update={"call_id": name}) for name, own in calls.items() for r in own]
    summary = report(everything)["summary"]

    found = told(samples := [sample_of(name, own) for name, own in calls.items()], samples)

    latency = summary["response_latency"]
    for name in ("p50", "p90", "p95"):
        side = found[f"response_latency_{name}"].a
        assert side.value == pytest.approx(latency[f"{name}_s"], abs=1e-6) or latency[f"{name}_s"] is side.value
        assert (side.more_than is None) == (name not in latency["more_than_s"])
        if side.more_than is not None:
            assert side.more_than == pytest.approx(latency["more_than_s"][name], abs=1e-6)
        assert side.n == latency["n"]
    assert found["answered_only_p95"].a.value == pytest.approx(latency["answered_only"]["p95_s"], abs=1e-6)
    assert found["unanswered"].a.value == pytest.approx(latency["unanswered"] / latency["n"])
    assert found["coverage"].a.value == pytest.approx(latency["coverage"])
    both = summary["interruptions"]
    assert found["missed_rate"].a.value == pytest.approx(both["fn"] / (both["tp"] + both["fn"]))
    assert found["false_yield_rate"].a.value == pytest.approx(both["fp"] / (both["fp"] + both["tn"]))
    stop = summary["stop_latency"]
    assert found["stop_latency_p50"].a.value == pytest.approx(stop["p50_s"], abs=1e-6)
    assert found["stop_latency_p50"].a.n == stop["n"]
    turns = sum(r.kind == "turn" for r in everything)
    assert found["agent_interruptions"].a.value == pytest.approx(summary["agent_interruptions"] / turns)
    assert found["dead_air_per_call"].a.value == pytest.approx(summary["dead_air"]["n"] / 24)
    assert found["dead_air_owed_per_call"].a.value == pytest.approx(summary["dead_air"]["agent_and_tool_s"] / 24)
    for who, share in summary["talk_ratio"].items():
        assert found[f"talk_{who}"].a.value == pytest.approx(share, abs=1e-6)
    outcomes = summary["outcomes"]
    assert found["contained"].a.value == pytest.approx(outcomes["contained"] / outcomes["in_scope"])
    assert all(d.verdict == "cannot_tell" for d in found.values())


def test_a_slower_version_is_worse_by_about_as_much() -> None:
    rng = np.random.default_rng(9)

    found = told(calls_with(60, rng), calls_with(60, rng, mean_s=1.3))["response_latency_p50"]

    assert found.verdict == "worse"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.3 < found.high
    assert told(calls_with(60, rng, mean_s=1.3), calls_with(60, rng))["response_latency_p50"].verdict == "better"


def test_what_has_no_better_side_is_higher_or_lower() -> None:
    rng = random.Random(5)
    a = [CallSample(f"c{n}", sums={"talk": 100, "talk_agent": 40 + rng.random()}) for n in range(20)]
    b = [replace(c, sums={"talk": 100, "talk_agent": c.sums["talk_agent"] + 5}) for c in a]

    assert told(a, b)["talk_agent"].verdict == "higher"
    assert told(b, a)["talk_agent"].verdict == "lower"


def test_the_same_calls_give_the_same_intervals_in_any_order() -> None:
    rng = np.random.default_rng(11)
    a, b = calls_with(30, rng), calls_with(30, rng, mean_s=1.1)
    first = compare(a, b, resamples=200)

    shuffled = list(a)
    random.Random(1).shuffle(shuffled)

    assert compare(shuffled, list(reversed(b)), resamples=200) == first


@pytest.mark.parametrize("count", [12, 40])
def test_intervals_hold_the_truth_about_as_often_as_they_say(count: int) -> None:
    """120 pairs of sets with a known difference: 114 intervals are to hold it, with a standard error of 2.4. With few
    calls they are rather wider than narrower."""
    truth = {"response_latency_p50": 0.2, "missed_rate": 0.1}
    held = dict.fromkeys(truth, 0)
    for seed in range(120):
        rng = np.random.default_rng((count, seed))
        found = told(calls_with(count, rng), calls_with(count, rng, mean_s=1.2, missed=0.3), resamples=200)
        for name, true in truth.items():
            low, high = found[name].low, found[name].high
            held[name] += low is not None and high is not None and low <= true <= high
    assert all(108 <= n <= 119 for n in held.values()), held


def test_calls_are_drawn_and_not_turns() -> None:
    """The same latencies, once dealt out so that turns of a call are alike: less is known, and the interval says so."""
    rng = np.random.default_rng(3)
    alike = calls_with(30, rng, between_s=0.4, within_s=0.05)
    values = np.array([v for c in alike for v in c.latencies])
    rng.shuffle(values)
    mixed = [replace(c, latencies=tuple(values[n * 8 : n * 8 + 8].tolist())) for n, c in enumerate(alike)]

    widths = []
    for calls in (alike, mixed):
        found = told(calls, calls)["response_latency_p50"]
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)

    assert widths[0] > 1.8 * widths[1]


def test_under_ten_calls_a_side_nothing_is_told() -> None:
    found = told(flat(9), flat(50, 9.0))["response_latency_p50"]

    assert (found.verdict, found.doubt, found.interval) == ("cannot_tell", "few_calls", False)
    assert found.value == pytest.approx(8.0)


def test_a_rate_over_fewer_than_ten_is_not_told() -> None:
    few = [CallSample(f"c{n}", sums={"FN": 0.5}) for n in range(12)]
    many = [CallSample(f"c{n}", sums={"TP": 2}) for n in range(12)]

    assert told(few, many)["missed_rate"].doubt == "few_values"


def test_what_nobody_measured_is_absent_and_not_zero() -> None:
    found = told(flat(20), flat(20))["missed_rate"]

    assert (found.a.value, found.b.value, found.value, found.doubt) == (None, None, None, "not_measured")


def test_dead_air_of_a_call_with_one_side_heard_is_not_none() -> None:
    """No call with both sides observed: nothing is known of silence (A44)."""
    found = told(flat(20, dead_air=1.0), flat(20))["dead_air_per_call"]

    assert found.doubt == "not_measured"


def test_an_agent_that_stops_answering_is_worse_by_more_than_can_be_said() -> None:
    found = told(flat(40), flat(40, waits=2))

    p90 = found["response_latency_p90"]
    assert p90.verdict == "worse"
    assert (p90.value, p90.b.value, p90.b.more_than) == (None, None, 12.0)
    assert p90.more_than == pytest.approx(12.0 - p90.a.value if p90.a.value is not None else 0)
    assert (p90.low is not None and p90.low > 10, p90.high) == (True, None)
    assert found["answered_only_p50"].verdict != "worse"  # only the slow turns are gone: it would look faster
    assert found["unanswered"].verdict == "worse"
    assert told(flat(40, waits=2), flat(40))["response_latency_p90"].verdict == "better"


def test_where_both_touch_turns_never_answered_the_difference_is_unknown() -> None:
    found = told(flat(40, waits=2), flat(40, waits=3))["response_latency_p90"]

    assert (found.verdict, found.doubt, found.low, found.high) == ("cannot_tell", "censored", None, None)


def test_slower_than_a_wait_in_vain_is_not_told_from_it() -> None:
    """Answers after 15 s against turns never answered within 12 s: nobody knows which wait was longer."""
    found = told(flat(40, 15.0), flat(40, waits=2))["response_latency_p90"]

    assert (found.verdict, found.doubt) == ("cannot_tell", "covers_zero")


def with_missed(calls: int, missed: int) -> list[CallSample]:
    return [CallSample(f"c{n}", sums={"FN": float(n < missed), "TP": float(n >= missed)}) for n in range(calls)]


@pytest.mark.parametrize(
    ("a", "b", "verdict", "doubt"),
    [
        (with_missed(12, 0), with_missed(12, 4), "cannot_tell", "covers_zero"),
        (with_missed(30, 0), with_missed(30, 12), "worse", None),
        (with_missed(30, 12), with_missed(30, 0), "better", None),
        (with_missed(12, 0), with_missed(12, 12), "worse", None),
        (with_missed(12, 12), with_missed(12, 10), "cannot_tell", "covers_zero"),
        (with_missed(12, 0), with_missed(40, 0), "cannot_tell", "never_varied"),
    ],
)
def test_never_seen_is_not_never(a: list[CallSample], b: list[CallSample], verdict: str, doubt: str | None) -> None:
    """Resamples of calls that all lack a thing lack it too; that alone does not make 0 of 12 certain. Fisher's exact
    test of 0 of 12 against 4 of 12 gives p = 0.09."""
    found = told(a, b)["missed_rate"]

    assert (found.verdict, found.doubt) == (verdict, doubt)


def test_nothing_at_all_is_compared_without_a_fault() -> None:
    assert [d.doubt for d in compare([], [])] == ["not_measured"] * len(NAMES)
