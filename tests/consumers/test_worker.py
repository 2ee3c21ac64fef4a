"""The loop that all workers share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from earwitness.consumers.dead_letters import HANDLER_ERROR, DeadLetters
from earwitness.consumers.failed import Failed
from earwitness.consumers.worker import FIRST_PAUSE_S, LONGEST_PAUSE_S, Batch, Stopped, Worker
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import decode_event
from earwitness.monitor.log.limits import MAX_RECORD_BYTES
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Entry, Gap, LogUnavailable, Outgoing

EVENTS, RECORDS, DEAD = "earwitness.events", "earwitness.records", "earwitness.dead"


class Echo:
    """A handler that publishes the key of each event that it was given; on call ``boom`` it fails."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gaps: list[Gap] = []
        self._waiting: list[Outgoing] = []

    def handle_all(self, entries: Sequence[Entry], values: Sequence[AnyEvent], failed: Failed) -> None:
        for entry, value in zip(entries, values, strict=True):
            if value.call_id == "boom":
                failed(entry, ValueError("no"))
                continue
            self.seen.append(value.call_id)
            self._waiting.append(Outgoing(value.call_id, b"{}"))

    def missed(self, gap: Gap) -> None:
        self.gaps.append(gap)

    def take(self) -> Sequence[Batch]:
        waiting, self._waiting = self._waiting, []
        return [Batch(RECORDS, waiting)]


class Pauses:
    """Waits that do not wait, and what happens meanwhile."""

    def __init__(self, *meanwhile: Any) -> None:
        self.seconds: list[float] = []
        self._meanwhile = list(meanwhile)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self._meanwhile:
            self._meanwhile.pop(0)()


async def worker_of(log: MemoryLog, handler: Echo, **options: Any) -> Worker[AnyEvent]:
    reader = await log.reader(EVENTS, group="test")
    return Worker(log, reader, handler, decode=decode_event, dead=DeadLetters(), **options)


async def test_a_batch_is_published_and_then_committed(site: Any, make_bot: Any) -> None:
    await site.send(*make_bot("c1").start().made)
    handler = Echo()
    worker = await worker_of(site.log, handler)

    assert await worker.step(0) == 2

    assert [entry.key for entry in await site.all(RECORDS)] == ["c1", "c1"]
    assert sum((await site.log.committed("test", EVENTS)).values()) == 2


async def test_d09_poison_goes_to_the_dead_letters_and_the_rest_goes_on(site: Any, make_bot: Any) -> None:
    good = make_bot("c1").start().made
    await site.send_bytes(good[0].model_dump_json().encode(), key="c1")
    await site.send_bytes(b"\xff\xfe{", key="c1")
    await site.send_bytes(b'{"v":9,"kind":"connected"}', key="c1")
    await site.send_bytes(good[1].model_dump_json().encode(), key="c1")
    handler = Echo()
    worker = await worker_of(site.log, handler)

    await worker.step(0)

    letters = [json.loads(entry.value) for entry in await site.all(DEAD)]
    assert handler.seen == ["c1", "c1"]
    assert [(letter["offset"], letter["reason"]) for letter in letters] == [(1, "not_json"), (2, "unknown_version")]
    assert letters[0]["payload_base64"] == "//57"
    assert letters[1]["payload"] == '{"v":9,"kind":"connected"}'
    assert letters[1]["topic"] == EVENTS
    ends = await site.log.end_positions(EVENTS)
    committed = await site.log.committed("test", EVENTS)
    assert {p: end for p, end in ends.items() if end} == committed


async def test_a_record_that_makes_the_handler_fail_is_a_dead_letter_too(site: Any, make_bot: Any) -> None:
    await site.send(*make_bot("boom").start().made[:1], *make_bot("c1").start().made[:1])
    handler = Echo()
    worker = await worker_of(site.log, handler)

    await worker.step(0)

    (letter,) = [json.loads(entry.value) for entry in await site.all(DEAD)]
    assert handler.seen == ["c1"]
    assert (letter["reason"], letter["detail"]) == (HANDLER_ERROR, "ValueError")
    assert worker.dead.by_reason == {HANDLER_ERROR: 1}


async def test_a_dead_letter_too_large_for_the_log_goes_without_its_payload(clock: Any) -> None:
    log = MemoryLog(clock_ns=clock)
    await log.append(EVENTS, [Outgoing("k", b"x" * (MAX_RECORD_BYTES - 10))])
    worker = await worker_of(log, Echo())

    await worker.step(0)

    reader = await log.reader(DEAD)
    (entry,) = await reader.poll(timeout_s=0)
    letter = json.loads(entry.value or b"")
    assert letter["payload_left_out"] is True
    assert letter["offset"] == 0


async def test_a_log_that_is_away_is_waited_for_with_growing_pauses_and_nothing_is_lost(
    site: Any, make_bot: Any
) -> None:
    await site.send(*make_bot("c1").start().made)
    pauses = Pauses(*[lambda: None] * 8, lambda: setattr(site.log, "fault", None))
    worker = await worker_of(site.log, Echo(), pause=pauses)
    site.log.fault = LogUnavailable("memory: nobody answers")

    await worker.step(0)

    assert pauses.seconds == [min(FIRST_PAUSE_S * 2**i, LONGEST_PAUSE_S) for i in range(9)]
    assert len(await site.all(RECORDS)) == 2
    assert not worker.away


async def test_a_stop_while_the_log_is_away_commits_nothing(site: Any, make_bot: Any) -> None:
    await site.send(*make_bot("c1").start().made)
    stop = asyncio.Event()
    worker = await worker_of(site.log, Echo(), stop=stop, pause=Pauses(stop.set))
    site.log.fault = LogUnavailable("memory: nobody answers")

    with pytest.raises(Stopped):
        await worker.step(0)

    assert await site.log.committed("test", EVENTS) == {}


async def test_a_stop_finishes_the_batch_in_hand(site: Any, make_bot: Any) -> None:
    await site.send(*make_bot("c1").start().made)
    stop = asyncio.Event()

    class Stopping(Echo):
        def handle_all(self, entries: Sequence[Entry], values: Sequence[AnyEvent], failed: Failed) -> None:
            stop.set()
            super().handle_all(entries, values, failed)

    handler = Stopping()
    worker = await worker_of(site.log, handler, stop=stop, pause=Pauses())
    await worker.run(poll_s=0)

    assert handler.seen == ["c1", "c1"]
    assert len(await site.all(RECORDS)) == 2
    assert sum((await site.log.committed("test", EVENTS)).values()) == 2


@pytest.mark.parametrize(("handling_s", "pauses_s"), [(0.0, [0.1]), (0.03, [0.07]), (0.2, [])])
async def test_records_that_come_singly_are_gathered_while_others_are_handled(
    site: Any, make_bot: Any, monkeypatch: pytest.MonkeyPatch, handling_s: float, pauses_s: list[float]
) -> None:
    await site.send(*make_bot("c1").start().made)
    stop, now_s = asyncio.Event(), 1_000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s)

    class Slow(Echo):
        def take(self) -> Any:
            nonlocal now_s
            now_s += handling_s
            if not pauses_s:
                stop.set()
            return super().take()

    pauses = Pauses(stop.set)
    worker = await worker_of(site.log, Slow(), stop=stop, pause=pauses)

    await worker.run(poll_s=0, gather_s=0.1)

    assert pauses.seconds == pytest.approx(pauses_s)


async def test_an_impatient_worker_raises_what_the_log_raises(site: Any, make_bot: Any) -> None:
    await site.send(*make_bot("c1").start().made)
    worker = await worker_of(site.log, Echo(), patient=False)
    site.log.fault = LogUnavailable("memory: nobody answers")

    with pytest.raises(LogUnavailable):
        await worker.step(0)


async def test_records_that_retention_took_are_told_to_the_handler(site: Any) -> None:
    handler = Echo()
    log = MemoryLog(clock_ns=site.clock)
    reader = await log.reader(EVENTS)
    worker = Worker(log, reader, handler, decode=decode_event, dead=DeadLetters(), commit=False)
    await log.append(EVENTS, [Outgoing("k", b"{}")] * 5)
    log.drop_before(EVENTS, 0, 3)

    await worker.step(0)

    assert [gap.lost for gap in handler.gaps] == [3]
