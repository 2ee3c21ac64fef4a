"""The definitions' bounds, met exactly and missed by a hair: which side counts.

Seconds that floats cannot tell apart are told in milliseconds by the story; ``HAIR`` is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.records import Overlap, Turn

S = 1_000_000_000
HAIR = 0.001
Call = Callable[..., Any]
SAID = "my order number is four"


def talk(call: Call, **started: Any) -> Any:
    return call(**started).connected(0.0)


# "Latency"


def test_an_answer_after_more_than_ten_minutes_is_as_late_as_it_is(call: Call) -> None:
    story = talk(call).user(1.0, 2.0, SAID)
    for at in range(100, 700, 100):
        story.put(float(at), "health")
    (turn,) = story.bot(603.0, 605.0).end(610.0).told().turns
    assert (turn.response_latency_ns, turn.reason) == (601 * S, None)


@pytest.mark.parametrize(("after", "overdue"), [(10.0, True), (10.0 - HAIR, False)])
def test_a_turn_that_waits_ten_seconds_is_overdue(call: Call, after: float, overdue: bool) -> None:
    turns = talk(call).user(1.0, 2.0, SAID).bot(0.1, 0.5, why="greeting").told(2.0 + after).turns
    assert [turn.overdue for turn in turns] == ([True] if overdue else [])


def test_overdue_turns_count_as_unanswered_in_the_report(call: Call) -> None:
    shown = report(talk(call).user(1.0, 2.0, SAID).bot(0.1, 0.5, why="greeting").told(13.0).records)
    assert shown["summary"]["response_latency"]["unanswered"] == 1


def test_time_before_a_first_token_of_a_request_that_nobody_saw_is_not_the_models(call: Call) -> None:
    story = talk(call).user(1.0, 2.0, SAID).turn_end(2.3).run("r", "first_token", 2.8, why="user_turn")
    story.run("r", "first_text", 2.9).run("r", "first_audio", 3.3).play("r", 3.4, 5.0)
    (turn,) = story.told().turns
    assert turn.parts_ns == {
        "endpointing": 300 * 10**6, "unattributed": 500 * 10**6, "aggregation": 100 * 10**6, "tts": 400 * 10**6,
        "output": 100 * 10**6,
    }  # fmt: skip


# "Speech and turns"


@pytest.mark.parametrize(("pause", "turns"), [(3.0, 1), (3.0 + HAIR, 2)])
def test_three_seconds_of_silence_close_a_turn_when_they_are_over(call: Call, pause: float, turns: int) -> None:
    story = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0, SAID).user(2.0 + pause, 4.0 + pause, SAID)
    assert len(story.end(20.0).told().turns) == turns


def test_an_unanswered_turn_is_told_when_the_next_one_opens(call: Call) -> None:
    story = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0, SAID).user(6.0, 8.0, SAID)
    (turn,) = story.told(7.0).turns
    assert (turn.unanswered, turn.waited_ns) == (True, 4 * S)


@pytest.mark.parametrize(("after", "kind"), [(3.0, "closing"), (3.0 + HAIR, "eligible")])
def test_who_hangs_up_within_three_seconds_closes(call: Call, after: float, kind: str) -> None:
    (turn,) = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0, SAID).end(2.0 + after).told().turns
    assert turn.turn_class == kind


@pytest.mark.parametrize("cause", ["transport", "error", "unknown"])
@pytest.mark.parametrize(("after", "kind"), [(3.0, "lost"), (3.0 + HAIR, "eligible")])
def test_a_turn_within_three_seconds_of_a_lost_line_or_process_is_lost(
    call: Call, cause: str, after: float, kind: str
) -> None:
    (turn,) = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0, SAID).end(2.0 + after, cause).told().turns
    assert turn.turn_class == kind


@pytest.mark.parametrize(("pause", "sounds"), [(0.5, True), (0.5 - HAIR, False)])
def test_half_a_second_parts_what_the_agent_says(call: Call, pause: float, sounds: bool) -> None:
    story = talk(call).run("r", "requested", 0.5, why="greeting").play("r", 1.0, 2.0, truncated=False)
    story.play("r", 2.0 + pause, 9.0, truncated=False).user(1.7, 1.9, SAID)
    (overlap,) = story.end(20.0).told().overlaps
    assert (overlap.resumed_after_ns is not None) is sounds


@pytest.mark.parametrize(("after", "final"), [(3.0, True), (3.0 - HAIR, False)])
def test_what_the_agent_said_is_final_three_seconds_after_it(call: Call, after: float, final: bool) -> None:
    told = talk(call).user(1.0, 2.0, SAID).turn_end(2.2).bot(3.0, 3.5, cut=False).told(3.5 + after)
    assert [turn.final for turn in told.agent_turns] == [final]


def test_speech_whose_end_was_lost_makes_no_latency_before_the_next(call: Call) -> None:
    story = talk(call).bot(0.1, 0.5, why="greeting").vad_start(1.2).final(SAID, 2.5).vad_start(9.2).vad_stop(10.2)
    facts = story.final(SAID, 10.4).bot(11.0, 12.0).end(20.0).told().facts
    assert facts["end_inferred"] == 1


def test_an_end_that_was_not_heard_gives_no_endpoint_delay(call: Call) -> None:
    story = talk(call).vad_start(1.2).gap(3.0, 2.0).final(SAID, 2.5).turn_end(3.2).bot(4.0, 5.0)
    (turn,) = story.end(20.0).told().turns
    assert (turn.d_ns, turn.endpoint_delay_ns, turn.response_latency_ns) == (3_200 * 10**6, None, None)
    assert "u_off" not in turn.evidence


@pytest.mark.parametrize(("snr_db", "best"), [(15.0, "audio"), (14.9, "vad")])
def test_a_tap_that_hears_fifteen_decibels_is_trusted(call: Call, snr_db: float, best: str) -> None:
    story = talk(call, caller_edges=("audio", "vad")).user(1.0, 2.0, SAID)
    story.edge(True, 1.01, evidence="audio", snr_db=snr_db).edge(False, 1.99, evidence="audio", snr_db=snr_db)
    (turn,) = story.bot(3.0, 4.0).told().turns
    assert turn.evidence["u_off"] == best


def test_a_sound_of_nobody_known_is_not_that_of_a_response_that_was_cancelled(call: Call) -> None:
    story = talk(call, agent_edges=("audio",)).user(1.0, 2.0, SAID).run("r1", "requested", 2.2, why="user_turn")
    story.run("r1", "first_text", 2.4).say("r1", 2.4, intended="Never mind.").run("r1", "cancelled", 2.6)
    story.edge(True, 3.0, party="agent", evidence="audio").edge(False, 4.0, party="agent", evidence="audio")
    assert [turn.why for turn in story.end(9.0).told().agent_turns] == ["unknown"]


def test_a_tool_that_was_cancelled_stays_so(call: Call) -> None:
    story = talk(call).tool("lookup", "called", 1.0).tool("lookup", "cancelled", 2.0).tool("lookup", "result", 3.0)
    (tool,) = story.end(9.0).told().tools
    assert (tool.status, tool.ended_ns, tool.duration_ns) == ("cancelled", 2 * S, None)


@pytest.mark.parametrize(("after", "text"), [(3.0, SAID), (3.0 + HAIR, None)])
@pytest.mark.parametrize("timed", [True, False])
def test_words_belong_to_speech_within_three_seconds(call: Call, after: float, text: str | None, timed: bool) -> None:
    at = round((2.0 + after) * 1000) * 10**6
    times = {"utterance_start_ns": at, "utterance_end_ns": at + S} if timed else {}
    story = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0)
    if not timed:
        story.bot(2.5, 2.8, why="prompt")  # after which words that come late may be anything
    (turn,) = story.final(SAID, 2.0 + after, **times).end(20.0).told().turns
    assert turn.text == text


@pytest.mark.parametrize(("after", "text"), [(30.0, SAID), (30.0 + HAIR, None)])
def test_a_slow_recogniser_may_take_half_a_minute_where_nobody_spoke_since(
    call: Call, after: float, text: str | None
) -> None:
    story = talk(call).bot(0.1, 0.5, why="greeting").user(1.0, 2.0)
    (turn,) = story.final(SAID, 2.0 + after).end(40.0).told().turns
    assert turn.text == text


# "Interruptions"


def over(call: Call, on: float, off: float, text: str | None = SAID, **more: Any) -> Any:
    """An answer from 3.0 to 8.0 into which the caller speaks."""
    return talk(call).user(1.0, 2.0, SAID).bot(3.0, 8.0, cut=False, **more).user(on, off, text)


@pytest.mark.parametrize(("before", "terminal"), [(0.3, "natural_end"), (0.3 + HAIR, None)])
def test_the_last_three_tenths_of_a_second_are_terminal(call: Call, before: float, terminal: str | None) -> None:
    (overlap,) = over(call, 8.0 - before, 9.0).end(20.0).told().overlaps
    assert overlap.terminal == terminal


@pytest.mark.parametrize(("as_of", "gave_way"), [(5.5, True), (5.5 - HAIR, None)])
def test_half_a_second_of_silence_makes_a_stop(call: Call, as_of: float, gave_way: bool | None) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 5.0, cut=True).interruption(4.9).user(4.5, 4.9, SAID)
    (overlap,) = story.told(as_of).overlaps
    assert overlap.gave_way is gave_way


@pytest.mark.parametrize(("lasts", "by"), [(1.08, "backchannel"), (1.08 + HAIR, None)])
def test_a_backchannel_is_no_longer_than_its_bound(call: Call, lasts: float, by: str | None) -> None:
    (overlap,) = over(call, 4.0, 4.0 + lasts, "mhm").end(20.0).told().overlaps
    assert overlap.decided_by == by


@pytest.mark.parametrize(("pause", "wanted"), [(1.5, "yes"), (1.5 + HAIR, "no")])
def test_words_that_follow_into_silence_tell_what_was_wanted(call: Call, pause: float, wanted: str) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 4.3, cut=True).user(4.0, 4.4, "mhm").interruption(4.2)
    (overlap,) = story.user(4.4 + pause, 6.9 + pause, SAID).end(20.0).told().overlaps
    assert overlap.wanted == wanted


def test_a_classifiers_later_answer_takes_the_place_of_its_earlier_one(call: Call) -> None:
    story = over(call, 4.0, 6.0, None).put(4.5, "classifier", answer="backchannel", requested_ns=4_100 * 10**6)
    story.put(4.8, "classifier", answer="interruption", requested_ns=4_200 * 10**6).put(5.0, "transcript",
        party="caller", text="mhm", final=True)  # fmt: skip
    (overlap,) = story.end(20.0).told().overlaps
    assert (overlap.wanted, overlap.decided_by) == ("yes", "classifier")


@pytest.mark.parametrize(("after", "found"), [(0.05, []), (0.05 + HAIR, ["overlap"])])
def test_an_agent_that_begins_with_the_caller_does_not_interrupt(call: Call, after: float, found: list[str]) -> None:
    story = talk(call).bot(0.1, 0.5, why="greeting").user(2.0, 4.0, SAID).bot(2.0 + after, 3.0, why="application")
    assert [cause for _, cause in story.end(9.0).told().interruptions] == found


@pytest.mark.parametrize(("pause", "premature"), [(1.5, True), (1.5 + HAIR, False)])
def test_going_on_within_a_second_and_a_half_shows_a_premature_endpoint(
    call: Call, pause: float, premature: bool
) -> None:
    story = talk(call).user(1.0, 2.0, SAID).turn_end(2.3).bot(3.2, 6.0, asked=2.4).user(2.0 + pause, 5.5, SAID)
    assert story.end(20.0).told().turns[0].premature_endpoint is premature


@pytest.mark.parametrize(("after", "premature"), [(0.5, True), (0.5 + HAIR, False)])
def test_going_on_later_than_half_a_second_into_the_answer_shows_none(
    call: Call, after: float, premature: bool
) -> None:
    story = talk(call).user(1.0, 2.0, SAID).turn_end(2.3).bot(2.6, 6.0, asked=2.4).user(2.6 + after, 5.5, SAID)
    assert story.end(20.0).told().turns[0].premature_endpoint is premature


@pytest.mark.parametrize(("after", "found"), [(0.5, ["resumed"]), (0.5 + HAIR, [])])
def test_resumed_text_into_which_the_caller_goes_on_at_once_interrupts(
    call: Call, after: float, found: list[str]
) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 5.0, cut=True, name="r").interruption(4.9).user(4.5, 5.2, SAID)
    story.bot(5.6, 9.0, why="resumed", after="r").user(5.6 + after, 8.0, SAID)
    assert [cause for _, cause in story.end(20.0).told().interruptions] == found


@pytest.mark.parametrize(("pause", "overlaps"), [(0.6, 1), (0.6 + HAIR, 2)])
def test_a_run_shortly_after_a_wanted_overlap_belongs_to_it(call: Call, pause: float, overlaps: int) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 12.0, cut=False).user(4.0, 5.5, SAID)
    assert len(story.user(5.5 + pause, 7.5 + pause, SAID).end(20.0).told().overlaps) == overlaps


@pytest.mark.parametrize(("pause", "overlaps"), [(0.3, 2), (0.3 - HAIR, 1)])
def test_runs_closer_than_three_tenths_of_a_second_are_one(call: Call, pause: float, overlaps: int) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 12.0, cut=False).user(4.0, 4.4, "mhm")
    assert len(story.user(4.4 + pause, 4.9 + pause, "okay").end(20.0).told().overlaps) == overlaps


@pytest.mark.parametrize(("turns", "rate"), [(10, 0.0), (9, None)])
def test_a_rate_needs_ten(turns: int, rate: float | None) -> None:
    shared: dict[str, Any] = {"call_id": "c", "event_wall_ns": 0, "agent": "", "u_off_ns": 2, "u_on_ns": 1}
    overlaps = [Overlap(id=f"o{n}", wanted="yes", cell="TP", gave_way=True, **shared) for n in range(turns)]
    shown = report([Turn(id="t1", **shared), *overlaps])
    assert shown["summary"]["interruptions"]["missed_rate"] == rate


# "Dead air", "Outcomes", "Time and evidence"


@pytest.mark.parametrize(("lasts", "stretches"), [(3.0, 1), (3.0 - HAIR, 0)])
def test_three_seconds_are_dead_air(call: Call, lasts: float, stretches: int) -> None:
    story = talk(call).bot(0.1, 1.0, why="greeting", cut=False).user(2.0, 3.0, SAID).bot(3.0 + lasts, 9.0, cut=False)
    assert len(story.end(10.0).told().dead_air) == stretches


@pytest.mark.parametrize(("silent", "stalls"), [(3.0, 1), (3.0 - HAIR, 0)])
def test_three_seconds_of_silence_in_a_responses_middle_are_a_stall(call: Call, silent: float, stalls: int) -> None:
    story = talk(call).run("r", "requested", 0.5, why="greeting").say("r", 0.8, intended="One two three four.")
    story.play("r", 1.0, 2.0).say("r", 1.5, spoken="One two").user(2.0 + silent, 7.0, SAID).bot(8.0, 9.0)
    assert story.end(10.0).told().facts.get("stalled_turn", 0) == stalls


@pytest.mark.parametrize(("after", "outcome"), [(10.0, "abandoned"), (10.0 + HAIR, "contained")])
def test_who_leaves_within_ten_seconds_of_critical_dead_air_abandons(call: Call, after: float, outcome: str) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(13.0, 14.0, cut=False).end(13.0 + after)
    assert story.told().call.outcome == outcome


@pytest.mark.parametrize(("before", "cause"), [(2.0, "transport"), (2.0 - HAIR, "caller")])
def test_audio_lost_two_seconds_before_the_end_tells_of_a_lost_line(call: Call, before: float, cause: str) -> None:
    story = talk(call).user(1.0, 2.0, SAID).bot(3.0, 4.0).gap(9.5, 10.0 - before).end(10.0)
    assert story.told().call.end_cause == cause


@pytest.mark.parametrize(("behind", "late"), [(30.0, 0), (30.0 + HAIR, 1)])
def test_events_may_be_thirty_seconds_behind(call: Call, behind: float, late: int) -> None:
    story = talk(call).put(100.0, "health").put(100.0 - behind, "dtmf", party="caller", button="1").end(120.0)
    events = story.events()
    timeline = CallTimeline("c1")
    for event in sorted(events, key=lambda e: 101 * S if e.kind == "dtmf" else e.at_ns):
        timeline.add(event)
    timeline.advance(1_000 * S)
    ended: Any = timeline.records()[-1]
    assert ended.late_in_call == late


@pytest.mark.parametrize(("silent", "cause"), [(300.0, "agent"), (300.0 + HAIR, "unknown")])
def test_a_call_silent_for_longer_than_five_minutes_has_ended(call: Call, silent: float, cause: str) -> None:
    told = talk(call).user(1.0, 1.7, SAID).end(2.0 + silent, "agent").told().call
    assert told.end_cause == cause
