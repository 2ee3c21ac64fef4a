"""What each record counts for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    DeadAir,
    StageSample,
    ToolCall,
    Unheard,
)
from earwitness.monitor.measures.contributions import What, contributions

S = 1_000_000_000
BASE: dict[str, Any] = {"call_id": "c1", "event_wall_ns": 0, "agent": "clinic"}


def tally(*records: AnyRecord) -> Counter[str]:
    """``measure[class].what`` to how many (durations: how many of them)."""
    found: Counter[str] = Counter()
    for record in records:
        for measure, klass, what, amount in contributions(record):
            one = what in (What.VALUE, What.CENSORED, What.AT_LEAST)
            found[f"{measure}[{klass}].{what.name.lower()}".replace("[]", "")] += 1 if one else amount
    return found


def test_an_answered_turn_is_one_sample_of_one_eligible(turn: Any) -> None:
    found = tally(
        turn(latency_s=0.9, a_on_ns=2 * S, endpoint_delay_ns=S // 2, agent_ttfa_ns=S // 5, parts_ns={"llm": 9})
    )

    assert found["response_latency.value"] == found["response_latency.eligible"] == 1
    assert found["endpoint_delay.value"] == found["agent_ttfa.value"] == found["latency_part[llm].value"] == 1
    assert found["unanswered.denominator"] == 1
    assert found["unanswered.count"] == 0


def test_an_answer_in_the_turns_last_moment_has_parts_below_zero_and_none_is_invalid(turn: Any) -> None:
    found = tally(turn(latency_s=-0.25, a_on_ns=2 * S, parts_ns={"unattributed": -S // 4}))

    assert found["response_latency.value"] == found["latency_part[unattributed].value"] == 1
    assert not any(name.endswith(".invalid") for name in found)


def test_an_unanswered_turn_is_censored_and_counted(turn: Any) -> None:
    found = tally(turn(waited_s=4))

    assert found["response_latency.censored"] == found["response_latency.eligible"] == 1
    assert found["unanswered.count"] == 1
    assert found["response_latency.value"] == 0


def test_an_overdue_turn_is_shown_as_unanswered_until_its_answer_comes(turn: Any) -> None:
    waiting, answered = turn(overdue=True, waited_ns=11 * S), turn(overdue=True, latency_s=12.0, a_on_ns=13 * S)

    assert tally(waiting)["unanswered.count"] == 1
    assert tally(answered)["unanswered.count"] == 0
    assert tally(answered)["response_latency.value"] == 1


def test_a_turn_that_is_not_decided_yet_is_a_caller_turn_and_nothing_else(turn: Any) -> None:
    assert tally(turn()) == {"agent_interruption.denominator": 1}


def test_a_turn_that_is_not_eligible_counts_by_its_class_only(turn: Any) -> None:
    found = tally(turn(turn_class="greeted", latency_s=1.0))

    assert found == {"agent_interruption.denominator": 1, "response_latency[class/greeted].count": 1}


def test_b08_a_turn_cut_off_by_a_premature_endpoint_is_out_of_the_headline_and_counted(turn: Any) -> None:
    found = tally(turn(latency_s=0.2, a_on_ns=S, premature_endpoint=True))

    assert found["response_latency.value"] == found["response_latency.eligible"] == found["unanswered.denominator"] == 0
    assert found["response_latency[premature_endpoint].value"] == 1
    assert found["response_latency[premature_endpoint].count"] == 1


def test_a07_without_an_acoustic_anchor_there_is_no_sample_but_an_eligible_turn(turn: Any) -> None:
    found = tally(*[turn(id=f"t{i}", reason="no_acoustic_anchor", at_least_ns=S) for i in range(10)])

    assert found["response_latency.eligible"] == 10
    assert found["response_latency.value"] == 0
    assert found["response_latency.at_least"] == 10
    assert found["response_latency[reason/no_acoustic_anchor].count"] == 10


@pytest.mark.parametrize(
    ("latency_ns", "a_on_ns"),
    [
        pytest.param(1_747_888_559_800_000_000, None, id="the size of the epoch"),
        pytest.param(30 * S, 20 * S, id="longer than the call was"),
        pytest.param(-S, 5 * S, id="below the least value"),
    ],
)
def test_a08_what_can_be_no_latency_is_invalid_and_never_a_value(
    turn: Any, latency_ns: int, a_on_ns: int | None
) -> None:
    found = tally(turn(response_latency_ns=latency_ns, a_on_ns=a_on_ns))

    assert found["response_latency.invalid"] == found["response_latency.eligible"] == 1
    assert found["response_latency.value"] == 0


def test_a08_a_turn_that_the_timeline_called_invalid_is_counted_so(turn: Any) -> None:
    assert tally(turn(reason="invalid"))["response_latency.invalid"] == 1


def sample(i: int, **fields: Any) -> StageSample:
    return StageSample(**BASE, id=f"s{i}", **{"service": "tts", "metric": "processing", **fields})


def test_a12_zeros_are_not_measured_and_not_zero() -> None:
    nine = [sample(i, value_ns=1_200_000_000) for i in range(9)]
    eleven = [sample(i, value_ns=0 if i % 2 else None) for i in range(9, 20)]

    found = tally(*nine, *eleven)

    assert found["service_processing[tts].value"] == 9
    assert found["service_processing[tts].unmeasured"] == 11


def test_a11_a_first_byte_that_never_came_is_censored_and_no_value() -> None:
    found = tally(sample(0, service="llm", metric="ttfb", censored=True, value_ns=S // 10))

    assert found["service_ttfb[llm].censored"] == 1
    assert found["service_ttfb[llm].value"] == 0


def test_a_stage_metric_that_is_no_duration_of_ours_counts_nowhere() -> None:
    assert tally(sample(0, metric="usage")) == {}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"cell": "TP", "wanted": "yes", "gave_way": True, "stop_latency_ns": S},
            {"overlaps[TP/].count", "missed_barge_in.denominator", "false_yield_of_yields.denominator",
             "stop_latency.eligible", "stop_latency.value"},
            id="true barge-in",
        ),
        pytest.param(
            {"cell": "FN", "wanted": "yes", "gave_way": False, "talk_over_ns": 3 * S},
            {"overlaps[FN/].count", "missed_barge_in.denominator", "missed_barge_in.count", "stop_latency.eligible",
             "stop_latency.censored"},
            id="missed barge-in: a stop that never came",
        ),
        pytest.param(
            {"cell": "FP", "wanted": "no", "want_class": "noise", "gave_way": True},
            {"overlaps[FP/noise].count", "false_yield.denominator", "false_yield.count",
             "selectivity[noise].denominator", "false_yield_of_yields.denominator", "false_yield_of_yields.count"},
            id="false yield",
        ),
        pytest.param(
            {"cell": "TN", "wanted": "no", "want_class": "backchannel", "gave_way": False},
            {"overlaps[TN/backchannel].count", "false_yield.denominator", "selectivity[backchannel].denominator",
             "selectivity[backchannel].count"},
            id="talked through",
        ),
        pytest.param({"wanted": "unknown"}, {"overlaps[unknown/].count"}, id="unknown is shown, outside the rates"),
        pytest.param(
            {"wanted": "yes", "terminal": "natural_end", "gave_way": True},
            {"overlaps[terminal/natural_end].count"},
            id="terminal: neither TP nor FN",
        ),
        pytest.param({"wanted": None, "decided_by": "muted"}, {"overlaps[set_aside/muted].count"}, id="muted"),
    ],
)  # fmt: skip
def test_an_overlap_counts_in_its_cell(overlap: Any, fields: dict[str, Any], expected: set[str]) -> None:
    assert set(tally(overlap(**fields))) == expected


def test_dead_air_is_split_by_who_owed_speech() -> None:
    found = contributions(DeadAir(**BASE, id="d1", start_ns=0, end_ns=7 * S, agent_ns=2 * S, tool_ns=5 * S))

    assert {(c.klass, c.amount) for c in found} == {("", 7 * S), ("agent", 2 * S), ("tool", 5 * S)}


def test_a_call_in_progress_counts_nowhere_and_an_ended_one_by_outcome(call: Any) -> None:
    assert tally(call(ended_ns=None)) == {}

    found = tally(
        call(), call(outcome="escalated", contained=False), call(outcome="unknown", in_scope=False, contained=None)
    )

    assert found["calls[contained/caller].count"] == 1
    assert (found["containment.count"], found["containment.denominator"]) == (1, 2)
    assert (found["escalation.count"], found["escalation.denominator"]) == (1, 2)


def test_a_fact_without_a_place_in_the_definitions_is_other(call: Any) -> None:
    found = tally(call(facts={"duplicate_reply": 2, "made_up": 3, "stray": 0}))

    assert found["facts[duplicate_reply].count"] == 2
    assert found["facts[other].count"] == 3
    assert "facts[stray].count" not in found


def test_a_call_with_dead_air_counts_once_whatever_the_number_of_stretches(call: Any) -> None:
    found = tally(call(facts={"dead_air_warning": 3, "dead_air_critical": 0}), call())

    assert (found["dead_air_calls.count"], found["dead_air_calls.denominator"]) == (1, 2)
    assert found["dead_air_critical_calls.count"] == 0


def test_calls_whose_audio_reached_nobody_are_shares_of_those_that_were_seen(call: Any) -> None:
    asks = Unheard(what="one_way_audio", by="caller_asks", lost="agent", at_ns=0)
    quiet = Unheard(what="one_way_audio", by="audio_gap", lost="caller", at_ns=S)
    dead = Unheard(what="dead_not_failed", by="no_playout", lost="agent", at_ns=S)
    seen = {"talk_ns": {"caller": S}}
    found = tally(call(**seen, unheard=(asks, quiet)), call(**seen, unheard=(asks, dead)), call(**seen), call())

    assert (found["one_way_audio.count"], found["one_way_audio.denominator"]) == (2, 3)
    assert (found["one_way_audio[caller_asks].count"], found["one_way_audio[audio_gap].count"]) == (2, 1)
    assert (found["dead_not_failed.count"], found["dead_not_failed.denominator"]) == (1, 3)
    assert tally(call(**seen, unheard=(asks,), ended_ns=None)) == {}


def test_a_tool_that_timed_out_is_censored_and_a_cancelled_one_has_no_duration() -> None:
    def tool(status: Any) -> ToolCall:
        return ToolCall(**BASE, id="x", name="n", called_ns=0, status=status, duration_ns=5 * S)

    assert tally(tool("running")) == {}
    assert tally(tool("ok"))["tool_duration.value"] == 1
    assert tally(tool("timed_out"))["tool_duration.censored"] == 1
    assert tally(tool("cancelled"))["tool_duration.value"] == 0


def test_a_greeting_is_its_own_distribution_and_a_caller_who_spoke_first_is_no_gap() -> None:
    def greeting(**fields: Any) -> AgentTurn:
        return AgentTurn(**BASE, id="a1", a_on_ns=S, a_off_ns=None, why="greeting", **fields)

    assert tally(greeting(greeting_latency_ns=S))["greeting_latency.value"] == 1
    assert tally(greeting(greeting_reason="user_spoke_first"))["greeting_latency.eligible"] == 0
    assert tally(greeting(greeting_reason="not_audible"))["greeting_latency.eligible"] == 1


def test_agent_interruptions_are_counted_by_cause_over_caller_turns(turn: Any) -> None:
    cut = AgentInterruption(**BASE, id="i1", at_ns=0, cause="premature_endpoint")

    found = tally(turn(), turn(id="t2"), cut)

    assert found["agent_interruption.denominator"] == 2
    assert found["agent_interruption.count"] == found["agent_interruption[premature_endpoint].count"] == 1


def test_a_record_that_was_taken_back_counts_nowhere(turn: Any, overlap: Any, call: Any) -> None:
    assert tally(turn(latency_s=1.0, retracted=True), overlap(cell="TP", retracted=True), call(retracted=True)) == {}
