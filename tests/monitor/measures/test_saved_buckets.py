"""What windows hold of one part of a log goes to bytes and back, into other windows with other numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from earwitness.monitor.contract.records import Turn
from earwitness.monitor.measures import saved_buckets, saved_cases
from earwitness.monitor.measures.saved_buckets import NotSaved, SavedBucket
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


def turn(i: int, **fields: Any) -> Turn:
    draw = random.Random(i)
    u_off_ns = draw.randrange(60 * S)
    latency_ns = draw.randrange(S // 2, 4 * S)
    made: dict[str, Any] = {
        "call_id": f"c{i}", "id": "t1", "agent": f"a{i % 3}", "event_wall_ns": NOON_NS + i * 7 * S, "u_on_ns": 0,
        "u_off_ns": u_off_ns, "a_on_ns": u_off_ns + latency_ns, "response_latency_ns": latency_ns,
        "turn_class": "eligible",
    }  # fmt: skip
    return Turn(**(made | fields))


def filled(turns: range, part: int = 0) -> Windows:
    windows = Windows()
    for i in turns:
        windows.apply(None, turn(i), part=part)
    return windows


def moved(source: Windows, target: Windows, part: int) -> None:
    """A part's buckets and cases, through bytes."""
    buckets = source.part(part)
    values = {
        (step_s, index): msgspec.msgpack.encode(saved_buckets.saved(sums, source))
        for step_s, index, sums in buckets.all_sums()
    }
    cases = {
        (step_s, step): saved_cases.saved(source, step_s, step, lambda _: True)
        for step_s, worst in source.worst_kept.items()
        for step in worst.editions
    }
    restored = {
        place: saved_buckets.restored(msgspec.msgpack.decode(body, type=SavedBucket), target)
        for place, body in values.items()
    }
    saved_buckets.put_back(target, part, restored, buckets.newest_ns)
    for (step_s, _), kept in cases.items():
        saved_cases.put_back(target, step_s, kept)


def told(windows: Windows) -> list[Any]:
    as_of_ns = NOON_NS + 500 * S
    readings = [
        replace(windows.read(measure, window_s=window_s, as_of_ns=as_of_ns, where=where))
        for measure in ("response_latency", "unanswered", "coverage")
        for window_s in (60, 300, 3_600, 86_400)
        for where in [(), (("agent", "a1"),)]
    ]
    worst = [windows.worst("response_latency", window_s=window_s, as_of_ns=as_of_ns) for window_s in (300, 86_400)]
    return [readings, worst, windows.groups(["agent"], window_s=3_600, as_of_ns=as_of_ns)]


def test_windows_that_take_a_part_over_read_the_same() -> None:
    source, target = filled(range(60)), Windows()
    target.label_sets.number_for(("another", "", ""))
    target.classes.number("containment", "")

    moved(source, target, 0)

    assert told(target) == told(source)


def test_what_comes_later_is_added_to_what_was_taken_over() -> None:
    source, target = filled(range(60)), Windows()
    moved(source, target, 0)
    for i in range(60, 70):
        target.apply(None, turn(i))

    assert told(target) == told(filled(range(70)))


def test_a_part_is_added_to_the_others_and_goes_again() -> None:
    mine, other = filled(range(30), part=1), filled(range(30, 60), part=2)
    as_of_ns = NOON_NS + 500 * S
    moved(other, mine, 2)
    both = mine.read("response_latency", window_s=3_600, as_of_ns=as_of_ns)
    whole = filled(range(60)).read("response_latency", window_s=3_600, as_of_ns=as_of_ns)

    mine.drop(2)
    saved_cases.drop(mine, lambda call_id: int(call_id[1:]) >= 30)

    assert both == whole
    assert told(mine) == told(filled(range(30)))


def test_only_what_changed_since_is_marked_as_changed() -> None:
    source, target = filled(range(60)), Windows()
    moved(source, target, 0)
    assert not any(tier.changed for tier in target.part(0).tiers.values())

    target.apply(None, turn(60))
    target.part(0).settle(3_600)

    assert {step_s: len(tier.changed) for step_s, tier in target.part(0).tiers.items()} == dict.fromkeys(
        target.part(0).tiers, 1
    )


BUCKET = SavedBucket([("a", "", "")], [("unanswered", "")], (3079).to_bytes(8, "little"), (1).to_bytes(8, "little"))


@pytest.mark.parametrize(
    "change",
    [
        {"keys": b"123"},
        {"amounts": b""},
        {"keys": (-1).to_bytes(8, "little", signed=True)},
        {"keys": (2**40).to_bytes(8, "little")},
        {"sets": []},
        {"classes": []},
        {"sets": [("a",)]},
        {"classes": [("no_such_measure", "")]},
    ],
    ids=str,
)
def test_what_is_no_bucket_is_refused(change: dict[str, Any]) -> None:
    assert len(saved_buckets.restored(BUCKET, Windows()).keys) == 1

    with pytest.raises(NotSaved):
        saved_buckets.restored(msgspec.structs.replace(BUCKET, **change), Windows())


def test_cases_of_measures_that_are_not_known_are_left_out() -> None:
    windows = Windows()
    case = saved_cases.SavedCase(("a", "", ""), "no_such_measure", False, S, "c", "t1", 0, NOON_NS)
    saved_cases.put_back(windows, 60, [case])
    saved_cases.put_back(windows, 7, [case])

    assert windows.worst("response_latency", window_s=60, as_of_ns=NOON_NS) == []
    assert not windows.worst_kept[60].editions
