"""Dead letters are read, and put back once, on every log."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from log_places import Place, embedded, in_memory, on_kafka, read

from earwitness.consumers.dead_letter_box import Letter, original, read_box, replay
from earwitness.consumers.dead_letters import dead_letter, without_payload
from earwitness.monitor.log.protocol import Entry, Log, LogUnavailable, Outgoing
from earwitness.monitor.log.topics import topic_specs


def event(seq: int, **changes: object) -> bytes:
    fields = {"kind": "connected", "call_id": "c1", "source": "bot", "seq": seq, "at_ns": seq, "wall_ns": seq}
    return json.dumps(fields | changes).encode()


READABLE, NEWER = event(1), event(2, v=99)


@pytest.fixture(params=["memory", "embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    prefix = f"t{uuid.uuid4().hex[:10]}"
    if request.param == "kafka":
        made = on_kafka(prefix, request.getfixturevalue("kafka_bootstrap"))
    else:
        made = in_memory(prefix) if request.param == "memory" else embedded(prefix, tmp_path)
    yield made
    for log in made.opened:
        await log.close()


async def opened(place: Place) -> Log:
    return await place.open(*topic_specs(place.prefix, 2))


async def set_aside(log: Log, *values: bytes, reason: str = "unknown_version", first: int = 10) -> list[Outgoing]:
    letters = [
        dead_letter(Entry(f"{log.prefix}.events", 0, first + n, "c1", value, 7_000 + n), reason, "why")
        for n, value in enumerate(values)
    ]
    await log.append(f"{log.prefix}.dead", letters)
    return letters


async def events_of(log: Log) -> list[tuple[str, bytes | None]]:
    topic = f"{log.prefix}.events"
    count = sum((await log.end_positions(topic)).values())
    reader = await log.reader(topic)
    found = [(entry.key, entry.value) for entry in await read(reader, count)]
    await reader.close()
    return found


async def test_what_can_be_read_by_now_is_put_back_once_and_the_rest_stays(place: Place) -> None:
    log = await opened(place)
    await set_aside(log, READABLE, NEWER, b"\xff{")
    box = await read_box(log)
    assert [(letter.id, letter.payload, letter.arrived_ns) for letter in box.letters] == [
        (f"{log.prefix}.events/0/10", READABLE, 7_000),
        (f"{log.prefix}.events/0/11", NEWER, 7_001),
        (f"{log.prefix}.events/0/12", b"\xff{", 7_002),
    ]

    tried = await replay(log, box.waiting, dry_run=True)
    assert [letter.offset for letter in tried.put_back] == [10]
    assert await events_of(log) == []

    done = await replay(log, box.waiting)
    assert [(letter.offset, why.split(":")[0]) for letter, why in done.stays] == [
        (11, "unknown_version"), (12, "not_json"),
    ]  # fmt: skip
    assert await events_of(log) == [("c1", READABLE)]

    after = await read_box(log)
    assert [letter.offset for letter in after.waiting] == [11, 12]
    assert len(after.letters) == 3
    assert (await replay(log, after.waiting)).put_back == []
    assert await events_of(log) == [("c1", READABLE)]


async def test_a_letter_that_was_written_again_after_its_replay_is_the_same_letter(place: Place) -> None:
    log = await opened(place)
    await set_aside(log, READABLE)
    await replay(log, (await read_box(log)).waiting)
    await set_aside(log, READABLE)

    box = await read_box(log)
    assert (len(box.letters), box.waiting) == (1, [])


async def test_another_record_at_the_same_place_is_another_letter(place: Place) -> None:
    log = await opened(place)
    await set_aside(log, READABLE)
    await replay(log, (await read_box(log)).waiting)
    await set_aside(log, event(9))

    assert [letter.payload for letter in (await read_box(log)).waiting] == [event(9)]


async def test_a_letter_without_its_bytes_takes_them_from_where_they_lay(place: Place) -> None:
    log = await opened(place)
    topic = f"{log.prefix}.events"
    await log.append(topic, [Outgoing("c1", READABLE)])
    reader = await log.reader(topic)
    (entry,) = await read(reader, 1)
    await reader.close()
    await log.append(f"{log.prefix}.dead", [without_payload(dead_letter(entry, "handler_error", "KeyError"))])

    (letter,) = (await read_box(log)).waiting
    assert letter.payload is None
    assert await original(log, letter) == READABLE
    assert len((await replay(log, [letter])).put_back) == 1

    gone = Letter("x", topic, entry.partition, entry.offset + 7, "c1", "handler_error", "x", 0, 0, None, left_out=True)
    assert [why for _, why in (await replay(log, [gone])).stays] == ["its bytes are no longer kept"]


async def test_only_events_and_records_are_put_back(place: Place) -> None:
    log = await opened(place)
    await log.append(
        f"{log.prefix}.dead", [dead_letter(Entry(f"{log.prefix}.alerts", 0, 1, "k", b"{}", 1), "invalid", "x")]
    )

    done = await replay(log, (await read_box(log)).waiting)
    assert [why for _, why in done.stays] == [f"nothing is put back onto {log.prefix}.alerts"]


async def test_what_is_no_letter_is_counted(place: Place) -> None:
    log = await opened(place)
    await log.append(
        f"{log.prefix}.dead", [Outgoing("x", b"no json"), Outgoing("x", b"[]"), Outgoing("x", b'{"v": 1}')]
    )

    assert await read_box(log) == await read_box(log)
    assert (await read_box(log)).broken == 3


async def test_letters_may_be_those_of_late(tmp_path: Path) -> None:
    log = await opened(embedded("earwitness", tmp_path))
    await set_aside(log, READABLE)
    (letter,) = (await read_box(log)).letters

    assert len((await read_box(log, since_ns=letter.set_aside_ns)).letters) == 1
    assert (await read_box(log, since_ns=letter.set_aside_ns + 10**9)).letters == []
    await log.close()


async def test_a_crash_before_the_mark_puts_back_the_same_bytes_under_the_same_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = await opened(in_memory("earwitness"))
    await set_aside(log, READABLE)
    appending = log.append

    async def dies_at_the_mark(topic: str, records: list[Outgoing]) -> None:
        if topic.endswith(".dead"):
            raise LogUnavailable("gone")
        await appending(topic, records)

    monkeypatch.setattr(log, "append", dies_at_the_mark)
    with pytest.raises(LogUnavailable):
        await replay(log, (await read_box(log)).waiting)
    monkeypatch.undo()
    await replay(log, (await read_box(log)).waiting)

    assert await events_of(log) == [("c1", READABLE)] * 2
    assert (await read_box(log)).waiting == []
