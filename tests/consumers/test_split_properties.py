"""Several calls through the fold of a worker: however the log is cut into batches, records and windows are the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from invented_calls.altered import changed, lived
from invented_calls.effort import effort
from invented_calls.folded import content
from invented_calls.mutilated import mutilate
from invented_calls.plausible import Teller
from invented_calls.script import WALL_NS, S

from earwitness.consumers import taking_in as taking_in_module
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.runs import by_partition
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.catalogue import MEASURES
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.measures.windows import Windows

CHANCE = st.randoms(use_true_random=False)
LONG_AFTER_NS = WALL_NS + 3_000 * S
Arrived = list[tuple[Entry, Any]]
Take = Callable[[TimelineFold, Arrived], None]


def calls(chance: random.Random, *, harmed: bool = False) -> Arrived:
    """Events of one to four calls in the order in which a log took them: each call's with its own delay, few later."""
    arrived: Arrived = []
    for n in range(chance.randrange(1, 5)):
        script = Teller(chance).tell(4)
        events = mutilate(chance, script.raw()) if harmed else script.events()
        begun_ns = WALL_NS + chance.randrange(200) * S
        delay_ns, late_share = chance.randrange(3 * S), chance.choice([0, 0, 0, 0.03])
        for told in lived(events):
            made_ns = begun_ns + min(told.at_ns, 2_000 * S)
            event = changed(told, call_id=f"c{n}", wall_ns=made_ns)
            late_ns = chance.randrange(5 * S) if chance.random() < late_share else 0
            arrived.append((Entry("events", n % 2, 0, event.call_id, b"", made_ns + delay_ns + late_ns), event))
    arrived.sort(key=lambda one: one[0].append_ns)
    return arrived


def fed(
    arrived: Arrived, batches: Iterable[int], *, ticks: bool = False, take: Take | None = None
) -> tuple[TimelineFold, list[Any]]:
    """A fold that was given the log in batches of these sizes, the last one with all the rest; and its changes."""
    fold, changes, begin = TimelineFold(MonitorSettings()), list[Any](), 0
    for size in [*batches, len(arrived)]:
        (take or one_by_one)(fold, arrived[begin : begin + size])
        begin += size
        changes += fold.settle()
        if ticks and 0 < begin < len(arrived):
            changes += fold.advance(arrived[begin][0].append_ns)
    changes += fold.advance(LONG_AFTER_NS)
    return fold, changes


def one_by_one(fold: TimelineFold, batch: Arrived) -> None:
    for entry, event in batch:
        fold.add(entry, event)


def together(fold: TimelineFold, batch: Arrived) -> None:
    """As a worker takes in what it read, one partition after the other."""
    entries = sorted((entry for entry, _ in batch), key=attrgetter("partition"))
    events = [event for _, event in sorted(batch, key=lambda one: one[0].partition)]
    for _, where in by_partition(entries):
        fold.add_all(entries[where], events[where], unexpected)


def unexpected(entry: Entry, error: Exception) -> None:
    raise AssertionError(entry) from error


def readings(windows: Windows) -> list[Any]:
    """All that the windows tell at some moments, but for what is about their publication."""
    told: list[Any] = []
    for measure in MEASURES:
        for window_s in STEP_OF:
            for after_s in (100, 400, 3_000):
                try:
                    reading = windows.read(measure.name, window_s=window_s, as_of_ns=WALL_NS + after_s * S)
                except KeyError:
                    continue
                told.append(replace(reading, restated=0))
    return told


def latest(fold: TimelineFold) -> dict[str, dict[str, dict[str, Any]]]:
    return {call_id: content(held.timeline.records()) for call_id, held in fold.held.items()}


def sizes(chance: random.Random) -> Sequence[int]:
    return [chance.choice([1, 2, 5, 40, 150]) for _ in range(chance.randrange(60))]


@effort(8)
@given(CHANCE)
def test_batches_of_any_size_give_the_same_records_and_windows(chance: random.Random) -> None:
    arrived = calls(chance)
    once, _ = fed(arrived, [])
    parts, _ = fed(arrived, sizes(chance), ticks=True)
    assert latest(parts) == latest(once)
    assert readings(parts.windows) == readings(once.windows)


@effort(12)
@given(CHANCE)
def test_what_is_taken_together_is_what_comes_one_by_one(chance: random.Random) -> None:
    """Whatever is lost, doubled, late or out of order."""
    arrived = calls(chance, harmed=chance.randrange(2) == 1)
    batches, ticks = sizes(chance), chance.randrange(2) == 1
    singly, _ = fed(arrived, batches, ticks=ticks)
    with patch.object(taking_in_module, "TOGETHER", 1):
        at_once, _ = fed(arrived, batches, ticks=ticks, take=together)
    assert latest(at_once) == latest(singly)
    assert readings(at_once.windows) == readings(singly.windows)
    for name in ("events", "calls.stray", "set_aside", "calls.late_facts", "clocks_ns", "windows.late"):
        assert attrgetter(name)(at_once) == attrgetter(name)(singly), name
    for call_id, held in singly.held.items():
        assert at_once.held[call_id].offset_ns == held.offset_ns
        assert which_came(at_once, call_id) == which_came(singly, call_id)


def test_of_what_the_property_tells_a_large_share_is_taken_together_and_in_long_runs() -> None:
    taken, told, add_all = list[int](), 0, CallTimeline.add_all

    def noted(call: CallTimeline, events: Sequence[Any]) -> int | None:
        calm = add_all(call, events)
        if calm is not None:
            taken.append(len(events))
        return calm

    with patch.object(taking_in_module, "TOGETHER", 1), patch.object(CallTimeline, "add_all", noted):
        for seed in range(12):
            chance = random.Random(seed)
            arrived = calls(chance, harmed=chance.randrange(2) == 1)
            told += len(arrived)
            fed(arrived, sizes(chance), take=together)

    assert sum(taken) > told / 5
    assert max(taken) >= 20


def which_came(fold: TimelineFold, call_id: str) -> Any:
    """Events of a call, as far as it knows."""
    held = fold.held[call_id]
    fold._judge.at_hand.wake(held)
    call: Any = held.timeline
    return call._arrivals.state(), call._arrivals.duplicates, call._late, call.last_at_ns, call.started_wall_ns


@effort(8)
@given(CHANCE)
def test_windows_are_the_fold_of_the_latest_revisions(chance: random.Random) -> None:
    fold, changes = fed(calls(chance, harmed=chance.randrange(2) == 1), sizes(chance), ticks=True)
    newest: dict[tuple[str, str], Any] = {}
    for old, new in changes:
        before = newest.get((new.call_id, new.id))
        assert old is None or old == before
        assert new.revision == (0 if before is None else before.revision + 1)
        newest[new.call_id, new.id] = new
    anew = Windows(bounds=fold.windows.bounds)
    anew.live = fold.windows.live
    for record in newest.values():
        anew.apply(None, record)
    # Both number their label sets as these come, and records that were revised come in another order.
    sets = fold.windows.label_sets
    for call_id, (number, spans) in fold.windows.torn.items():
        same = None if number is None else anew.label_sets.number_for(sets.values_of(number))
        anew.note_torn(call_id, same, spans)
    assert readings(anew) == readings(fold.windows)


@effort(6)
@given(CHANCE)
def test_no_event_of_one_call_breaks_the_fold_of_the_others(chance: random.Random) -> None:
    fold, _ = fed(calls(chance, harmed=True), sizes(chance), ticks=True)
    assert fold.broken_calls == 0
    for reading in readings(fold.windows):
        assert 0 <= reading.n <= max(reading.eligible, reading.n)
        assert reading.coverage is None or 0 <= reading.coverage <= 1
        assert reading.rate is None or reading.rate >= 0
        assert all(count >= 0 for count in reading.by_class.values())
