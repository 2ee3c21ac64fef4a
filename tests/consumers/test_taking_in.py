"""What was read at once is taken call by call, and means what it means one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pytest
from saved_about import about_of

from earwitness.consumers import taking_in as taking_in_module
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_state import PartitionState
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.haste import Floor
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Entry

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


def entry(partition: int, append_ns: int = 0) -> Entry:
    return Entry("events", partition, 0, "c", b"", append_ns)


@pytest.fixture(autouse=True)
def few_are_enough() -> Iterator[None]:
    with patch.object(taking_in_module, "TOGETHER", 1):
        yield


def arrived(events: Sequence[Any], after_s: float = 0.1) -> list[Entry]:
    return [Entry("events", 0, 0, e.call_id, b"", e.wall_ns + round(after_s * S)) for e in events]


def both(
    parts: Sequence[tuple[list[Entry], list[Any]]], between: Callable[[TimelineFold], object] = lambda fold: None
) -> tuple[TimelineFold, TimelineFold]:
    """A fold that took each part together and one that took all one by one."""
    together, singly = TimelineFold(MonitorSettings()), TimelineFold(MonitorSettings())
    for number, (entries, events) in enumerate(parts):
        if number:
            between(together)
            between(singly)
        together.add_all(entries, events, unexpected)
        for one, event in zip(entries, events, strict=True):
            singly.add(one, event)
    return together, singly


def unexpected(entry: Entry, error: Exception) -> None:
    raise AssertionError(entry) from error


def state_of(fold: TimelineFold) -> Any:
    """What the fold knows of its calls."""
    calls = {
        call_id: (
            (held.offset_ns, held.waits_ns, held.presses_ns, held.as_of_ns),
            (held.changed, held.since, held.packed, held.packed_count),
            _dumped(held.timeline),
        )
        for call_id, held in fold.held.items()
    }
    looks: Any = fold._looks
    queues = [[held.call_id for *_, held in queue] for queue in (looks._waiting, looks._pressing)]
    return (
        calls,
        [*queues, list(looks._at_once)],
        fold.clocks_ns,
        fold.events,
        fold.set_aside,
        fold.calls.stray,
        fold.calls.late_facts,
    )


def _dumped(timeline: Any) -> Any:
    return timeline.dump() if isinstance(timeline, CallTimeline) else type(timeline)


def a_call(make_bot: Any, call_id: str = "c1", start_s: float = 0) -> Any:
    bot = make_bot(call_id, start_s=start_s).start()
    for turn in range(6):
        bot.asks(3 + 6 * turn)
    return bot


def in_two(events: list[Any], at: int, after_s: float = 0.1) -> list[tuple[list[Entry], list[Any]]]:
    return [(arrived(events[:at], after_s), events[:at]), (arrived(events[at:], after_s), events[at:])]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run was taken together. A call's first is not: it begins at the moment of the call's beginning."""
    took: list[bool] = []
    add_all = CallTimeline.add_all

    def noted(self: CallTimeline, events: Sequence[Any]) -> int | None:
        calm = add_all(self, events)
        took.append(calm is not None)
        return calm

    monkeypatch.setattr(CallTimeline, "add_all", noted)
    return took


def test_a_calls_next_events_are_taken_together(make_bot: Any, taken: list[bool]) -> None:
    events = a_call(make_bot).made
    together, singly = both(in_two(events, 20), lambda fold: fold.settle())

    assert taken == [False, True]
    assert state_of(together) == state_of(singly)
    assert state_of(together)[0]


def test_what_was_taken_together_is_saved_and_comes_back_as_one_by_one(make_bot: Any, taken: list[bool]) -> None:
    events = [decode_event_fast(encode(event)) for event in a_call(make_bot).made]
    states: dict[int, PartitionState] = {}
    saved: dict[int, dict[str, bytes | None]] = {}

    def saves(fold: TimelineFold) -> None:
        fold.settle()
        state = states.setdefault(id(fold), PartitionState(0, 1, fold, Ledger(), DEFAULT_BOUNDS))
        saved.setdefault(id(fold), {}).update(state.changes())

    folds = both(in_two(events, 20), saves)
    assert taken == [False, True]
    assert state_of(folds[0]) == state_of(folds[1])
    assert folds[0].held["c1"].packed_count + len(folds[0].held["c1"].since or ()) == len(events) - 20
    resumed = list[TimelineFold]()
    for fold in folds:
        saves(fold)
        again = TimelineFold(MonitorSettings())
        values = {key: body for key, body in saved[id(fold)].items() if body is not None}
        PartitionState(0, 1, again, Ledger(), DEFAULT_BOUNDS).restore(values, about_of(fold, len(events)))
        again.advance(events[-1].wall_ns + 20 * S)
        resumed.append(again)

    assert saved[id(folds[0])] == saved[id(folds[1])]
    for fold in folds:
        fold.advance(events[-1].wall_ns + 20 * S)
    told = [one.held["c1"].timeline.records() for one in (*folds, *resumed)]
    assert told == [told[0]] * 4


def test_what_was_judged_early_of_a_partition_that_somebody_else_has_now_is_not_told(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    for partition, call_id in enumerate(("gone", "kept")):
        events = a_call(make_bot, call_id).made
        for event in events:
            after_ns = 8_000 * S if event is events[-1] else S // 10
            fold.add(Entry("events", partition, 0, call_id, b"", event.wall_ns + after_ns), event)
    fold.drop(0)

    assert {change.new.call_id for change in fold.settle()} == {"kept"}


def test_calls_are_looked_at_in_the_order_in_which_they_press(make_bot: Any) -> None:
    """Which is not the order in which the log first names them."""
    slow, quick = make_bot("slow").start(), make_bot("quick", start_s=0.1).start()
    slow.asks(3, answered_after_s=4)
    quick.asks(3, answered_after_s=1)
    events = sorted([*slow.made, *quick.made], key=lambda e: e.wall_ns)
    orders: list[list[str]] = []
    for fold in both(in_two(events, 4), lambda fold: fold.settle()):
        fold.lagging = True
        assert fold.settle() == []
        orders.append(list(dict.fromkeys(change.new.call_id for change in fold.settle())))

    assert orders == [["quick", "slow"]] * 2


def test_a_call_that_broke_is_left_as_it_was(make_bot: Any, taken: list[bool]) -> None:
    def breaks(fold: TimelineFold) -> None:
        fold.held["c1"].broken = True

    events = a_call(make_bot).made
    together, singly = both(in_two(events, 20), breaks)

    assert taken == [False]
    assert together.held["c1"].timeline.last_at_ns == events[19].at_ns
    assert state_of(together) == state_of(singly)


def test_an_event_that_claims_to_be_ahead_is_set_aside_out_of_a_run(make_bot: Any, taken: list[bool]) -> None:
    events = a_call(make_bot).made
    events[30] = events[30].model_copy(update={"at_ns": events[30].at_ns + 120 * S})
    together, singly = both(in_two(events, 20))

    assert together.set_aside == 1
    assert taken == [False]
    assert state_of(together) == state_of(singly)


def test_the_quickest_of_a_run_tells_the_calls_own_time(make_bot: Any, taken: list[bool]) -> None:
    events = a_call(make_bot).made
    parts = in_two(events, 20, after_s=4)
    parts[1] = arrived(events[20:], after_s=3), events[20:]
    together, singly = both(parts)

    assert taken == [False, True]
    assert together.held["c1"].offset_ns == NOON_NS + 3 * S
    assert state_of(together) == state_of(singly)


def test_what_comes_hours_after_what_was_not_judged_is_no_run(make_bot: Any) -> None:
    events = a_call(make_bot).made
    parts = in_two(events, 20)
    parts[1] = arrived(events[20:], after_s=8_000), events[20:]
    together, singly = both(parts)

    assert state_of(together) == state_of(singly)
    assert together.calls.stray == singly.calls.stray


def test_a_clock_that_goes_back_is_gone_by_as_one_by_one(make_bot: Any, taken: list[bool]) -> None:
    events = a_call(make_bot).made
    parts = in_two(events, 20)
    parts[0] = arrived(events[:20], after_s=3_600), events[:20]
    for part, asked in ((parts, [False]), ([(parts[0][0] + parts[1][0], events)], [])):
        taken.clear()
        together, singly = both(part, lambda fold: fold.settle())
        assert taken == asked
        assert together.clocks_ns == {0: events[-1].wall_ns + S // 10}
        assert state_of(together) == state_of(singly)


def test_after_a_clock_went_back_a_call_is_looked_at_by_itself_once_and_then_taken_together(
    make_bot: Any, taken: list[bool]
) -> None:
    events = a_call(make_bot).made
    parts = [(arrived(events[a:b]), events[a:b]) for a, b in ((0, 15), (15, 25), (25, 35), (35, len(events)))]
    parts[0] = arrived(events[:15], after_s=3_600), events[:15]
    together, singly = both(parts, lambda fold: fold.settle())

    assert together.held["c1"].turns == 1
    assert taken == [False, True, True]
    assert state_of(together) == state_of(singly)


def test_a_call_of_before_that_comes_later_is_judged_as_of_the_clock_that_was_set_back(
    make_bot: Any, taken: list[bool]
) -> None:
    """Its partition's clock was set back when it had nothing to say."""
    quiet, other = a_call(make_bot, "quiet").made, a_call(make_bot, "other").made
    parts = [
        (arrived(quiet[:20], after_s=3_600), quiet[:20]),
        (arrived(other[:5]), other[:5]),
        (arrived(quiet[20:]), quiet[20:]),
    ]
    together, singly = both(parts, lambda fold: fold.advance(fold.clocks_ns[0]))

    assert taken == [False]
    assert together.held["quiet"].turns == 1
    assert state_of(together) == state_of(singly)


def test_a_fault_is_told_of_the_very_record_and_the_others_are_taken(
    make_bot: Any, monkeypatch: pytest.MonkeyPatch, taken: list[bool]
) -> None:
    events = sorted([*a_call(make_bot).made, *a_call(make_bot, "c2").made], key=lambda e: e.wall_ns)

    def fails(_: Floor, event: Any) -> bool:
        if event.call_id == "c1" and event.kind == "playout":
            raise ValueError("no")
        return False

    monkeypatch.setattr(Floor, "is_pressing", fails)
    folds, told = (TimelineFold(MonitorSettings()), TimelineFold(MonitorSettings())), list[list[Entry]]()
    takes: list[Any] = [TimelineFold.add_all, one_by_one]
    for fold, take in zip(folds, takes, strict=True):
        failed = list[Entry]()
        for entries, part in in_two(events, 60):
            take(fold, entries, part, lambda entry, error, to=failed: to.append(entry))
        told.append(failed)

    of_c1 = [one for one, e in zip(arrived(events), events, strict=True) if (e.call_id, e.kind) == ("c1", "playout")]
    assert told == [of_c1, of_c1]
    assert of_c1
    assert True in taken
    assert [held.singly for held in folds[0].held.values()] == [True, False]
    assert state_of(folds[0]) == state_of(folds[1])


def one_by_one(fold: TimelineFold, entries: list[Entry], events: list[Any], failed: Callable[..., Any]) -> None:
    """What `TimelineFold.add_all` does, singly."""
    for entry, event in zip(entries, events, strict=True):
        try:
            fold.add(entry, event)
        except ValueError as error:
            failed(entry, error)


@pytest.mark.parametrize("judged", [False, True])
def test_what_comes_hours_later_within_a_run_is_no_part_of_it(make_bot: Any, taken: list[bool], judged: bool) -> None:
    events = a_call(make_bot).made
    parts = in_two(events, 20)
    parts[1] = parts[1][0][:1] + arrived(events[21:], after_s=8_000), events[20:]
    together, singly = both(parts, (lambda fold: fold.settle()) if judged else (lambda fold: None))

    assert singly.calls.stray > 0
    assert taken == [False]
    assert state_of(together) == state_of(singly)


def late_and_early(
    make_bot: Any, early_agent: str, times_s: Sequence[int] = (10, 21, 21, 101)
) -> tuple[list[Entry], list[Any]]:
    """Of the call that the log names first, the beginning comes last."""
    late, early = make_bot("late", start_s=100, agent="x"), make_bot("early", start_s=20, agent=early_agent)
    late.start()
    early.start()
    events = [late.made[1], *early.made, late.made[0]]
    return [entry(0, NOON_NS + at_s * S) for at_s in times_s], events


def in_two_folds(entries: list[Entry], events: list[Any], **settings: Any) -> tuple[TimelineFold, TimelineFold]:
    folds = TimelineFold(MonitorSettings(**settings)), TimelineFold(MonitorSettings(**settings))
    folds[0].add_all(entries, events, unexpected)
    for one, event in zip(entries, events, strict=True):
        folds[1].add(one, event)
    return folds


@pytest.mark.parametrize("times_s", [(10, 21, 21, 101), (101, 101, 101, 101)], ids=["in turn", "in one batch"])
def test_the_first_to_begin_has_the_label_that_there_is_room_for(make_bot: Any, times_s: Sequence[int]) -> None:
    told: list[Any] = []
    for fold in in_two_folds(*late_and_early(make_bot, "y", times_s), max_label_values=1, future_s=3_600):
        calls = [change.new.call_id for change in fold.settle()]
        sets = fold.windows.label_sets
        told.append((calls, [sets.labels_of(number) for number in sets.numbers()]))

    assert dict(told[1][1][0])["agent"] == "y"
    assert told[0] == told[1]


def test_how_far_a_clock_is_ahead_is_read_in_the_order_of_the_log(make_bot: Any) -> None:
    together, singly = in_two_folds(*late_and_early(make_bot, "x"), future_s=3_600)

    assert vars(together.skews) == vars(singly.skews)


def test_events_of_a_run_use_the_names_of_their_call(make_bot: Any, taken: list[bool]) -> None:
    events = [decode_event_fast(encode(event)) for event in a_call(make_bot).made]
    together, _ = both(in_two(events, 20))
    call: Any = together.held["c1"].timeline

    assert taken == [False, True]
    assert len({id(source) for _, source, _, _ in call._entries}) == 1
    assert len({id(event.call_id) for *_, event in call._entries}) == 1


def test_few_are_taken_one_by_one(make_bot: Any, taken: list[bool]) -> None:
    with patch.object(taking_in_module, "TOGETHER", 1_000):
        both(in_two(a_call(make_bot).made, 20))
    assert taken == []


@pytest.mark.parametrize(
    "ahead_s", [(0.1,), (0.1, 0.1, 0.1, 90, 3_600)], ids=["a steady clock", "one that is set back"]
)
def test_random_parts_of_random_calls_leave_the_fold_as_one_by_one(
    make_bot: Any, taken: list[bool], ahead_s: tuple[float, ...]
) -> None:
    draw = random.Random(5)
    for _ in range(4):
        bots = [a_call(make_bot, f"c{n}", draw.uniform(0, 30)).ends(45) for n in range(5)]
        events = sorted((e for bot in bots for e in bot.made), key=lambda e: (e.wall_ns, e.call_id, e.seq))
        parts, begin = list[tuple[list[Entry], list[Any]]](), 0
        while begin < len(events):
            part = events[begin : begin + draw.choice([3, 20, 60])]
            parts.append((arrived(part, draw.choice(ahead_s)), part))
            begin += len(part)
        together, singly = both(parts, lambda fold: fold.settle())
        assert state_of(together) == state_of(singly)

    assert sum(taken) > 20
