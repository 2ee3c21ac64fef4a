"""What every log does, on each of them: in memory, in a SQLite file, on a real Kafka."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from log_places import Place, by_key, by_partition, poll_until, read, records

from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import (
    Entry,
    Gap,
    LogRefused,
    Outgoing,
    RecordTooLarge,
    TopicSpec,
)

WRITER = Path(__file__).with_name("append_process.py")


async def test_records_of_a_key_stay_in_order_in_one_partition(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 3))
    sent = records(60)
    for start in range(0, 60, 20):
        await log.append(place.topic, sent[start : start + 20])

    got = await read(await log.reader(place.topic), 60)

    assert by_key(got) == {f"call-{k}": [str(i).encode() for i in range(60) if i % 7 == k] for k in range(7)}
    assert {entry.key: entry.partition for entry in got} == {
        f"call-{k}": partition_of(f"call-{k}", 3) for k in range(7)
    }


async def test_offsets_count_without_gaps_up_to_the_end_positions(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 3))
    for start in range(3):
        await log.append(place.topic, records(20 + start))
    reader = await log.reader(place.topic)

    got = by_partition(await read(reader, 63))

    ends = await log.end_positions(place.topic)
    assert {number: [entry.offset for entry in entries] for number, entries in got.items()} == {
        number: list(range(end)) for number, end in ends.items() if end
    }
    assert reader.positions() == ends
    assert await log.start_positions(place.topic) == {0: 0, 1: 0, 2: 0}


async def test_the_log_dates_records_itself_and_its_time_never_falls(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    before_ms = time.time_ns() // 1_000_000
    for _ in range(5):
        await log.append(place.topic, records(10))
    after_ms = time.time_ns() // 1_000_000

    got = await read(await log.reader(place.topic), 50)

    assert all(before_ms <= entry.append_ns // 1_000_000 <= after_ms for entry in got)
    for entries in by_partition(got).values():
        times = [entry.append_ns for entry in entries]
        assert times == sorted(times)


async def test_positions_by_time_are_exact_before_between_and_past_the_end(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 3))
    for _ in range(6):
        await log.append(place.topic, records(9))
        tick = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 <= tick + 1:
            pass  # so that the next append has another millisecond
    got = await read(await log.reader(place.topic), 54)
    ends = await log.end_positions(place.topic)
    moments = {entry.append_ns + step for entry in got for step in (-1, 0, 1)} | {0, time.time_ns() + 10**12}

    for moment in sorted(moments):
        expected = {
            number: min((e.offset for e in got if e.partition == number and e.append_ns >= moment), default=end)
            for number, end in ends.items()
        }
        assert await log.positions_by_time(place.topic, moment) == expected


async def test_a_reader_without_a_group_reads_from_given_offsets(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    await log.append(place.topic, [Outgoing(f"call-{i}", b"x") for i in range(40)])
    ends = await log.end_positions(place.topic)

    reader = await log.reader(place.topic, start={0: ends[0] - 2, 1: ends[1]})
    assert reader.positions() == {0: ends[0] - 2, 1: ends[1]}
    got = await read(reader, 2)
    latest = await log.reader(place.topic, start="latest")

    assert [(entry.partition, entry.offset) for entry in got] == [(0, ends[0] - 2), (0, ends[0] - 1)]
    assert latest.positions() == ends
    with pytest.raises(ValueError, match="group"):
        await reader.commit(ends)


async def test_a_poll_that_waits_wakes_when_something_is_appended(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    reader = await log.reader(place.topic)
    waiting = asyncio.create_task(reader.poll(timeout_s=20))
    await asyncio.sleep(0)

    began = time.monotonic()
    await log.append(place.topic, records(1))
    got = await waiting

    assert len(got) == 1
    assert time.monotonic() - began < 10


async def test_a_poll_without_news_ends_with_its_timeout(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    reader = await log.reader(place.topic)

    began = time.monotonic()
    assert list(await reader.poll(timeout_s=0.2)) == []

    assert 0.15 < time.monotonic() - began < 5


async def test_a_poll_gives_no_more_than_it_is_asked_for_and_starves_no_partition(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    await log.append(place.topic, [Outgoing(f"call-{i}", b"x") for i in range(400)])
    reader = await log.reader(place.topic)
    found: list[Entry] = []
    async with asyncio.timeout(30):
        while len(found) < 400:
            some = await reader.poll(timeout_s=0.2, max_records=50)
            assert len(some) <= 50
            found += some

    assert {len(entries) for entries in by_partition(found).values()} == {
        *(await log.end_positions(place.topic)).values()
    }


async def test_a_poll_that_is_cancelled_has_taken_nothing(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    await log.append(place.topic, records(2_000, keys=50))
    reader = await log.reader(place.topic)
    found: list[Entry] = []
    for steps in range(300):
        polling = asyncio.create_task(reader.poll(timeout_s=0.01, max_records=5))
        for _ in range(steps % 30):
            await asyncio.sleep(0)
        polling.cancel()
        await asyncio.wait({polling})
        if not polling.cancelled():
            found += polling.result()

    found += await read(reader, 2_000 - len(found))

    assert sorted(int(entry.value or b"") for entry in found) == list(range(2_000))


async def test_fifty_thousand_records_in_one_append_arrive_in_order(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    sent = [Outgoing(f"call-{i % 50}", f"{i:0400d}".encode()) for i in range(50_000)]

    await log.append(place.topic, sent)
    got = await read(await log.reader(place.topic), 50_000)

    expected: dict[str, list[bytes | None]] = defaultdict(list)
    for record in sent:
        expected[record.key].append(record.value)
    assert by_key(got) == expected


async def test_d08_a_record_that_is_too_large_is_refused_and_nothing_of_its_batch_is_written(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))

    with pytest.raises(RecordTooLarge, match="call-big"):
        await log.append(place.topic, [Outgoing("a", b"small"), Outgoing("call-big", b"x" * 2_000_000)])
    await log.append(place.topic, [Outgoing("a", b"y" * 990_000)])

    assert [len(entry.value or b"") for entry in await read(await log.reader(place.topic), 1)] == [990_000]


async def test_a_compacted_topic_folds_to_the_last_of_each_key(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2, compacted=True))
    for round_ in range(20):
        await log.append(place.topic, [Outgoing(f"k{i}", f"{i} {round_}".encode()) for i in range(10)])
    await log.append(place.topic, [Outgoing("k3", None)])

    reader = await log.reader(place.topic)
    ends = await log.end_positions(place.topic)
    got = await poll_until(reader, lambda: reader.positions() == ends)

    assert {entry.key: entry.value for entry in got} == {
        f"k{i}": None if i == 3 else f"{i} 19".encode() for i in range(10)
    }
    assert sum(ends.values()) == 201
    assert reader.take_gaps() == []


async def test_d02_what_was_forgotten_before_it_was_read_is_a_gap_of_known_size(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    await log.append(place.topic, records(130))
    first = await log.reader(place.topic, group="g")
    await read(first, 130)
    await first.commit({0: 78})
    await first.close()
    await place.forget(place.topic, 0, 120)

    again = await log.reader(place.topic, group="g")
    got = await read(again, 10)

    assert [entry.offset for entry in got] == list(range(120, 130))
    assert [(gap, gap.lost) for gap in again.take_gaps()] == [(Gap(place.topic, 0, 78, 120), 42)]
    assert again.take_gaps() == []
    assert await log.start_positions(place.topic) == {0: 120}


async def test_a_position_beyond_the_end_begins_again_at_the_oldest(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    await log.append(place.topic, records(5))

    reader = await log.reader(place.topic, start={0: 1_000})
    got = await read(reader, 5)

    assert len(got) == 5
    assert list(reader.take_gaps()) == [Gap(place.topic, 0, 1_000, 0)]


async def test_empty_values_tombstones_and_any_key_survive(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    sent = [Outgoing("", b""), Outgoing("ключ 電話 📞", None), Outgoing("a\nb", bytes(range(256)))]

    await log.append(place.topic, sent)
    await log.append(place.topic, [])
    got = await read(await log.reader(place.topic), 3)

    assert [Outgoing(entry.key, entry.value) for entry in got] == sent


async def test_a_missing_topic_is_refused_by_name_and_remedy(place: Place) -> None:
    log = await place.open()
    missing = f"{place.prefix}.nowhere"

    for question in (log.append(missing, records(1)), log.reader(missing), log.end_positions(missing)):
        with pytest.raises(LogRefused, match=rf"{missing}.*(create|make)"):
            await question


async def test_topics_are_made_once_and_described_as_they_are(place: Place) -> None:
    log = await place.open()
    specs = [
        TopicSpec(f"{place.prefix}.events", 3, retention_ms=3_600_000),
        TopicSpec(f"{place.prefix}.state", 3, compacted=True),
    ]

    assert sorted(await log.create_topics(specs)) == [spec.name for spec in specs]
    assert await log.create_topics(specs) == []
    topics = await log.topics()

    assert {
        name: (info.partitions, info.compacted, info.append_time, info.retention_ms) for name, info in topics.items()
    } == {
        f"{place.prefix}.events": (3, False, True, 3_600_000),
        f"{place.prefix}.state": (3, True, True, None),
    }


async def test_closing_ends_within_5_s_with_readers_open_and_a_poll_at_work(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    member = await log.reader(place.topic, group="g")
    lone = await log.reader(place.topic)
    waiting = [asyncio.create_task(reader.poll(timeout_s=60)) for reader in (member, lone)]
    await asyncio.sleep(0)

    began = time.monotonic()
    await log.close()
    took_s = time.monotonic() - began
    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert took_s < 5
    assert [outcome for outcome in outcomes if outcome and not isinstance(outcome, LogRefused)] == []
    with pytest.raises(LogRefused, match="closed"):
        await log.append(place.topic, records(1))


@pytest.mark.parametrize("place", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)], indirect=True)
async def test_several_processes_append_at_once_and_nothing_is_lost_or_mixed_up(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 3))
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, str(WRITER), place.url, place.topic, f"w{i}", "20", "50", stdout=asyncio.subprocess.PIPE
        )
        for i in range(3)
    ]
    reader = await log.reader(place.topic)

    got = await read(reader, 3_000)  # while they write
    for writer in writers:
        await writer.communicate()

    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(got) == 3_000
    for key, values in by_key(got).items():
        numbers = [int((value or b"").split()[1]) for value in values]
        assert numbers == sorted(numbers), key
    for number, entries in by_partition(got).items():
        assert [entry.offset for entry in entries] == list(range(len(entries))), number


async def test_a_record_may_name_its_partition(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 4))

    await log.append(place.topic, [Outgoing("same-key", b"%d" % number, number) for number in (3, 1, 0, 3)])

    got = await read(await log.reader(place.topic), 4)
    assert {number: [entry.value for entry in entries] for number, entries in by_partition(got).items()} == {
        0: [b"0"], 1: [b"1"], 3: [b"3", b"3"],
    }  # fmt: skip
    with pytest.raises(ValueError, match="no partition 4"):
        await log.append(place.topic, [Outgoing("same-key", b"4", 4)])
