"""Who was last heard of when, and what bots say of their own way out."""

from __future__ import annotations

import asyncio
from typing import Any

from earwitness.consumers.bot_health import BotHealth, Bots
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.own_metrics import OWN_METRICS, State
from earwitness.monitor.contract import events as ev
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S
LOST = ev.DroppedRange(first_seq=3, last_seq=12, reason="spool_full")


class Watch:
    """A fold and what is kept of its bots' health."""

    def __init__(self) -> None:
        self.fold = TimelineFold(MonitorSettings())
        self.health = BotHealth()

    def give(self, *bots: Any, delay_s: float = 0.0) -> None:
        events = sorted((event for bot in bots for event in bot.made), key=lambda event: (event.wall_ns, event.seq))
        for event in events:
            entry = Entry("earwitness.events", 0, 0, event.call_id, b"", event.wall_ns + round(delay_s * S))
            if event.kind == "health":
                self.health.note(event)
            self.fold.add(entry, event)
        self.fold.settle()
        self.fold.settle()

    def at(self, seconds: float) -> Bots:
        return self.health.now(self.fold, NOON_NS + round(seconds * S))


def reports(bot: Any, at_s: float, **fields: Any) -> Any:
    bot.add(ev.Health, at_s, **fields)
    return bot


def test_an_agent_that_falls_silent_ages_and_after_a_day_disappears(make_bot: Any) -> None:
    watch = Watch()
    watch.give(make_bot("c1", agent="clinic").start().asks(2).ends(20), make_bot("c2", 100, agent="hotel").start())

    assert watch.at(130).last_event_age_s == {"clinic": 110.0, "hotel": 30.0}
    assert watch.at(3_620).last_event_age_s["clinic"] == 3_600.0
    assert watch.at(86_410).last_event_age_s == {"clinic": 86_390.0, "hotel": 86_310.0}
    assert watch.at(86_421).last_event_age_s == {"hotel": 86_321.0}
    assert watch.at(90_000).last_event_age_s == {}


def test_a_live_call_of_which_nothing_is_heard_is_counted_until_it_is_heard_or_over(make_bot: Any) -> None:
    watch, alive = Watch(), reports(make_bot("alive").start(), 140)
    watch.give(make_bot("dead").start(), alive, make_bot("over").start().ends(5))

    assert watch.at(140).silent_calls == {"clinic": 0}
    assert watch.at(151).silent_calls == {"clinic": 1}
    watch.fold.advance(NOON_NS + 301 * S)  # then it has ended, for all that one knows
    assert watch.at(302).silent_calls == {"clinic": 1}, "the other one is silent by now"


def test_the_worst_of_an_agents_bots_is_shown_while_their_reports_are_fresh(make_bot: Any) -> None:
    watch = Watch()
    one = reports(make_bot("c1").start(), 60, spooled_events=40, buffer_bytes=10, loop_lag_ms=12.0)
    two = reports(make_bot("c2").start(), 70, spooled_events=7, buffer_bytes=900, loop_lag_ms=5.0)
    watch.give(one, two)

    assert watch.at(80).spooled_events == {"clinic": 40}
    assert watch.at(80).buffer_bytes == {"clinic": 900}
    assert watch.at(80).loop_lag_s == {"clinic": 0.012}
    assert watch.at(245).spooled_events == {"clinic": 7}, "the first report is over three minutes old"
    assert watch.at(251).spooled_events == {}


def test_what_is_no_longer_on_disk_is_no_longer_shown(make_bot: Any) -> None:
    watch = Watch()
    bot = reports(reports(make_bot("c1").start(), 60, spooled_events=40), 120, spooled_events=0)
    watch.give(bot)
    assert watch.at(121).spooled_events == {"clinic": 0}
    watch.give(reports(make_bot("c2").start(), 100, spooled_events=5).ends(130))
    assert watch.at(131).spooled_events == {"clinic": 0}, "a call that is over waits for nothing"


def test_a_report_that_waited_out_an_outage_is_as_old_as_it_is(make_bot: Any) -> None:
    watch = Watch()
    bot = reports(make_bot("c1").start(), 60, spooled_events=40)
    watch.give(bot)
    late = reports(make_bot("c1"), 61, spooled_events=900)
    late.made[0] = late.made[0].model_copy(update={"seq": 9})
    watch.give(late, delay_s=600)

    assert watch.at(662).spooled_events == {}


def test_drops_are_counted_by_reason_once_whatever_is_read_twice(make_bot: Any) -> None:
    health = BotHealth()
    event = reports(make_bot("c1"), 60, dropped=(LOST,)).made[0]
    for _ in range(2):
        health.note(event)
    health.note(event.model_copy(update={"seq": 77}), again=True)
    health.note(event.model_copy(update={"seq": 77}))

    assert health.dropped == {"spool_full": 10}


def test_a_range_that_ends_before_it_begins_takes_nothing_back(make_bot: Any) -> None:
    health = BotHealth()
    turned = LOST.model_copy(update={"first_seq": LOST.last_seq, "last_seq": LOST.first_seq})
    health.note(reports(make_bot("c1"), 60, dropped=(LOST, turned)).made[0])

    assert health.dropped == {"spool_full": 10}


def test_what_is_remembered_is_bounded_by_the_calls_that_are_held(make_bot: Any) -> None:
    watch = Watch()
    watch.give(*(reports(make_bot(f"c{i}").start(), 60, spooled_events=1) for i in range(5)))
    watch.fold.held.clear()
    watch.health.tidy(watch.fold)

    assert watch.health._reports == {}
    assert watch.health._counted == {}


def test_d15_agents_are_bounded_like_every_label(make_bot: Any) -> None:
    watch = Watch()
    watch.give(*(make_bot(f"c{i}", agent=f"agent {i}").start() for i in range(400)))

    assert len(watch.at(1).last_event_age_s) == 51
    assert "other" in watch.at(1).last_event_age_s


async def test_a_running_monitor_has_all_of_it_at_hand(site: Any, make_bot: Any) -> None:
    bot = reports(make_bot("c1").start(), 60, spooled_events=4, dropped=(LOST,))
    await site.report([bot])
    stop = asyncio.Event()

    async def on_tick(_windows: Windows, _now_ns: int) -> None:
        if await site.log.committed("timeline", "earwitness.events") == await site.log.end_positions(
            "earwitness.events"
        ):
            stop.set()

    settings = MonitorSettings(metrics=False, poll_s=0.0, gather_s=0.0, tick_s=0.0)
    monitor = Monitor(site.log, settings, stop=stop, on_tick=on_tick, clock_ns=site.clock)
    async with asyncio.timeout(60):
        await monitor.run()

    told = {own.name: own.read(State(monitor.own, monitor.fold.windows, monitor.own.bots(site.clock()), site.clock()))
            for own in OWN_METRICS}  # fmt: skip
    assert told["earwitness_topic_partitions"] == {"events": 3, "records": 3, "state": 3}
    assert told["earwitness_bot_spooled_events"] == {"clinic": 4}
    assert told["earwitness_bot_dropped_events_total"] == {"spool_full": 10}
    assert told["earwitness_agent_last_event_age_seconds"] == {"clinic": 0.0}
    assert told["earwitness_calls_silent"] == {"clinic": 0}
    assert told["earwitness_position_stalled_seconds"] == 0
    assert told["earwitness_events_total"] == {"call_started": 1, "connected": 1, "health": 1}
