"""Facts parted at a cut are those that gathering the events behind it gives; the past's summary keeps what lasts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

import pytest
from demo_calls import HOUR_NS, demo_call
from hypothesis import given
from invented_calls.effort import effort
from invented_calls.mutilated import mutilated_calls
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls import unsettled as unsettled_module
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.call_chapters import CallChapters
from earwitness.monitor.calls.call_record import Tally
from earwitness.monitor.calls.call_records import CallRecords
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.evidence import gather
from earwitness.monitor.calls.facts import Edge, Facts, Said, StagesKnown
from earwitness.monitor.calls.parting import goes_on_behind
from earwitness.monitor.calls.reckon import lay_out, reckon, reckon_before
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.unsettled import Unsettled
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.records import StageSample

PASSING = {
    "caller_edges", "agent_edges", "runs", "turn_ends", "interruptions", "meant_cuts", "said", "said_by_others",
    "agent_said", "tools", "one_way", "stages", "stages_known", "cancelled", "classifier",
}  # fmt: skip
"""Facts of which nothing lasts beyond a chapter."""
KNOWN_LATER = {"stages_known"}


def told(facts: Facts) -> dict[str, Any]:
    """All of it, in order; but not what was written of it."""
    found = {f.name: getattr(facts, f.name) for f in fields(facts) if f.name not in KNOWN_LATER}
    found["runs"] = [_run(run) for run in facts.runs.values()]
    for name in ("caller_edges", "agent_edges", "tools", "gaps"):
        found[name] = list(found[name].items())
    return found


def _run(run: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if name not in ("joined", "pieces", "word_counts")}


class Watched(CallChapters):
    """Chapters that gather anew what was parted, and note whether that is the same."""

    parted = 0

    def __init__(self, unsettled: Unsettled, records: CallRecords, bounds: Bounds) -> None:
        super().__init__(unsettled, records, bounds)
        self.alike: list[bool] = []

    def cut(self, upto_ns: int, last_at_ns: int, wall_ns: int) -> None:
        before, unsettled = len(self.kept), self._unsettled
        super().cut(upto_ns, last_at_ns, wall_ns)
        if len(self.kept) > before and unsettled._facts is not None:
            Watched.parted += 1
            anew = gather(unsettled.entries[: unsettled.read], self.kept[-1].carry.begin())
            self.alike.append(told(unsettled._facts) == told(anew))


def parted_as_anew(events: list[Any]) -> list[bool]:
    """At each cut of a call, whether the facts that were parted are those that are gathered anew."""
    timeline = CallTimeline(CALL_ID)
    watched = timeline._chapters = Watched(timeline._unsettled, timeline._records, timeline.bounds)
    for n, event in enumerate(events):
        timeline.add(event)
        if n % 4 == 0:
            timeline.advance(timeline.last_at_ns)
    return watched.alike


@effort(15)
@given(plausible_calls(10))
def test_facts_parted_at_a_cut_are_those_of_the_events_behind_it(events: list[Any]) -> None:
    assert all(parted_as_anew(events))


@effort(15)
@given(mutilated_calls())
def test_so_they_are_in_a_call_that_makes_no_sense(events: list[Any]) -> None:
    assert all(parted_as_anew(events))


def test_cuts_were_looked_at() -> None:
    Watched.parted = 0
    test_facts_parted_at_a_cut_are_those_of_the_events_behind_it()
    assert Watched.parted


def test_of_a_call_whose_events_come_in_order_each_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []

    def counted(entries: Iterable[Any], facts: Facts | None = None) -> Facts:
        given = list(entries)
        read.extend(given)
        return gather(given, facts)

    monkeypatch.setattr(unsettled_module, "gather", counted)
    events = [decode_event_fast(sent.payload) for sent in demo_call(1, HOUR_NS, 120)]
    timeline = CallTimeline(events[0].call_id)
    for event in events:
        timeline.add(event)
        if timeline.pressing:
            timeline.advance(timeline.last_at_ns)
    assert len(timeline.records()) > len(events) // 3
    assert len(read) == len(events)


def test_where_the_order_of_sources_is_not_told_facts_are_gathered() -> None:
    one, other = Edge(5, 5, True), Edge(5, 4, True)
    facts = Facts(caller_edges={("vad", None): [one], ("audio", None): [other]})
    assert not goes_on_behind(facts, 3)
    assert list(facts.caller_edges) == [("vad", None), ("audio", None)]
    other.at_ns = 4
    assert goes_on_behind(facts, 3)
    assert list(facts.caller_edges) == [("audio", None), ("vad", None)]


@pytest.mark.parametrize("cancelled", [0, 1])
def test_what_was_written_of_metrics_stays_where_no_response_can_change_it(cancelled: int) -> None:
    entries: list[Any] = [(at, "bot", at, None) for at in (1, 2, 5, 6)]
    known = StagesKnown(0, cancelled, 4, ["a", "b", "c", "d"], [2, 5])
    facts = Facts(stages=entries, stages_known=known, cancelled=cancelled)
    assert goes_on_behind(facts, 5)
    assert facts.stages == entries[2:]
    kept = facts.stages_known
    assert (kept.count, kept.drafts, kept.invalid) == ((0, [], []) if cancelled else (2, ["c", "d"], [5]))


def test_the_last_word_before_a_cut_holds_on() -> None:
    facts = Facts(
        mutes=[(1, True), (2, False), (3, True), (7, False)],
        holds=[(1, True), (2, False), (6, True)],
        transport_errors=[1, 2, 8],
        interruptions=[2, 5],
        said=[_said(4), _said(5)],
    )
    assert goes_on_behind(facts, 5)
    assert facts.mutes == [(3, True), (7, False)]
    assert facts.holds == [(2, False), (6, True)]
    assert facts.transport_errors == [2, 8]
    assert (facts.interruptions, [one.at_ns for one in facts.said]) == ([5], [5])
    assert goes_on_behind(open_again := Facts(mutes=[(1, True), (2, False)]), 5)
    assert open_again.mutes == []


def _said(at_ns: int) -> Said:
    return Said(at_ns, "yes", True, False, False, None, None, None, False)


@effort(10)
@given(plausible_calls(8))
def test_what_is_written_of_a_cut_s_past_is_what_a_whole_page_has_of_it(events: list[Any]) -> None:
    facts = gather([(e.at_ns, e.source, e.seq, e) for e in sorted(events, key=lambda e: (e.at_ns, e.source, e.seq))])
    end_ns = max(e.at_ns for e in events)
    now: dict[str, Any] = {"as_of_ns": end_ns, "over": False, "wall_ns": 0}
    whole = reckon(facts, Carry(), DEFAULT_BOUNDS, tally=Tally(), **now).page
    for share in range(1, 6):
        moment_ns = end_ns * share // 5
        told_ns = moment_ns + S // 5
        part = reckon_before(lay_out(facts, Carry(), DEFAULT_BOUNDS, **now), moment_ns, told_ns).page
        begun = [d for d in whole.drafts if d.place_ns < (told_ns if d.kind is StageSample else moment_ns)]
        before = [d for d in begun if d.id != "call"]
        assert part.drafts == before
        assert _before(part.counted, moment_ns) == _before(whole.counted, moment_ns)
        assert _before(part.latencies, moment_ns) == _before(whole.latencies, moment_ns)


def _before(found: list[Any], moment_ns: int) -> list[Any]:
    return [one for one in found if one[0] < moment_ns]


def test_a_chapter_begins_with_all_that_lasts() -> None:
    past = Facts(**{f.name: _something(f.name) for f in fields(Facts)})
    begun = Carry(facts=past).begin()
    for f in fields(Facts):
        if f.name not in PASSING:
            assert getattr(begun, f.name) == getattr(past, f.name), f.name
        else:
            assert getattr(begun, f.name) == getattr(Facts(), f.name), f.name


def _something(name: str) -> Any:
    default = getattr(Facts(), name)
    if isinstance(default, dict):
        return {"a": []} if name in ("gaps", "dropped") else {"a": 1}
    if isinstance(default, set):
        return {"a"}
    if isinstance(default, list):
        return [1]
    return True if isinstance(default, bool) else 7
