"""The recorder: numbered, dated, redacted, checked; and never raising."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from earwitness.monitor.contract.events import (
    CallEnded,
    DroppedRange,
    Dtmf,
    Health,
    Interruption,
    Transcript,
    TurnStarted,
)
from earwitness.processors.recorder import Recorder, sampled
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.sink import MemorySink, Outbound

SECOND = 1_000_000_000


class Wall:
    """A wall clock that stands a fixed distance from the call's."""

    def wall_of(self, at_ns: int) -> int:
        return 1_000 * SECOND + at_ns


def recorder(sink: MemorySink | None = None, **more: Any) -> Recorder:
    options: dict[str, Any] = {"redactor": NoRedaction(), "clock": Wall(), **more}
    return Recorder("call-1", sink=sink or MemorySink(), **options)


def test_events_are_numbered_from_0_and_dated_by_both_clocks() -> None:
    sink = MemorySink()
    record = recorder(sink)

    assert record.emit(TurnStarted, 5) == 0
    assert record.emit(Interruption, 7, cause="user_turn") == 1

    first, second = sink.events
    assert (first.call_id, first.source, first.seq, first.at_ns) == ("call-1", "bot", 0, 5)
    assert first.wall_ns == 1_000 * SECOND + 5
    assert isinstance(second, Interruption)
    assert second.cause == "user_turn"


def test_at_ns_never_falls_within_a_source() -> None:
    sink = MemorySink()
    record = recorder(sink)
    record.emit(TurnStarted, 10)
    record.emit(TurnStarted, 3)

    assert [event.at_ns for event in sink.events] == [10, 10]


def test_each_source_counts_for_itself_and_the_call_counts_them_all() -> None:
    sink = MemorySink()
    record = recorder(sink)
    app = record.child("app")
    record.emit(TurnStarted, 1)
    app.emit(TurnStarted, 2)
    app.emit(Dtmf, 3, party="caller", button="1")

    assert [(event.source, event.seq) for event in sink.events] == [("bot", 0), ("app", 0), ("app", 1)]
    assert record.ledger.counts == app.ledger.counts == {"turn_started": 2, "dtmf": 1}


def test_a_fact_that_the_contract_refuses_is_counted_and_takes_no_number() -> None:
    sink = MemorySink()
    record = recorder(sink)

    assert record.emit(Dtmf, 1, party="nobody", button="1") is None
    assert record.emit(TurnStarted, 2) == 0

    assert record.ledger.invalid == {"dtmf": 1}
    assert [event.seq for event in sink.events] == [0]


class Breaks:
    """A redactor, and a sink, that fail."""

    def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        raise RuntimeError(kind)


class BrokenSink(MemorySink):
    def put(self, item: Outbound) -> None:
        raise OSError("no room")


@pytest.mark.parametrize(
    "record",
    [recorder(redactor=Breaks()), recorder(BrokenSink())],
    ids=["redactor", "sink"],
)
def test_no_failure_leaves_the_recorder(record: Recorder) -> None:
    assert record.emit(TurnStarted, 1) is None
    assert record.ledger.errors == 1
    assert record.next_seq == 0


def test_what_cannot_be_redacted_is_not_sent() -> None:
    sink = MemorySink()
    recorder(sink, redactor=Breaks()).emit(Transcript, 1, party="caller", text="4111 1111 1111 1111", final=True)

    assert sink.items == []


def test_the_redactor_sees_the_kind_and_every_field() -> None:
    class Stars:
        def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
            assert kind == "dtmf"
            return {**fields, "button": "*"}

    sink = MemorySink()
    recorder(sink, redactor=Stars()).emit(Dtmf, 1, party="caller", button="7")

    (event,) = sink.events
    assert isinstance(event, Dtmf)
    assert event.button == "*"


def test_events_over_the_cap_are_dropped_as_a_range_that_health_reports() -> None:
    sink = MemorySink()
    record = recorder(sink, per_second=10, burst=3)
    for at in range(6):
        record.emit(TurnStarted, at)
    record.emit(TurnStarted, SECOND)

    assert [event.seq for event in sink.events] == [0, 1, 2, 6]
    assert record.lossy
    record.health(SECOND + 1)

    health = sink.events[-1]
    assert isinstance(health, Health)
    assert health.dropped == (DroppedRange(first_seq=3, last_seq=5, reason="rate_capped"),)
    assert health.seq == 7
    assert record.ledger.counts == {"turn_started": 7, "health": 1}
    assert not record.lossy


def test_the_end_of_the_call_is_never_capped() -> None:
    sink = MemorySink()
    record = recorder(sink, per_second=1, burst=1)
    for at in range(5):
        record.emit(TurnStarted, at)
    record.emit(CallEnded, 6, cause="agent")

    assert isinstance(sink.events[-1], CallEnded)
    assert sink.items[-1].droppable == 0


def test_the_cap_leaves_an_ordinary_rate_alone_for_ever() -> None:
    sink = MemorySink()
    record = recorder(sink)
    for n in range(3_000):
        record.emit(TurnStarted, n * SECOND // 45)

    assert len(sink.items) == 3_000


def test_interims_give_way_before_finals() -> None:
    sink = MemorySink()
    record = recorder(sink)
    record.emit(Transcript, 1, party="caller", text="he", final=False)
    record.emit(Transcript, 2, party="caller", text="hello", final=True)

    assert [item.droppable for item in sink.items] == [2, 1]


def test_a_recorder_that_is_off_does_nothing() -> None:
    sink = MemorySink()
    record = recorder(sink, on=False)

    assert record.emit(TurnStarted, 1) is None
    assert sink.items == []
    assert record.child("app").emit(TurnStarted, 1) is None


def test_fields_that_are_absent_are_not_on_the_wire() -> None:
    sink = MemorySink()
    recorder(sink).emit(TurnStarted, 1)

    assert set(json.loads(sink.items[0].payload)) == {"v", "call_id", "source", "seq", "at_ns", "wall_ns", "kind"}


def test_sampling_takes_the_same_calls_every_time_and_about_the_share_asked_for() -> None:
    calls = [f"call-{n}" for n in range(10_000)]
    taken = {call for call in calls if sampled(call, 0.25)}

    assert 2_300 < len(taken) < 2_700
    assert taken <= {call for call in calls if sampled(call, 0.5)}
    assert not any(sampled(call, 0.0) for call in calls)
    assert all(sampled(call, 1.0) for call in calls)
