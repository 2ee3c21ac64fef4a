"""The fold of a log: its numbers are a function of the log and of as_of, whatever way they were come by."""

from __future__ import annotations

import random
from typing import Any

import pytest

from earwitness.consumers.bot_health import BotHealth
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import LogFold, TimelineHandler
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Entry, Gap, LogUnavailable, Outgoing
from earwitness.monitor.measures.reading import Quantile, Reading

S = 1_000_000_000
MEASURES = [
    "response_latency",
    "unanswered",
    "calls",
    "containment",
    "dead_air",
    "latency_part",
    "coverage",
    "overlaps",
]


async def folded(site: Any, log: MemoryLog | None = None, **options: Any) -> LogFold:
    fold = await LogFold.open(log or site.log, clock_ns=site.clock, **options)
    await fold.catch_up()
    return fold


def everything(fold: LogFold, as_of_ns: int) -> list[Reading]:
    windows = fold.windows
    return [
        windows.read(measure, window_s=window_s, as_of_ns=as_of_ns, where=where)
        for measure in MEASURES
        for window_s in (60, 300, 3_600, 86_400)
        for where in [(), *windows.groups(["agent"], window_s=86_400, as_of_ns=as_of_ns)]
    ]


def bits(readings: list[Reading]) -> list[Any]:
    """What must be the same: all but ``restated``, which is about the publication."""
    return [(r.measure, r.labels, r.n, r.censored, r.eligible, r.count, r.denominator, dict(r.quantiles), r.sum_s,
             dict(r.by_class), r.coverage) for r in readings]  # fmt: skip


async def test_a_call_becomes_numbers(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).asks(8, answered_after_s=1.2).ends(14)])
    fold = await folded(site)

    found = fold.windows.read("response_latency", window_s=300, as_of_ns=site.clock())

    assert (found.n, found.eligible, found.coverage) == (2, 2, 1.0)
    assert found.quantiles["p50"].value_s == pytest.approx(1.0, rel=0.01)
    assert fold.windows.read("calls", window_s=300, as_of_ns=site.clock()).by_class["contained"] == 1
    assert fold.windows.groups(["agent", "version"], window_s=300, as_of_ns=site.clock()) == [
        (("agent", "clinic"), ("version", "42"))
    ]


async def test_the_same_log_gives_the_same_bits_twice(site: Any, calls: Any) -> None:
    await site.report(calls)

    once, again = await folded(site), await folded(site)

    assert everything(once, site.clock()) == everything(again, site.clock())
    assert once.windows.read("response_latency", window_s=3_600, as_of_ns=site.clock()).n > 10


async def test_reading_in_pieces_as_it_comes_gives_the_same_bits(site: Any, calls: Any) -> None:
    live = await LogFold.open(site.log, clock_ns=site.clock)
    events = sorted((e for bot in calls for e in bot.made), key=lambda e: (e.wall_ns, e.call_id))
    for i, event in enumerate(events):
        site.clock.set((event.wall_ns - 1_700_006_400 * S) / S + 0.1)
        await site.send(event)
        if i % 7 == 0:
            await live.poll()
            everything(live, site.clock())
        if i % 11 == 0:
            live.advance(site.clock())
    await live.catch_up()

    at_once = await folded(site)

    assert bits(everything(live, site.clock())) == bits(everything(at_once, site.clock()))


async def test_d14_duplicates_and_disorder_change_no_bit(site: Any, calls: Any) -> None:
    await site.report(calls)
    plain = await folded(site)
    draw = random.Random(9)
    events = sorted((e for bot in calls for e in bot.made), key=lambda e: (e.wall_ns, e.call_id))
    jittered = sorted(events + draw.sample(events, 30), key=lambda e: e.wall_ns + draw.uniform(0, 10) * S)
    stirred = MemoryLog(partitions=3, clock_ns=site.clock)
    for event in jittered:
        await stirred.append("earwitness.events", [Outgoing(event.call_id, encode(event))])

    other = await folded(site, stirred)

    assert bits(everything(other, site.clock())) == bits(everything(plain, site.clock()))


async def test_d10_windows_close_by_the_wall_clock_when_all_is_silent(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    fold = await folded(site)
    assert fold.windows.read("response_latency", window_s=60, as_of_ns=site.clock()).n == 1

    site.clock.set(3_600)
    await fold.poll()
    found = fold.windows.read("response_latency", window_s=60, as_of_ns=site.clock())

    assert found.n == 0
    assert set(found.quantiles.values()) == {Quantile()}
    assert found.complete


async def test_an_answer_that_is_overdue_is_seen_by_the_clock_alone(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2, answered_after_s=None)])
    fold = await folded(site)
    assert fold.windows.read("unanswered", window_s=300, as_of_ns=site.clock()).count == 0

    site.clock.set(15)
    fold.advance(site.clock())

    assert fold.windows.read("unanswered", window_s=300, as_of_ns=site.clock()).count == 1
    assert fold.windows.read("response_latency", window_s=300, as_of_ns=site.clock()).censored == 1


async def test_calls_in_progress_come_and_go(site: Any, make_bot: Any) -> None:
    bot = make_bot("c1").start().asks(2)
    await site.report([bot])
    fold = await folded(site)
    assert [held.call_id for held in fold.in_progress(site.clock())] == ["c1"]
    assert fold.windows.read("calls_in_progress", window_s=60, as_of_ns=site.clock()).count == 1

    made = len(bot.made)
    bot.ends(9)
    site.clock.set(9)
    await site.send(*bot.made[made:])
    await fold.catch_up()

    assert fold.in_progress(site.clock()) == []
    assert fold.windows.read("calls_in_progress", window_s=60, as_of_ns=site.clock()).count == 0


async def test_a38_a_call_that_never_ends_ends_as_unknown_after_its_silence(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2)])
    fold = await folded(site)
    site.clock.set(400)

    assert fold.in_progress(site.clock()) == []
    assert fold.windows.read("calls", window_s=3_600, as_of_ns=site.clock()).by_class["unknown"] == 1


async def test_an_event_from_the_future_is_set_aside_and_moves_no_clock(site: Any, make_bot: Any) -> None:
    bot = make_bot("c1").start().asks(2)
    bot.add(ev.CallEnded, 9_000, cause="caller")
    await site.report([make_bot("c0").start()])
    site.clock.set(6)
    await site.send(*bot.made)
    fold = await folded(site)

    assert fold.stats.set_aside == 1
    assert {h.call_id for h in fold.in_progress(site.clock())} == {"c0", "c1"}


async def test_a_bot_whose_wall_clock_is_ten_minutes_behind_has_calls_that_are_not_silent(
    site: Any, make_bot: Any
) -> None:
    site.clock.set(1_000)
    await site.report([make_bot("c1", start_s=1_000, wall_error_s=-600).start().asks(2)])
    fold = await folded(site)

    assert len(fold.in_progress(site.clock())) == 1


async def test_a_call_that_ended_two_hours_ago_is_over_for_good(site: Any, make_bot: Any) -> None:
    bot = make_bot("c1").start().asks(2).ends(10)
    await site.report([bot])
    fold = await folded(site)
    site.clock.set(3 * 3_600)
    same_partition = next(f"n{i}" for i in range(99) if partition_of(f"n{i}", 3) == partition_of("c1", 3))
    await site.report([make_bot(same_partition, start_s=3 * 3_600).start()])
    await fold.catch_up()
    assert set(fold.calls) == {same_partition}

    await site.send(label_of("c1", site.clock()), bot.made[-1])
    await fold.catch_up()

    assert set(fold.calls) == {same_partition}
    assert (fold.stats.late_facts, fold.stats.stray) == (1, 1)


def label_of(call_id: str, wall_ns: int) -> ev.HumanLabel:
    common: dict[str, Any] = {"call_id": call_id, "source": "label", "seq": 0, "at_ns": 0, "wall_ns": wall_ns}
    return ev.HumanLabel(**common, subject="o1", label="wanted")


async def test_a_fact_that_comes_two_hours_after_the_end_changes_nothing_even_of_a_call_still_held(
    site: Any, make_bot: Any
) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    site.clock.set(3 * 3_600)
    fold = await folded(site)
    before = bits(everything(fold, site.clock()))

    await site.send(label_of("c1", site.clock()))
    await fold.catch_up()

    assert fold.stats.late_facts == 1
    assert bits(everything(fold, site.clock())) == before


async def test_calls_stay_when_they_are_asked_to(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1").start().asks(2).ends(10)])
    site.clock.set(5 * 3_600)
    await site.report([make_bot("c2", start_s=5 * 3_600).start()])

    fold = await folded(site, keep_calls=True)

    assert set(fold.calls) == {"c1", "c2"}


async def test_d09_what_cannot_be_read_is_counted_by_reason_and_stops_nothing(site: Any, make_bot: Any) -> None:
    good = make_bot("c1").start().asks(2).ends(10)
    await site.send_bytes(b"\xff\x00", b'{"v":2,"kind":"call_started"}')
    await site.report([good])
    fold = await folded(site)

    assert fold.stats.dead_letters == {"not_json": 1, "unknown_version": 1}
    assert fold.stats.lag_records == 0
    assert fold.windows.read("calls", window_s=300, as_of_ns=site.clock()).count == 1


async def test_a_fault_in_one_calls_fold_leaves_the_others_alone(site: Any, make_bot: Any) -> None:
    class Broken(CallTimeline):
        def advance(self, as_of_ns: int) -> Any:
            raise ZeroDivisionError

    await site.report([make_bot("bad").start().asks(2).ends(10), make_bot("good").start().asks(2).ends(10)])
    fold = await folded(site, new_call=lambda call_id: (Broken if call_id == "bad" else CallTimeline)(call_id))

    assert fold.windows.read("calls", window_s=300, as_of_ns=site.clock()).count == 1
    assert fold.handler.fold.broken_calls == 1


async def test_a_fold_that_begins_later_says_what_is_incomplete(site: Any, make_bot: Any) -> None:
    site.clock.set(0)
    await site.report([make_bot("old").start().asks(2).ends(10)])
    site.clock.set(30 * 3_600)
    await site.report([make_bot("new", start_s=30 * 3_600).start().asks(2).ends(10)])
    fold = await folded(site)

    assert set(fold.calls) == {"new"}
    assert fold.windows.read("response_latency", window_s=3_600, as_of_ns=site.clock()).complete
    assert not fold.windows.read("response_latency", window_s=604_800, as_of_ns=site.clock()).complete


async def test_stats_say_how_far_behind_and_how_fast(site: Any, calls: Any) -> None:
    await site.report(calls)
    fold = await LogFold.open(site.log, clock_ns=site.clock)
    await fold.poll()
    site.clock.now_ns += S
    await fold.catch_up()
    total = sum(len(bot.made) for bot in calls)

    assert fold.stats.events == total
    assert (fold.stats.lag_records, fold.stats.lag_s) == (0, 0.0)


async def test_declared_labels_split_the_numbers(site: Any, make_bot: Any) -> None:
    await site.report([make_bot("c1", labels={"route": "ivr", "x": "y"}).start().asks(2).ends(10)])
    fold = await folded(site, settings=MonitorSettings(label_keys={"route": ()}))

    assert fold.windows.groups(["route"], window_s=300, as_of_ns=site.clock()) == [(("route", "ivr"),)]


async def test_a_reading_fold_raises_what_the_log_raises(site: Any) -> None:
    class Away(MemoryLog):
        async def positions_by_time(self, topic: str, append_ns: int) -> dict[int, int]:
            raise LogUnavailable("memory: nobody answers")

    with pytest.raises(LogUnavailable):
        await LogFold.open(Away(), clock_ns=site.clock)


def handler_and_entries(events: list[Any]) -> tuple[TimelineHandler, list[Entry]]:
    """One that folds only, and where these events lie in a log's partition 0."""
    handler = TimelineHandler(TimelineFold(MonitorSettings()), prefix="earwitness")
    return handler, [
        Entry("earwitness.events", 0, n, e.call_id, b"", e.wall_ns + S // 10) for n, e in enumerate(events)
    ]


def unexpected(entry: Entry, error: Exception) -> None:
    raise AssertionError(entry) from error


def test_after_a_gap_windows_are_complete_from_the_first_that_came_behind_it(make_bot: Any) -> None:
    events, told = make_bot("c1").start().asks(2).made, list[tuple[int, int]]()
    handler, entries = handler_and_entries(events)
    handler.complete_from = lambda partition, at_ns: told.append((partition, at_ns))
    handler.missed(Gap("earwitness.events", 0, 0, 5))
    handler.handle_all(entries, events, unexpected)

    assert entries[0].append_ns < entries[-1].append_ns
    assert told == [(0, entries[0].append_ns)]


def test_what_an_earlier_run_counted_is_not_counted_again_and_what_was_counted_stays(make_bot: Any) -> None:
    events = make_bot("c1").start().asks(2).made
    handler, entries = handler_and_entries(events)
    handler.handle_all(entries[:2], events[:2], unexpected)
    handler.again.add(0)
    handler.handle_all(entries[2:], events[2:], unexpected)

    assert handler.fold.events == {"call_started": 1, "connected": 1}
    assert handler.fold.held["c1"].timeline.last_at_ns == events[-1].at_ns


def test_a_report_of_health_that_cannot_be_read_is_told_of_and_folded(
    make_bot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("no")

    bot = make_bot("c1").start()
    bot.add(ev.Health, 60)
    handler, entries = handler_and_entries(bot.made)
    monkeypatch.setattr(BotHealth, "note", fails)
    failed = list[Entry]()
    handler.handle_all(entries, bot.made, lambda entry, _: failed.append(entry))

    assert failed == [entries[-1]]
    assert handler.fold.events["health"] == 1
