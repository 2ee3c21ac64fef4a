"""A dead letter says where the original lies and why it is here."""

from __future__ import annotations

import json
from typing import Any

from earwitness.consumers.dead_letters import DeadLetters, dead_letter, without_payload
from earwitness.monitor.log.protocol import Entry


def entry(value: bytes | None) -> Entry:
    return Entry("earwitness.events", 3, 42, "c1", value, 77)


def body(value: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dead_letter(entry(value), "invalid", "seq: missing").value or b"")
    return found


def test_a_letter_names_topic_partition_offset_and_reason() -> None:
    letter = dead_letter(entry(b"{}"), "invalid", "seq: missing")

    assert letter.key == "earwitness.events/3/42"
    assert json.loads(letter.value or b"") == {
        "v": 1, "topic": "earwitness.events", "partition": 3, "offset": 42, "append_ns": 77, "key": "c1",
        "reason": "invalid", "detail": "seq: missing", "payload": "{}",
    }  # fmt: skip


def test_bytes_that_are_no_text_are_carried_too() -> None:
    assert body(b"\xff\x00")["payload_base64"] == "/wA="
    assert body(None)["payload"] is None


def test_a_letter_can_do_without_its_payload() -> None:
    found = json.loads(without_payload(dead_letter(entry(b"\xff"), "invalid", "x")).value or b"")

    assert found["payload_left_out"] is True
    assert not {"payload", "payload_base64"} & found.keys()


def test_a_reader_that_writes_nothing_only_counts() -> None:
    letters = DeadLetters(keep=False)
    letters.add(entry(b"{"), "not_json", "x")

    assert letters.by_reason == {"not_json": 1}
    assert letters.take() == []


def test_letters_are_taken_once() -> None:
    letters = DeadLetters()
    letters.add(entry(b"{"), "not_json", "x")

    assert len(letters.take()) == 1
    assert letters.take() == []
