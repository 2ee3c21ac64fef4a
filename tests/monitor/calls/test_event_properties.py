"""What of a call's events may change which of its numbers: nothing else does."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from invented_calls.altered import changed, later, learnt, lived, moved_back, sounds_after, two_clocks
from invented_calls.effort import effort
from invented_calls.folded import OF_ARRIVAL, at_once, content, shuffled
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.contract.events import EVENT_ADAPTER

CHANCE = st.randoms(use_true_random=False)
OF_WANT = frozenset(
    {"gave_way", "yielded_observed", "yielded_caused", "stop_latency_ns", "wanted", "want_class", "cell", "decided_by",
     "missed_because"}
)  # fmt: skip
EDGE_KINDS = ("speech_started", "speech_ended", "playout")


def folded(events: list[Any], *, without: frozenset[str] = OF_ARRIVAL) -> dict[str, dict[str, Any]]:
    return content(at_once(events).records(), without=without)


def last_seq(events: list[Any], source: str = "bot") -> int:
    return max((e.seq for e in events if e.source == source), default=-1)


@effort(40)
@given(plausible_calls(), st.integers(0, 99))
def test_losing_events_invents_no_speech(events: list[Any], lost: int) -> None:
    """Every edge that a record names was told by an event, and no more turns stand than stretches of speech or finals
    without any were told: losing events takes away or cuts in two, and makes nothing."""
    chance = random.Random(lost)
    kept = [e for e in events if chance.randrange(100) >= lost]
    assume(not two_clocks(events))
    records = at_once(kept).records()
    told = {e.edge_ns for e in kept if e.kind in EDGE_KINDS}
    for record in records:
        if record.kind == "turn" and record.u_on_ns is not None:
            assert record.u_on_ns in told
        if record.kind == "turn" and record.a_on_ns is not None:
            assert record.a_on_ns in told
        if record.kind == "overlap" and record.decided_by not in ("muted", "other_participant"):
            assert record.u_on_ns in told
    signs = [e for e in kept if e.kind in ("speech_started", "speech_ended") and e.party == "caller"]
    signs += [e for e in kept if e.kind == "transcript" and e.final]
    assert sum(r.kind == "turn" for r in records) <= len(signs)


@effort(25)
@given(plausible_calls())
def test_what_is_learnt_later_changes_the_two_by_two_alone(events: list[Any]) -> None:
    labels = [e for e in learnt(events) if e.kind != "late_fact"]
    assume(labels)
    before, after = folded(lived(events)), folded([*lived(events), *labels])
    assert before.keys() == after.keys()
    for record_id, fields in before.items():
        apart = OF_WANT if fields["kind"] == "overlap" else frozenset[str]()
        assert {n: v for n, v in fields.items() if n not in apart} == {
            n: v for n, v in after[record_id].items() if n not in apart
        }


@effort(25)
@given(plausible_calls())
def test_sound_behind_the_end_changes_nothing(events: list[Any]) -> None:
    assume(any(e.kind == "call_ended" for e in events) and not two_clocks(events))
    after = sounds_after(max(e.at_ns for e in lived(events)) + S // 10, last_seq(events) + 1)
    counted = OF_ARRIVAL | {"events", "missing_events"}
    assert folded(events, without=counted) == folded([*events, *after], without=counted)


@effort(25)
@given(plausible_calls(), plausible_calls(3))
def test_what_comes_after_a_long_silence_is_stray_and_changes_nothing(events: list[Any], others: list[Any]) -> None:
    from_ns = at_once(events).last_at_ns + DEFAULT_BOUNDS.silent_call_ns + S
    first = last_seq(events) + 1
    stray = [
        changed(later(e, from_ns), seq=first + n)
        for n, e in enumerate(e for e in lived(others)[1:] if e.source == "bot")
    ]
    counted = OF_ARRIVAL | {"stray"}
    timeline = at_once([*events, *stray])
    assert content(timeline.records(), without=counted) == folded(events, without=counted)
    assert [r.stray for r in timeline.records() if r.kind == "call"] == [len(stray)]


@effort(25)
@given(plausible_calls(), CHANCE)
def test_wall_clocks_enter_no_number(events: list[Any], chance: random.Random) -> None:
    astray = [e if e.kind == "call_started" else changed(e, wall_ns=chance.randrange(2**60)) for e in events]
    assert folded(astray) == folded(events)


@effort(25)
@given(plausible_calls(), st.sampled_from([S, 7 * S, 100 * S]))
def test_a_call_that_begins_later_has_the_same_numbers(events: list[Any], by_ns: int) -> None:
    assume(any(e.kind == "connected" for e in events) and not two_clocks(events))
    events = lived(events)
    moved = [e if e.kind == "call_started" else later(e, by_ns) for e in events]
    assert moved_back(folded(moved), by_ns) == folded(events)


@effort(25)
@given(plausible_calls(), st.sampled_from([S, -S // 2, S // 4]), CHANCE)
def test_another_clock_whose_offset_is_told_is_as_good(
    events: list[Any], offset_ns: int, chance: random.Random
) -> None:
    assume(not two_clocks(events))
    taps = [e for e in events if e.source == "taps"]
    assume(all(min(e.at_ns, getattr(e, "edge_ns", e.at_ns)) >= S for e in taps))
    told = {"call_id": CALL_ID, "source": "taps", "seq": 0, "at_ns": S, "wall_ns": 0, "kind": "call_started"}
    begun = EVENT_ADAPTER.validate_python(told | {"agent": "clinic", "owns_clock": False})
    numbered = [changed(e, seq=e.seq + 1) if e.source == "taps" else e for e in events]
    ahead = [later(e, -offset_ns) if e.source == "taps" else e for e in numbered]
    arrived = shuffled([later(changed(begun, clock_offset_ns=offset_ns), -offset_ns), *ahead], chance, 5 * S)
    assert folded(arrived) == folded([begun, *numbered])


@effort(25)
@given(plausible_calls())
def test_names_of_responses_and_tools_mean_nothing(events: list[Any]) -> None:
    def renamed(event: Any) -> Any:
        names = ("response_id", "after", "tool_call_id")
        return changed(event, **{n: f"k{v}" for n in names if (v := getattr(event, n, None)) is not None})

    apart = frozenset({"id", "tool_ids"}) | OF_ARRIVAL
    before = sorted(map(repr, folded(events, without=apart).values()))
    assert sorted(map(repr, folded([renamed(e) for e in events], without=apart).values())) == before
