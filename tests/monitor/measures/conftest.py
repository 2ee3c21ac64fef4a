"""Records to measure: what a test does not name has a value that matters to nothing."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from earwitness.monitor.contract.records import Call, Overlap, Turn

S = 1_000_000_000
TEN_O_CLOCK_NS = 1_700_000_400 * S - 1_700_000_400 * S % (3_600 * S)
"""A full hour, so that bucket edges are easy to see."""


class Make(Protocol):
    """A maker of one kind of record."""

    def __call__(self, at_s: float = 0.0, **fields: Any) -> Any: ...


def _common(at_s: float, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "call_id": "c1",
        "event_wall_ns": TEN_O_CLOCK_NS + round(at_s * S),
        "agent": "clinic",
        "version": "42",
        **fields,
    }


@pytest.fixture
def hour_ns() -> int:
    return TEN_O_CLOCK_NS


@pytest.fixture
def turn() -> Make:
    """A turn at ``at_s`` after the hour; ``latency_s`` answers it, ``waited_s`` leaves it unanswered."""

    def make(at_s: float = 0.0, **fields: Any) -> Turn:
        latency_s = fields.pop("latency_s", None)
        waited_s = fields.pop("waited_s", None)
        made: dict[str, Any] = {"id": "t1", "u_on_ns": 0, "u_off_ns": S}
        if latency_s is not None:
            made |= {"response_latency_ns": round(latency_s * S), "answered_by": "a1"}
        if waited_s is not None:
            made |= {"unanswered": True, "waited_ns": round(waited_s * S)}
        return Turn(**_common(at_s, {**made, **fields}))

    return make


@pytest.fixture
def overlap() -> Make:
    def make(at_s: float = 0.0, **fields: Any) -> Overlap:
        return Overlap(**_common(at_s, {"id": "o1", "u_on_ns": 0, "u_off_ns": S, **fields}))

    return make


@pytest.fixture
def call() -> Make:
    """An ended call in scope and contained."""

    def make(at_s: float = 0.0, **fields: Any) -> Call:
        made: dict[str, Any] = {
            "id": "call", "started_wall_ns": 0, "ended_ns": S, "end_cause": "caller", "outcome": "contained",
            "in_scope": True, "contained": True,
        }  # fmt: skip
        return Call(**_common(at_s, {**made, **fields}))

    return make
