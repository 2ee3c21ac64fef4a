"""Positions and members of groups, on every log: in memory, in a SQLite file, on a real Kafka."""

from __future__ import annotations

import asyncio

import pytest
from log_places import Place, poll_until, read, records

from earwitness.monitor.log.protocol import (
    Outgoing,
    TopicSpec,
)


async def test_a_group_goes_on_where_it_committed(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    await log.append(place.topic, records(30))
    first = await log.reader(place.topic, group="g")
    await read(first, 30)
    positions = first.positions()
    assert await first.commit(positions) == positions
    await log.append(place.topic, records(10))
    await read(first, 10)  # read, never committed
    await first.close()

    again = await log.reader(place.topic, group="g")

    assert len(await read(again, 10)) == 10
    assert await log.committed("g", place.topic) == positions
    assert await log.committed("another", place.topic) == {}


async def test_a_group_that_committed_nothing_begins_where_it_is_told(place: Place) -> None:
    log = await place.open(TopicSpec(place.topic, 1))
    await log.append(place.topic, records(10))

    from_six = await read(await log.reader(place.topic, group="six", start={0: 6}), 4)
    latest = await log.reader(place.topic, group="latest", start="latest")
    await poll_until(latest, lambda: bool(latest.positions()))
    await log.append(place.topic, [Outgoing("new", b"new")])

    assert [entry.offset for entry in from_six] == [6, 7, 8, 9]
    assert [entry.value for entry in await read(latest, 1)] == [b"new"]


async def test_members_share_partitions_and_take_over_from_one_that_leaves(place: Place) -> None:
    one, two = await place.open(TopicSpec(place.topic, 4)), await place.open()
    a = await one.reader(place.topic, group="g")
    await poll_until(a, lambda: len(a.positions()) == 4)
    b = await two.reader(place.topic, group="g")

    async with asyncio.timeout(30):
        while len(a.positions()) != 2 or len(b.positions()) != 2:
            await asyncio.gather(a.poll(timeout_s=0.05), b.poll(timeout_s=0.05))
    shared = {*a.positions(), *b.positions()}
    await a.close()
    await poll_until(b, lambda: len(b.positions()) == 4)

    assert shared == {0, 1, 2, 3}


async def test_d04_a_late_commit_for_a_partition_that_moved_changes_nothing(place: Place) -> None:
    one, two = await place.open(TopicSpec(place.topic, 2)), await place.open()
    await one.append(place.topic, [Outgoing(f"call-{i}", b"x") for i in range(60)])
    a = await one.reader(place.topic, group="g")
    await read(a, 60)
    old = a.positions()
    b = await two.reader(place.topic, group="g")
    async with asyncio.timeout(30):
        while len(b.positions()) != 1 or len(a.positions()) != 1:
            await asyncio.gather(a.poll(timeout_s=0.05), b.poll(timeout_s=0.05))
    (moved,) = b.positions()

    kept = await a.commit({moved: old[moved]})

    assert kept == {}
    assert moved not in await one.committed("g", place.topic)


@pytest.mark.parametrize("group", [None, "g"])
async def test_a_reader_goes_on_from_where_it_is_told(place: Place, group: str | None) -> None:
    log = await place.open(TopicSpec(place.topic, 2))
    await log.append(place.topic, [Outgoing("k", b"%d" % i, i % 2) for i in range(20)])
    reader = await log.reader(place.topic, group=group)
    await read(reader, 20)
    before = reader.changes

    await reader.seek({0: 7, 5: 3})

    assert reader.positions() == {0: 7, 1: 10}
    assert [(entry.partition, entry.offset) for entry in await read(reader, 3)] == [(0, 7), (0, 8), (0, 9)]
    assert reader.changes == before


async def test_a_member_knows_that_partitions_went_and_came(place: Place) -> None:
    one, two = await place.open(TopicSpec(place.topic, 2)), await place.open()
    a = await one.reader(place.topic, group="g")
    await poll_until(a, lambda: len(a.positions()) == 2)
    alone = a.changes
    b = await two.reader(place.topic, group="g")
    async with asyncio.timeout(30):
        while len(a.positions()) != 1 or len(b.positions()) != 1:
            await asyncio.gather(a.poll(timeout_s=0.05), b.poll(timeout_s=0.05))
    shared = a.changes
    await b.close()
    await poll_until(a, lambda: len(a.positions()) == 2)

    assert alone < shared < a.changes
    assert b.changes > 0
