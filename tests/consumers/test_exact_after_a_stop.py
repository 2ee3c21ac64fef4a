"""A worker that is stopped before or after any write ends with the records and windows of one that never was."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from stopped_workers import SETTINGS, Clock, S, Site, StoppingLog, buckets_of, published, what_the_log_says

from earwitness.consumers import keeper, kept_part
from earwitness.consumers.partition_state import PartitionState
from earwitness.consumers.state_slots import Slots
from earwitness.consumers.state_topic import StateTopic
from earwitness.monitor.calls.saved import ResumedCall

SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(8, 150))]
PARTITIONS = 3


def events(bots: Any, draw: random.Random) -> list[tuple[int, Any]]:
    """What bots report and when it arrives: some of it late, out of order or twice."""
    found = [(event.wall_ns + draw.randrange(S // 5), event) for bot in bots for event in bot.made]
    late = [(at + draw.randrange(10 * S), event) for at, event in draw.sample(found, len(found) // 20)]
    return sorted([*found, *late], key=lambda one: (one[0], one[1].call_id, one[1].seq))


def site(seed: int, some_calls: Any) -> Site:
    draw = random.Random(seed)
    sent = events(some_calls(6, seed=seed), draw)
    clock = Clock(sent[0][0])
    log = StoppingLog(partitions=PARTITIONS, clock_ns=clock)
    # With few calls at hand the others are asleep, as bytes.
    settings = replace(SETTINGS, calls_at_hand=1) if seed % 2 else SETTINGS
    return Site(log, clock, sent, draw, settings)


async def check(found: Site) -> None:
    as_of_ns = found.events[-1][0] + 30 * S
    windows = await found.finish(as_of_ns)
    records, buckets = await what_the_log_says(found.log, found.clock, SETTINGS)
    assert await published(found.log) == records
    assert buckets_of(windows) == buckets
    assert len(buckets) > 10


@pytest.mark.parametrize("seed", SEEDS)
async def test_one_worker_stopped_anywhere(seed: int, some_calls: Any) -> None:
    one = site(seed, some_calls)
    await one.run(workers=1, most_writes=30)
    await check(one)

    assert one.stops > 5
    assert one.doubts == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_workers_that_share_partitions_stopped_anywhere(seed: int, some_calls: Any) -> None:
    """And whose partitions move with every stop and every start."""
    several = site(1_000 + seed, some_calls)
    await several.run(workers=2 + seed % 2, most_writes=30)
    await check(several)

    assert several.stops > 5
    assert several.handed_over > 2
    assert several.doubts == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_owners_that_do_not_know_yet_that_they_are_none(seed: int, some_calls: Any) -> None:
    """They go on to fold, to publish and to write state; then the log itself is asked."""
    zombies = site(2_000 + seed, some_calls)
    await zombies.run(workers=3, most_writes=120, zombies=True)
    await check(zombies)

    assert zombies.sent >= len(zombies.events)


def offset_off_by_one(patch: pytest.MonkeyPatch) -> None:
    right = Slots.snapshot

    def wrong(self: Slots, changes: Any, *, offset: int, about: bytes) -> Any:
        return right(self, changes, offset=offset + 1, about=about)

    patch.setattr(Slots, "snapshot", wrong)


def late(method: str) -> Any:
    """Of the values of one kind each snapshot has those of the one before it."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        right = getattr(PartitionState, method)
        before: dict[int, Any] = {}

        def wrong(self: PartitionState, all_of_it: bool) -> Any:
            found = right(self, all_of_it)
            last = before.get(id(self), {})
            before[id(self)] = found
            return last

        patch.setattr(PartitionState, method, wrong)

    return mutate


def nothing_known_of_what_was_published(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionState, "_published", lambda _self, _call_id: b"")


def reading_on_where_the_group_stands(patch: pytest.MonkeyPatch) -> None:
    """Or at the end, whatever the state goes with."""

    class Part(kept_part.Part):
        misplaced = property(lambda _self: False, lambda _self, _value: None)

    patch.setattr(keeper, "Part", Part)


def a_call_not_looked_at_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """What its buckets have counted of the events since it was saved whole would be counted again."""
    right = ResumedCall.__init__

    def wrong(self: ResumedCall, before: Any, since: Any, *, judged: int, judged_at_ns: int | None) -> None:
        right(self, before, since, judged=0 * judged, judged_at_ns=None)

    patch.setattr(ResumedCall, "__init__", wrong)


def handed_over_after_it_was_lost(patch: pytest.MonkeyPatch) -> None:
    """Whatever the group says."""
    right = keeper.Keeper._commit

    async def wrong(self: keeper.Keeper, hands: Any, offsets: Any) -> Any:
        await right(self, hands, offsets)
        return offsets.keys()

    patch.setattr(keeper.Keeper, "_commit", wrong)


def handed_over_with_the_position_of_the_reader(patch: pytest.MonkeyPatch) -> None:
    """Which may have been read and not be folded."""
    right = keeper.Keeper._hand_over

    async def wrong(self: keeper.Keeper, hands: Any) -> None:
        ends = await self._writing._log.end_positions(self._topic.events)
        for partition, part in self.parts.items():
            part.next_offset = ends[partition]
        await right(self, hands)

    patch.setattr(keeper.Keeper, "_hand_over", wrong)


def strangers_unnoticed(patch: pytest.MonkeyPatch) -> None:
    async def wrong(*_: Any) -> dict[int, int]:
        return {}

    patch.setattr(StateTopic, "strangers", wrong)


@pytest.mark.parametrize(
    ("mutate", "zombies"),
    [
        pytest.param(offset_off_by_one, False, id="offset off by one"),
        pytest.param(late("_bucket_changes"), False, id="call state ahead of its buckets"),
        pytest.param(late("_call_changes"), False, id="buckets ahead of their calls"),
        pytest.param(nothing_known_of_what_was_published, False, id="snapshot without its revisions"),
        pytest.param(reading_on_where_the_group_stands, False, id="reading on where the group stands"),
        pytest.param(a_call_not_looked_at_as_it_was, False, id="a call not looked at as it was"),
        pytest.param(handed_over_after_it_was_lost, True, id="handed over after it was lost"),
        pytest.param(handed_over_with_the_position_of_the_reader, True, id="handed over with the reader's position"),
        pytest.param(strangers_unnoticed, True, id="nobody looks who else wrote"),
    ],
)
async def test_a_worker_that_does_it_wrong_is_found_out(
    mutate: Any, zombies: bool, some_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    found: list[str] = []
    for seed in range(60):
        wrong = site(2_000 + seed if zombies else seed, some_calls)
        try:
            await wrong.run(workers=3 if zombies else 1, most_writes=120 if zombies else 30, zombies=zombies)
            await check(wrong)
        except (AssertionError, TimeoutError) as error:
            found.append(type(error).__name__)
            break

    assert found
