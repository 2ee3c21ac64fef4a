"""The relay ships every event once and in order, whatever becomes of it, of the target, and of the log's retention."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from relay_host import EVENTS, TARGET, Fate, FatedTarget, Host, app_event, seqs

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import LogRefused, LogUnavailable, Outgoing, RecordTooLarge
from earwitness.processors import log_health, relay
from earwitness.processors.relay_mark import RelayMark, is_running, mark_path
from earwitness.processors.sink import Outbound

CALLS = ("amber", "birch", "cedar", "dogwood", "elder")
Opened = list[Host]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits half a second for a broker waits a moment here."""
    monkeypatch.setattr(log_health, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(log_health, "MOST_WAIT_S", 0.02)
    monkeypatch.setattr(relay, "STOP_GRACE_S", 0.05)


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    hosts: Opened = []
    yield hosts
    for host in hosts:
        await host.source.close()


async def a_host(opened: Opened, folder: Path, target: MemoryLog | None = None) -> Host:
    host = await Host.open(folder, target or FatedTarget())
    opened.append(host)
    return host


def events(first: int, last: int) -> list[Outgoing]:
    """Those numbers of every call, in turn."""
    return [app_event(call, seq) for seq in range(first, last) for call in CALLS]


async def test_events_arrive_in_the_order_of_their_call_byte_for_byte(tmp_path: Path, opened: Opened) -> None:
    host = await a_host(opened, tmp_path)
    sent = events(0, 40)
    await host.put(*sent)
    assert await host.relays()

    found = await host.target.entries()  # type: ignore[attr-defined]
    for call in CALLS:
        assert [e.value for e in found if e.key == call] == [r.value for r in sent if r.key == call]
    assert host.relay is not None
    assert (host.relay.stats.shipped, host.relay.stats.retries) == (200, 0)


@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_step_and_again_each_event_arrives_once_and_in_order(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(relay, "BATCH", 10)
    chance = random.Random(seed)
    killed = 0
    for at in range(1 + seed, 40, 4):
        folder = tmp_path / str(at)
        folder.mkdir()
        host = await a_host(opened, folder)
        await host.put(*events(0, 5))
        survived = await host.relays(fate=Fate(at))
        killed += not survived
        await host.put(*events(5, 8))
        for _ in range(chance.randrange(3)):
            killed += not await host.relays(fate=Fate(chance.randrange(1, 25)))
        assert await host.relays()
        found = await host.target.entries()  # type: ignore[attr-defined]
        assert {call: seqs(found, call) for call in CALLS} == {call: list(range(8)) for call in CALLS}, at
    assert killed >= 8


@pytest.mark.parametrize("mood", [LogUnavailable("away"), "deaf", "hang"])
async def test_a_target_that_comes_back_has_each_event_once_and_in_order(
    tmp_path: Path, opened: Opened, moody: Any, mood: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = moody(mood)
    taking = target.append

    async def bounded(topic: str, records: Any) -> None:
        try:
            async with asyncio.timeout(0.1):
                await taking(topic, records)
        except TimeoutError:
            raise LogUnavailable("no answer") from None

    monkeypatch.setattr(target, "append", bounded)
    host = await a_host(opened, tmp_path, target)
    await host.put(*events(0, 20))

    def tries() -> bool:
        return bool(target.tries >= (1 if mood == "deaf" else 3))

    assert await host.relays(until=tries)
    target.mood = None
    assert await host.relays()

    reader = await target.reader(EVENTS)
    found = await reader.poll(timeout_s=0, max_records=10_000)
    assert {call: seqs(found, call) for call in CALLS} == {call: list(range(20)) for call in CALLS}
    assert host.relay is not None
    assert host.relay.stats.found_there == (100 if mood == "deaf" else 0)


async def test_a_relay_that_may_only_write_sends_again_what_was_not_acknowledged(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await a_host(opened, tmp_path)
    await host.put(*events(0, 2))
    assert not await host.relays(fate=Fate(6))  # the target has it all; its word did not come
    reading = host.target.reader

    async def refused(topic: str, **options: Any) -> Any:
        raise LogRefused("not allowed to read")

    monkeypatch.setattr(host.target, "reader", refused)
    assert await host.relays()
    monkeypatch.setattr(host.target, "reader", reading)

    found = await host.target.entries()  # type: ignore[attr-defined]
    assert {call: seqs(found, call) for call in CALLS} == {call: [0, 1, 0, 1] for call in CALLS}


async def test_while_the_target_is_away_the_lag_grows_and_a_stop_does_not_wait(
    tmp_path: Path, opened: Opened, moody: Any
) -> None:
    host = await a_host(opened, tmp_path, moody(LogUnavailable("away")))
    await host.put(*events(0, 4))

    def is_told() -> bool:
        assert host.relay is not None
        return host.relay.stats.lag_records == 20 and host.relay.stats.lag_s > 0 and host.relay.stats.log_away

    assert await host.relays(until=is_told)
    assert host.relay is not None
    assert host.relay.stats.retries > 0


async def test_what_retention_takes_unshipped_is_counted_and_named(
    tmp_path: Path, opened: Opened, moody: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "BATCH", 5)
    target = moody(LogUnavailable("away"))
    host = await a_host(opened, tmp_path, target)
    await host.put(*(app_event("amber", seq) for seq in range(30)))
    (partition,) = [p for p, end in (await host.source.end_positions(EVENTS)).items() if end]

    async def shipped_after_the_cut() -> bool:
        assert host.relay is not None
        if target.mood is None:
            return host.relay.stats.shipped >= 23
        if len(host.relay._ahead._noted.get(partition, ())) == 25:
            await host.source.work(lambda file: file.db.execute(
                f"DELETE FROM records_{file.topic(EVENTS).partition_ids[partition]} WHERE offset < 12"
            ))  # fmt: skip
            target.mood = None
        return False

    assert await host.relays(until=shipped_after_the_cut)
    assert host.relay is not None
    assert host.relay.stats.lost["retention"] == 7
    bodies = [json.loads(value) for value in await target.values()]

    # What was in hand, 0 to 4, was shipped all the same.
    assert [body["seq"] for body in bodies if body["kind"] == "app"] == [*range(5), *range(12, 30)]
    dropped = [lost for body in bodies for lost in body.get("dropped", ())]
    assert dropped == [{"first_seq": 5, "last_seq": 11, "reason": "buffer_full", "source": "bot"}]


async def test_an_event_that_the_target_finds_too_large_is_named_and_the_others_go_on(
    tmp_path: Path, opened: Opened, moody: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = moody()
    taking = target.append

    async def narrow(topic: str, records: Any) -> None:
        if any(len(record.value or b"") > 1_000 for record in records):
            raise RecordTooLarge("over max.message.bytes")
        await taking(topic, records)

    monkeypatch.setattr(target, "append", narrow)
    host = await a_host(opened, tmp_path, target)
    await host.put(*(app_event("amber", seq, text="x" * (2_000 if seq == 3 else 1)) for seq in range(6)))
    assert await host.relays()

    bodies = [json.loads(value) for value in await target.values()]
    assert [body["seq"] for body in bodies if body["source"] == "bot"] == [0, 1, 2, 4, 5]
    (report,) = [body for body in bodies if body["source"] == "relay-bot-3"]
    assert report["dropped"] == [{"first_seq": 3, "last_seq": 3, "reason": "too_large", "source": "bot"}]


def outbound(call: str, seq: int) -> Outbound:
    payload = app_event(call, seq).value
    assert payload is not None
    return Outbound(call, "bot", seq, "app", seq, seq, payload)


@pytest.mark.parametrize("at", range(9))
async def test_spools_of_dead_processes_are_taken_up_once_however_often_the_relay_dies(
    tmp_path: Path, opened: Opened, at: int
) -> None:
    host = await a_host(opened, tmp_path)
    left = host.spool.create()
    assert left is not None
    left.append([outbound("amber", seq) for seq in range(12)])
    left.close()

    await host.relays(fate=Fate(at))
    assert await host.relays()

    assert seqs(await host.target.entries(), "amber") == list(range(12))  # type: ignore[attr-defined]
    assert list((tmp_path / "spool").iterdir()) == []


async def test_a_spool_of_a_bot_that_lives_is_left_alone(tmp_path: Path, opened: Opened) -> None:
    host = await a_host(opened, tmp_path)
    own = host.spool.create()
    assert own is not None
    own.append([outbound("amber", 0)])
    began_s = time.monotonic()

    assert await host.relays(until=lambda: time.monotonic() - began_s > 0.2)
    assert await host.target.entries() == []  # type: ignore[attr-defined]
    assert own.read().items
    own.remove()


def test_a_log_has_one_relay_to_a_target(tmp_path: Path) -> None:
    path = mark_path(tmp_path / "log.db", TARGET)
    assert not is_running(path)
    mark = RelayMark.take(path)
    assert is_running(path)
    with pytest.raises(BadInput, match="another relay ships this log"):
        RelayMark.take(path)
    mark.close()
    assert not is_running(path)
    RelayMark.take(path).close()
    assert mark_path(tmp_path / "log.db", "kafka://other:9092/earwitness") != path


@pytest.mark.parametrize("torn", [b"", b"{", b'{"ends": 1, "upto": {}, "until_ns": 0}\n', b"\xff\x00"])
def test_a_mark_that_is_not_whole_is_no_mark(tmp_path: Path, torn: bytes) -> None:
    path = mark_path(tmp_path / "log.db", TARGET)
    path.write_bytes(torn)
    mark = RelayMark.take(path)
    assert mark.under_way is None
    mark.close()
