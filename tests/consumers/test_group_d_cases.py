"""Field cases of group D that lie between the log and the numbers: what is lost, repeated, or stands still there."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.contract.wire import decode_record
from earwitness.monitor.measures.windows import Windows

EVENTS, RECORDS = "earwitness.events", "earwitness.records"
QUICK = MonitorSettings(metrics=False, poll_s=0.0, gather_s=0.0, tick_s=0.0)
NOON_NS = 1_700_006_400_000_000_000
TESTS = Path(__file__).resolve().parents[1]
CASES = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "12", "14", "15", "16", "17", "18", "19", "21")
"""All of group D."""


def test_every_case_of_the_group_has_a_test_that_is_named_after_it() -> None:
    named = {
        number
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
        for number in re.findall(r"_d(\d\d)(?=_)", name)
    }

    assert named >= set(CASES)


async def test_d01_what_a_stalled_position_missed_is_folded_once_when_it_moves_again(site: Any, make_bot: Any) -> None:
    """The reader goes deaf, as one whose client has died inside does; the clock shows it, then it hears again."""
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    stop, deaf = asyncio.Event(), asyncio.Event()
    stalled: list[float] = []

    async def on_tick(_windows: Windows, _now_ns: int) -> None:
        # Time goes on: a worker commits every few seconds of it.
        site.clock.now_ns += 5_000_000_000
        all_committed = await site.log.committed(QUICK.group, EVENTS) == await site.log.end_positions(EVENTS)
        if deaf.is_set():
            stalled.append(monitor.own.stalled_s(site.clock()))
            if stalled[-1] > 100:
                deaf.clear()
        elif all_committed and not stalled:
            deaf.set()
            began_s = (site.clock() - NOON_NS) / 1e9
            await site.report([make_bot("c2", began_s).start().asks(2).ends(10)])
        elif all_committed:
            stop.set()

    monitor = Monitor(site.log, QUICK, stop=stop, on_tick=on_tick, clock_ns=site.clock)
    make_reader = site.log.reader

    async def reader(*arguments: Any, **more: Any) -> Any:
        made = await make_reader(*arguments, **more)
        poll = made.poll

        async def hears(**how: Any) -> Any:
            await asyncio.sleep(0)
            return [] if deaf.is_set() and more.get("group") else await poll(**how)

        made.poll = hears
        return made

    site.log.reader = reader
    async with asyncio.timeout(60):
        await monitor.run()

    assert stalled == sorted(stalled)
    assert monitor.own.stalled_s(site.clock()) == 0
    calls = [r for entry in await site.all(RECORDS) if (r := decode_record(entry.value)).kind == "call" and r.final]
    assert sorted(call.call_id for call in calls) == ["c1", "c2"]
    assert monitor.fold.windows.read("calls", window_s=3_600, as_of_ns=site.clock()).count == 2


async def test_d02_windows_that_reach_behind_what_is_still_kept_say_that_they_are_incomplete(
    site: Any, make_bot: Any
) -> None:
    await site.report([make_bot(f"c{i}", 600.0 * i).start().asks(2).ends(10) for i in range(20)])
    settings = replace(MonitorSettings(), longest_call_s=600)
    for partition, end in (await site.log.end_positions(EVENTS)).items():
        site.log.drop_before(EVENTS, partition, end // 2)

    fold = await LogFold.open(site.log, settings, clock_ns=site.clock)
    await fold.catch_up()

    def complete(window_s: int) -> bool:
        return bool(fold.windows.read("response_latency", window_s=window_s, as_of_ns=site.clock()).complete)

    assert complete(300)
    assert not complete(21_600)
    untouched = await LogFold.open(site.log, replace(settings, replay_s=600), clock_ns=site.clock)
    await untouched.catch_up()
    assert untouched.windows.read("response_latency", window_s=300, as_of_ns=site.clock()).complete


OF_CLINIC, OF_HOTEL = ((("agent", name),) for name in ("clinic", "hotel"))


def said(windows: Windows, at_s: float, where: Any = (), window_s: int = 60) -> tuple[int, bool]:
    """How many turns a window has that ends so many seconds after noon, and whether it is complete."""
    found = windows.read("response_latency", window_s=window_s, as_of_ns=NOON_NS + round(at_s * 1e9), where=where)
    return found.n, found.complete


def torn(make_bot: Any) -> tuple[list[Any], list[Any]]:
    """A call of which an exchange at 2:30 is missing, and that."""
    bot = make_bot("c1").start().asks(2).asks(60)
    first = len(bot.made)
    bot.asks(150)
    gone = bot.made[first:]
    bot.asks(170)
    return [event for event in bot.made if event not in gone], gone


async def test_d02_a_gap_in_a_running_calls_numbers_makes_windows_incomplete_until_it_is_filled(
    site: Any, make_bot: Any
) -> None:
    came, gone = torn(make_bot)
    site.clock.set(175)
    await site.send(*came, *make_bot("h1", agent="hotel").start().asks(150).asks(170).made)
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.catch_up()

    # From the answer after 1:01.8 to the question at 2:50.
    seen = {at_s: said(fold.windows, at_s, OF_CLINIC) for at_s in (50, 120, 175)}
    assert seen == {50: (1, True), 120: (1, False), 175: (1, False)}
    assert said(fold.windows, 175, OF_HOTEL) == (2, True)
    assert said(fold.windows, 175) == (3, False)
    assert said(fold.windows, 175, OF_CLINIC, 3_600) == (3, False)
    site.clock.set(235)
    await fold.catch_up()
    assert said(fold.windows, 235, OF_CLINIC) == (0, True)

    await site.send(*gone)
    await fold.catch_up()

    assert said(fold.windows, 175, OF_CLINIC) == (2, True)
    assert said(fold.windows, 175, (), 3_600) == (6, True)


async def test_d02_what_comes_too_late_to_be_folded_leaves_its_windows_incomplete(site: Any, make_bot: Any) -> None:
    bot = make_bot("c1").start().asks(2)
    first = len(bot.made)
    gone = bot.asks(20).made[first:]
    bot.asks(60)
    site.clock.set(65)
    await site.send(*[event for event in bot.made if event not in gone])
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.catch_up()
    await site.send(*gone)
    await fold.catch_up()
    assert said(fold.windows, 65, OF_CLINIC, 300) == (2, False)
    site.clock.set(90)
    await fold.catch_up()
    assert said(fold.windows, 90, OF_CLINIC, 60) == (1, True)


async def test_d02_a_call_whose_beginning_is_missing_leaves_nobodys_windows_complete(site: Any, make_bot: Any) -> None:
    """Its agent is not known: whose numbers lack its turns, nobody can say."""
    bot = make_bot("c1").start().asks(20)
    site.clock.set(50)
    await site.send(*bot.made[2:], *make_bot("h1", agent="hotel").start().asks(2).made)
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.catch_up()

    assert said(fold.windows, 50, OF_HOTEL) == (1, False)


async def test_d02_what_is_missing_is_known_to_the_next_worker_too(site: Any, make_bot: Any) -> None:
    came, _ = torn(make_bot)
    site.clock.set(175)
    await site.send(*came)

    for _ in range(2):
        stop = asyncio.Event()

        async def on_tick(_windows: Windows, _now_ns: int, stop: asyncio.Event = stop) -> None:
            if await site.log.committed(QUICK.group, EVENTS) == await site.log.end_positions(EVENTS):
                stop.set()

        settings = replace(QUICK, keep_every_s=0.0)
        monitor = Monitor(site.log, settings, stop=stop, on_tick=on_tick, clock_ns=site.clock)
        async with asyncio.timeout(60):
            await monitor.run()

        found = {at_s: said(monitor.fold.windows, at_s, OF_CLINIC) for at_s in (50, 175)}
        assert found == {50: (1, True), 175: (1, False)}
    assert monitor.keeper is not None
    assert monitor.keeper.read_again == 0


async def test_d02_records_that_go_while_a_worker_is_behind_leave_windows_incomplete_that_reach_back_to_them(
    site: Any, make_bot: Any
) -> None:
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    await fold.catch_up()
    await site.report([make_bot("c2", 60).start().asks(2).ends(10)])
    for partition, end in (await site.log.end_positions(EVENTS)).items():
        site.log.drop_before(EVENTS, partition, end)
    await site.report([make_bot(f"c{i}", 150).start().asks(2).ends(10) for i in range(3, 13)])
    await fold.catch_up()

    assert fold.stats.lost > 0
    assert said(fold.windows, 170, (), 300) == (11, False)
    site.clock.set(300)
    await fold.catch_up()
    assert said(fold.windows, 300, ()) == (0, True)


async def test_d03_a_commit_that_is_refused_is_counted_and_ends_nothing(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    stop, refusals = asyncio.Event(), 2
    make_reader = site.log.reader

    async def reader(*arguments: Any, **more: Any) -> Any:
        made = await make_reader(*arguments, **more)
        commit = made.commit

        async def moved_on(positions: Any) -> Any:
            nonlocal refusals
            refusals -= 1
            return {} if refusals >= 0 else await commit(positions)

        made.commit = moved_on
        return made

    async def on_tick(_windows: Windows, _now_ns: int) -> None:
        site.clock.now_ns += 10_000_000_000
        if await site.log.committed(QUICK.group, EVENTS) == await site.log.end_positions(EVENTS):
            stop.set()

    site.log.reader = reader
    monitor = Monitor(site.log, QUICK, stop=stop, on_tick=on_tick, clock_ns=site.clock)
    async with asyncio.timeout(60):
        await monitor.run()

    assert monitor.keeper is not None
    assert monitor.keeper.commits_refused > 0


@pytest.mark.parametrize("again", [1, 3])
async def test_d03_fifty_turns_that_are_read_again_are_fifty_turns(site: Any, make_bot: Any, again: int) -> None:
    """A handles them and its commit is refused; B, and whoever comes after, reads all of them anew."""
    bots = [make_bot(f"c{i}", 30.0 * i) for i in range(10)]
    for bot in bots:
        bot.start()
        for n in range(5):
            bot.asks(2 + 6 * n)
        bot.ends(33)
    await site.report(bots)

    async def run(group: str) -> Monitor:
        stop = asyncio.Event()

        async def on_tick(_windows: Windows, _now_ns: int) -> None:
            if await site.log.committed(group, EVENTS) == await site.log.end_positions(EVENTS):
                stop.set()

        monitor = Monitor(site.log, replace(QUICK, group=group), stop=stop, on_tick=on_tick, clock_ns=site.clock)
        async with asyncio.timeout(60):
            await monitor.run()
        return monitor

    await run("a")
    before = await site.all(RECORDS)
    for n in range(again):  # one that knows of no commit is one whose commit was refused
        monitor = await run(f"b{n}")

        reading = monitor.fold.windows.read("response_latency", window_s=3_600, as_of_ns=site.clock())
        assert (reading.n, reading.eligible) == (50, 50)
    assert await site.all(RECORDS) == before
