"""How the courier stops, flushes, and takes over what other processes left: bounded, and with everything on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from courier_bot import Bot
from pipecat_calls.virtual_clock import time_passes

from earwitness.monitor.log.protocol import LogUnavailable
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import SpoolFolder

Event = Callable[..., Outbound]

Start = Callable[..., "Bot"]

Run = Callable[[Coroutine[Any, Any, Any]], None]

AWAY = LogUnavailable("nobody answers at broker:9092")


def test_d05_with_the_log_hanging_a_stop_keeps_its_limit_and_leaves_everything_on_disk(
    run: Run, start: Start, event: Event, spool_folder: Path
) -> None:
    async def story() -> None:
        bot = start("hang")
        for seq in range(100):
            bot.put(event(seq))
            await time_passes(0.02)
        assert await bot.stop(2.0) <= 2.0
        adopted = SpoolFolder(spool_folder, "memory:", 10**7).adopt()
        assert adopted is not None
        assert [item.seq for item in adopted.read(10**6).items] == list(range(100))
        adopted.close()

    run(story())


def test_with_the_log_away_a_stop_takes_no_time(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(AWAY)
        bot.put(event(0))
        await time_passes(20)
        bot.put(event(1))
        assert await bot.stop(2.0) < 0.1
        assert len(bot.files) == 1

    run(story())


def test_a_stop_sends_what_is_left(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(0.1)
        bot.put(*(event(seq) for seq in range(1_200)))
        await bot.stop(2.0)
        at_log = await bot.at_log()
        assert (at_log.seqs, at_log.repeats) == (list(range(1_200)), 0)
        assert bot.files == []

    run(story())


@pytest.mark.parametrize(("mood", "limit_s"), [(None, 0.01), (0.1, 0.11), ("hang", 0.25), (AWAY, 0.01)])
def test_a_flush_waits_until_the_events_are_on_the_log_or_on_disk(
    run: Run, start: Start, event: Event, mood: Any, limit_s: float
) -> None:
    async def story() -> None:
        bot = start(mood)
        await time_passes(1)
        bot.put(event(0), event(1))
        began_s = asyncio.get_running_loop().time()
        await bot.courier.flush()
        assert asyncio.get_running_loop().time() - began_s <= limit_s
        assert len(bot.buffer) == 0
        assert bot.courier.in_memory() == []
        await bot.courier.flush()
        await bot.stop()

    run(story())


def test_a_flush_that_can_store_nothing_does_not_pretend(run: Run, start: Start, event: Event) -> None:
    async def story() -> None:
        bot = start(AWAY, spool_bytes=0)
        bot.put(event(0))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await bot.courier.flush()
        bot.log.mood = None
        await bot.courier.flush()
        assert len(await bot.log.values()) == 1
        await bot.stop()

    run(story())


def test_the_spool_of_a_process_that_is_gone_is_sent_and_removed(
    run: Run, start: Start, event: Event, spool_folder: Path
) -> None:
    async def story() -> None:
        gone = SpoolFolder(spool_folder, "memory:", 10**7).create()
        assert gone is not None
        gone.append([event(seq, call_id="gone") for seq in range(1_500)])
        gone.append([event(1_500, call_id="gone", size=2_000_000), event(1_501, call_id="gone")])
        gone.close()
        bot = start()
        bot.put(event(0))
        await time_passes(5)
        at_log = await bot.at_log("gone")
        assert (at_log.seqs, at_log.repeats) == ([*range(1_500), 1_501], 0)
        assert at_log.dropped == {1_500: "too_large"}
        # Its own writer may have reported on this call already: another one's numbers need another name.
        assert at_log.reports[0].source.startswith("writer-")
        assert (await bot.at_log()).seqs == [0]
        assert bot.files == []
        await bot.stop()

    run(story())


def test_a_process_that_goes_later_is_adopted_too(run: Run, start: Start, event: Event, spool_folder: Path) -> None:
    async def story() -> None:
        bot = start()
        await time_passes(10)
        gone = SpoolFolder(spool_folder, "memory:", 10**7).create()
        assert gone is not None
        gone.append([event(7, call_id="gone")])
        gone.close()
        await time_passes(61)
        assert (await bot.at_log("gone")).seqs == [7]
        await bot.stop()

    run(story())
