"""What was saved of a partition comes back whole; what makes no sense is doubted before anything of it is used."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from demo_calls import HOUR_NS, demo_call, demo_calls
from saved_about import about_of

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_state import WORST, PartitionState
from earwitness.consumers.state_slots import Doubt
from earwitness.consumers.state_values import About, packed, unpacked
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.catalogue import MEASURES
from earwitness.monitor.measures.saved_cases import SavedCase

S = 1_000_000_000


def state_of(fold: TimelineFold) -> PartitionState:
    return PartitionState(0, 1, fold, Ledger(), DEFAULT_BOUNDS)


def folded() -> TimelineFold:
    fold = TimelineFold(MonitorSettings())
    for offset, one in enumerate(demo_calls(2, 60, 20)):
        fold.add(
            Entry("events", 0, offset, one.call_id, one.payload, one.wall_ns + S // 10), decode_event_fast(one.payload)
        )
    fold.settle()
    return fold


def saved(fold: TimelineFold) -> tuple[dict[str, bytes], About]:
    changes = state_of(fold).changes(all_of_it=True)
    return {key: body for key, body in changes.items() if body is not None}, about_of(fold)


def test_what_was_saved_comes_back() -> None:
    fold, again = folded(), TimelineFold(MonitorSettings())
    values, about = saved(fold)
    state_of(again).restore(values, about)

    assert again.clocks_ns == fold.clocks_ns
    assert {call_id: held.timeline.records() for call_id, held in again.held.items()} == {
        call_id: held.timeline.records() for call_id, held in fold.held.items()
    }
    assert saved(again)[0].keys() == values.keys()
    for measure in MEASURES:
        told = [one.windows.read(measure.name, window_s=300, as_of_ns=fold.clocks_ns[0]) for one in (fold, again)]
        assert replace(told[0], restated=0) == replace(told[1], restated=0)


def test_what_came_too_late_and_was_judged_by_nobody_yet_is_still_known_to_have() -> None:
    fold, again = TimelineFold(MonitorSettings()), TimelineFold(MonitorSettings())
    *sent, last = demo_call(1, HOUR_NS, 60, ended=False)
    arrived_ns = last.wall_ns
    late = sent.pop(20)
    for offset, one in enumerate([*sent, last, late]):
        fold.add(Entry("events", 0, offset, one.call_id, one.payload, arrived_ns), decode_event_fast(one.payload))
    values, about = saved(fold)
    state_of(again).restore(values, about)
    for either in (fold, again):
        either.settle()
        either.advance(arrived_ns + S)

    torn = [held.torn for either in (fold, again) for held in either.held.values()]
    assert torn[0] == torn[1]
    assert [one.late for one in torn[0]] == [True]


def test_worst_cases_under_other_label_keys_are_doubted_and_nothing_is_used() -> None:
    values, about = saved(folded())
    key = next(key for key in values if key.startswith(WORST))
    cases = unpacked(values[key], list[SavedCase])
    narrower = [msgspec.structs.replace(cases[0], labels=cases[0].labels[1:]), *cases[1:]]
    again = TimelineFold(MonitorSettings())

    with pytest.raises(Doubt, match="label keys"):
        state_of(again).restore(values | {key: packed(narrower)}, about)

    assert again.held == {}
    assert again.clocks_ns == {}
    assert not any(tier.steps for tier in again.windows.part(0).tiers.values())
