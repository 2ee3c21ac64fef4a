"""Windows against a naive recount: every reading is what counting the latest revisions one by one says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from drawn_records import AS_OF_NS, NOW_NS, Drawn, S, drawn
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from slots_of import value_slots

from earwitness.monitor.contract.records import (
    AnyRecord,
    Call,
    StageSample,
    Turn,
)
from earwitness.monitor.measures.catalogue import BY_NAME, MEASURES, parse
from earwitness.monitor.measures.classes import kept_long
from earwitness.monitor.measures.contributions import What, contributions
from earwitness.monitor.measures.histogram import default_binning
from earwitness.monitor.measures.reading import Labels, Reading
from earwitness.monitor.measures.readout import read_out
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.measures.windows import Windows


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
