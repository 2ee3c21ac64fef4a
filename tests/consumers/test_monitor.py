"""The whole monitor on a log in memory: what it publishes, and how it picks up where the last run stood."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from earwitness.consumers import worker
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import decode_record
from earwitness.monitor.log.protocol import LogUnavailable
from earwitness.monitor.measures.windows import Windows

EVENTS, RECORDS = "earwitness.events", "earwitness.records"
QUICK = MonitorSettings(metrics=False, poll_s=0.0, gather_s=0.0, tick_s=0.0, keep_every_s=0.0)


async def run_until(
    site: Any, seen: Callable[[Monitor], Awaitable[bool]], settings: MonitorSettings = QUICK
) -> Monitor:
    """Run a monitor until ``seen`` says that enough has happened, then stop it as a signal would."""
    stop = asyncio.Event()

    async def on_tick(_windows: Windows, _as_of_ns: int) -> None:
        if await seen(monitor):
            stop.set()

    monitor = Monitor(site.log, settings, stop=stop, on_tick=on_tick, clock_ns=site.clock)
    async with asyncio.timeout(60):
        await monitor.run()
    return monitor


async def all_done(site: Any, group: str = "timeline") -> bool:
    """Whether the group has committed everything that the log has."""
    return bool(await site.log.end_positions(EVENTS) == await site.log.committed(group, EVENTS))


def done(site: Any, group: str = "timeline") -> Callable[[Monitor], Awaitable[bool]]:
    async def check(_monitor: Monitor) -> bool:
        return await all_done(site, group)

    return check


async def published(site: Any) -> list[AnyRecord]:
    return [decode_record(entry.value) for entry in await site.all(RECORDS)]


def latest(records: list[AnyRecord]) -> dict[tuple[str, str], AnyRecord]:
    """As every reader folds them, and a check that no revision ever falls or comes twice."""
    found: dict[tuple[str, str], AnyRecord] = {}
    for record in records:
        key = (record.call_id, record.id)
        assert key not in found or record.revision > found[key].revision, key
        found[key] = record
    return found


def contents(records: dict[tuple[str, str], AnyRecord]) -> dict[tuple[str, str], Any]:
    return {key: record.model_dump(exclude={"revision"}) for key, record in records.items() if not record.retracted}


async def what_the_log_says(site: Any) -> dict[tuple[str, str], Any]:
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.catch_up()
    held = {(r.call_id, r.id): r for timeline in fold.calls.values() for r in timeline.records()}
    return contents(held)


async def test_records_are_published_under_their_calls_and_offsets_committed(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])

    await run_until(site, done(site))

    entries = await site.all(RECORDS)
    assert {entry.key for entry in entries} == {"c1"}
    assert {record.kind for record in await published(site)} >= {"turn", "agent_turn", "call"}
    assert contents(latest(await published(site))) == await what_the_log_says(site)


async def test_the_tick_gets_the_windows_and_the_time(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    seen: list[tuple[int, int, bool]] = []
    stop = asyncio.Event()

    async def on_tick(windows: Windows, as_of_ns: int) -> None:
        reading = windows.read("response_latency", window_s=300, as_of_ns=as_of_ns)
        seen.append((reading.n, as_of_ns, reading.complete))
        if reading.n:
            stop.set()

    async with asyncio.timeout(60):
        await Monitor(site.log, QUICK, stop=stop, on_tick=on_tick, clock_ns=site.clock).run()

    assert seen[-1] == (1, site.clock(), True)


async def test_a_listener_that_fails_ends_nothing(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    ticks: list[int] = []

    async def seen(_monitor: Monitor) -> bool:
        ticks.append(1)
        if len(ticks) < 3:
            raise RuntimeError("no")
        return await all_done(site)

    await run_until(site, seen)

    assert len(await published(site)) > 0


async def test_a_restart_publishes_nothing_again_and_has_the_same_numbers(site: Any, calls: Any) -> None:
    await site.report(calls)
    first = await run_until(site, done(site))
    before = await site.all(RECORDS)

    second = await run_until(site, done(site))

    assert sorted(await site.all(RECORDS)) == sorted(before)
    for measure in ("response_latency", "unanswered", "containment", "calls"):
        read: dict[str, Any] = {"window_s": 3_600, "as_of_ns": site.clock()}
        one, two = (m.fold.windows.read(measure, **read) for m in (first, second))
        assert (one.n, one.count, one.quantiles) == (two.n, two.count, two.quantiles)


async def test_revisions_go_on_above_the_published_ones_after_a_restart(site: Any, calls: Any) -> None:
    """The first run sees every event singly and publishes many revisions; the second folds the past at once."""
    events = sorted((e for bot in calls[:4] for e in bot.made), key=lambda e: (e.wall_ns, e.call_id))
    half = len(events) // 2

    async def feed(part: list[Any]) -> Callable[[Monitor], Awaitable[bool]]:
        left = list(part)

        async def seen(_monitor: Monitor) -> bool:
            if not await all_done(site):
                return False
            if not left:
                return True
            event = left.pop(0)
            site.clock.now_ns = max(site.clock.now_ns, event.wall_ns + 100_000_000)
            await site.send(event)
            return False

        return seen

    site.clock.now_ns = events[0].wall_ns
    await site.send(events[0])
    await run_until(site, await feed(events[1:half]))
    singly = latest(await published(site))
    await site.send(*events[half:])
    site.clock.now_ns = events[-1].wall_ns
    await run_until(site, done(site))

    records = latest(await published(site))
    assert contents(records) == await what_the_log_says(site)
    assert max(record.revision for record in singly.values()) > 1


async def test_a_run_that_knows_of_no_commit_repeats_nothing_that_was_published(site: Any, calls: Any) -> None:
    """As after a crash between publishing and committing, for all that the log has."""
    await site.report(calls)
    await run_until(site, done(site))
    before = await site.all(RECORDS)

    await run_until(site, done(site, "another"), replace(QUICK, group="another"))

    assert sorted(await site.all(RECORDS)) == sorted(before)


async def test_records_that_the_log_lost_are_published_again_while_their_calls_are_held(site: Any, calls: Any) -> None:
    await site.report(calls)
    await run_until(site, done(site))
    for partition, end in (await site.log.end_positions(RECORDS)).items():
        site.log.drop_before(RECORDS, partition, end)

    async def all_published(_monitor: Monitor) -> bool:
        return contents(latest(await published(site))) == await what_the_log_says(site)

    assert await published(site) == []
    await run_until(site, all_published)

    again = contents(latest(await published(site)))
    assert again == await what_the_log_says(site)
    assert again


async def test_what_time_alone_changed_is_published_too(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2, answered_after_s=None)])
    site.clock.set(3.4)

    async def seen(_monitor: Monitor) -> bool:
        site.clock.set(20)
        return any(record.kind == "turn" and record.overdue for record in await published(site))

    await run_until(site, seen)

    (turn,) = (record for record in latest(await published(site)).values() if record.kind == "turn")
    assert (turn.overdue, turn.answered_by, turn.response_latency_ns) == (True, None, None)


async def test_only_the_final_records_of_this_run_are_in_its_totals(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    first = await run_until(site, done(site))
    await site.report([make_bot("c2", start_s=20).start().asks(2).ends(10)])
    second = await run_until(site, done(site))

    for monitor in (first, second):
        counts: dict[str, int] = defaultdict(int)
        for key, count in monitor.handler.totals.counts.items():
            counts[f"{key.measure} {key.klass}"] += count
        assert counts["calls contained/caller"] == 1
    assert second.fold.events["call_started"] == 1


async def test_a_log_that_goes_away_is_waited_for_and_ticks_go_on(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    site.log.fault = LogUnavailable("memory: nobody answers")
    away: list[bool] = []

    async def seen(monitor: Monitor) -> bool:
        away.append(monitor.own.log_away)
        if len(away) > 2 and monitor.own.log_away:
            site.log.fault = None
        return await all_done(site)

    await run_until(site, seen)

    assert True in away
    assert len(await published(site)) > 0


async def test_a_monitor_that_was_down_for_two_days_still_publishes_what_it_missed(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c0").start().asks(2).ends(10)])
    await run_until(site, done(site))
    await site.report([make_bot("c1", start_s=100).start().asks(2).ends(10)])
    site.clock.set(2 * 86_400)

    await run_until(site, done(site))

    assert {record.call_id for record in await published(site)} == {"c0", "c1"}


async def test_a_stop_before_anything_came_ends_at_once(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    stop = asyncio.Event()
    stop.set()

    async with asyncio.timeout(5):
        await Monitor(site.log, QUICK, stop=stop, clock_ns=site.clock).run()

    assert await published(site) == []
    assert not await all_done(site)


async def test_a_past_that_is_read_at_one_go_is_in_the_windows_before_they_are_called_complete(
    site: Any, make_bot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spool was flushed, or a relay caught up: all of it came within the seconds that a worker behind puts off."""
    monkeypatch.setattr(worker, "BATCH", 50)
    bots = [make_bot(f"c{n}", start_s=n).start().asks(2) for n in range(20)]
    site.clock.set(40)
    await site.send(*[event for bot in bots for event in bot.made[:2]])
    await site.send(*[event for bot in bots for event in bot.made[2:]])
    seen: list[tuple[bool, int]] = []

    async def first_tick(monitor: Monitor) -> bool:
        found = monitor.fold.windows.read("response_latency", window_s=300, as_of_ns=site.clock())
        seen.append((found.complete, found.n))
        return found.complete

    # Nothing is read between the moment at which all was read and the tick.
    await run_until(site, first_tick, replace(QUICK, gather_s=5.0))

    assert seen[-1] == (True, 20)
