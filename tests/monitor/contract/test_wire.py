"""Bytes in and out of the contract, and why some cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from earwitness.monitor.contract.events import CallStarted, Connected, Stage
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event, decode_record, encode

CONNECTED: dict[str, Any] = {
    "kind": "connected", "call_id": "c1", "source": "bot", "seq": 0, "at_ns": 5, "wall_ns": 1_700_000_000_000_000_000,
}  # fmt: skip


def test_an_event_survives_the_wire() -> None:
    event = CallStarted(call_id="c1", source="bot", seq=0, at_ns=0, wall_ns=1, agent="Ärzte", labels={"route": "ivr"})

    assert decode_event(encode(event)) == event


def test_an_event_of_a_later_minor_contract_reads_with_its_unknown_fields_left_out() -> None:
    event = decode_event(json.dumps({**CONNECTED, "mood": "fine", "nested": {"a": [1]}}).encode())

    assert event == Connected(**{**CONNECTED, "v": 1})


def test_an_event_without_a_version_is_of_the_first() -> None:
    assert decode_event(json.dumps(CONNECTED).encode()).v == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        pytest.param(b"\xff\x00", "not_json", id="no text"),
        pytest.param(b"{", "not_json", id="broken JSON"),
        pytest.param(b"[1]", "invalid", id="no object"),
        pytest.param(json.dumps({**CONNECTED, "v": 2}).encode(), "unknown_version", id="a newer version"),
        pytest.param(b'{"v":2,"kind":"hologram"}', "unknown_version", id="a newer version with a kind of its own"),
        pytest.param(json.dumps({**CONNECTED, "kind": "hologram"}).encode(), "unknown_kind", id="unknown kind"),
        pytest.param(json.dumps({**CONNECTED, "seq": -1}).encode(), "invalid", id="negative seq"),
        pytest.param(json.dumps({**CONNECTED, "at_ns": 2**63}).encode(), "invalid", id="a moment beyond 64 bits"),
        pytest.param(json.dumps({**CONNECTED, "seq": "1"}).encode(), "invalid", id="a number as text"),
        pytest.param(json.dumps({**CONNECTED, "v": "1"}).encode(), "invalid", id="a version as text"),
        pytest.param(b'{"kind":"connected"}', "invalid", id="fields missing"),
        pytest.param(b"{}", "invalid", id="no kind"),
    ],
)
def test_what_cannot_be_read_says_why_from_a_closed_list(payload: bytes, reason: str) -> None:
    with pytest.raises(UnreadableRecord) as caught:
        decode_event(payload)

    assert caught.value.reason == reason


def test_a_refusal_carries_no_value_of_the_payload() -> None:
    with pytest.raises(UnreadableRecord) as caught:
        decode_event(json.dumps({**CONNECTED, "seq": "my number is 555 0199"}).encode())

    assert "555" not in str(caught.value)
    assert "seq" in str(caught.value)


def test_a_number_that_is_not_finite_is_written_as_unknown() -> None:
    stage = Stage(
        call_id="c", source="bot", seq=0, at_ns=0, wall_ns=0, service="llm", metric="ttfb", value_s=float("nan")
    )

    read = decode_event(encode(stage))

    assert isinstance(read, Stage)
    assert read.value_s is None


def test_an_event_is_no_record() -> None:
    with pytest.raises(UnreadableRecord, match="unknown_kind"):
        decode_record(json.dumps(CONNECTED).encode())
