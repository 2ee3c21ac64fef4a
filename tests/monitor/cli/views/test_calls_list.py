from __future__ import annotations

from datetime import UTC

from earwitness.monitor.cli.views.calls_list import HEADING, call_line
from earwitness.monitor.contract.records import Call

WALL_NS = 1_764_511_269_000_000_000


def line(call_id: str, **fields: object) -> str:
    base = {
        "call_id": call_id, "event_wall_ns": WALL_NS, "agent": "clinic", "version": "42", "final": True,
        "id": "call", "rev": 1, "started_wall_ns": WALL_NS, "ended_ns": 26_000_000_000, "outcome": "contained",
    }  # fmt: skip
    found = call_line([Call.model_validate(base | fields)], UTC)
    assert found is not None
    return found.text


def test_a_random_id_is_shown_by_its_first_digits_and_the_columns_stay_in_line() -> None:
    text = line("82764a0813e24c8eb203cf5e40c32d19")

    assert "82764a08 " in text
    assert "82764a081" not in text
    assert text.index("clinic v42") == HEADING.index("agent")


def test_an_id_that_somebody_chose_stands_as_it_is() -> None:
    assert "c-7f3a " in line("c-7f3a")
    assert "order-desk-2026-11-30…" in line("order-desk-2026-11-30-000417")


def test_one_fault_is_one_fault() -> None:
    assert line("c1", faults=1).endswith("contained, 1 fault")
    assert line("c1", faults=2).endswith("contained, 2 faults")
