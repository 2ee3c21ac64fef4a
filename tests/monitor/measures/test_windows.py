"""Windows equal the fold of the latest revisions, and say when they know nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.histogram import UnlikeHistograms
from earwitness.monitor.measures.reading import Quantile, Reading
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
ALL = (("agent", "clinic"),)


def read(windows: Windows, measure: str, as_of_ns: int, window_s: int = 300, **more: Any) -> Reading:
    return windows.read(measure, window_s=window_s, as_of_ns=as_of_ns, **more)


def test_a_turn_counts_in_every_window_that_holds_its_moment(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=-200, latency_s=0.9, a_on_ns=9 * S))

    found = {window_s: read(windows, "response_latency", hour_ns, window_s).n for window_s in STEP_OF}

    assert found == {60: 0, **dict.fromkeys([s for s in STEP_OF if s > 60], 1)}


def test_the_bucket_in_progress_is_in_the_window(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=3, latency_s=0.9, a_on_ns=9 * S))

    assert read(windows, "response_latency", hour_ns + 3 * S).n == 1
    assert read(windows, "response_latency", hour_ns + 300 * S).n == 1
    assert read(windows, "response_latency", hour_ns + 301 * S).n == 0


def test_a_revision_takes_the_place_of_the_one_before(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    waiting = turn(at_s=-20, overdue=True, waited_ns=10 * S)
    answered = turn(at_s=-20, latency_s=12.0, a_on_ns=15 * S, revision=1)
    windows.apply(None, waiting)
    assert read(windows, "response_latency", hour_ns).censored == 1

    windows.apply(waiting, answered)

    found = read(windows, "response_latency", hour_ns)
    assert (found.n, found.censored, found.eligible) == (1, 0, 1)
    assert found.quantiles["p50"].value_s == pytest.approx(12, rel=0.01)
    assert read(windows, "unanswered", hour_ns).count == 0


def test_a_revision_that_moves_a_record_moves_its_count(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    early, late = turn(at_s=-200, latency_s=1.0, a_on_ns=9 * S), turn(at_s=-5, latency_s=1.0, a_on_ns=9 * S, revision=1)
    windows.apply(None, early)
    windows.apply(early, late)

    assert read(windows, "response_latency", hour_ns).n == 1
    assert read(windows, "response_latency", hour_ns, 60).n == 1


def test_a_record_that_is_taken_back_leaves_nothing(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    first = turn(at_s=-5, latency_s=1.0, a_on_ns=9 * S)
    windows.apply(None, first)
    windows.apply(first, turn(at_s=-5, revision=1, retracted=True))

    assert read(windows, "response_latency", hour_ns) == read(Windows(), "response_latency", hour_ns)
    assert windows.groups(["agent"], window_s=300, as_of_ns=hour_ns) == []


def some_records(turn: Any, overlap: Any, call: Any, count: int = 400) -> list[AnyRecord]:
    draw = random.Random(5)
    made: list[AnyRecord] = []
    for i in range(count):
        at_s, agent = draw.uniform(-9_000, 0), draw.choice(["clinic", "hotel"])
        common = {"call_id": f"c{i % 40}", "agent": agent}
        made.append(turn(at_s=at_s, id=f"t{i}", latency_s=draw.lognormvariate(0, 1), a_on_ns=600 * S, **common))
        made.append(turn(at_s=at_s, id=f"u{i}", waited_s=draw.uniform(0, 30), **common))
        made.append(overlap(at_s=at_s, id=f"o{i}", cell=draw.choice(["TP", "FN"]), wanted="yes", **common))
        made.append(call(at_s=at_s, **common))
    return made


def everything(windows: Windows, as_of_ns: int) -> list[Reading]:
    measures = ["response_latency", "missed_barge_in", "stop_latency", "calls", "unanswered", "containment"]
    groups = [(), *windows.groups(["agent"], window_s=86_400, as_of_ns=as_of_ns)]
    return [
        windows.read(m, window_s=w, as_of_ns=as_of_ns, where=g)
        for m in measures
        for w in (60, 300, 7_200, 86_400)
        for g in groups
    ]


def test_order_and_reads_in_between_change_no_bit(turn: Any, overlap: Any, call: Any, hour_ns: int) -> None:
    records = some_records(turn, overlap, call)
    shuffled = random.Random(1).sample(records, len(records))
    plain, stirred = Windows(), Windows()
    for record in records:
        plain.apply(None, record)
    for i, record in enumerate(shuffled):
        stirred.apply(None, record)
        if i % 50 == 0:
            everything(stirred, hour_ns - (i % 7) * 1_000 * S)

    assert everything(plain, hour_ns) == everything(stirred, hour_ns)
    assert read(plain, "response_latency", hour_ns, 86_400).n == 800


def test_a_window_that_slid_is_the_window_read_afresh(turn: Any, overlap: Any, call: Any, hour_ns: int) -> None:
    slid, fresh = Windows(), Windows()
    for record in some_records(turn, overlap, call):
        slid.apply(None, record)
        fresh.apply(None, record)
    for step in range(-900, 1, 30):
        read(slid, "response_latency", hour_ns + step * S)
        read(slid, "response_latency", hour_ns + step * 20 * S, 7_200)

    assert everything(slid, hour_ns) == everything(fresh, hour_ns)


def test_a_bucket_that_retention_drops_leaves_no_ghost_in_a_window(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=0, latency_s=1.0, a_on_ns=9 * S))
    assert read(windows, "response_latency", hour_ns + S).n == 1

    windows.apply(None, turn(at_s=5_000, id="t2", latency_s=1.0, a_on_ns=9 * S))

    assert read(windows, "response_latency", hour_ns + 5_001 * S).n == 1
    assert read(windows, "response_latency", hour_ns + 9_000 * S).n == 0


def test_a_window_that_stood_where_retention_dropped_a_bucket_is_summed_afresh(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=0, latency_s=1.0, a_on_ns=9 * S))
    assert read(windows, "response_latency", hour_ns + S).n == 1
    windows.apply(None, turn(at_s=650, id="t2", latency_s=1.0, a_on_ns=9 * S))

    found = [read(windows, "response_latency", hour_ns + at_s * S).n for at_s in (200, 320, 600, 660)]

    assert found == [0, 0, 0, 1]


def test_d10_d17_d19_a_window_without_traffic_is_none_and_not_zero(turn: Any, hour_ns: int) -> None:
    """p95 was 1.2 at ten; an hour later nothing was heard since."""
    windows = Windows()
    for i in range(40):
        windows.apply(None, turn(at_s=-i, id=f"t{i}", latency_s=1.2, a_on_ns=9 * S))
    assert read(windows, "response_latency", hour_ns).quantiles["p95"].value_s == pytest.approx(1.2, rel=0.01)

    found = read(windows, "response_latency", hour_ns + 3_600 * S)

    assert found.n == 0
    assert found.coverage is None
    assert set(found.quantiles.values()) == {Quantile()}
    assert read(windows, "containment", hour_ns + 3_600 * S).rate is None
    assert windows.groups(["agent"], window_s=300, as_of_ns=hour_ns + 3_600 * S) == []


def test_d12_what_comes_after_a_minute_was_published_is_added_counted_and_restates(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=30, id="t1", latency_s=1.0, a_on_ns=9 * S), arrived_ns=hour_ns + 80 * S)
    assert windows.late == 0

    windows.apply(None, turn(at_s=40, id="t2", latency_s=1.0, a_on_ns=9 * S), arrived_ns=hour_ns + 125 * S)

    assert (windows.late, windows.late_by_ns) == (1, 5 * S)
    found = read(windows, "response_latency", hour_ns + 125 * S)
    assert (found.n, found.restated) == (2, 1)
    assert read(windows, "containment", hour_ns + 125 * S).restated == 0


def test_what_is_taken_back_late_leaves_no_class_and_no_label_set(overlap: Any, hour_ns: int) -> None:
    windows = Windows()
    talked_through = overlap(at_s=-400, cell="TN", wanted="no", want_class="noise")
    windows.apply(None, talked_through, arrived_ns=hour_ns)
    gone = overlap(at_s=-400, cell="TN", wanted="no", want_class="noise", retracted=True, revision=1)
    windows.apply(talked_through, gone, arrived_ns=hour_ns)

    assert read(windows, "selectivity", hour_ns, 1_800).by_class == {}
    assert windows.groups(["agent"], window_s=1_800, as_of_ns=hour_ns) == []
    assert windows.late == 2


def test_a08_94_delays_and_6_the_size_of_the_epoch(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    for i in range(100):
        latency_s = 0.5 if i < 94 else 1_747_888_559.8
        windows.apply(None, turn(at_s=-1, id=f"t{i}", latency_s=latency_s))

    found = read(windows, "response_latency", hour_ns)

    assert (found.n, found.eligible, found.by_class["invalid"], found.coverage) == (94, 100, 6, 0.94)
    assert found.quantiles["p95"].value_s == pytest.approx(0.5, rel=0.01)


def test_rates_of_less_than_ten_are_counts_only(overlap: Any, hour_ns: int) -> None:
    windows = Windows()
    for i in range(9):
        windows.apply(None, overlap(at_s=-1, id=f"o{i}", cell="FN" if i < 3 else "TP", wanted="yes"))
    found = read(windows, "missed_barge_in", hour_ns)
    assert (found.count, found.denominator, found.rate) == (3, 9, None)

    windows.apply(None, overlap(at_s=-1, id="o9", cell="TP", wanted="yes"))

    assert read(windows, "missed_barge_in", hour_ns).rate == 0.3


def test_selectivity_is_the_unweighted_mean_of_its_classes(overlap: Any, hour_ns: int) -> None:
    windows = Windows()
    for i in range(40):
        klass = "noise" if i < 10 else "backchannel"
        talked_through = i < 5 or i >= 37
        cell = "TN" if talked_through else "FP"
        windows.apply(None, overlap(at_s=-1, id=f"o{i}", cell=cell, wanted="no", want_class=klass))

    found = read(windows, "selectivity", hour_ns)

    assert found.rate == pytest.approx((5 / 10 + 3 / 30) / 2)
    assert (found.count, found.denominator) == (8, 40)
    assert read(windows, "selectivity[noise]", hour_ns).rate == 0.5


def test_premature_endpoints_are_in_the_other_view(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=-1, latency_s=2.0, a_on_ns=9 * S))
    windows.apply(None, turn(at_s=-1, id="t2", latency_s=0.1, a_on_ns=9 * S, premature_endpoint=True))

    headline, everything_ = read(windows, "response_latency", hour_ns), read(windows, "response_latency_all", hour_ns)

    assert (headline.n, headline.by_class["premature_endpoint"]) == (1, 1)
    assert (everything_.n, everything_.eligible) == (2, 2)


def test_parts_are_read_by_name_and_side_by_side(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, turn(at_s=-1, latency_s=0.5, a_on_ns=9 * S, parts_ns={"llm": 300_000_000, "tts": 200_000_000}))

    found = read(windows, "latency_part", hour_ns)

    assert found.n == 1
    assert found.by_class["llm"] == pytest.approx(300, rel=0.011)
    assert read(windows, "latency_part[tts]", hour_ns).quantiles["p50"].value_s == pytest.approx(0.2, rel=0.01)


def test_overlaps_are_read_by_cell_and_by_class(overlap: Any, hour_ns: int) -> None:
    windows = Windows()
    windows.apply(None, overlap(at_s=-1, cell="FP", wanted="no", want_class="noise"))
    windows.apply(None, overlap(at_s=-1, id="o2", cell="FP", wanted="no", want_class="echo"))
    windows.apply(None, overlap(at_s=-1, id="o3"))

    found = read(windows, "overlaps", hour_ns)

    assert found.count == 3
    assert found.by_class == {"FP": 2, "FP/noise": 1, "FP/echo": 1, "unknown": 1, "unknown/": 1}


def test_the_worst_are_the_unanswered_and_then_the_slowest(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    for i in range(20):
        windows.apply(None, turn(at_s=-i - 1, id=f"t{i}", latency_s=1 + i / 10, a_on_ns=99 * S))
    windows.apply(None, turn(at_s=-5, id="gone", waited_s=3))
    windows.apply(None, turn(at_s=-1_000, id="old", waited_s=99))

    found = windows.worst("response_latency", window_s=300, as_of_ns=hour_ns, where=ALL)

    assert [(e.subject, e.censored) for e in found] == [("gone", True), ("t19", False), ("t18", False)]
    assert found[1].value_s == pytest.approx(2.9)


def test_a_worst_case_that_was_revised_away_is_shown_no_more(turn: Any, hour_ns: int) -> None:
    windows = Windows()
    waiting = turn(at_s=-5, overdue=True, waited_ns=11 * S)
    windows.apply(None, waiting)
    windows.apply(waiting, turn(at_s=-5, latency_s=12.0, a_on_ns=20 * S, revision=1))

    found = windows.worst("unanswered", window_s=300, as_of_ns=hour_ns)

    assert [(e.value_s, e.censored) for e in found] == [(12.0, False)]


def test_a_window_that_begins_before_what_is_kept_is_incomplete(hour_ns: int) -> None:
    windows = Windows()
    windows.since_ns = hour_ns - 400 * S

    assert read(windows, "response_latency", hour_ns, 300).complete
    assert not read(windows, "response_latency", hour_ns, 1_800).complete


def test_a_window_is_complete_when_all_that_the_log_took_was_applied(hour_ns: int) -> None:
    windows = Windows()
    windows.watermark_ns = hour_ns - S
    assert not read(windows, "response_latency", hour_ns).complete

    windows.watermark_ns = hour_ns

    assert read(windows, "response_latency", hour_ns).complete


def test_percentiles_of_a_day_are_within_one_percent_whatever_buckets_they_came_through(
    turn: Any, hour_ns: int
) -> None:
    """8,640 buckets of 10 s, added up four times: three shapes of latencies by agent, every tenth turn unanswered."""
    draw, windows = random.Random(6), Windows()
    shapes = {
        "lognormal": lambda: draw.lognormvariate(-0.1, 0.5),
        "bimodal": lambda: draw.gauss(0.6, 0.05) if draw.random() < 0.75 else draw.gauss(4, 0.4),
        "heavy": lambda: 0.3 * draw.paretovariate(1.5),
    }
    known: dict[str, list[float]] = {shape: [] for shape in shapes}
    for i in range(6_000):
        shape = draw.choice(list(shapes))
        common = {"at_s": draw.uniform(-86_000, 0), "id": f"t{i}", "call_id": f"c{i % 50}", "agent": shape}
        if i % 10:
            latency_s = min(shapes[shape](), 500.0)
            known[shape].append(latency_s)
            windows.apply(None, turn(latency_s=latency_s, a_on_ns=600 * S, **common))
        else:
            known[shape].append(np.inf)
            windows.apply(None, turn(waited_s=5, **common))
        if i % 500 == 0:
            read(windows, "response_latency", hour_ns, draw.choice([60, 3_600, 86_400]))

    for permille in (500, 800, 880, 950, 999):
        found = windows.percentiles("response_latency", permille, window_s=86_400, as_of_ns=hour_ns)
        assert len(found) == len(shapes)
        for labels, quantile in found.items():
            with np.errstate(invalid="ignore"):
                exact_s = float(np.percentile(sorted(known[dict(labels)["agent"]]), permille / 10))
            assert quantile.value_s == (pytest.approx(exact_s, rel=0.01) if np.isfinite(exact_s) else None)
            assert (quantile.more_than_s is None) == np.isfinite(exact_s)


def test_records_under_other_bounds_are_refused(turn: Any) -> None:
    with pytest.raises(UnlikeHistograms):
        Windows().apply(None, turn(bounds="b-1"))


def test_an_unknown_measure_or_window_is_a_key_error(hour_ns: int) -> None:
    for measure, window_s in (("nonsense", 300), ("response_latency", 301), ("stop_latency", 604_800)):
        with pytest.raises(KeyError):
            read(Windows(), measure, hour_ns, window_s)


def test_calls_in_progress_are_read_by_label(hour_ns: int) -> None:
    windows = Windows()
    windows.live = {(("agent", "a"),): 3, (("agent", "b"),): 4}

    assert read(windows, "calls_in_progress", hour_ns).count == 7
    assert read(windows, "calls_in_progress", hour_ns, where=(("agent", "b"),)).count == 4
