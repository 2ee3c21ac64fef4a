"""What is put into windows at once, or read from them at once, is what it is one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from drawn_records import AS_OF_NS, NOW_NS, S, drawn

from earwitness.monitor.contract.decoder import decode_record_fast
from earwitness.monitor.contract.records import (
    Turn,
)
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.measures.catalogue import BY_NAME, MEASURES
from earwitness.monitor.measures.histogram import UnlikeHistograms
from earwitness.monitor.measures.windows import Windows


def test_decoded_records_count_like_those_that_were_made() -> None:
    draw, made, decoded = random.Random(2), Windows(), Windows()
    for number in range(200):
        record = drawn(draw, number)
        made.apply(None, record)
        decoded.apply(None, decode_record_fast(encode(record)))

    for measure in BY_NAME:
        for window_s in (60, 86_400):
            seen: dict[str, Any] = {"window_s": window_s, "as_of_ns": AS_OF_NS}
            assert decoded.read(measure, **seen) == made.read(measure, **seen)
            assert decoded.worst(measure, **seen) == made.worst(measure, **seen)


@pytest.mark.parametrize("measures", [None, ("response_latency",), ("dead_air", "response_latency_all")])
@pytest.mark.parametrize("as_they_come", [True, False])
def test_records_counted_at_once_count_as_they_do_one_by_one(
    measures: tuple[str, ...] | None, as_they_come: bool
) -> None:
    draw = random.Random(4)
    singly, at_once = (Windows(labels={"route": ["ivr"]}, max_label_values=2, measures=measures) for _ in range(2))
    records = [drawn(draw, number).model_copy(update={"call_id": f"c{number}"}) for number in range(900)]
    if not as_they_come:
        records.sort(key=lambda record: record.event_wall_ns)
    for record in records:
        singly.apply(None, record)

    at_once.count(records[:300])
    at_once.count([decode_record_fast(encode(record)) for record in records[300:]])

    for measure in measures or BY_NAME:
        for window_s in (60, 3_600, 86_400):
            seen: dict[str, Any] = {"window_s": window_s, "as_of_ns": AS_OF_NS}
            for where in ((), *singly.groups(["agent", "route"], **seen)):
                assert at_once.read(measure, **seen, where=where) == singly.read(measure, **seen, where=where)
            assert at_once.worst(measure, **seen) == singly.worst(measure, **seen)
    assert at_once.label_sets.refused_values == singly.label_sets.refused_values


def test_a_label_set_that_was_let_go_meanwhile_is_admitted_anew() -> None:
    """The first of these records ends what the longest tier kept of an agent that comes again behind it."""
    common: dict[str, Any] = {"mode": "cascade", "version": "1", "u_on_ns": 0, "u_off_ns": S, "response_latency_ns": S}

    def turn(number: int, agent: str, after_s: int) -> Turn:
        wall_ns = NOW_NS + after_s * S
        return Turn(**common, id=f"t{number}", call_id=f"c{number}", agent=agent, event_wall_ns=wall_ns)

    later_s = 400 * 3_600
    again = [turn(n, agent, later_s + 20 * n) for n, agent in enumerate(("new", "new", "old", "new"))]
    windows = Windows()
    windows.count([turn(9, "old", 0)])
    windows.count(again)
    seen: dict[str, Any] = {"window_s": 3_600, "as_of_ns": NOW_NS + (later_s + 100) * S}

    read = {
        where: windows.read("response_latency", **seen, where=where).n for where in windows.groups(["agent"], **seen)
    }
    assert read == {(("agent", "new"),): 3, (("agent", "old"),): 1}


@pytest.mark.parametrize("arrived_ns", [None, NOW_NS, NOW_NS + 100 * S])
def test_first_revisions_applied_at_once_count_as_they_do_one_by_one(arrived_ns: int | None) -> None:
    draw = random.Random(6)
    singly, at_once = (Windows(labels={"route": ["ivr"]}, max_label_values=2) for _ in range(2))
    records = [drawn(draw, number).model_copy(update={"call_id": f"c{number // 3}"}) for number in range(900)]
    for record in records:
        singly.apply(None, record, arrived_ns=arrived_ns, part=1)
    for start in range(0, 900, 100):
        at_once.apply_first(records[start : start + 100], arrived_ns=arrived_ns, part=1)

    for measure in BY_NAME:
        for window_s in (60, 3_600, 86_400):
            seen: dict[str, Any] = {"window_s": window_s, "as_of_ns": AS_OF_NS}
            for where in ((), *singly.groups(["agent", "route"], **seen)):
                assert at_once.read(measure, **seen, where=where) == singly.read(measure, **seen, where=where)
            assert at_once.worst(measure, **seen) == singly.worst(measure, **seen)
    assert (at_once.late, at_once.late_by_ns) == (singly.late, singly.late_by_ns)
    assert at_once.label_sets.refused_values == singly.label_sets.refused_values
    assert (at_once.late > 0) is (arrived_ns is not None)
    for record in records[:200]:
        singly.apply(record, record.model_copy(update={"retracted": True}), part=1)
        at_once.apply(record, record.model_copy(update={"retracted": True}), part=1)
    assert at_once.read("calls", window_s=86_400, as_of_ns=AS_OF_NS) == singly.read(
        "calls", window_s=86_400, as_of_ns=AS_OF_NS
    )


@pytest.mark.parametrize("put_in", [Windows.count, Windows.apply_first])
def test_what_came_before_a_record_under_other_bounds_is_counted(put_in: Callable[..., None]) -> None:
    first = Turn(id="t", call_id="c", agent="a", event_wall_ns=NOW_NS, u_on_ns=0, u_off_ns=S, response_latency_ns=S)
    windows = Windows()

    with pytest.raises(UnlikeHistograms):
        put_in(windows, [first, first.model_copy(update={"bounds": "b-1"}), first])

    assert windows.read("response_latency", window_s=60, as_of_ns=AS_OF_NS).n == 1


@pytest.mark.parametrize(
    "measure", ["response_latency", "stop_latency", "service_ttfb", "latency_part[llm]", "dead_air"]
)
@pytest.mark.parametrize("permille", [500, 950, 999])
def test_percentiles_of_all_sets_at_once_are_those_read_one_by_one(measure: str, permille: int) -> None:
    draw, windows = random.Random(3), Windows(max_label_values=100)
    for number in range(3_000):
        record = drawn(draw, number).model_copy(update={"agent": f"a{draw.randrange(40)}", "call_id": f"c{number}"})
        windows.apply(None, record)

    found = windows.percentiles(measure, permille, window_s=86_400, as_of_ns=AS_OF_NS)

    name = {500: "p50", 950: "p95"}.get(permille)
    groups = windows.groups(["agent", "version", "mode"], window_s=86_400, as_of_ns=AS_OF_NS)
    ranked = 0
    for labels in groups:
        one = windows.read(measure, window_s=86_400, as_of_ns=NOW_NS, where=labels)
        if one.quantiles["p50"].value_s is None and one.quantiles["p50"].more_than_s is None:
            assert labels not in found
            continue
        ranked += 1
        if name is None:
            assert (found[labels].value_s or 99) >= (one.quantiles["p99"].value_s or 0)
        else:
            assert found[labels] == one.quantiles[name]
    assert ranked == len(found) > 10


@pytest.mark.parametrize("window_s", [60, 86_400])
def test_what_is_said_of_all_sets_at_once_is_what_readings_say_of_one_after_the_other(window_s: int) -> None:
    draw, windows = random.Random(5), Windows(max_label_values=100)
    for number in range(4_000):
        record = drawn(draw, number).model_copy(update={"agent": f"a{draw.randrange(2)}", "call_id": f"c{number}"})
        windows.apply(None, record, arrived_ns=NOW_NS)
    # A set of which nothing is left but that it was restated.
    gone = drawn(draw, 1).model_copy(update={"agent": "gone", "call_id": "gone", "retracted": False})
    windows.apply(None, gone, arrived_ns=NOW_NS)
    windows.apply(gone, gone.model_copy(update={"retracted": True}), arrived_ns=NOW_NS)

    found = windows.by_set(window_s=window_s, as_of_ns=AS_OF_NS)

    numbers = {windows.label_sets.labels_of(number): number for number in found.sets()}
    assert sorted(numbers) == windows.groups(windows.label_sets.keys, window_s=window_s, as_of_ns=AS_OF_NS)
    durations = [one.name for one in MEASURES if one.kind in ("latency", "distribution")]
    for measure in [one.name for one in MEASURES if one.view_of is None]:
        one_by_one = {
            number: windows.read(measure, window_s=window_s, as_of_ns=AS_OF_NS, where=labels)
            for labels, number in numbers.items()
        }
        late = found.restated(measure)
        assert {number: late.get(number, 0) for number in one_by_one} == {
            number: one.restated for number, one in one_by_one.items()
        }
        if measure in durations and measure != "latency_part":
            ranked, shares = found.ranked(measure), found.coverage(measure)
            assert {number: ranked.get(number, 0) for number in one_by_one} == {
                number: one.n for number, one in one_by_one.items()
            }
            assert shares == {number: one.coverage for number, one in one_by_one.items() if one.coverage is not None}
            medians = found.percentiles(measure, 500)
            assert medians == {number: one.quantiles["p50"] for number, one in one_by_one.items() if ranked.get(number)}
        elif BY_NAME[measure].kind == "rate" and measure != "coverage":
            assert found.rates(measure) == {
                number: one.rate for number, one in one_by_one.items() if one.rate is not None
            }
    assert window_s == 60 or found.rates("selectivity")
