"""A snapshot counts as a whole or not at all, wherever its writing stops, again and again.

Thousands of seeded schedules over a topic in memory: whoever writes stops before or after any single record, in the
middle of clearing up after the last stop too. Whatever is read back must be the state at exactly the offset that goes
with it, without a doubt. Each mutant of the writer is seen to fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import msgspec
import pytest

from earwitness.consumers import state_slots
from earwitness.consumers.state_slots import MANIFEST, Doubt, Manifest, Slots, Snapshot
from earwitness.monitor.log.protocol import Entry, Outgoing

KEYS = [f"{kind}:{i}" for kind in "bc" for i in range(6)]
EVENTS = 60
SCHEDULES = 1_000


@cache
def states(seed: int) -> list[dict[str, bytes]]:
    """What the fold of the first so many events holds: a function of them and of nothing else."""
    draw = random.Random(seed)
    state: dict[str, bytes] = {}
    found: list[dict[str, bytes]] = [{}]
    for number in range(EVENTS + 1):
        for key in draw.sample(KEYS, 2):
            if draw.random() < 0.25:
                state.pop(key, None)
            else:
                state[key] = b"%d" % number * draw.choice([1, 1, 30])
        found.append(dict(state))
    return found


class Stop(Exception):
    """Kill -9."""


@dataclass
class Topic:
    """A compacted topic; ``left`` writes are done before whoever writes is stopped."""

    kept: dict[str, bytes] = field(default_factory=dict)
    left: int = 10**9

    def write(self, records: Sequence[Outgoing]) -> None:
        for record in records:
            if self.left == 0:
                raise Stop
            self.left -= 1
            if record.value is None:
                self.kept.pop(record.key, None)
            else:
                self.kept[record.key] = record.value

    def entries(self) -> Iterator[Entry]:
        return (Entry("state", 0, i, key, value, 0) for i, (key, value) in enumerate(self.kept.items()))


Writing = Callable[[Topic, Snapshot], None]


def as_it_should(topic: Topic, snapshot: Snapshot) -> None:
    topic.write(snapshot.data)
    topic.write(snapshot.manifest)
    topic.write(snapshot.after)


def manifest_before_its_values(topic: Topic, snapshot: Snapshot) -> None:
    topic.write(snapshot.manifest)
    topic.write(snapshot.data)
    topic.write(snapshot.after)


def tombstones_early(topic: Topic, snapshot: Snapshot) -> None:
    topic.write(snapshot.after)
    topic.write(snapshot.data)
    topic.write(snapshot.manifest)


def tombstones_in_the_wrong_order(topic: Topic, snapshot: Snapshot) -> None:
    as_it_should(topic, replace(snapshot, after=snapshot.after[::-1]))


def _with_offset(topic: Topic, snapshot: Snapshot, offset: Callable[[int], int]) -> None:
    manifest = msgspec.msgpack.decode(snapshot.manifest[0].value or b"", type=Manifest)
    changed = msgspec.structs.replace(manifest, offset=offset(manifest.offset))
    record = Outgoing(MANIFEST, msgspec.msgpack.encode(changed), 0)
    as_it_should(topic, replace(snapshot, manifest=[record]))


def without_its_offset(topic: Topic, snapshot: Snapshot) -> None:
    _with_offset(topic, snapshot, lambda _: 0)


def offset_off_by_one(topic: Topic, snapshot: Snapshot) -> None:
    _with_offset(topic, snapshot, lambda offset: offset + 1)


class OneSlot(Slots):
    """Writes over the version that counts."""

    def snapshot(self, changes: Any, *, offset: int, about: bytes) -> Snapshot:
        self.versions = {key: version._replace(slot=1) for key, version in self.versions.items()}
        return super().snapshot(changes, offset=offset, about=about)


class SameEpochAgain(Slots):
    """Goes on at the epoch of the manifest as the same owner: what a stopped snapshot left counts with the next."""

    def read(self, entries: Any) -> Any:
        restored = super().read(entries)
        self.owner = "same"
        self.epoch = restored.manifest.epoch if restored else 0
        return restored


@dataclass
class Writer:
    """One owner's life after the other, each from what the last one left."""

    topic: Topic
    seed: int
    draw: random.Random
    writing: Writing = as_it_should
    slots: type[Slots] = Slots
    calls_ahead: bool = False
    lives: int = 0

    def live(self) -> bool:
        """Restore and go on until stopped; True when all events are in a snapshot."""
        self.lives += 1
        slots = self.slots(0, f"owner{self.lives}")
        restored = slots.read(self.topic.entries())
        at, state = (0, {}) if restored is None else (restored.manifest.offset, restored.values)
        assert state == states(self.seed)[at], f"not the state at {at}"
        self.topic.left = self.draw.randrange(60)
        try:
            while at < EVENTS:
                at += min(self.draw.randint(1, 8), EVENTS - at)
                new = states(self.seed)[at]
                if self.calls_ahead:
                    later = states(self.seed)[at + 1]
                    new = {k: v for k, v in new.items() if k[0] == "b"} | {
                        k: v for k, v in later.items() if k[0] == "c"
                    }
                gone = state.keys() - new.keys()
                changes = {key: value for key, value in new.items() if state.get(key) != value} | dict.fromkeys(gone)
                snapshot = slots.snapshot(changes, offset=at, about=b"")
                self.writing(self.topic, snapshot)
                slots.committed(snapshot)
                state = new
        except Stop:
            return False
        return True


def run(seed: int, **mutation: Any) -> Writer:
    draw = random.Random(seed)
    writer = Writer(Topic(), seed, draw, **mutation)
    while not writer.live():
        assert writer.lives < 1_000
    slots = Slots(0, "reader")
    restored = slots.read(writer.topic.entries())
    assert restored is not None
    assert restored.manifest.offset == EVENTS
    assert restored.values == states(seed)[EVENTS]
    return writer


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_slots, "PIECE_BYTES", 20)


def test_whatever_is_read_back_is_the_state_at_its_offset() -> None:
    lives = [run(seed).lives for seed in range(SCHEDULES)]

    assert sum(lives) > 4 * SCHEDULES


@pytest.mark.parametrize(
    "mutation",
    [
        pytest.param({"writing": manifest_before_its_values}, id="manifest before its values"),
        pytest.param({"writing": tombstones_early}, id="tombstone early"),
        pytest.param({"writing": tombstones_in_the_wrong_order}, id="tombstones in the wrong order"),
        pytest.param({"writing": without_its_offset}, id="snapshot without its offset"),
        pytest.param({"writing": offset_off_by_one}, id="offset off by one"),
        pytest.param({"calls_ahead": True}, id="call state ahead of its buckets"),
        pytest.param({"slots": OneSlot}, id="one slot"),
        pytest.param({"slots": SameEpochAgain}, id="an epoch used twice"),
    ],
)
def test_a_writer_that_does_it_wrong_is_found_out(mutation: dict[str, Any]) -> None:
    def search() -> None:
        for seed in range(SCHEDULES):
            run(seed, **mutation)

    with pytest.raises((AssertionError, Doubt)):
        search()


def test_what_was_let_go_leaves_nothing_behind() -> None:
    slots, topic = Slots(0, "one"), Topic()
    for changes in ({"a": b"x" * 50, "b": b"1"}, {"a": b"y"}, {"a": None}, {"b": b"2"}):
        snapshot = slots.snapshot(changes, offset=0, about=b"")
        as_it_should(topic, snapshot)
        slots.committed(snapshot)

    assert sorted(topic.kept) == ["0.0 b", "1.0 b", MANIFEST]


def test_an_old_owner_who_writes_on_is_noticed() -> None:
    """It writes over a version that counts: nothing of it may be taken for whole."""
    topic = Topic()
    old = Slots(0, "old")
    for changes in ({"a": b"1", "b": b"1"}, {"a": b"2"}):
        snapshot = old.snapshot(changes, offset=1, about=b"")
        as_it_should(topic, snapshot)
        old.committed(snapshot)
    new = Slots(0, "new")
    new.read(topic.entries())
    snapshot = new.snapshot({"a": b"3"}, offset=3, about=b"")
    as_it_should(topic, snapshot)
    new.committed(snapshot)
    assert Slots(0, "reader").read(topic.entries()).values == {"a": b"3", "b": b"1"}  # type: ignore[union-attr]

    late = old.snapshot({"a": b"stale"}, offset=2, about=b"")
    topic.write(late.data)

    with pytest.raises(Doubt, match="not those that its manifest vouches for"):
        Slots(0, "reader").read(topic.entries())
    everything = new.snapshot({"a": b"3", "b": b"1"}, offset=3, about=b"")
    as_it_should(topic, everything)
    assert Slots(0, "reader").read(topic.entries()).values == {"a": b"3", "b": b"1"}  # type: ignore[union-attr]


def test_a_snapshot_of_the_old_owner_counts_only_whole() -> None:
    """Its manifest came last, over the new owner's: the values beneath it are the new owner's."""
    topic = Topic()
    old = Slots(0, "old")
    snapshot = old.snapshot({"a": b"1", "b": b"1"}, offset=1, about=b"")
    as_it_should(topic, snapshot)
    old.committed(snapshot)
    new = Slots(0, "new")
    new.read(topic.entries())
    late = old.snapshot({"a": b"2"}, offset=2, about=b"")
    topic.write(late.data)
    as_it_should(topic, new.snapshot({"a": b"3"}, offset=3, about=b""))
    topic.write(late.manifest)

    with pytest.raises(Doubt):
        Slots(0, "reader").read(topic.entries())


@pytest.mark.parametrize(
    "record",
    [b"", b"\xc1", msgspec.msgpack.encode({"format": 1}), msgspec.msgpack.encode([1, 2]), b"\x81\xa6format\x09"],
    ids=["empty", "no msgpack", "fields missing", "another shape", "another format"],
)
def test_a_manifest_that_cannot_be_read_is_a_doubt(record: bytes) -> None:
    with pytest.raises(Doubt):
        Slots(0, "reader").read([Entry("state", 0, 0, MANIFEST, record, 0)])


def test_what_is_no_record_of_ours_is_passed_over() -> None:
    topic, slots = Topic(), Slots(0, "one")
    as_it_should(topic, slots.snapshot({"a": b"1"}, offset=1, about=b""))
    topic.kept |= {"": b"", "x": b"1", "7.0 a": b"1", "0.x a": b"1", "0.0 z": b"no", "1.0 a": b"\x00"}

    restored = Slots(0, "reader").read(topic.entries())

    assert restored is not None
    assert restored.values == {"a": b"1"}


def test_where_there_is_nothing_there_is_no_doubt() -> None:
    assert Slots(0, "reader").read([]) is None
