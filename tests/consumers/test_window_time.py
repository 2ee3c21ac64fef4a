"""Event time, arrival, watermarks: what windows hold, and when, of a log whose partitions and bots are out of step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from earwitness.consumers.metrics_collector import MonitorCollector
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.self_metrics import SelfMetrics
from earwitness.consumers.timeline import LogFold
from earwitness.consumers.totals import Totals
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.measures.reading import Quantile
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S
PARTITIONS = 3


def in_partition(partition: int, name: str = "n") -> str:
    """The id of a call that lies in a partition of the log."""
    return next(f"{name}{i}" for i in range(99) if partition_of(f"{name}{i}", PARTITIONS) == partition)


async def opened(site: Any) -> LogFold:
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.catch_up()
    return fold


async def caught_up(site: Any, fold: LogFold) -> None:
    await fold.catch_up()
    fold.advance(site.clock())


def latency(windows: Windows, as_of_ns: int, window_s: int = 300, **more: Any) -> Any:
    return windows.read("response_latency", window_s=window_s, as_of_ns=as_of_ns, **more)


async def test_d12_a_turn_counts_where_it_happened_and_is_late_only_after_its_minute_was_published(
    site: Any, make_bot: Any
) -> None:
    """u_off at 12:00:30 known at 12:01:20, in time; u_off at 12:00:40 known at 12:02:05, 5 s late."""
    in_time, late = make_bot("c1").start().asks(29), make_bot("c2").start().asks(39)
    fold = await opened(site)
    for bot, arrived_s in ((in_time, 80), (late, 125)):
        site.clock.set(arrived_s)
        await site.send(*bot.made)
        await caught_up(site, fold)
        found = latency(fold.windows, NOON_NS + 60 * S, 60)
        if bot is in_time:
            assert (found.n, found.restated, fold.windows.late) == (1, 0, 0)

    assert (found.n, found.restated) == (2, 1)
    assert fold.windows.late > 0
    assert fold.windows.late_by_ns == 5 * S
    assert latency(fold.windows, NOON_NS + 125 * S, 60).n == 0


async def test_an_outages_events_come_late_and_give_the_windows_that_they_would_have_given(
    site: Any, make_bot: Any
) -> None:
    """Arrival order changes no result: two minutes of a bot's events wait on its disk while others go on."""
    away = make_bot("c1").start().asks(2).asks(20).asks(40)
    fold = await opened(site)
    for start_s in (10, 60, 110):
        await site.report([make_bot(f"o{start_s}", start_s=start_s).start().asks(2)])
    site.clock.set(290)
    await site.send(*away.made)
    await caught_up(site, fold)

    seen = {window_s: latency(fold.windows, site.clock(), window_s) for window_s in (300, 3_600, 86_400)}

    assert {window_s: found.n for window_s, found in seen.items()} == {300: 6, 3_600: 6, 86_400: 6}
    assert all(found.restated >= 3 for found in seen.values())
    assert latency(fold.windows, NOON_NS + 50 * S, 60).n == 4


async def test_an_event_of_a_minute_ahead_counts_and_one_further_ahead_moves_nothing(site: Any, make_bot: Any) -> None:
    fold = await opened(site)
    await site.report([make_bot(in_partition(0)).start().asks(2).ends(10)])
    ahead, too_far = (make_bot(in_partition(0, name), start_s=at_s).start() for name, at_s in (("a", 70.0), ("b", 7e4)))
    site.clock.set(10.1)
    await site.send(*ahead.made, *too_far.made)
    await caught_up(site, fold)
    assert fold.stats.set_aside == 2
    assert {held.call_id for held in fold.in_progress(site.clock())} == {ahead.call_id}

    # Had the moment of the second one moved a clock, the first call would be long over and its buckets gone.
    assert latency(fold.windows, site.clock(), 60).n == 1
    part = fold.windows.part(0)
    assert part.newest_ns is not None
    assert part.newest_ns <= site.clock() + 60 * S


async def test_a_partition_without_events_holds_no_window_back(site: Any, make_bot: Any) -> None:
    fold = await opened(site)
    await site.report([make_bot(in_partition(1)).start().asks(2).ends(10)])
    await caught_up(site, fold)
    site.clock.set(600)
    await site.report([make_bot(in_partition(1, "m"), start_s=600).start().asks(2).ends(10)])
    await caught_up(site, fold)

    found = latency(fold.windows, site.clock())

    assert (found.n, found.complete) == (1, True)


async def test_a_partition_that_was_not_read_leaves_its_windows_incomplete_and_takes_none_of_their_numbers(
    site: Any, make_bot: Any
) -> None:
    fold = await opened(site)
    await site.report([make_bot(in_partition(0)).start().asks(2).ends(10)])
    await caught_up(site, fold)
    assert latency(fold.windows, site.clock()).complete
    site.clock.set(60)
    busy = [make_bot(f"{in_partition(1, f'x{i}-')}", start_s=60).start() for i in range(1_100)]
    await site.log.append(
        "earwitness.events", [Outgoing(event.call_id, encode(event)) for bot in busy for event in bot.made]
    )
    await fold.poll()

    behind = latency(fold.windows, site.clock())
    await fold.catch_up()

    assert (behind.n, behind.complete) == (1, False)
    assert latency(fold.windows, site.clock()).complete


async def test_d10_d17_a_silent_agents_windows_close_by_the_wall_clock_one_after_the_other(
    site: Any, make_bot: Any
) -> None:
    """The clinic falls silent at 12:00:20, the hotel goes on: the clinic's numbers go as its windows pass, to None and
    not to 0, though nothing more is said of it."""
    fold = await opened(site)
    await site.report([make_bot("c1").start().asks(2).ends(20)])
    of_clinic = {"where": (("agent", "clinic"),)}
    for at_s, still_in in ((59, {60, 300, 1_800, 3_600}), (200, {300, 1_800, 3_600}), (3_000, {3_600}), (3_700, set())):
        await site.report([make_bot(f"h{at_s}", start_s=at_s - 30, agent="hotel").start().asks(2).ends(20)])
        site.clock.set(at_s)
        await caught_up(site, fold)
        for window_s in (60, 300, 1_800, 3_600):
            found = latency(fold.windows, site.clock(), window_s, **of_clinic)
            seen = {
                dict(labels)["agent"]
                for labels in fold.windows.groups(["agent"], window_s=window_s, as_of_ns=site.clock())
            }
            assert seen == ({"clinic", "hotel"} if window_s in still_in else {"hotel"}), (at_s, window_s)
            assert (found.n, found.complete) == (int(window_s in still_in), True)
            if window_s not in still_in:
                assert set(found.quantiles.values()) == {Quantile()}
                assert found.coverage is None


def gauges(windows: Windows, at_ns: int) -> Iterator[tuple[str, dict[str, str], float]]:
    collector = MonitorCollector(
        windows, Totals(), SelfMetrics(ready=True), gauge_windows_s=(60, 300), clock_ns=lambda: at_ns
    )
    for metric in collector.collect():
        for sample in metric.samples:
            yield sample.name, sample.labels, sample.value


async def test_d16_gauges_of_an_agent_that_is_gone_disappear_and_those_of_others_stay(site: Any, make_bot: Any) -> None:
    """A clinic's process dies in a call, without a last word; the hotel's goes on."""
    fold = await opened(site)
    await site.report([make_bot("dies").start().asks(2)])
    await caught_up(site, fold)
    assert {labels["agent"] for _, labels, _ in gauges(fold.windows, site.clock()) if "agent" in labels} == {"clinic"}

    await site.report(
        [make_bot(f"h{i}", start_s=300 + 20 * i, agent="hotel").start().asks(2).ends(15) for i in range(4)]
    )
    site.clock.set(400)
    await caught_up(site, fold)

    found = list(gauges(fold.windows, site.clock()))
    assert {labels["agent"] for _, labels, _ in found if "agent" in labels and labels.get("window") == "1m"} == {
        "hotel"
    }
    assert [value for name, _, value in found if name == "earwitness_calls_in_progress"] == []
    later = list(gauges(fold.windows, NOON_NS + 3_000 * S))
    assert not [labels for _, labels, _ in later if "agent" in labels]


async def test_windows_of_a_log_that_says_nothing_are_complete_and_empty(site: Any) -> None:
    fold = await opened(site)

    for window_s in STEP_OF:
        found = latency(fold.windows, site.clock(), window_s)
        assert (found.n, found.complete, found.coverage) == (0, True, None)
        assert set(found.quantiles.values()) == {Quantile()}


@pytest.mark.parametrize(("wall_error_s", "set_aside"), [(59.0, 0), (3_600.0, 2), (-600.0, 0)])
async def test_a_bots_wrong_clock_dates_its_events_and_is_bounded_ahead(
    site: Any, make_bot: Any, wall_error_s: float, set_aside: int
) -> None:
    fold = await opened(site)
    bot = make_bot("c1", wall_error_s=wall_error_s).start()
    await site.report([bot])
    await caught_up(site, fold)

    assert fold.stats.set_aside == set_aside
    assert len(fold.in_progress(site.clock())) == (0 if set_aside else 1)
    assert isinstance(bot.made[0], ev.CallStarted)
    assert MonitorSettings().future_s == 60
