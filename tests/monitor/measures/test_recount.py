"""Windows against a naive recount: every reading is what counting the latest revisions one by one says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from slots_of import value_slots

from earwitness.monitor.contract.decoder import decode_record_fast
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Outcome,
    Overlap,
    Reason,
    StageSample,
    ToolCall,
    Turn,
    TurnClass,
    Unheard,
)
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.measures.catalogue import BY_NAME, MEASURES, parse
from earwitness.monitor.measures.classes import kept_long
from earwitness.monitor.measures.contributions import What, contributions
from earwitness.monitor.measures.histogram import UnlikeHistograms, default_binning
from earwitness.monitor.measures.reading import Labels, Reading
from earwitness.monitor.measures.readout import read_out
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOW_NS = 1_700_006_400 * S
AS_OF_NS = NOW_NS + S
Drawn = random.Random


def some_ns(draw: Drawn) -> int:
    """Mostly a latency, sometimes what can be none."""
    usual_ns = round(10 ** draw.uniform(-1.5, 1.5) * S)
    return draw.choice([usual_ns, usual_ns, usual_ns, 0, -S // 5, -9 * S, 700 * S, 2**62])


def maybe(draw: Drawn, make: Callable[[Drawn], Any] = some_ns) -> Any:
    return make(draw) if draw.random() < 0.6 else None


def turn(draw: Drawn) -> dict[str, Any]:
    return {
        "u_on_ns": 0, "u_off_ns": S, "a_on_ns": draw.choice([None, 5 * S, 900 * S]), "turn_class": draw.choice([
            "eligible", "eligible", "eligible", draw.choice(get_args(TurnClass))]), "response_latency_ns": maybe(draw),
        "reason": draw.choice([None, None, draw.choice(get_args(Reason))]), "at_least_ns": maybe(draw),
        "endpoint_delay_ns": maybe(draw), "agent_ttfa_ns": maybe(draw), "unanswered": draw.random() < 0.3,
        "parts_ns": {part: some_ns(draw) for part in draw.sample(["llm", "tts", "hold", "new one"], 2)},
        "overdue": draw.random() < 0.1, "waited_ns": maybe(draw), "premature_endpoint": draw.random() < 0.2,
    }  # fmt: skip


def agent_turn(draw: Drawn) -> dict[str, Any]:
    return {
        "a_on_ns": 0, "a_off_ns": S, "why": draw.choice(["greeting", "user_turn"]), "greeting_latency_ns": maybe(draw),
        "greeting_reason": draw.choice([None, "user_spoke_first", "not_audible"]),
    }  # fmt: skip


def overlap(draw: Drawn) -> dict[str, Any]:
    return {
        "u_on_ns": 0, "u_off_ns": S, "gave_way": draw.choice([True, False, None]), "stop_latency_ns": maybe(draw),
        "stop_at_least_ns": maybe(draw), "talk_over_ns": maybe(draw), "wanted": draw.choice(["yes", "no", None]),
        "want_class": draw.choice([None, "noise", "echo"]), "cell": draw.choice([None, "TP", "FN", "FP", "TN"]),
        "decided_by": draw.choice([None, "muted", "words"]), "terminal": draw.choice([None, None, "natural_end"]),
    }  # fmt: skip


def stage(draw: Drawn) -> dict[str, Any]:
    return {
        "service": f"S{draw.randrange(5)}", "metric": draw.choice(["ttfb", "processing", "usage"]),
        "value_ns": maybe(draw), "censored": draw.random() < 0.2,
    }  # fmt: skip


def tool(draw: Drawn) -> dict[str, Any]:
    status = draw.choice(["running", "ok", "error", "cancelled", "timed_out"])
    return {"name": "look_up", "called_ns": 0, "status": status, "duration_ns": maybe(draw)}


def dead_air(draw: Drawn) -> dict[str, Any]:
    return {"start_ns": 0, "end_ns": S, **{f"{who}_ns": abs(some_ns(draw)) // 4 for who in ("agent", "tool", "caller")}}


def interruption(draw: Drawn) -> dict[str, Any]:
    return {"at_ns": 0, "cause": draw.choice(["overlap", "premature_endpoint", "resumed"])}


def call(draw: Drawn) -> dict[str, Any]:
    by: Any = draw.choice(["no_playout", "audio_gap"])
    unheard = Unheard(what=draw.choice(["dead_not_failed", "one_way_audio"]), by=by, at_ns=0)
    return {
        "started_wall_ns": 0, "ended_ns": draw.choice([None, S]), "outcome": draw.choice(get_args(Outcome)),
        "in_scope": draw.choice([True, False, None]), "contained": draw.choice([True, False]),
        "talk_ns": draw.choice([{}, {"caller": S}]), "unheard": draw.choice([(), (unheard,), (unheard, unheard)]),
        "facts": {f: draw.choice([0, 1, 3, 10**12]) for f in draw.sample(["stray", "dead_air_warning", "?", "!"], 2)},
        "faults": draw.randrange(3), "dropped_events": draw.choice([0, 7, 2**70]),
    }  # fmt: skip


KINDS: list[tuple[type[Any], Callable[[Drawn], dict[str, Any]]]] = [
    (Turn, turn), (AgentTurn, agent_turn), (Overlap, overlap), (StageSample, stage), (ToolCall, tool),
    (DeadAir, dead_air), (AgentInterruption, interruption), (Call, call),
]  # fmt: skip


def drawn(draw: Drawn, number: int, before: AnyRecord | None = None) -> AnyRecord:
    """A record, or the next revision of one: other in all that is its own, sometimes in its moment, sometimes gone."""
    kind, own = KINDS[number % len(KINDS)]
    moment_ns = NOW_NS - round(draw.choice([5, 60, 600, 7_000, 80_000, 600_000]) * draw.random() * S)
    common: dict[str, Any] = {"event_wall_ns": moment_ns, "agent": f"a{number % 3}", "call_id": f"c{number % 7}"}
    if before is not None:
        at_ns = moment_ns if draw.random() < 0.3 else before.event_wall_ns
        common |= {"event_wall_ns": at_ns, "revision": before.revision + 1, "retracted": draw.random() < 0.2}
    made: AnyRecord = kind(id=f"r{number}", **common, **own(draw))
    return made


def recount(records: Iterable[AnyRecord], measure: str, begin_ns: int, end_ns: int, where: Labels) -> dict[str, Any]:
    """What the definition says, with a sum for each record."""
    named, binning = parse(measure), default_binning()
    source = named.measure.view_of or named.measure.name
    by_class: dict[str, Counter[int]] = {}
    for record in records:
        if not begin_ns <= record.event_wall_ns < end_ns or not set(where) <= {("agent", record.agent)}:
            continue
        for name, klass, what, amount in contributions(record):
            if name == source:
                slots = by_class.setdefault(klass, Counter())
                if what is What.VALUE:
                    for slot, times in value_slots(amount, binning):
                        slots[slot] += times
                elif what in (What.CENSORED, What.AT_LEAST):
                    slots[what + binning.bin_of(amount)] += 1
                else:
                    slots[what] += amount
    whole = {klass: {slot: n for slot, n in slots.items() if n} for klass, slots in sorted(by_class.items())}
    return read_out(named.measure, named.klass, whole)


def shown(reading: Reading) -> dict[str, Any]:
    """What a reading says, but for what is about its publication."""
    fields = recount((), reading.measure, 0, 0, ()).keys() - {"restated"}
    return {name: getattr(reading, name) for name in fields}


def otherwise_read(windows: Windows, records: list[AnyRecord], as_of_ns: int) -> list[Any]:
    """Readings that are no recount, each with what it should be."""
    wrong: list[Any] = []
    for window_s in STEP_OF:
        begin_ns, end_ns = windows.span(window_s, as_of_ns)
        for measure in [m.name for m in MEASURES if m.kind != "gauge"] + [
            "coverage",
            "latency_part[llm]",
            "overlaps[FP]",
        ]:
            if window_s > 86_400 and not kept_long(parse(measure).measure.view_of or parse(measure).measure.name):
                continue
            for where in ((), (("agent", "a1"),), (("agent", "nobody"),)):
                found = shown(windows.read(measure, window_s=window_s, as_of_ns=as_of_ns, where=where))
                wanted = recount(records, measure, begin_ns, end_ns, where)
                if found != {name: wanted[name] for name in found}:
                    wrong.append((measure, window_s, where, found, wanted))
    return wrong


@effort(12)
@given(st.randoms(use_true_random=False))
def test_every_reading_is_a_recount_of_the_latest_revisions(draw: Drawn) -> None:
    windows, latest = Windows(), dict[int, AnyRecord]()
    # The newest first, so that all else is judged by its distance to it.
    newest = Turn(id="n", call_id="n", agent="a0", event_wall_ns=NOW_NS, u_on_ns=0, u_off_ns=S)
    windows.apply(None, newest, part=1)
    for _ in range(draw.randrange(1, 150)):
        number = draw.randrange(60)
        old = latest.get(number)
        latest[number] = drawn(draw, number, old)
        windows.apply(old, latest[number], part=number % 2, arrived_ns=draw.choice([None, NOW_NS]))
        if draw.random() < 0.05:
            windows.read(
                "response_latency", window_s=draw.choice(list(STEP_OF)), as_of_ns=NOW_NS - draw.randrange(S * 90)
            )
    # In the other part too what is not kept lies before all windows.
    windows.apply(None, newest.model_copy(update={"id": "m"}), part=0)

    assert otherwise_read(windows, [newest, newest, *latest.values()], AS_OF_NS) == []


def test_a_part_that_goes_takes_its_records_along() -> None:
    draw, windows = random.Random(1), Windows()
    records = [drawn(draw, number) for number in range(200)]
    for number, record in enumerate(records):
        windows.apply(None, record, part=number % 3)
    windows.read("response_latency", window_s=300, as_of_ns=AS_OF_NS)

    windows.drop(1)

    left = [record for number, record in enumerate(records) if number % 3 != 1]
    assert otherwise_read(windows, left, AS_OF_NS) == []


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


def test_what_no_call_can_count_is_invalid_and_no_number_of_its_own() -> None:
    windows = Windows()
    common: dict[str, Any] = {
        "call_id": "c",
        "agent": "a",
        "event_wall_ns": NOW_NS,
        "started_wall_ns": 0,
        "ended_ns": S,
    }
    windows.apply(None, Call(id="call", **common, dropped_events=2**80, facts={"stray": 2**64, "generations": 3}))

    facts = windows.read("facts", window_s=60, as_of_ns=AS_OF_NS)

    assert facts.by_class == {"invalid": 2, "generations": 3}
    assert windows.read("events_dropped", window_s=60, as_of_ns=AS_OF_NS).count == 0


def test_classes_beyond_what_is_told_apart_count_as_other() -> None:
    windows = Windows()
    for number in range(1_200):
        sample = StageSample(
            id=f"m{number}",
            call_id="c",
            agent="a",
            event_wall_ns=NOW_NS,
            service=f"S{number}",
            metric="ttfb",
            value_ns=S,
        )
        windows.apply(None, sample)

    found = windows.read("service_ttfb", window_s=60, as_of_ns=AS_OF_NS)
    other = windows.read("service_ttfb[other]", window_s=60, as_of_ns=AS_OF_NS)

    assert (found.n, other.n) == (1_200, 1_200 - (1_024 - len(BY_NAME) - 1))
    assert len(found.by_class) < 1_024


@pytest.mark.parametrize("kept", [("response_latency",), ("coverage",), ("stop_latency", "calls")])
def test_windows_of_some_measures_say_of_them_what_windows_of_all_say(kept: tuple[str, ...]) -> None:
    draw, some, whole = random.Random(4), Windows(measures=kept), Windows()
    for number in range(300):
        record = drawn(draw, number)
        some.apply(None, record)
        whole.apply(None, record)

    for measure in kept:
        seen: dict[str, Any] = {"window_s": 3_600, "as_of_ns": AS_OF_NS}
        assert some.read(measure, **seen) == whole.read(measure, **seen)
    assert some.read("unanswered", window_s=3_600, as_of_ns=AS_OF_NS).denominator == 0
    assert some.worst("response_latency", window_s=3_600, as_of_ns=AS_OF_NS) == []
    with pytest.raises(KeyError):
        Windows(measures=("nonsense",))
