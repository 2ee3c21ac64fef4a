"""The smallest calls of those that once broke a property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from invented_calls.folded import Uncut, at_once, content

from earwitness.monitor.calls.timeline import CallTimeline

S = 1_000_000_000
Call = Callable[..., Any]


def uncut_and_cut(events: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return content(at_once(events, kind=Uncut).records()), content(at_once(events).records())


def test_words_of_a_time_that_lies_nearer_to_what_follows_keep_a_call_from_being_cut_there(call: Call) -> None:
    story = call().user(2.3, 2.6).bot(2.55, 4.01, cut=False)
    story.final("my order number", 4.71, utterance_start_ns=4_010 * S // 1000, utterance_end_ns=4_410 * S // 1000)
    story.user(5.81, 6.11, "yes").end(19.0)
    uncut, cut = uncut_and_cut(story.events())
    assert cut == uncut


def test_a_stall_before_the_callers_next_turn_is_one_whether_the_call_is_over_or_not(call: Call) -> None:
    story = call().connected().run("r", "requested", 1.0, why="greeting").say("r", 1.2, intended="One two three four.")
    story.play("r", 2.0, 4.0).say("r", 2.5, spoken="One two").user(7.6, 10.2, "hello").end(40.0)
    uncut, cut = uncut_and_cut(story.events())
    assert cut == uncut
    assert cut["call"]["facts"]["stalled_turn"] == 1


def test_the_callers_floor_taken_at_once_makes_no_stall(call: Call) -> None:
    story = call().connected().run("r", "requested", 1.0, why="greeting").say("r", 1.2, intended="One two three four.")
    story.play("r", 2.0, 4.0).say("r", 2.5, spoken="One two").user(5.0, 6.0, "hello").end(40.0)
    assert "stalled_turn" not in story.told().facts


def test_a_noisy_tap_that_is_the_only_ear_is_heard_when_it_was_once_clean_too(call: Call) -> None:
    story = call(caller_edges=("audio",))
    for on, snr_db in ((2.0, 9.0), (12.0, 30.0)):
        story.edge(True, on, evidence="audio", snr_db=snr_db).edge(False, on + 1, evidence="audio", snr_db=snr_db)
        story.final("my order number", on + 1.2).bot(on + 2, on + 5, cut=False)
    assert story.end(30.0).told().latencies == [1.0, 1.0]


def test_a_sound_that_ends_before_a_play_begins_is_not_its_end(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).edge(True, 12.22, party="agent", evidence="audio")
    story.edge(False, 14.295, party="agent", evidence="audio").play("r", 14.495)
    for turn in story.told().agent_turns:
        assert turn.a_off_ns is None or turn.a_on_ns <= turn.a_off_ns


def test_one_onset_of_two_responses_interrupts_once(call: Call) -> None:
    story = call(agent_edges=("playout", "audio")).play("r1", 0.7, 1.5).vad_stop(12.07)
    story.run("r2", "requested", 12.2, why="user_turn").run("r3", "requested", 12.2, why="user_turn")
    story.play("r2", 12.52, 13.5).play("r3", 12.52, 14.0).user(12.8, 14.0, "my order number")
    assert len(story.told().interruptions) == 1


def test_a_connection_that_is_told_late_begins_the_time_that_is_shared_out(call: Call) -> None:
    story = call(agent_edges=("audio",), caller_edges=("audio",))
    story.edge(True, 8.8, evidence="audio", snr_db=30.0).edge(False, 11.3, evidence="audio", snr_db=30.0)
    story.edge(True, 12.3, party="agent", evidence="audio").edge(False, 14.0, party="agent", evidence="audio")
    story.edge(True, 18.8, evidence="audio", snr_db=30.0).edge(False, 20.3, evidence="audio", snr_db=30.0)
    ended = story.connected(40.0).end(50.0).told().call
    assert sum(ended.talk_ns.values()) == 10 * S


def test_words_told_behind_the_end_make_nobody_wait_longer_than_the_call(call: Call) -> None:
    story = call(caller_edges=()).final("thank you goodbye", 2.0).end(6.8, "idle").final("okay", 14.0)
    assert [turn.waited_ns for turn in story.told().turns] == [4_800 * S // 1000, 0]


def test_a_tool_took_no_longer_than_the_call(call: Call) -> None:
    story = call().user(1.0, 2.0, "hello").tool("lookup", "called", 2.5)
    told = story.tool("lookup", "result", 3.0, duration_ns=10**18).end(9.0).told()
    assert (told.tools[0].status, told.tools[0].duration_ns, told.facts["invalid"]) == ("ok", None, 1)


def test_a_models_end_noticed_behind_the_calls_end_gives_no_duration(call: Call) -> None:
    told = call().run("r", "requested", 2.0, why="user_turn").end(5.0).run("r", "ended", 50.0).told()
    assert told.stages == []


def test_sound_behind_the_end_does_not_make_a_side_observed(call: Call) -> None:
    story = call(caller_edges=(), recogniser=False).bot(1.0, 2.0).end(5.0).user(6.0, 7.0)
    assert story.told().call.caller_observable is False


def test_what_another_clock_tells_of_before_the_call_lies_at_its_beginning(call: Call) -> None:
    story = call().put(0.0, "call_started", source="taps", agent="a", owns_clock=False, clock_offset_ns=-5 * S)
    told = story.put(2.0, "playout", source="taps", phase="first", edge_ns=S, response_id="r").end(9.0).told()
    assert [turn.a_on_ns for turn in told.agent_turns] == [0]


def test_a_decision_behind_the_end_does_not_move_the_end_of_speech(call: Call) -> None:
    story = (
        call(caller_edges=("server",)).edge(True, 4.0, evidence="server").final("goodbye", 5.0).end(6.5, "transport")
    )
    (turn,) = story.turn_end(8.0).told().turns
    assert (turn.u_off_ns, turn.waited_ns) == (5 * S, 1_500 * S // 1000)


def test_an_offset_that_is_told_after_its_events_moves_the_calls_last_moment_too(call: Call) -> None:
    story = call().put(0.0, "call_started", source="line", agent="a", owns_clock=False, clock_offset_ns=3 * S)
    events = story.put(1.78, "participant", source="line", state="joined", participant="p2", role="other").events()
    late = sorted(events, key=lambda e: e.source == "line" and e.kind == "call_started")
    assert content(at_once(late).records()) == content(at_once(events).records())


def test_a_beginning_that_another_clock_moves_away_names_the_agent_no_more_however_often_somebody_looked(
    call: Call,
) -> None:
    *events, last = call().connected().user(1.0, 2.0, "hello").edge(True, 3.0, evidence="audio").events()
    events.append(last.model_copy(update={"source": "taps", "seq": 0}))
    moved = events[0].model_copy(update={"seq": 900, "owns_clock": False, "clock_offset_ns": 10**6 * S})
    looked_at = CallTimeline(events[0].call_id)
    for event in events:
        looked_at.add(event)
    looked_at.advance(5 * S)
    assert {record.agent for record in looked_at.records()} != {""}

    looked_at.add(moved)
    looked_at.advance(6 * S)

    assert content(looked_at.records()) == content(at_once([*events, moved], 6 * S).records())
