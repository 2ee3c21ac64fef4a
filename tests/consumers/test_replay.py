"""Records rebuilt beside the live ones: the same as those of one fold at once, whatever is cut short or repeated."""

from __future__ import annotations

import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from log_places import Place, embedded, in_memory, on_kafka

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.replay import Manifest, Progress, Replay, claim, manifest_on, plan
from earwitness.consumers.replayed import RecordsFold, rebuilt, stored_records
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.contract.records import AnyRecord, Call
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Log, LogUnavailable, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.measures.catalogue import MEASURES

S = 1_000_000_000
EVENTS, RECORDS = "earwitness.events", "earwitness.records"
SETTINGS = MonitorSettings()
SHORT = replace(SETTINGS, call_kept_s=60, longest_call_s=60)
"""Calls are let go a minute after their end, so that a log of minutes shows it."""


async def replayed(source: Log, target: Log, settings: MonitorSettings, until_ns: int, **more: Any) -> Manifest:
    wanted = await plan(source, settings, "all", since_ns=more.pop("since_ns", 0), until_ns=until_ns)
    seen: list[Progress] = []
    done = await Replay(source, target, settings, await claim(target, wanted)).run(seen.append)
    assert seen == [] or (seen[-1].events, seen[-1].total) == (done.events, done.events)
    return done


def contents(records: list[AnyRecord]) -> dict[tuple[str, str], Any]:
    return {(r.call_id, r.id): r.model_dump(exclude={"revision"}) for r in records if not r.retracted}


async def at_once(log: Log, as_of_ns: int) -> LogFold:
    fold = await LogFold.open(log, since_ns=0, keep_calls=True, clock_ns=lambda: as_of_ns)
    await fold.catch_up()
    return fold


def records_of(fold: LogFold) -> dict[tuple[str, str], Any]:
    return contents([record for timeline in fold.calls.values() for record in timeline.records()])


def read_all(fold: LogFold | RecordsFold, as_of_ns: int) -> list[Any]:
    found: list[Any] = []
    for measure in MEASURES:
        for window_s in (3_600, 86_400):
            if measure.name != "calls_in_progress":
                r = fold.windows.read(measure.name, window_s=window_s, as_of_ns=as_of_ns)
                found.append((measure.name, window_s, r.n, r.count, r.eligible, r.rate, r.quantiles, r.by_class))
    return found


async def test_records_and_windows_are_those_of_one_fold_at_once(site: Any, calls: Any, make_bot: Any) -> None:
    never_ends = make_bot("lost", 30).start().asks(2)
    goes_on = make_bot("waits", 660).start().asks(2, answered_after_s=None)
    await site.report([*calls, never_ends, goes_on])
    await site.send_bytes(b"not json", b'{"v":9,"kind":"call_started"}')
    site.clock.set(700)
    target = MemoryLog(partitions=3)

    done = await replayed(site.log, target, SHORT, site.clock())
    again = await rebuilt(target, SETTINGS)

    expected = await at_once(site.log, site.clock())
    assert again is not None
    assert contents(await stored_records(target)) == records_of(expected)
    assert read_all(again, site.clock()) == read_all(expected, site.clock())
    assert (done.calls, done.unreadable) == (len(calls) + 2, {"not_json": 1, "unknown_version": 1})
    assert expected.windows.read("unanswered", window_s=60, as_of_ns=site.clock()).count == 1
    assert {r.revision for r in await stored_records(target)} == {1}
    assert again.manifest == done == await manifest_on(target)


async def test_calls_are_written_and_let_go_on_the_way(site: Any, make_bot: Any) -> None:
    bots = [make_bot(f"c{i}", 60.0 * i).start().asks(2).ends(10) for i in range(60)]
    await site.report(bots)
    site.clock.set(3_700)
    target = MemoryLog(partitions=3)
    wanted = await plan(site.log, SHORT, "all", since_ns=0, until_ns=site.clock())
    replay = Replay(site.log, target, SHORT, await claim(target, wanted))
    held: list[int] = []

    # As much at a time as a poll of a real log gives.
    poll_some(site.log, 40)
    done = await replay.run(lambda _: held.append(len(replay.fold.held)))

    assert done.calls == 60
    assert max(held) < 15
    assert contents(await stored_records(target)) == records_of(await at_once(site.log, site.clock()))


def poll_some(log: MemoryLog, count: int) -> None:
    reader_of: Callable[..., Awaitable[Any]] = log.reader

    async def reader(*arguments: Any, **more: Any) -> Any:
        made = await reader_of(*arguments, **more)
        poll = made.poll
        made.poll = lambda *, timeout_s, max_records=0: poll(timeout_s=timeout_s, max_records=count)
        return made

    log.reader = reader  # type: ignore[method-assign]


class Fragile(MemoryLog):
    """A log that goes away at the given write."""

    def __init__(self, fails_at: int) -> None:
        super().__init__(partitions=3)
        self.writes, self.fails_at = 0, fails_at

    async def append(self, topic: str, records: Any) -> None:
        self.writes += 1
        if self.writes == self.fails_at:
            await super().append(topic, records[: len(records) // 2])
            raise LogUnavailable("memory: nobody answers")
        await super().append(topic, records)


@pytest.mark.parametrize("fails_at", range(2, 7))
async def test_what_was_cut_short_is_completed_by_the_same_command(
    site: Any, make_bot: Any, fails_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earwitness.consumers.replay.AT_ONCE", 10)
    await site.report([make_bot(f"c{i}", 60.0 * i).start().asks(2).ends(10) for i in range(20)])
    site.clock.set(1_300)
    target, until_ns = Fragile(fails_at), site.clock()
    expected = await at_once(site.log, until_ns)
    with pytest.raises(LogUnavailable):
        await replayed(site.log, target, SHORT, until_ns)
    begun = await manifest_on(target)
    assert begun is not None
    assert not begun.done
    late = make_bot("later", 1_310).start().made[0]
    site.clock.set(7_000)
    await site.send(late)  # what came since belongs to another question

    done = await replayed(site.log, target, SHORT, site.clock())

    assert done.until_ns == until_ns
    assert contents(await stored_records(target)) == records_of(expected)
    assert read_all(await loaded(target), until_ns) == read_all(expected, until_ns)


async def loaded(target: Log) -> RecordsFold:
    fold = await rebuilt(target, SETTINGS)
    assert fold is not None
    return fold


async def test_until_leaves_out_what_came_later_and_since_what_was_over_before(site: Any, make_bot: Any) -> None:
    bots = [make_bot(f"c{i}", 600.0 * i).start().asks(2).ends(10) for i in range(4)]
    await site.report(bots)
    target, noon_ns = MemoryLog(partitions=3), bots[0].made[0].wall_ns

    done = await replayed(site.log, target, SHORT, noon_ns + 1_500 * S, since_ns=noon_ns + 500 * S)

    assert {record.call_id for record in await stored_records(target)} == {"c1", "c2"}
    assert done.calls == 2
    assert done.complete_from_ns == noon_ns + 500 * S


async def test_nothing_is_written_into_what_is_no_replay(site: Any, calls: Any) -> None:
    await site.report(calls[:2])
    live, done, other = MemoryLog(partitions=3), MemoryLog(partitions=3), MemoryLog(partitions=3)
    await live.append(RECORDS, [Outgoing("c", b"{}")])
    await replayed(site.log, done, SETTINGS, site.clock())
    begun = await plan(site.log, SETTINGS, "since 1d", since_ns=5, until_ns=site.clock())
    await claim(other, begun)

    for target, says in (
        (site.log, "something else"),
        (live, "something else"),
        (done, "finished"),
        (other, "another"),
    ):
        before = {topic: await target.end_positions(topic) for topic in await target.topics()}
        with pytest.raises(BadInput, match=says):
            await replayed(site.log, target, SETTINGS, site.clock())
        assert {topic: await target.end_positions(topic) for topic in before} == before


async def test_a_log_of_events_is_not_taken_for_a_rebuilt_one(site: Any, calls: Any) -> None:
    assert await rebuilt(site.log, SETTINGS) is None
    await site.report(calls[:1])
    assert await rebuilt(site.log, SETTINGS) is None


@pytest.mark.parametrize("kind", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def test_on_both_logs_the_records_are_those_of_one_fold_at_once(
    kind: str, calls: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    prefix = f"t{uuid.uuid4().hex[:10]}"

    def place(name: str) -> Place:
        if kind == "embedded":
            (tmp_path / name).mkdir()
            return embedded(prefix, tmp_path / name)
        return on_kafka(f"{prefix}{name}", request.getfixturevalue("kafka_bootstrap"))

    live, beside, copy = place("live"), place("beside"), in_memory(prefix)
    source = await live.open(*topic_specs(live.prefix, 3))
    target = await beside.open(*topic_specs(beside.prefix, 3))
    events = sorted((event for bot in calls for event in bot.made), key=lambda e: (e.wall_ns, e.call_id, e.seq))
    random.Random(5).shuffle(events)
    for first in range(0, len(events), 50):
        await source.append(live.topic, [Outgoing(e.call_id, encode(e)) for e in events[first : first + 50]])
    as_of_ns = 2 * max(event.wall_ns for event in events)  # of long ago: the log's clock is another than the calls'

    done = await replayed(source, target, SETTINGS, as_of_ns)
    written = await stored_records(target)
    expected = records_of(await at_once(source, as_of_ns))
    for where in (live, beside, copy):
        for log in where.opened:
            await log.close()

    assert done.calls == len(calls)
    assert contents(written) == expected


async def test_of_published_records_the_latest_revision_is_read_in_whatever_order_they_lie(site: Any) -> None:
    for revision in (1, 3, 2):
        record = Call(
            call_id="c", id="call", agent="clinic", event_wall_ns=0, started_wall_ns=0, revision=revision,
            events=revision,
        )  # fmt: skip
        await site.log.append(RECORDS, [Outgoing("c", encode(record))])
    await site.log.append(RECORDS, [Outgoing("c", b"of another version")])

    assert [(r.revision, r.events) for r in await stored_records(site.log) if isinstance(r, Call)] == [(3, 3)]
