"""What Prometheus scrapes: since the process began, by series, from final records."""

from __future__ import annotations

from typing import Any

from earwitness.consumers.metrics_collector import COUNTERS, HISTOGRAMS
from earwitness.consumers.totals import EDGES_S, UNSHOWN, Key, Totals
from earwitness.monitor.contract.records import AnyRecord, StageSample, ToolCall, Turn
from earwitness.monitor.measures.contributions import contributions

S = 1_000_000_000


def turn(**fields: Any) -> Turn:
    made: dict[str, Any] = {"call_id": "c", "id": "t1", "event_wall_ns": 5, "agent": "a", "u_on_ns": 0, "u_off_ns": 1}
    return Turn(**{**made, **fields})


def test_a_value_on_an_edge_is_in_the_bucket_below_it() -> None:
    totals = Totals()
    totals.add(7, turn(response_latency_ns=S, a_on_ns=9 * S))

    found = totals.histograms[Key(7, "response_latency", "")]
    assert found.buckets[EDGES_S.index(1.0)] == 1
    assert found.sum_ns == S


def test_the_unanswered_are_in_the_last_bucket_and_in_no_sum() -> None:
    totals = Totals()
    totals.add(7, turn(unanswered=True, waited_ns=4 * S))

    found = totals.histograms[Key(7, "response_latency", "")]
    assert found.buckets[-1] == sum(found.buckets) == 1
    assert found.sum_ns == 0
    assert totals.counts[Key(7, "unanswered", "")] == 1


def test_a_censored_first_byte_is_ranked_nowhere() -> None:
    totals = Totals()
    made: dict[str, Any] = {"call_id": "c", "id": "m1", "event_wall_ns": 5, "agent": "a"}
    totals.add(7, StageSample(**made, service="llm", metric="ttfb", censored=True))

    assert totals.histograms == {}


def test_what_is_not_counted_counts_for_nothing_that_is_shown() -> None:
    made: dict[str, Any] = {"call_id": "c", "id": "m1", "event_wall_ns": 5, "agent": "a", "version": "1"}
    unshown: list[AnyRecord] = [
        *(StageSample(**made, service="llm", metric=metric, value_ns=S) for metric in ("ttfb", "processing")),
        *(StageSample(**made, service="stt", metric="ttfb", censored=censored) for censored in (True, False)),
        *(
            ToolCall(**made, name="look_up", called_ns=0, ended_ns=S, status=status, duration_ns=S)
            for status in ("ok", "error", "cancelled", "timed_out")
        ),
    ]
    shown = {name for name, _ in HISTOGRAMS} | {name for name, _, _ in COUNTERS}

    assert {record.kind for record in unshown} == UNSHOWN
    found = {one.measure for record in unshown for one in contributions(record)}
    assert found
    assert found.isdisjoint(shown)


def test_label_sets_that_were_let_go_take_their_totals_with_them() -> None:
    totals = Totals()
    for number in (1, 2):
        totals.add(number, turn(unanswered=True, response_latency_ns=S, a_on_ns=9 * S))
    totals.retain([2])

    assert {key.number for key in [*totals.histograms, *totals.counts]} == {2}
