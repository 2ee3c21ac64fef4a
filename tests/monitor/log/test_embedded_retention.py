"""How long an embedded log keeps what: age, bytes, compaction, and who decides."""

# ruff: noqa: ASYNC240 - small files of the tests' own

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from embedded_logs import HOUR_NS, TOPIC, Clock, Opener, kept, read_all, records

from earwitness.monitor.log.embedded import EmbeddedSettings
from earwitness.monitor.log.protocol import Outgoing, TopicSpec


async def test_records_over_age_go_a_bounded_number_at_a_time_oldest_first(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(keep_s=24 * 3600), clock_ns=clock)
    await log.append(TOPIC, records(1_500))
    clock.now_ns += 25 * HOUR_NS

    await log.append(TOPIC, records(10))
    after_one = await kept(log)
    clock.now_ns += 2 * 10**9
    await log.append(TOPIC, records(10))
    clock.now_ns += 2 * 10**9
    await log.append(TOPIC, records(10))

    assert 500 <= after_one[0] < 1_500
    assert await kept(log) == list(range(1_500, 1_530))


async def test_a_topics_own_retention_comes_before_the_logs(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(TopicSpec(TOPIC, 1, retention_ms=60_000), clock_ns=clock)
    await log.append(TOPIC, records(5))
    clock.now_ns += 61 * 10**9
    await log.append(TOPIC, records(5))

    assert await kept(log) == [5, 6, 7, 8, 9]


async def test_a_log_is_kept_as_long_as_the_monitor_was_told_whoever_writes_to_it(open_log: Opener) -> None:
    clock = Clock()
    bot = await open_log(clock_ns=clock)
    await bot.append(TOPIC, records(5))
    await open_log(settings=EmbeddedSettings(keep_s=30 * 24 * 3600, remember_kept=True))
    clock.now_ns += 29 * 24 * HOUR_NS
    await bot.append(TOPIC, records(5))
    assert await kept(bot) == list(range(10))

    await open_log(settings=EmbeddedSettings(keep_bytes=10**9, remember_kept=True))  # says nothing of the time
    clock.now_ns += 2 * 24 * HOUR_NS
    await (await open_log(clock_ns=clock)).append(TOPIC, records(5))
    assert await kept(bot) == list(range(5, 15))


async def test_a_log_that_remembers_nothing_keeps_8_days(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(remember_kept=True), clock_ns=clock)
    await open_log(settings=EmbeddedSettings(keep_s=30 * 24 * 3600))  # its own affair
    await log.append(TOPIC, records(5))
    clock.now_ns += 9 * 24 * HOUR_NS
    await log.append(TOPIC, records(5))
    assert await kept(log) == list(range(5, 10))


async def test_bytes_to_keep_are_remembered_too(open_log: Opener) -> None:
    clock = Clock()
    await open_log(settings=EmbeddedSettings(keep_bytes=2_000_000, remember_kept=True))
    bot = await open_log(clock_ns=clock)
    for _ in range(60):
        clock.now_ns += 2 * 10**9
        await bot.append(TOPIC, records(100, size=1_000))
    assert 1_000 < len(await kept(bot)) < 2_500


async def test_a_file_from_before_logs_remembered_anything_is_opened_and_remembers(
    open_log: Opener, path: Path
) -> None:
    await (await open_log()).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE meta")
    await open_log(settings=EmbeddedSettings(keep_s=3_600, remember_kept=True))
    assert (await (await open_log()).topics())[TOPIC].retention_ms == 3_600_000


async def test_over_its_bytes_the_log_forgets_the_oldest_and_stops_growing(open_log: Opener, path: Path) -> None:
    clock = Clock()
    log = await open_log(settings=EmbeddedSettings(keep_bytes=2_000_000), clock_ns=clock)
    sizes: list[int] = []
    for _ in range(60):
        clock.now_ns += 2 * 10**9
        await log.append(TOPIC, records(100, size=1_000))
        sizes.append(path.stat().st_size)

    left = await kept(log)
    assert left[-1] == 5_999
    assert 1_000 < len(left) < 2_500
    assert max(sizes) < 4_000_000


async def test_a_compacted_topic_keeps_old_keys_and_loses_old_tombstones(open_log: Opener) -> None:
    clock = Clock()
    log = await open_log(TopicSpec(TOPIC, 1, compacted=True), clock_ns=clock)
    await log.append(TOPIC, [Outgoing("kept", b"1"), Outgoing("gone", b"2")])
    await log.append(TOPIC, [Outgoing("gone", None)])
    clock.now_ns += 24 * 30 * HOUR_NS
    await log.append(TOPIC, [Outgoing("new", b"3")])

    assert [(entry.offset, entry.key) for entry in await read_all(log)] == [(0, "kept"), (3, "new")]
