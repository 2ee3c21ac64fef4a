"""State that is not used is said to be so, in one line, and the past is folded again; what is used is all of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import structlog
from stopped_workers import (
    SETTINGS,
    Clock,
    Life,
    S,
    Site,
    StoppingLog,
    buckets_of,
    published,
    what_the_log_says,
)

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_state import CALL
from earwitness.consumers.state_slots import MANIFEST, Manifest, Slots
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.contract.wire import decode_record, encode
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.log.protocol import Outgoing, TopicSpec
from earwitness.monitor.log.topics import topic_specs

STATE = "earwitness.state"
PARTITIONS = 2


@pytest.fixture
async def kept(some_calls: Any) -> Site:
    """A log with the state that a worker left."""
    sent = sorted(((e.wall_ns, e) for bot in some_calls(6) for e in bot.made), key=lambda one: (one[0], one[1].call_id))
    clock = Clock(sent[0][0])
    site = Site(StoppingLog(partitions=PARTITIONS, clock_ns=clock), clock, sent, random.Random(1))
    await site.send(len(sent))
    life = await worked(site)
    await life.end()
    return site


async def worked(site: Site, settings: MonitorSettings = SETTINGS) -> Life:
    """A worker that has come back to where the log is, and has written what it knows."""
    life = await Life.begin(site.log, site.clock, settings)
    await life.until_settled()
    for _ in range(2 * PARTITIONS + 1):
        await life.worker.step(0.0)
    return life


async def manifest_of(site: Site, partition: int) -> Manifest:
    entries = await site.log.reader(STATE, start={partition: 0})
    found = {e.partition: e.value for e in await entries.poll(timeout_s=0) if e.key == MANIFEST}
    return msgspec.msgpack.decode(found[partition] or b"", type=Manifest)


async def test_a_worker_that_begins_again_reads_nothing_and_has_all_of_it(kept: Site) -> None:
    first = await worked(kept)
    worst = first.fold.windows.worst("response_latency", window_s=3_600, as_of_ns=kept.clock())
    await first.end()

    again = await worked(kept)

    assert again.keeper.read_again == first.keeper.read_again == 0
    assert again.keeper.doubts == []
    records, buckets = await what_the_log_says(kept.log, kept.clock, SETTINGS)
    assert buckets_of(again.fold.windows) == buckets
    assert {held.call_id for held in again.fold.held.values()} == {call_id for call_id, _ in records}
    assert again.fold.windows.worst("response_latency", window_s=3_600, as_of_ns=kept.clock()) == worst != []
    assert again.fold.clocks_ns == first.fold.clocks_ns


async def test_nothing_is_written_where_nothing_changed(kept: Site) -> None:
    life = await worked(kept)
    before = await kept.log.end_positions(STATE)

    for _ in range(PARTITIONS):
        await life.worker.step(0.0)

    after = await kept.log.end_positions(STATE)
    assert {p: after[p] - before[p] for p in after} == dict.fromkeys(range(PARTITIONS), 1)  # the manifest


async def test_calls_that_are_over_for_good_are_let_go_of_and_stay_so(kept: Site) -> None:
    settings = replace(SETTINGS, call_kept_s=60)
    life = await worked(kept, settings)
    call_id, event = kept.events[0][1].call_id, kept.events[0][1]
    late = event.model_copy(update={"seq": 999, "kind": event.kind})
    kept.clock.now_ns += 1_000 * S
    other = next(e for _, e in kept.events if e.call_id != call_id)
    for one in (other, late):
        await kept.log.send(one.model_copy(update={"seq": 998}))
    for _ in range(3 * PARTITIONS):
        await life.worker.step(0.0)
    gone = dict(life.fold.calls.forgotten)
    await life.end()

    again = await worked(kept, settings)

    assert gone
    assert again.fold.calls.forgotten == gone
    assert not again.fold.held.keys() & gone.keys()


def other_settings(settings: MonitorSettings) -> MonitorSettings:
    return replace(settings, label_keys={"route": None})


async def value_lost(site: Site) -> None:
    await site.log.append(STATE, [Outgoing(f"{slot}.0 bucket:3600:{3600}", None, 0) for slot in (0, 1)])
    reader = await site.log.reader(STATE)
    names = [e.key for e in await reader.poll(timeout_s=0) if e.partition == 0 and CALL in e.key]
    await site.log.append(STATE, [Outgoing(name, None, 0) for name in names[:1]])


async def value_changed(site: Site) -> None:
    reader = await site.log.reader(STATE)
    entries = [e for e in await reader.poll(timeout_s=0) if e.partition == 0 and CALL in e.key]
    await site.log.append(STATE, [Outgoing(entries[0].key, (entries[0].value or b"")[:-1] + b"!", 0)])


async def values_of_another_shape(site: Site) -> None:
    """Written by somebody who knows how: whole, and of no kind that makes sense."""
    reader = await site.log.reader(STATE)
    slots = Slots(0, "stranger")
    restored = slots.read([e for e in await reader.poll(timeout_s=0) if e.partition == 0])
    assert restored is not None
    strange = dict.fromkeys((key for key in restored.values if key.startswith(CALL)), b"\x93\x01\x02\x03")
    snapshot = slots.snapshot(strange, offset=restored.manifest.offset, about=restored.manifest.about)
    await site.log.append(STATE, [*snapshot.data, *snapshot.manifest])


async def events_gone(site: Site) -> None:
    manifest = await manifest_of(site, 0)
    for at_ns, event in site.events[:1]:
        site.clock.now_ns = max(site.clock.now_ns, at_ns)
        for i in range(40):
            await site.log.send(event.model_copy(update={"call_id": f"late{i}", "seq": 0}))
    site.log.drop_before("earwitness.events", 0, manifest.offset + 1)


async def manifest_unreadable(site: Site) -> None:
    await site.log.append(STATE, [Outgoing(MANIFEST, b"no", 0)])


async def manifest_of_another_format(site: Site) -> None:
    manifest = msgspec.structs.replace(await manifest_of(site, 0), format=99)
    await site.log.append(STATE, [Outgoing(MANIFEST, msgspec.msgpack.encode(manifest), 0)])


async def nothing(_site: Site) -> None:
    return


@pytest.mark.parametrize(
    ("harm", "change", "reason", "partitions"),
    [
        pytest.param(value_lost, None, "not those that its manifest vouches for", 1, id="a value is missing"),
        pytest.param(value_changed, None, "not those that its manifest vouches for", 1, id="a value was changed"),
        pytest.param(values_of_another_shape, None, "cannot be read as SavedCall", 1, id="values make no sense"),
        pytest.param(events_gone, None, "which the log does not have", 1, id="older than what is kept of events"),
        pytest.param(manifest_unreadable, None, "its manifest cannot be read", 1, id="no manifest"),
        pytest.param(manifest_of_another_format, None, "format 99", 1, id="another format"),
        pytest.param(nothing, other_settings, "other settings", PARTITIONS, id="other settings"),
    ],
)
async def test_a_doubt_is_said_once_and_the_past_folded_again(
    kept: Site, harm: Any, change: Callable[[MonitorSettings], MonitorSettings] | None, reason: str, partitions: int
) -> None:
    await harm(kept)
    settings = change(SETTINGS) if change else SETTINGS

    with structlog.testing.capture_logs() as said:
        life = await worked(kept, settings)

    lines = [line for line in said if line["event"] == "saved state is not used; the past is folded again"]
    assert [reason in line["reason"] for line in lines] == [True] * partitions
    records, buckets = await what_the_log_says(kept.log, kept.clock, settings)
    assert buckets_of(life.fold.windows) == buckets
    found = await published(kept.log)
    assert {key: found.get(key) for key in records} == records
    await life.end()
    after = await worked(kept, settings)
    assert after.keeper.doubts == []


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        pytest.param(
            [spec for spec in topic_specs("earwitness", 2) if spec.name != STATE], "there is no topic", id="no topic"
        ),
        pytest.param(
            [*(spec for spec in topic_specs("earwitness", 2) if spec.name != STATE), TopicSpec(STATE, 2)],
            "is not compacted",
            id="not compacted",
        ),
        pytest.param(
            [
                *(spec for spec in topic_specs("earwitness", 2) if spec.name != STATE),
                TopicSpec(STATE, 3, compacted=True),
            ],
            "has 3 partitions",
            id="other partitions",
        ),
    ],
)
async def test_on_a_log_that_cannot_keep_state_each_start_folds_the_past(
    some_calls: Any, topics: list[TopicSpec], reason: str
) -> None:
    sent = sorted(((e.wall_ns, e) for bot in some_calls(4) for e in bot.made), key=lambda one: (one[0], one[1].call_id))
    clock = Clock(sent[0][0])
    site = Site(StoppingLog(topics=topics, clock_ns=clock), clock, sent, random.Random(1))
    await site.send(len(sent))

    with structlog.testing.capture_logs() as said:
        await (await worked(site)).end()
        again = await worked(site)

    assert all(reason in line["reason"] for line in said if line["event"].startswith("state is not kept"))
    assert said
    assert again.keeper.read_again == len(sent)
    records, buckets = await what_the_log_says(site.log, clock, SETTINGS)
    assert buckets_of(again.fold.windows) == buckets
    assert await published(site.log) == records


async def test_records_that_come_twice_change_nothing(kept: Site) -> None:
    """As after a crash between publishing and saving: nothing of it is taken for news, and readers see the same."""
    life = await worked(kept)
    before = await published(kept.log)
    reader = await kept.log.reader("earwitness.records")
    entries = await reader.poll(timeout_s=0, max_records=10_000)
    again = random.Random(1).sample(entries, len(entries))
    await kept.log.append("earwitness.records", [Outgoing(entry.key, entry.value) for entry in again])
    ends = await kept.log.end_positions("earwitness.records")

    for _ in range(2 * PARTITIONS):
        await life.worker.step(0.0)
    await life.end()
    after = await worked(kept)

    assert await kept.log.end_positions("earwitness.records") == ends
    assert await published(kept.log) == before
    assert after.keeper.doubts == []


async def test_who_only_reads_adds_the_state_of_all_partitions_and_reads_the_tail(kept: Site) -> None:
    """As ``top`` does, whichever workers have the partitions."""
    whole = await LogFold.open(kept.log, SETTINGS, clock_ns=kept.clock)
    await whole.catch_up()
    told = await LogFold.open(kept.log, SETTINGS, clock_ns=kept.clock, from_state=True)
    assert buckets_of(told.windows) == buckets_of(whole.windows)
    event = kept.events[0][1].model_copy(update={"call_id": "another"})
    await kept.log.send(event)

    await told.catch_up()
    await whole.catch_up()

    assert told.stats.events == 1
    assert told.calls.keys() == whole.calls.keys() >= {"another"}
    assert buckets_of(told.windows) == buckets_of(whole.windows)
    assert told.windows.live == whole.windows.live


async def test_who_only_reads_under_other_settings_reads_all(kept: Site) -> None:
    told = await LogFold.open(kept.log, other_settings(SETTINGS), clock_ns=kept.clock, from_state=True)
    await told.catch_up()

    assert told.stats.events == len(kept.events)


async def said_and_gone(site: Site) -> Outgoing:
    """A record that somebody published who looked at a call when less of it had come, or as of another moment."""
    reader = await site.log.reader("earwitness.records")
    entries = await reader.poll(timeout_s=0, max_records=10**6)
    found = next(record for record in (decode_record(e.value or b"") for e in entries) if record.kind == "turn")
    return Outgoing(found.call_id, encode(found.model_copy(update={"id": "t99", "revision": 0, "final": False})))


async def agrees(site: Site) -> bool:
    """Whether all that is published is what the log says of the calls."""
    records, _ = await what_the_log_says(site.log, site.clock, SETTINGS)
    return bool(await published(site.log) == records)


@pytest.mark.parametrize("kept_state", [True, False])
async def test_what_was_published_and_never_came_to_be_is_taken_back_by_who_goes_on(
    kept: Site, kept_state: bool
) -> None:
    """Whoever was killed had published it and saved nothing after."""
    await kept.log.append("earwitness.records", [await said_and_gone(kept)])
    settings = SETTINGS if kept_state else replace(SETTINGS, keep_state=False)

    life = await worked(kept, settings)

    assert await agrees(kept)
    assert life.handler.totals.counts == {}
    await life.end()
    again = await worked(kept, settings)
    before = await kept.log.end_positions("earwitness.records")
    await again.worker.step(0.0)
    assert await kept.log.end_positions("earwitness.records") == before


async def test_what_one_publishes_who_lost_a_partition_is_taken_back_by_who_has_it(kept: Site) -> None:
    life = await worked(kept)
    await kept.log.append("earwitness.records", [await said_and_gone(kept)])
    for _ in range(2 * PARTITIONS + 1):
        await life.worker.step(0.0)

    assert await agrees(kept)


async def test_what_is_not_known_to_stand_yet_is_looked_at_again_after_a_kill(kept: Site) -> None:
    """State was saved when the one who published was further than we were: it is he who may be right."""
    life = await worked(kept)
    record = await said_and_gone(kept)
    part = life.keeper.parts[partition_of(record.key, PARTITIONS)]
    await kept.log.append("earwitness.records", [record])
    part.read_back.goal = 10**9
    for _ in range(2 * PARTITIONS + 1):
        await life.worker.step(0.0)
    assert not await agrees(kept)

    await worked(kept)

    assert await agrees(kept)
