"""Rules of the definitions that no field case covers: when records are final, overlaps, recordings, words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.timeline import CallTimeline

TENTH = 100_000_000
Call = Callable[..., Any]


def changes_after_final(story: Any, until: float) -> list[tuple[str, str]]:
    """Ids and fields of records that changed although they had been called final, asked for every quarter second."""
    timeline, waiting, last = CallTimeline("c1"), list(story.events()), dict[str, Any]()
    found: list[tuple[str, str]] = []
    for step in range(round(until * 4) + 1):
        now = step * 250_000_000
        while waiting and waiting[0].at_ns <= now:
            timeline.add(waiting.pop(0))
        for record in timeline.advance(now):
            before = last.get(record.id)
            if before is not None and before.final:
                was, now_is = before.model_dump(), record.model_dump()
                found += [(record.id, name) for name in was if name != "revision" and was[name] != now_is[name]]
            last[record.id] = record
    return found


def recording(call: Call) -> Any:
    return call(
        measuring_point="recording", recogniser=None, caller_edges=("audio",), agent_edges=("audio",), mode="unknown"
    )


def spoken(story: Any, party: str, on: float, off: float) -> Any:
    story.edge(True, on, party=party, evidence="audio")
    return story.edge(False, off, party=party, evidence="audio")


# Live: what stands while the call goes on


@pytest.mark.parametrize("cut", [True, False])
def test_an_overlap_is_final_once_nothing_more_can_come_of_it(call: Call, cut: bool) -> None:
    story = call().user(1.0, 2.0, "tell me").bot(3.0, 5.3 if cut else 9.0, cut=cut).user(5.0, 5.6, "wait please")
    if cut:
        story.interruption(5.2)
    story.bot(20.0, 22.0, asked=6.0)
    assert changes_after_final(story.end(40.0), 40.0) == []
    row = story.told(as_of=19.0).overlaps[0]
    assert (row.cell, row.final, row.silent_for_ns) == ("TP" if cut else "FN", not cut, None)
    row = story.told(as_of=23.0).overlaps[0]
    assert (row.final, row.silent_for_ns) == (True, 14_700_000_000 if cut else None)


def test_a_response_that_waits_behind_another_is_not_yet_unspoken(call: Call) -> None:
    story = call().user(1.0, 2.0, "tell me").bot(3.0, 12.0, "A long story.", cut=False, name="one")
    story.run("two", "requested", 4.0, why="application").say("two", 4.1, intended="One more thing.")
    story.run("two", "ended", 4.2).play("two", 12.5, 14.0, truncated=False)
    assert story.told(as_of=11.0).unspoken == []
    assert changes_after_final(story.end(30.0), 30.0) == []


def test_a_response_that_was_never_heard_is_final_once_a_later_one_is(call: Call) -> None:
    story = call().user(1.0, 2.0, "tell me").run("one", "requested", 2.4, why="user_turn")
    story.say("one", 2.6, intended="Hello.").run("one", "ended", 2.8).user(9.0, 10.0, "hello?").bot(11.0, 12.0)
    assert [(a.id, a.unspoken, a.final) for a in story.told(as_of=8.0).unspoken] == [("n:one", "Hello.", False)]
    assert [(a.id, a.final) for a in story.told(as_of=11.5).unspoken] == [("n:one", True)]


def test_the_callers_turn_ends_no_speech_of_the_agent(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).user(1.0, 2.0, "tell me").bot(3.0, None)
    told = story.edge(True, 3.0, at=3.2, party="agent", evidence="audio").turn_end(4.0).told(as_of=10.0)
    assert [a.a_off_ns for a in told.agent_turns] == [None]
    assert told.dead_air == []


def test_a_mute_of_the_caller_breaks_no_speech_of_the_agent(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).user(1.0, 2.0, "tell me").bot(3.0, None).mute(3.5, 8.9)
    spoken(story, "agent", 3.0, 9.0)
    told = story.told(as_of=10.0)
    assert [a.a_off_ns for a in told.agent_turns] == [9_000_000_000]
    assert told.dead_air == []


# Interruptions


def test_an_agent_that_never_stops_is_a_miss_without_a_stop_latency(call: Call) -> None:
    told = call().bot(10.0, None, why="greeting").user(13.0, 14.0, "stop please").end(30.0).told()
    assert [(o.cell, o.stop_latency_ns) for o in told.overlaps] == [("FN", None)]


def test_a_natural_end_within_the_window_is_observed_and_not_caused(call: Call) -> None:
    told = call().bot(10.0, 14.5, why="greeting", cut=False).user(13.0, 14.0, "a question").end(20.0).told()
    overlap = told.overlaps[0]
    assert (overlap.yielded_observed, overlap.yielded_caused, overlap.cell) == (True, False, "FN")


def test_a_classifier_counts_only_where_it_was_asked(call: Call) -> None:
    story = call(recogniser=False).bot(10.0, 20.0, cut=False).user(13.0, 13.5)
    story.put(13.6, "classifier", answer="backchannel", requested_ns=13_200_000_000)
    asked = story.told().overlaps[0]
    assert (asked.wanted, asked.decided_by, asked.cell) == ("no", "classifier", "TN")
    unasked = (
        call(recogniser=False).bot(10.0, 20.0, cut=False).user(13.0, 13.5).put(13.6, "classifier", answer="backchannel")
    )
    assert unasked.told().overlaps[0].wanted == "unknown"


def test_on_a_recording_the_next_agent_onset_answers(call: Call) -> None:
    story = recording(call)
    for party, on, off in (("caller", 1.0, 3.0), ("agent", 3.8, 6.0), ("caller", 7.0, 9.0), ("agent", 8.9, 11.0)):
        spoken(story, party, on, off)
    assert story.end(12.0, "unknown").told().latencies == [0.8, -0.1]


def test_on_a_recording_talking_on_over_the_turn_answers_it_without_a_sample(call: Call) -> None:
    story = spoken(spoken(recording(call), "caller", 1.0, 4.0), "agent", 2.0, 7.0)
    told = story.end(12.0, "unknown").told()
    assert told.interruptions == [(2.0, "overlap")]
    assert [(t.answered_by, t.response_latency_ns, t.reason, t.unanswered) for t in told.turns] == [
        ("a1", None, "agent_interruption", False)
    ]


def test_on_a_recording_an_onset_in_a_short_pause_is_no_answer(call: Call) -> None:
    story = recording(call)
    for party, on, off in (("caller", 1.0, 3.0), ("agent", 3.2, 3.5), ("caller", 3.4, 5.0), ("agent", 6.0, 8.0)):
        spoken(story, party, on, off)
    told = story.end(9.0, "unknown").told()
    assert (told.interruptions, told.latencies) == ([(3.2, "overlap")], [1.0])


@pytest.mark.parametrize(("expected", "cell"), [(None, None), (True, "TP"), (False, "FP")])
def test_on_a_recording_a_quick_stop_needs_an_expectation(call: Call, expected: bool | None, cell: str | None) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 5.0), "caller", 4.8, 6.0)
    if expected is not None:
        story.put(0.0, "expectation", wanted=expected, overlap_ns=49 * TENTH)
    overlap = story.end(12.0, "unknown").told().overlaps[0]
    assert (overlap.terminal, overlap.gave_way, overlap.cell) == ("terminal_or_yield", True, cell)
    assert overlap.yielded_caused is None


def test_what_is_expected_of_every_overlap_gives_way_to_what_is_expected_of_one(call: Call) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 9.0), "caller", 4.0, 4.5)
    spoken(story, "caller", 7.0, 7.5)
    story.put(0.0, "expectation", wanted=False, overlap_ns=41 * TENTH).put(
        0.0, "expectation", wanted=True, overlap_ns=72 * TENTH
    )
    spoken(story, "caller", 8.2, 8.5)
    overlaps = story.end(12.0, "unknown").told().overlaps
    assert [o.wanted for o in overlaps] == ["no", "yes", "no"]
    assert {o.decided_by for o in overlaps} == {"expectation"}


def test_an_expectation_reaches_half_a_second_and_the_nearest_speaks(call: Call) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 9.0), "caller", 4.0, 4.5)
    spoken(spoken(story, "caller", 6.0, 6.4), "caller", 7.5, 8.0)
    story.put(0.0, "expectation", wanted=True, overlap_ns=45 * TENTH).put(
        0.0, "expectation", wanted=True, overlap_ns=69 * TENTH
    )
    story.put(0.0, "expectation", wanted=True, overlap_ns=79 * TENTH)
    overlaps = story.end(12.0, "unknown").told().overlaps
    assert [o.wanted for o in overlaps] == ["yes", "unknown", "yes"]


def test_a_person_is_heard_before_an_expectation_and_the_judge_after(call: Call) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 9.0), "caller", 4.0, 4.5)
    spoken(story, "caller", 6.0, 6.5).put(0.0, "expectation", wanted=False)
    story.put(0.0, "human_label", source="label", subject="o1", label="wanted")
    story.put(0.0, "verdict", source="judge", criterion="wanted", verdict="pass", evidence=("o2",))
    overlaps = story.end(12.0, "unknown").told().overlaps
    assert [(o.wanted, o.decided_by) for o in overlaps] == [("yes", "human"), ("no", "expectation")]


def test_what_is_expected_opens_the_turn_that_it_speaks_of(call: Call) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 9.0), "caller", 4.0, 4.5)
    assert story.end(12.0, "unknown").told().turns == []
    assert [t.u_on_ns for t in story.put(0.0, "expectation", wanted=True).told().turns] == [40 * TENTH]
    held = spoken(spoken(recording(call), "agent", 1.0, 4.2), "caller", 4.0, 4.5).put(0.0, "expectation", wanted=False)
    assert held.end(12.0, "unknown").told().turns == []


def test_the_agents_own_sound_in_the_callers_channel_is_echo(call: Call) -> None:
    story = spoken(recording(call), "agent", 1.0, 9.0)
    story.edge(True, 4.0, evidence="audio").edge(False, 5.5, evidence="audio", echo=True)
    told = story.end(12.0, "unknown").told()
    assert [(o.wanted, o.want_class, o.decided_by) for o in told.overlaps] == [("no", "echo", "echo")]
    assert (told.turns, told.call.talk_ns["both"]) == ([], 0)


# Words


def test_a_language_without_lists_is_not_judged_by_words(call: Call) -> None:
    told = call(language="ja").bot(10.0, 20.0, cut=False).user(13.0, 13.5, "はい").told()
    assert told.overlaps[0].wanted == "unknown"


# Bounds


def test_bounds_have_an_id_of_their_own() -> None:
    assert DEFAULT_BOUNDS.id == Bounds().id == "default-1"
    changed = Bounds(turn_gap_ns=2_000_000_000)
    assert changed.id != "default-1"
    assert changed.id == Bounds(turn_gap_ns=2_000_000_000).id
    assert changed.id != Bounds(turn_gap_ns=4_000_000_000).id


def test_many_small_words_in_a_row_may_mean_anything(call: Call) -> None:
    told = call().bot(10.0, 20.0, cut=False).user(13.0, 14.2, "yeah okay right").end(30.0).told()
    assert [(o.wanted, o.decided_by, o.cell) for o in told.overlaps] == [("unknown", None, None)]


def test_a_momentary_silence_of_the_same_response_is_no_stop(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).bot(10.0, 18.0, cut=False).user(12.0, 13.0, "stop it please")
    for on, off in ((10.0, 12.5), (12.9, 18.0)):
        spoken(story, "agent", on, off)
    overlap = story.interruption(12.4).end(30.0).told().overlaps[0]
    assert (overlap.cell, overlap.stop_latency_ns) == ("FN", 6_000_000_000)


def test_half_a_second_of_silence_is_a_stop_and_going_on_a_resumption(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).bot(10.0, 18.0, cut=False).user(12.0, 13.0, "stop it please")
    for on, off in ((10.0, 12.5), (14.0, 18.0)):
        spoken(story, "agent", on, off)
    overlap = story.interruption(12.4).end(30.0).told().overlaps[0]
    assert (overlap.cell, overlap.stop_latency_ns, overlap.resumed_after_ns) == ("TP", 500_000_000, 1_500_000_000)


def test_an_interruption_after_a_response_that_was_played_whole_did_not_end_it(call: Call) -> None:
    told = call().bot(10.0, 14.5, why="greeting", cut=False).user(13.0, 14.8, "a question").interruption(14.55)
    overlap = told.end(20.0).told().overlaps[0]
    assert (overlap.yielded_observed, overlap.yielded_caused, overlap.cell) == (True, False, "FN")


# Cuts that nobody's speech explains


@pytest.mark.parametrize(("cause", "spurious"), [("user_turn", 1), ("unknown", 1), ("dtmf", 0), ("application", 0)])
def test_a_cut_that_a_key_or_the_application_asked_for_is_not_spurious(call: Call, cause: str, spurious: int) -> None:
    told = call().bot(5.0, 5.3, why="greeting", cut=True).interruption(5.3, cause=cause).end(20.0).told()
    assert told.facts.get("spurious_interruption", 0) == spurious
    assert told.agent_turns[0].interrupted


def test_nor_is_one_right_after_a_key_was_pressed(call: Call) -> None:
    story = call().bot(5.0, 6.3, why="greeting", cut=True).put(6.1, "dtmf", party="caller", button="1")
    assert "spurious_interruption" not in story.interruption(6.3).end(20.0).told().facts


def test_nor_one_of_which_nobody_knows_whether_the_caller_spoke(call: Call) -> None:
    story = call(mode="realtime", recogniser=None, caller_edges=()).bot(5.0, 6.3, why="greeting", cut=True)
    assert "spurious_interruption" not in story.interruption(6.3, cause="service").end(20.0).told().facts
