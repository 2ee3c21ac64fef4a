"""The contract as it grows: what version 1 wrote is read for ever, and what a newer bot writes harms no older reader.

``tests/data/events_v1.jsonl`` holds bytes of version 1: every kind with its least fields, with all of them, and with
every value that a field of few values has. Its lines are never changed; a new kind or value adds some.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from pydantic import BaseModel, TypeAdapter, create_model

from earwitness.consumers.dead_letters import DeadLetters
from earwitness.consumers.failed import Failed
from earwitness.consumers.worker import Batch, Worker
from earwitness.monitor.contract.decoder import decode_event_fast, struct_of
from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Entry, Gap, Outgoing

LINES = (Path(__file__).resolve().parents[2] / "data" / "events_v1.jsonl").read_bytes().splitlines()
KINDS = {str(model.model_fields["kind"].default): model for model in EVENT_TYPES}
DECODERS = (decode_event, decode_event_fast)


def of_kind(kind: str) -> list[bytes]:
    return [line for line in LINES if json.loads(line)["kind"] == kind]


def literal_values(hint: Any) -> set[Any]:
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {value for inner in get_args(hint) for value in literal_values(inner)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decode", DECODERS)
def test_every_line_of_version_1_is_read_as_it_was_written(kind: str, decode: Any) -> None:
    lines = of_kind(kind)

    assert lines, "a new kind wants lines of its own"
    for line in lines:
        written, found = json.loads(line), decode(line)
        assert {name: plain(getattr(found, name)) for name in written} == written


def plain(value: Any) -> Any:
    """A field's value as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_have_every_field_and_every_value_of_few(kind: str) -> None:
    written = [json.loads(line) for line in of_kind(kind)]
    for name, field in KINDS[kind].model_fields.items():
        assert any(name in one for one in written), name
        seen = {value for one in written for value in listed(one.get(name))}
        assert literal_values(field.annotation) <= seen | {None}, name


def listed(value: Any) -> list[Any]:
    return (
        value
        if isinstance(value, list) and not any(isinstance(one, dict) for one in value)
        else [value if not isinstance(value, (list, dict)) else None]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_contract_with_a_field_more_reads_version_1(kind: str) -> None:
    grown = create_model(f"Grown{KINDS[kind].__name__}", __base__=KINDS[kind], added_later=(str | None, None))
    fast: msgspec.json.Decoder[Any] = msgspec.json.Decoder(struct_of(grown))

    for line in of_kind(kind):
        checked: Any = TypeAdapter(grown).validate_json(line)
        assert checked.added_later is None
        assert fast.decode(line).added_later is None


@pytest.mark.parametrize("decode", DECODERS)
def test_fields_that_a_newer_bot_adds_are_ignored_wherever_they_stand(decode: Any) -> None:
    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            own = {name: grown(one) for name, one in value.items()}
            # A map of names to values is no object of the contract: there a new name is a new value.
            return own if set(own) & {"route", "one"} else {**own, "added_later": {"deep": [1, None, "ü"]}}
        return [grown(one) for one in value] if isinstance(value, list) else value

    for line in LINES:
        assert decode(json.dumps(grown(json.loads(line))).encode()) == decode(line)


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize(
    ("changes", "reason", "says"),
    [
        ({"kind": "thought_read"}, "unknown_kind", "kind 'thought_read' is not in the contract"),
        ({"v": 2}, "unknown_version", "version 2 is not 1; a newer reader is needed"),
        ({"v": 2, "kind": "thought_read"}, "unknown_version", "version 2 is not 1; a newer reader is needed"),
        ({"v": 2, "source": 7}, "unknown_version", "version 2 is not 1; a newer reader is needed"),
    ],
)
def test_what_is_newer_than_the_reader_is_told_from_what_is_wrong(
    decode: Any, changes: dict[str, Any], reason: str, says: str
) -> None:
    for kind in KINDS:
        with pytest.raises(UnreadableRecord) as caught:
            decode(json.dumps(json.loads(of_kind(kind)[0]) | changes).encode())
        assert (caught.value.reason, caught.value.detail) == (reason, says)


class Takes:
    """Keeps what it is handed."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def handle_all(self, entries: Sequence[Entry], values: Sequence[Any], failed: Failed) -> None:
        self.kinds += [value.kind for value in values]

    def missed(self, gap: Gap) -> None:
        raise AssertionError(gap)

    def take(self) -> list[Batch]:
        return []


async def test_a_worker_reads_version_1_and_sets_aside_with_a_reason_what_is_newer() -> None:
    log, handler, dead = MemoryLog(partitions=1), Takes(), DeadLetters()
    newer = [json.dumps(json.loads(LINES[0]) | more).encode() for more in ({"v": 2}, {"kind": "thought_read"})]
    await log.append("earwitness.events", [Outgoing("c", line) for line in (newer[0], *LINES, newer[1])])
    reader = await log.reader("earwitness.events", group="g")
    worker = Worker(log, reader, handler, decode=decode_event_fast, dead=dead)

    while await worker.step(0):
        pass

    assert set(handler.kinds) == set(KINDS)
    assert len(handler.kinds) == len(LINES)
    assert dead.by_reason == {"unknown_version": 1, "unknown_kind": 1}
    letters = await (await log.reader("earwitness.dead")).poll(timeout_s=0)
    assert [json.loads(letter.value or b"")["reason"] for letter in letters] == ["unknown_version", "unknown_kind"]
    assert [json.loads(letter.value or b"")["offset"] for letter in letters] == [0, len(LINES) + 1]
