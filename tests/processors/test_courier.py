"""From the buffer to the log: in order, once where the log answers, and never lost without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from courier_bot import Bot, NoRoom, Pace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipecat_calls.virtual_clock import time_passes

from earwitness.monitor.log.protocol import LogRefused, LogUnavailable
from earwitness.processors.sink import Outbound

Event = Callable[..., Outbound]

Start = Callable[..., "Bot"]

Run = Callable[[Coroutine[Any, Any, Any]], None]

AWAY = LogUnavailable("nobody answers at broker:9092")


def _failing_once(really: Any) -> Any:
    tries = iter([OSError("no such host")])

    async def open_() -> Any:
        if (error := next(tries, None)) is not None:
            raise error
        return await really()

    return open_


MOODS = st.sampled_from([None, None, 0.05, 1.0, AWAY, LogRefused("no"), "hang", "deaf"])


def test_events_reach_the_log_in_one_batch_within_a_linger(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start()
        bot.put(event(0))
        await time_passes(0.09)
        bot.put(event(1), event(2))
        assert bot.log.batches == []
        await time_passes(0.02)
        assert bot.log.batches == [3]
        assert bot.files == []
        await bot.stop()

    run(story())


@pytest.mark.parametrize("mood", [None, 0.05, 0.15, 1.0, "hang", AWAY, LogRefused("no")])
def test_nothing_is_in_memory_only_for_longer_than_a_linger(run: Run, start: Start, event: Event, mood: Any) -> None:
    async def story() -> None:
        bot = start(mood)
        loop = asyncio.get_running_loop()
        put_s: list[float] = []
        for tick in range(3_000):
            if tick % 7 == 0 and tick < 2_000:
                bot.put(event(len(put_s)))
                put_s.append(loop.time())
            await time_passes(0.01)
            unsafe = [item.seq for item in bot.courier.in_memory()]
            oldest = min(unsafe, default=len(put_s) - len(bot.buffer))
            if oldest < len(put_s):
                assert loop.time() - put_s[oldest] <= 0.2 + 0.001
        await bot.stop()

    run(story())


def test_much_at_once_does_not_wait_for_the_linger(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(pace=Pace(batch_bytes=4_096))
        bot.put(*(event(seq) for seq in range(60)))
        await time_passes(0.01)
        assert sum(bot.log.batches) == 60
        assert max(bot.log.batches) * 200 <= 4_096
        await bot.stop()

    run(story())


def test_a_batch_that_is_not_acknowledged_within_a_linger_lies_on_disk_too(
    run: Run, start: Start, event: Event
) -> None:
    async def story() -> None:
        bot = start(1.0)
        bot.put(event(0))
        await time_passes(0.15)
        bot.put(event(1))
        assert bot.files == []
        await time_passes(0.11)
        assert len(bot.files) == 1
        assert bot.courier.spooled_events == 2
        bot.log.mood = None
        await time_passes(2)
        at_log = await bot.at_log()
        assert (at_log.seqs, at_log.repeats, at_log.dropped) == ([0, 1], 0, {})
        assert bot.files == []
        assert bot.courier.spooled_events == 0
        await bot.stop()

    run(story())


@pytest.mark.parametrize("mood", [AWAY, "hang", "deaf", LogRefused("no rights on earwitness.events"), OSError("odd")])
def test_d05_after_a_minute_without_a_log_everything_arrives_in_order(
    run: Run, start: Start, event: Event, mood: Any
) -> None:
    async def story() -> None:
        bot = start(mood)
        if isinstance(mood, OSError):
            bot.log.mood = AWAY
            bot.log.open = _failing_once(bot.log.open)
        for seq in range(3_000):
            bot.put(event(seq))
            await time_passes(0.02)
        assert bot.log.tries < 20
        # One that did not answer is not trusted to answer the next time.
        assert bot.log.opened > 1 or isinstance(mood, OSError)
        assert bot.courier.spooled_events + len(bot.buffer) == 3_000
        assert bot.courier.in_memory() == []
        bot.log.mood = None
        for seq in range(3_000, 5_000):
            bot.put(event(seq))
            await time_passes(0.02)
        await time_passes(10)
        at_log = await bot.at_log()
        assert at_log.seqs == list(range(5_000))
        assert at_log.dropped == {}
        assert mood == "deaf" or at_log.repeats == 0
        assert bot.files == []
        await bot.stop()

    run(story())


def test_d05_what_finds_no_room_is_dropped_and_reported_exactly(
    run: Run, start: Start, event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        bot = start("hang", buffer_bytes=100 * 520, spool_bytes=0)
        for seq in range(3_000):
            bot.put(event(seq, droppable=0 if seq == 2_999 else 1))
            assert bot.buffer.bytes <= 100 * 520
            await time_passes(0.02)
        assert bot.losses.total > 2_500
        bot.log.mood = None
        await time_passes(60)
        at_log = await bot.at_log()
        assert set(at_log.dropped.values()) == {"buffer_full"}
        assert sorted([*at_log.seqs, *at_log.dropped]) == list(range(3_000))
        assert at_log.seqs[-1] == 2_999
        assert len(at_log.reports) <= 2
        assert [report.seq for report in at_log.reports] == list(range(len(at_log.reports)))
        await bot.stop()

    run(story())
    assert sum("does not take events" in record.getMessage() for record in caplog.records) == 1


def test_a_refusal_is_spoken_of_once_with_what_the_log_says(
    run: Run, start: Start, event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        bot = start(LogRefused("topic earwitness.events is missing: run earwitness topics create"))
        for seq in range(100):
            bot.put(event(seq))
            await time_passes(1)
        assert bot.courier.spooled_events >= 99
        await bot.stop()

    run(story())
    assert sum("earwitness topics create" in record.getMessage() for record in caplog.records) == 1


def test_what_finds_no_room_while_the_log_refuses_is_dropped_as_refused(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(LogRefused("no"), buffer_bytes=20 * 520, spool_bytes=0)
        for seq in range(200):
            bot.put(event(seq))
            await time_passes(0.1)
        bot.log.mood = None
        await time_passes(60)
        at_log = await bot.at_log()
        assert set(at_log.dropped.values()) == {"refused"}
        assert sorted([*at_log.seqs, *at_log.dropped]) == list(range(200))
        await bot.stop()

    run(story())


def test_d08_an_event_too_large_for_the_log_is_reported_and_the_others_go_on(
    run: Run, start: Start, event: Event
) -> None:
    async def story() -> None:
        bot = start(buffer_bytes=10**7)
        bot.put(event(0), event(1), event(2, size=2_000_000), event(3, kind="call_ended", droppable=0))
        await time_passes(1)
        at_log = await bot.at_log()
        assert (at_log.seqs, at_log.dropped) == ([0, 1, 3], {2: "too_large"})
        assert (at_log.reports[0].at_ns, at_log.reports[0].source) == (event(2).at_ns, "writer")
        bot.log.mood = AWAY
        bot.put(event(4, size=2_000_000), event(5))
        await time_passes(1)
        bot.log.mood = None
        await time_passes(30)
        at_log = await bot.at_log()
        assert (at_log.seqs, at_log.dropped) == ([0, 1, 3, 5], {2: "too_large", 4: "too_large"})
        assert [report.seq for report in at_log.reports] == [0, 1]
        await bot.stop()

    run(story())


def test_with_the_disk_full_too_events_wait_in_memory_and_losses_are_reported(
    run: Run, start: Start, event: Event
) -> None:
    async def story() -> None:
        disk = NoRoom()
        bot = start(AWAY, buffer_bytes=50 * 520, disk=disk)
        for seq in range(500):
            bot.put(event(seq, droppable=2 if seq % 2 else 1))
            await time_passes(0.02)
        disk.full = False
        await time_passes(2)
        for seq in range(500, 600):
            bot.put(event(seq))
            await time_passes(0.02)
        bot.log.mood = None
        await time_passes(60)
        at_log = await bot.at_log()
        assert set(at_log.dropped.values()) == {"spool_full"}
        assert sorted([*at_log.seqs, *at_log.dropped]) == list(range(600))
        assert at_log.seqs == sorted(at_log.seqs)
        assert bot.files == []
        await bot.stop()

    run(story())


def test_a_full_spool_is_drained_when_the_log_is_back_and_used_again(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(AWAY, buffer_bytes=50 * 520, spool_bytes=20_000)
        for seq in range(500):
            bot.put(event(seq))
            await time_passes(0.02)
        bot.log.mood = None
        await time_passes(60)
        assert bot.files == []
        bot.log.mood = AWAY
        bot.put(event(500))
        await time_passes(5)
        assert len(bot.files) == 1
        bot.log.mood = None
        await time_passes(60)
        at_log = await bot.at_log()
        assert sorted([*at_log.seqs, *at_log.dropped]) == list(range(501))
        assert at_log.seqs == sorted(at_log.seqs)
        await bot.stop()

    run(story())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_log_and_disk_do_every_event_is_on_the_log_or_reported_and_in_order(
    run: Run, start: Start, event: Event, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    step = st.tuples(MOODS, st.booleans(), st.integers(0, 40), st.floats(0.01, 20))
    script = data.draw(st.lists(step, min_size=1, max_size=8))
    spool_bytes = data.draw(st.sampled_from([0, 3_000, 10**7]))
    room = data.draw(st.integers(10, 200))
    folder = tmp_path_factory.mktemp("home") / "spool"

    async def story() -> None:
        disk = NoRoom()
        bot = start(folder=folder, buffer_bytes=room * 520, spool_bytes=spool_bytes, disk=disk)
        seq = 0
        for mood, full, count, rest_s in script:
            bot.log.mood, disk.full = mood, full
            for _ in range(count):
                bot.put(event(seq, droppable=seq % 3))
                seq += 1
                await time_passes(0.01)
            await time_passes(rest_s)
        bot.log.mood, disk.full = None, False
        await time_passes(120)
        at_log = await bot.at_log()
        assert sorted([*at_log.seqs, *at_log.dropped]) == list(range(seq))
        assert at_log.seqs == sorted(at_log.seqs)
        assert bot.files == []
        assert await bot.stop() <= 2.0

    run(story())
