"""A worker that is behind cuts a call's past off in strides, and nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from demo_calls import HOUR_NS, demo_call
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.folded import LONG_AFTER_NS, Uncut, content
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.call_chapters import CallChapters
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.chapter import Chapter
from earwitness.monitor.calls.facts import Edge, Facts, Gap, Play, Run, Said, ToolLife, TurnEnd, Verdict
from earwitness.monitor.calls.onsets import Onset, onsets
from earwitness.monitor.calls.strides import ahead_of, bearings, learnt_of_all, reaches_back
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import decode_event_fast

CHANCE = st.randoms(use_true_random=False)
DEMO = [decode_event_fast(one.payload) for one in demo_call(1, HOUR_NS, 70)]


class StepByStep(CallTimeline):
    """The same fold, each cut made by itself."""

    def __init__(self, call_id: str) -> None:
        super().__init__(call_id)
        self._chapters = _NoStrides(self._unsettled, self._records, self.bounds)


class _NoStrides(CallChapters):
    def _further_than(self, onset: Onset, upto_ns: int) -> Onset | None:
        return None


def cuts(timeline: CallTimeline, events: Sequence[Any], every_ns: int) -> int:
    """Give it the events, asked for its records every so often, and long after; how many cuts were made."""
    made, next_ns = 0, every_ns
    cut_at = timeline._chapters._cut_at

    def counted(*given: Any, **named: Any) -> bool:
        nonlocal made
        done = cut_at(*given, **named)
        made += done
        return done

    timeline._chapters._cut_at = counted  # type: ignore[method-assign]
    for event in events:
        while event.at_ns > next_ns:
            timeline.advance(next_ns)
            next_ns += every_ns
        timeline.add(event)
    timeline.advance(LONG_AFTER_NS)
    return made


def told_late(events: Sequence[Any], chance: random.Random) -> list[Any]:
    """The call with some things told later than they lie, some never, some of another response."""
    told = list(events)
    for _ in range(chance.randrange(1, 6)):
        n, what = chance.randrange(2, len(told) - 1), chance.randrange(10)
        other = told[chance.randrange(2, len(told) - 1)]
        if what < 7:
            by_ns = chance.randrange(0, 25 * S) if what < 5 else chance.randrange(0, 3 * S)
            told[n] = msgspec.structs.replace(told[n], at_ns=told[n].at_ns + by_ns, wall_ns=told[n].wall_ns + by_ns)
        elif what < 9:
            del told[n]
        elif hasattr(other, "response_id") and hasattr(told[n], "response_id"):
            told[n] = msgspec.structs.replace(told[n], response_id=other.response_id)
    return sorted(told, key=lambda e: (e.at_ns, e.source, e.seq))


def test_of_a_call_that_is_read_at_once_few_cuts_are_made() -> None:
    far, step = CallTimeline(DEMO[0].call_id), StepByStep(DEMO[0].call_id)

    assert 2 * cuts(far, DEMO, LONG_AFTER_NS) <= cuts(step, DEMO, LONG_AFTER_NS)
    assert content(far.records()) == content(step.records())
    assert far._chapters.kept[-1].carry == step._chapters.kept[-1].carry


@effort(60)
@given(CHANCE)
def test_whatever_is_told_late_every_pace_finds_the_same(chance: random.Random) -> None:
    events = told_late(DEMO, chance)
    step = StepByStep(events[0].call_id)
    cuts(step, events, LONG_AFTER_NS)
    for every_ns in (LONG_AFTER_NS, chance.choice([10, 20, 40]) * S, chance.choice([1, 3]) * S):
        far = CallTimeline(events[0].call_id)
        cuts(far, events, every_ns)
        assert content(far.records()) == content(step.records())
    assert far._chapters.kept[-1].carry.cut_ns == step._chapters.kept[-1].carry.cut_ns


@effort(25)
@given(plausible_calls(12), CHANCE)
def test_whatever_a_call_is_like_every_pace_finds_the_same(events: list[Any], chance: random.Random) -> None:
    events = sorted(events, key=lambda e: (e.at_ns, e.source, e.seq))
    step, far = StepByStep(CALL_ID), CallTimeline(CALL_ID)
    cuts(step, events, S)
    cuts(far, events, chance.choice([20 * S, 60 * S, LONG_AFTER_NS]))

    assert content(far.records()) == content(step.records())


@effort(60)
@given(CHANCE)
def test_whatever_is_told_between_an_onset_and_its_being_noticed_is_not_lost(chance: random.Random) -> None:
    onsets = [e for e in DEMO if e.kind == "speech_started" and e.party == "caller" and e.at_ns - e.edge_ns > S // 20]
    onset = chance.choice(onsets)
    kinds = ("stage", "tool", "response", "agent_text", "transcript")
    moved: Any = chance.choice([e for e in DEMO if e.kind in kinds and abs(e.at_ns - onset.at_ns) < 4 * S])
    at_ns = (onset.at_ns + onset.edge_ns) // 2
    told = msgspec.structs.replace(moved, at_ns=at_ns, wall_ns=moved.wall_ns + at_ns - moved.at_ns)
    events = sorted([*[e for e in DEMO if e is not moved], told], key=lambda e: (e.at_ns, e.source, e.seq))

    live, whole = CallTimeline(told.call_id), Uncut(told.call_id)
    cuts(live, events, S)
    for event in events:
        whole.add(event)
    whole.advance(LONG_AFTER_NS)

    assert content(live.records()) == content(whole.records())


def test_a_stride_ends_where_the_agent_was_heard_since_the_onset_before() -> None:
    """A chapter that began at that one would have no place for a cut: every pace must cut at the same."""
    entries = [(e.at_ns, e.source, e.seq, e) for e in DEMO]
    chapter = Chapter(Carry())
    heard = list(onsets(entries, -1, 60 * S, edge_ns=0, match_ns=DEFAULT_BOUNDS.match_ns))
    first, *behind = ahead_of(entries, chapter, heard[0], 60 * S, DEFAULT_BOUNDS)
    assert len(behind) > 2
    last, before = behind[-1], behind[-2]
    silent = [
        entry
        for entry in entries
        if entry[3].kind not in ("playout", "speech_started", "speech_ended")
        or entry[0] <= before.at_ns
        or entry[0] > last.at_ns
        or getattr(entry[3], "party", None) == "caller"
    ]

    assert last.agent_heard
    assert ahead_of(silent, chapter, heard[0], last.at_ns, DEFAULT_BOUNDS) == [first, *behind[:-1]]


AHEAD = [Onset(20 * S, 20 * S - S // 5), Onset(30 * S, 30 * S - S // 5)]
"""Judged at 26 and 36 s."""


def said(at_s: float, **more: Any) -> Said:
    told: dict[str, Any] = {"text": "yes", "final": True, "delta": False, "eager": False, "start_ns": None}
    return Said(**{**told, "end_ns": None, "utterance": None, "thrown_away": False, "at_ns": round(at_s * S), **more})


def run(name: str, first_s: float, last_s: float, **more: Any) -> Run:
    return Run(name, first_ns=round(first_s * S), last_ns=round(last_s * S), **more)


def tool(called_s: float, ended_s: float | None, last_s: float, of: str | None = None) -> ToolLife:
    ended_ns = None if ended_s is None else round(ended_s * S)
    return ToolLife("x", "look", round(called_s * S), of, True, ended_ns=ended_ns, last_ns=round(last_s * S))


PLAYED = [Play(15 * S, 25 * S)]


@pytest.mark.parametrize(
    ("facts", "back"),
    [
        (Facts(), False),
        (Facts(caller_edges={("vad", None): [Edge(26 * S, 19 * S, True)]}), False),
        (Facts(caller_edges={("vad", None): [Edge(27 * S, 19 * S, True)]}), True),
        (Facts(caller_edges={("vad", None): [Edge(29 * S, 21 * S, False)]}), False),
        (Facts(agent_edges={"audio": [Edge(27 * S, 19 * S, False)]}), True),
        (Facts(agent_edges={"decision": [Edge(18 * S, 18 * S, True), Edge(19 * S, 19 * S, False)]}), False),
        (Facts(agent_edges={"decision": [Edge(18 * S, 18 * S, True), Edge(21 * S, 19 * S, False)]}), True),
        (Facts(agent_edges={"decision": [Edge(18 * S, 18 * S, True)]}), True),
        (Facts(agent_edges={"decision": [Edge(15 * S, 15 * S, True), Edge(25 * S, 25 * S, False)]},
               runs={"r": run("r", 14, 25, plays=PLAYED)}), False),
        (Facts(runs={"r": run("r", 15, 26)}), False),
        (Facts(runs={"r": run("r", 15, 27)}), True),
        (Facts(runs={"r": run("r", 21, 29)}), False),
        (Facts(runs={"r": run("r", 14, 27, plays=PLAYED)}), False),
        (Facts(runs={"r": run("r", 14, 27, plays=[Play(15 * S, 18 * S)])}), True),
        (Facts(runs={"r": run("r", 15, 16), "q": run("q", 27, 28, after="r")}), True),
        (Facts(runs={"r": run("r", 15, 16), "q": run("q", 25, 28, after="r")}), False),
        (Facts(tools={"x": tool(15, 16, 27)}), True),
        (Facts(tools={"x": tool(15, 26.5, 27)}), False),
        (Facts(tools={"x": tool(15, None, 27)}), False),
        (Facts(tools={"x": tool(27, 28, 28, of="r")}, runs={"r": run("r", 15, 16)}), True),
        (Facts(said=[said(27)]), False),
        (Facts(said=[said(27, start_ns=18 * S, end_ns=19 * S)]), True),
        (Facts(said=[said(27, start_ns=21 * S, end_ns=22 * S)]), False),
        (Facts(said=[said(18, utterance="u"), said(27, utterance="u")]), True),
        (Facts(said_by_others=[said(27, end_ns=19 * S)]), True),
        (Facts(agent_said=[said(27, end_ns=19 * S)]), True),
        (Facts(turn_ends=[TurnEnd(27 * S, (), None)]), False),
        (Facts(turn_ends=[TurnEnd(27 * S, (19 * S,), None)]), True),
        (Facts(turn_ends=[TurnEnd(27 * S, (), 19 * S)]), True),
        (Facts(classifier=[Verdict(27 * S, "interruption", None, 26 * S)]), False),
        (Facts(classifier=[Verdict(27 * S, "interruption", None, 19 * S)]), True),
        (Facts(classifier=[Verdict(27 * S, "interruption", "o1", None)]), True),
    ],
)  # fmt: skip
def test_what_reaches_back_over_an_onset_that_was_judged(facts: Facts, back: bool) -> None:
    assert reaches_back(facts, AHEAD, DEFAULT_BOUNDS) is back


class _Told:
    def __init__(self, response_id: str) -> None:
        self.response_id = response_id


@pytest.mark.parametrize(("cancelled", "back"), [(0, False), (1, True)])
def test_a_metric_of_a_response_of_long_ago_reads_otherwise_where_one_was_cancelled(cancelled: int, back: bool) -> None:
    facts = Facts(cancelled=cancelled, runs={"r": run("r", 15, 16)}, stages=[(27 * S, "bot", 1, _Told("r"))])

    assert reaches_back(facts, AHEAD, DEFAULT_BOUNDS) is back


@pytest.mark.parametrize(
    ("change", "learnt"),
    [
        (lambda f: None, False),
        (lambda f: f.said.append(said(1)), False),
        (lambda f: f.had.add("caller:audio"), True),
        (lambda f: f.other_participants.add("p2"), True),
        (lambda f: setattr(f, "caller_participant", "p1"), True),
        (lambda f: setattr(f, "started", object()), True),
        (lambda f: setattr(f, "connected_ns", 5), True),
        (lambda f: f.expected.append((None, True)), True),
        (lambda f: f.counts.update(no_frames_seen=1), True),
        (lambda f: f.gaps.update(caller=[Gap(5)]), True),
    ],
)
def test_what_is_learnt_of_all_a_chapter(change: Callable[[Facts], Any], learnt: bool) -> None:
    facts = Facts()
    before = bearings(facts)
    change(facts)

    assert learnt_of_all(facts, before) is learnt
