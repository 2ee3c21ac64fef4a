"""A call's chapters: what a late event takes back, how late is too late, what is let go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from demo_calls import HOUR_NS, demo_call
from invented_calls.script import S

from earwitness.monitor.calls import call_chapters
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.chapters import cut_here
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.strides import ahead_of
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast

EVENTS = [decode_event_fast(one.payload) for one in demo_call(1, HOUR_NS, 90, ended=False)]
MOMENTS_NS = [event.at_ns for event in EVENTS]


def cut_up(*, reorder_events: int = DEFAULT_BOUNDS.reorder_events, reorder_ns: int = HOUR_NS) -> CallTimeline:
    """A call of several chapters, looked at every few events."""
    bounds = replace(DEFAULT_BOUNDS, reorder_events=reorder_events, reorder_ns=reorder_ns)
    timeline = CallTimeline(EVENTS[0].call_id, bounds=bounds)
    for n, event in enumerate(EVENTS):
        timeline.add(event)
        if n % 5 == 0:
            timeline.advance(event.at_ns)
    timeline.advance(MOMENTS_NS[-1])
    assert len(timeline._chapters.kept) > 3 or reorder_ns < HOUR_NS
    return timeline


def test_all_cuts_are_taken_back_to_the_call_as_it_came() -> None:
    timeline = cut_up()
    timeline._chapters.undo_all()

    assert [event for *_, event in timeline._unsettled.entries] == EVENTS
    (whole,) = timeline._chapters.kept
    assert (whole.carry.first, whole.settled, whole.events, whole.shelf, whole.overlaps) == (True, [], None, None, ())


def test_an_event_takes_back_the_cuts_that_were_judged_from_its_moment_on() -> None:
    judged_ns = [chapter.judged_ns for chapter in cut_up()._chapters.kept]
    for n in (1, len(judged_ns) // 2, len(judged_ns) - 1):
        for at_ns, left in ((judged_ns[n], n), (judged_ns[n] + 1, n + 1)):
            chapters = cut_up()._chapters
            chapters.undo(at_ns)
            assert [chapter.judged_ns for chapter in chapters.kept] == judged_ns[:left]


def test_an_event_of_a_moment_that_was_looked_at_in_vain_has_it_looked_at_again() -> None:
    timeline = cut_up()
    timeline.advance(MOMENTS_NS[-1] + 60 * S)
    chapters, current = timeline._chapters, timeline._chapters.kept[-1]
    looked_ns = current.looked_ns
    assert looked_ns > MOMENTS_NS[-1]

    chapters.undo(looked_ns + 1)
    assert current.looked_ns == looked_ns
    chapters.undo(looked_ns)
    assert current.looked_ns == looked_ns - 1
    assert chapters.kept[-1] is current


def test_cuts_are_taken_back_in_a_call_that_was_laid_aside_too() -> None:
    kept = cut_up()
    moved = CallTimeline.load(kept.dump(), bounds=kept.bounds)
    late = ev.App(call_id=kept.call_id, source="app", seq=0, at_ns=MOMENTS_NS[-1] // 2, wall_ns=0, name="a", value="b")

    assert [timeline.add(late) for timeline in (kept, moved)] == [True, True]

    judged_ns = [[chapter.judged_ns for chapter in timeline._chapters.kept] for timeline in (kept, moved)]
    assert judged_ns[0] == judged_ns[1]
    assert judged_ns[0][-1] < late.at_ns


def test_a_cut_is_judged_without_what_was_learnt_later(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Any] = []

    def noted(entries: Any, facts: Facts, *given: Any, **named: Any) -> Any:
        judged.append(dict(facts.labels))
        return cut_here(entries, facts, *given, **named)

    monkeypatch.setattr(call_chapters, "cut_here", noted)
    timeline = CallTimeline(EVENTS[0].call_id)
    label: dict[str, Any] = {"call_id": timeline.call_id, "source": "label", "seq": 0, "at_ns": 0, "wall_ns": 0}
    for n, event in enumerate(EVENTS):
        timeline.add(event)
        if n == 20:
            timeline.add(ev.HumanLabel(**label, subject="t2", label="right"))
        if n % 5 == 0:
            timeline.advance(event.at_ns)

    assert len(judged) > 4
    assert not any(judged)


def test_where_a_stride_cannot_be_made_each_of_its_onsets_is_looked_at_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strides: list[int] = []

    def noted(*given: Any) -> list[Any]:
        ahead = ahead_of(*given)
        strides.extend(onset.at_ns for onset in ahead[:-1])
        return ahead

    monkeypatch.setattr(call_chapters, "ahead_of", noted)
    monkeypatch.setattr(call_chapters, "reaches_back", lambda *given: True)
    timeline = CallTimeline(EVENTS[0].call_id)
    for event in EVENTS:
        timeline.add(event)
    timeline.advance(MOMENTS_NS[-1])

    assert len(strides) == len(set(strides)) > 4


@pytest.mark.parametrize("reach", [1, 2, 10, len(EVENTS) // 3, len(EVENTS) // 2, len(EVENTS) - 1])
def test_too_late_is_what_lies_so_many_events_behind_the_newest_put_away_or_not(reach: int) -> None:
    timeline = cut_up(reorder_events=reach)
    bound_ns = MOMENTS_NS[-reach]

    assert timeline._chapters.is_late(bound_ns - 1, timeline.last_at_ns)
    assert not timeline._chapters.is_late(bound_ns, timeline.last_at_ns)


def test_of_fewer_events_none_is_too_late_within_the_time() -> None:
    chapters, last_ns = cut_up(reorder_events=len(EVENTS), reorder_ns=30 * S)._chapters, MOMENTS_NS[-1]

    assert chapters.is_late(last_ns - 30 * S - 1, last_ns)
    assert not chapters.is_late(last_ns - 30 * S, last_ns)


def test_a_chapter_is_let_go_where_no_event_can_take_the_cut_behind_it_back() -> None:
    judged_ns = [chapter.judged_ns for chapter in cut_up()._chapters.kept]
    for before_ns, gone in ((judged_ns[2], 1), (judged_ns[2] + 1, 2)):
        chapters = cut_up()._chapters
        chapters.let_go(before_ns)
        assert [chapter.judged_ns for chapter in chapters.kept] == judged_ns[gone:]
