"""Rules of the definitions that no field case shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds
from earwitness.monitor.calls.lexicon import lexicon, tokens
from earwitness.monitor.calls.timeline import CallTimeline

Call = Callable[..., Any]


# Evidence


def test_the_taps_edges_go_before_the_vads(call: Call) -> None:
    told = (
        call(caller_edges=("audio", "vad"))
        .user(1.0, 2.3, "hello")
        .edge(True, 1.05, at=1.2, evidence="audio", snr_db=25.0)
        .edge(False, 2.25, at=2.5, evidence="audio", snr_db=25.0)
        .bot(3.25, 5.0)
        .told()
    )
    assert told.latencies == [1.0]
    assert told.turns[0].evidence == {"u_on": "audio", "u_off": "audio", "a_on": "playout"}


@pytest.mark.parametrize("why", ["noise", "gap"])
def test_a_tap_that_hears_badly_does_not_outrank_the_vad(call: Call, why: str) -> None:
    story = call(caller_edges=("audio", "vad")).user(1.0, 2.3, "hello").bot(3.3, 5.0)
    story.edge(True, 1.05, at=1.2, evidence="audio", snr_db=9.0 if why == "noise" else 25.0)
    story.edge(False, 2.9, at=3.0, evidence="audio", snr_db=9.0 if why == "noise" else 25.0)
    if why == "gap":
        story.gap(3.5, last_audio=2.5).gap(3.6, last_audio=2.5, state="resumed")
    told = story.told()
    assert told.latencies == [1.0]
    assert told.turns[0].evidence["u_off"] == "vad"


def test_a_missing_edge_is_lent_by_lesser_evidence(call: Call) -> None:
    told = (
        call(caller_edges=("audio", "vad"))
        .user(1.0, 2.3, "hello")
        .edge(True, 1.05, at=1.2, evidence="audio", snr_db=25.0)
        .bot(3.3, 5.0)
        .told()
    )
    assert told.latencies == [1.0]
    assert told.turns[0].evidence["u_off"] == "vad"


def test_a_headline_never_rests_on_the_pipelines_word_about_the_agent(call: Call) -> None:
    told = (
        call(agent_edges=("decision",))
        .user(1.0, 2.3, "hello")
        .run("r", "requested", 2.6, why="user_turn")
        .edge(True, 3.3, party="agent", evidence="decision")
        .edge(False, 5.0, party="agent", evidence="decision")
        .told()
    )
    assert told.latencies == [None]
    assert (told.turns[0].reason, told.turns[0].answered_by) == ("no_acoustic_anchor", "a1")


def test_another_process_is_moved_onto_the_calls_clock(call: Call) -> None:
    story = call().user(1.0, 2.3, "hello").bot(3.3, 5.0)
    story.put(0.0, "call_started", source="tools", agent="clinic", owns_clock=False, clock_offset_ns=40_000_000_000)
    story.put(2.0, "tool", source="tools", tool_call_id="x", name="lookup", phase="called")
    assert [t.called_ns for t in story.told().tools] == [42_000_000_000]


# Turns


def test_a_pause_is_not_the_end(call: Call) -> None:
    told = call().user(1.0, 2.0, "I would like").user(4.5, 5.0, "a refund").bot(6.0, 7.0).told()
    assert [(t.text, t.response_latency_ns) for t in told.turns] == [("I would like a refund", 1_000_000_000)]


def test_three_seconds_of_silence_close_a_turn(call: Call) -> None:
    told = call().user(1.0, 2.0, "hello").user(5.1, 5.5, "anybody there").bot(6.0, 7.0).told()
    assert [t.unanswered for t in told.turns] == [True, False]


def test_an_early_yes_is_a_turn(call: Call) -> None:
    told = (
        call()
        .bot(10.0, 14.0, "Shall I book it?", why="greeting", cut=False)
        .user(13.5, 13.8, "yes")
        .bot(14.9, 17.0, "Done.", asked=14.2)
        .told()
    )
    assert [t.text for t in told.turns] == ["yes"]
    assert told.latencies == [1.1]


def test_an_unknown_overlap_opens_a_turn_only_if_it_outlasts_the_agent_or_stops_it(call: Call) -> None:
    silent = {"recogniser": False, "mode": "realtime"}
    assert call(**silent).bot(10.0, 20.0, cut=False).user(12.0, 13.0).told().turns == []
    assert len(call(**silent).bot(10.0, 20.0, cut=False).user(18.0, 22.0).told().turns) == 1
    cut_off = call(**silent).bot(10.0, 13.2, cut=True).user(12.0, 13.0).interruption(13.1)
    assert len(cut_off.end(20.0).told().turns) == 1


def test_overdue_is_shown_at_once_and_turned_into_the_true_latency(call: Call) -> None:
    story = call().user(1.0, 2.0, "hello").bot(15.0, 16.0, asked=2.3)
    timeline = story.live()
    assert [r for r in timeline.advance(9_000_000_000) if r.kind == "turn"] == []
    waiting = [r for r in timeline.advance(12_500_000_000) if r.kind == "turn"]
    assert [(r.overdue, r.unanswered, r.waited_ns, r.revision) for r in waiting] == [(True, False, 10_500_000_000, 0)]
    answered = [r for r in timeline.advance(16_000_000_000) if r.kind == "turn"]
    assert [(r.overdue, r.response_latency_ns, r.revision) for r in answered] == [(False, 13_000_000_000, 1)]


def test_a_run_that_is_thrown_away_answers_nothing(call: Call) -> None:
    told = (
        call()
        .vad_start(1.2)
        .put(2.0, "transcript", party="caller", text="my order", final=False, eager=True)
        .run("e", "requested", 2.05, why="eager")
        .run("e", "cancelled", 2.5)
        .vad_stop(3.2)
        .final("my order is late", 3.3)
        .bot(4.0, 5.0)
        .told()
    )
    assert told.latencies == [1.0]
    assert (told.turns[0].cancelled_generation, told.turns[0].generations) == (1, 2)


def test_an_answer_in_the_last_syllable_is_a_latency_below_zero(call: Call) -> None:
    told = call().user(1.0, 3.0, "what time is it").bot(2.8, 4.0, asked=2.5).told()
    assert told.latencies == [-0.2]
    assert told.turns[0].parts_ns == {"unattributed": -200_000_000}
    assert told.interruptions == []


def test_an_onset_in_the_middle_of_a_turn_interrupts_and_answers_nothing(call: Call) -> None:
    told = call().user(1.0, 3.0, "what time is it").bot(2.0, 2.5, why="prompt").bot(4.0, 5.0).told()
    assert told.interruptions == [(2.0, "overlap")]
    assert told.latencies == [1.0]


def test_what_the_application_says_into_silence_answers_nobody(call: Call) -> None:
    told = call().bot(5.0, 6.0, why="application").user(7.0, 8.0, "hi").bot(9.0, 10.0).told()
    assert told.latencies == [1.0]
    assert [a.answers for a in told.agent_turns] == [None, "t1"]


def test_audio_that_was_made_and_never_heard(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "hi")
        .run("r", "requested", 2.3, why="user_turn")
        .run("r", "first_audio", 3.0)
        .end(9.0)
        .told()
    )
    assert [(t.unanswered, t.reason) for t in told.turns] == [(True, "not_audible")]
    assert told.facts["not_audible"] == 1


@pytest.mark.parametrize(
    ("cause", "at", "turn_class", "unanswered"),
    [
        ("caller", 4.0, "closing", False),
        ("caller", 6.0, "eligible", True),
        ("transport", 4.0, "lost", False),
        ("agent", 4.0, "eligible", True),
    ],
)
def test_the_class_of_the_last_turn(call: Call, cause: str, at: float, turn_class: str, unanswered: bool) -> None:
    told = call().user(1.0, 2.0, "my order number").end(at, cause).told()
    assert [(t.turn_class, t.unanswered) for t in told.turns] == [(turn_class, unanswered)]


def test_a_prompt_in_a_short_pause_of_the_callers_breaks_into_the_turn(call: Call) -> None:
    told = (
        call().user(1.0, 3.0).user(3.4, 5.0, "I would like to order").turn_end(5.4)
        .bot(3.2, 3.6, "Hm?", why="prompt", cut=True).bot(6.0, 7.0).told()
    )  # fmt: skip
    assert told.interruptions == [(3.2, "overlap")]
    assert [(o.cell, o.decided_by) for o in told.overlaps] == [(None, "after_agent_interruption")]
    assert told.latencies == [1.0]


def test_a_small_word_right_after_a_quick_answer_makes_no_interruption_of_it(call: Call) -> None:
    told = call().user(1.0, 3.0, "what is it").bot(3.2, 6.0, asked=3.05, cut=False).user(3.4, 3.7, "mhm").told()
    assert (told.interruptions, told.latencies, told.cells) == ([], [0.2], ["TN"])


# Latency


def test_speech_to_speech_has_a_model_part_with_tools_taken_out(call: Call) -> None:
    told = (
        call(mode="realtime", caller_edges=("server",))
        .edge(True, 1.0, evidence="server")
        .edge(False, 2.0, evidence="server")
        .final("what do I owe", 2.1)
        .turn_end(2.0)
        .run("a", "requested", 2.0, why="user_turn")
        .run("a", "tools_called", 2.5)
        .tool("balance", "called", 2.5, response_id="a")
        .tool("balance", "result", 3.1)
        .run("b", "requested", 3.1, why="tool_result", after="a")
        .run("b", "first_audio", 3.5)
        .play("b", 3.6, 5.0)
        .told()
    )
    assert {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()} == {"model": 0.9, "tools": 0.6, "output": 0.1}


def test_what_lies_between_two_known_milestones_is_unattributed(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "hi").turn_end(2.4).run("r", "requested", 2.4, why="user_turn")
        .run("r", "first_audio", 3.4).play("r", 3.5, 5.0).told()
    )  # fmt: skip
    split = {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.4, "unattributed": 1.0, "output": 0.1}


def test_waiting_for_the_recogniser_is_told_apart(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "hi", final_at=2.9).turn_end(2.9, complete_at_ns=2_400_000_000)
        .run("r", "requested", 2.9, why="user_turn").play("r", 3.5, 5.0).told()
    )  # fmt: skip
    split = {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.4, "recognition": 0.5, "unattributed": 0.6}


# Dead air


def test_an_announced_wait_is_a_hold_for_ten_seconds(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "my balance please")
        .bot(3.0, 5.0, "Let me check that for you.", name="r", cut=False)
        .tool("balance", "called", 4.5, response_id="r")
        .tool("balance", "result", 19.0)
        .run("s", "requested", 19.0, why="tool_result", after="r")
        .play("s", 20.0, 22.0)
        .told()
    )
    assert told.dead_air == [(5.0, 20.0)]
    assert told.owed == [{"hold": 10.0, "agent": 4.0, "caller": 1.0}]


def test_a_promise_that_nobody_keeps_is_the_agents_silence(call: Call) -> None:
    told = call().user(1.0, 2.0, "my balance").bot(3.0, 5.0, "Let me check that.", cut=False).end(12.0).told()
    assert told.owed == [{"agent": 7.0}]


def test_a_tool_for_a_waiting_turn_owes_speech(call: Call) -> None:
    told = (
        call().user(1.0, 2.0, "book it").run("r", "requested", 2.3, why="user_turn").run("r", "tools_called", 2.5)
        .tool("book", "called", 2.5, response_id="r").tool("book", "result", 8.5).end(9.0).told()
    )  # fmt: skip
    assert told.owed == [{"agent": 1.0, "tool": 6.0}]


# Live: what stands while the call goes on


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


def recording(call: Call) -> Any:
    return call(
        measuring_point="recording", recogniser=None, caller_edges=("audio",), agent_edges=("audio",), mode="unknown"
    )


def spoken(story: Any, party: str, on: float, off: float) -> Any:
    story.edge(True, on, party=party, evidence="audio")
    return story.edge(False, off, party=party, evidence="audio")


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


@pytest.mark.parametrize(("expected", "cell"), [(None, None), ("wanted", "TP"), ("not", "FP")])
def test_on_a_recording_a_quick_stop_needs_an_expectation(call: Call, expected: str | None, cell: str | None) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 5.0), "caller", 4.8, 6.0)
    if expected is not None:
        story.put(0.0, "human_label", source="expectation", subject="overlap@4.9", label=expected)
    overlap = story.end(12.0, "unknown").told().overlaps[0]
    assert (overlap.terminal, overlap.gave_way, overlap.cell) == ("terminal_or_yield", True, cell)
    assert overlap.yielded_caused is None


def test_a_label_for_everything_gives_way_to_one_for_the_place(call: Call) -> None:
    story = spoken(spoken(recording(call), "agent", 1.0, 9.0), "caller", 4.0, 4.5)
    spoken(story, "caller", 7.0, 7.5)
    story.put(0.0, "human_label", source="expectation", subject="overlap@*", label="not")
    story.put(0.0, "human_label", source="expectation", subject="overlap@7.2", label="wanted")
    overlaps = story.end(12.0, "unknown").told().overlaps
    assert [(o.wanted, o.decided_by) for o in overlaps] == [("no", "expectation"), ("yes", "expectation")]


# Words


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "it", "pt"])
def test_every_language_has_its_small_words(language: str) -> None:
    words = lexicon(language)
    assert words.known
    assert words.is_backchannel(tokens("Mhm."))
    assert all([words.backchannels, words.stops, words.closings, words.holds, words.transfers, words.promises])
    assert not words.is_backchannel(tokens("stop"))


def test_a_language_without_lists_is_not_judged_by_words(call: Call) -> None:
    assert not lexicon("ja-JP").known
    told = call(language="ja").bot(10.0, 20.0, cut=False).user(13.0, 13.5, "はい").told()
    assert told.overlaps[0].wanted == "unknown"


@pytest.mark.parametrize("text", ["mm-hmm", "Uh-huh", "Okay, right.", "oh okay yeah", "that’s right"])
def test_small_words_in_any_writing_are_backchannels(text: str) -> None:
    assert lexicon("en-US").is_backchannel(tokens(text))


def test_a_placeholder_is_one_word() -> None:
    assert tokens("call <phone:12:1f3c> now") == ("call", "<phone:12:1f3c>", "now")


# Bounds


def test_bounds_have_an_id_of_their_own() -> None:
    assert DEFAULT_BOUNDS.id == Bounds().id == "default-1"
    changed = Bounds(turn_gap_ns=2_000_000_000)
    assert changed.id != "default-1"
    assert changed.id == Bounds(turn_gap_ns=2_000_000_000).id
    assert changed.id != Bounds(turn_gap_ns=4_000_000_000).id


# Bounds of the rules


def test_many_small_words_in_a_row_may_mean_anything(call: Call) -> None:
    told = call().bot(10.0, 20.0, cut=False).user(13.0, 14.2, "yeah okay right").end(30.0).told()
    assert [(o.wanted, o.decided_by, o.cell) for o in told.overlaps] == [("unknown", None, None)]


def test_a_prompt_is_no_premature_endpoint(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.0, "four one")
        .turn_end(2.3)
        .bot(2.4, 4.0, why="prompt", cut=False)
        .user(2.6, 3.2, "five five")
        .end(20.0)
        .told()
    )
    assert told.interruptions == []
    assert not told.turns[0].premature_endpoint
    assert told.cells == ["FN"]


def test_a_caller_who_leaves_an_unanswered_question_abandons(call: Call) -> None:
    told = call().user(1.0, 2.0, "hi").bot(2.5, 4.0).user(5.0, 6.0, "my balance").end(10.0).told()
    assert (told.call.outcome, told.facts.get("dead_air_critical")) == ("abandoned", None)


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
