"""What an edge rests on (definitions, "Time and evidence"): better evidence first; a service's word that comes late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]


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


def service_heard(story: Any, on: float, off: float, *, silence: float | None = None, late: float = 0.5) -> Any:
    """Caller speech as a speech-to-speech service tells it: ``silence`` seconds are known to have been taken off its
    end, or its word comes ``late`` by a time that nobody knows."""
    story.edge(True, on + 0.2, evidence="server", delay_known=False)
    if silence is None:
        return story.edge(False, off + late, evidence="server", delay_known=False)
    return story.edge(
        False, off, at=off + silence, evidence="server", correction_ns=round(silence * 1e9), delay_known=True
    )


def test_a_services_word_whose_delay_is_unknown_gives_a_lower_bound_and_no_latency(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("server",)), 1.0, 2.0)
    told = story.turn_end(2.5).bot(2.8, 5.0, asked=2.6).final("what do I owe", 3.2).told()
    (turn,) = told.turns
    assert (turn.response_latency_ns, turn.reason, turn.at_least_ns) == (None, "no_acoustic_anchor", 300_000_000)
    assert (turn.endpoint_delay_ns, turn.agent_ttfa_ns, turn.parts_ns) == (None, 300_000_000, {})
    assert (turn.turn_class, turn.answered_by, turn.unanswered, turn.text) == ("eligible", "a1", False, "what do I owe")


def test_a_services_word_less_the_silence_that_it_is_set_to_wait_for_is_an_edge(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("server",)), 1.0, 2.0, silence=0.5)
    story.turn_end(2.5).run("r", "first_audio", 2.75).final("what do I owe", 3.2)
    told = story.bot(2.8, 5.0, asked=2.6, name="r").told()
    assert told.latencies == [0.8]
    assert (told.turns[0].endpoint_delay_ns, told.turns[0].at_least_ns) == (500_000_000, None)
    split = {k: v / 1e9 for k, v in told.turns[0].parts_ns.items()}
    assert split == {"endpointing": 0.5, "model": 0.25, "output": 0.05}


def test_a_short_word_is_not_made_longer_by_a_beginning_that_was_noticed_late(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("server",)), 1.0, 1.15, silence=0.5)
    told = story.turn_end(1.65).bot(2.15, 5.0).final("yes", 2.6).told()
    assert told.latencies == [1.0]


@pytest.mark.parametrize("better", ["audio", "vad"])
def test_better_evidence_goes_before_a_services_word(call: Call, better: str) -> None:
    story = service_heard(call(mode="realtime", caller_edges=(better, "server")), 1.0, 2.0)
    story.edge(True, 1.0, at=1.2, evidence=better, snr_db=30.0).edge(False, 2.0, at=2.2, evidence=better, snr_db=30.0)
    told = story.turn_end(2.5).bot(2.8, 5.0, asked=2.6).final("hello", 3.2).told()
    assert (told.latencies, told.turns[0].evidence["u_off"]) == ([0.8], better)


def test_an_end_that_only_the_service_told_stays_a_lower_bound_under_better_evidence(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("audio", "server")), 1.0, 2.0)
    story.edge(True, 1.0, at=1.2, evidence="audio", snr_db=30.0)
    turn = story.turn_end(2.5).bot(2.8, 5.0, asked=2.6).told().turns[0]
    assert (turn.u_on_ns, turn.response_latency_ns, turn.at_least_ns) == (1_000_000_000, None, 300_000_000)


def test_a_final_that_came_before_the_services_word_bounds_the_wait_better(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("server",)), 1.0, 2.0).final("what do I owe", 2.3)
    assert story.turn_end(2.5).bot(2.8, 5.0).told().turns[0].at_least_ns == 500_000_000


def test_words_that_end_after_the_answer_began_bound_nothing(call: Call) -> None:
    story = call().vad_start(1.2, 0.2).final("what do", 1.8).gap(3.0, last_audio=2.0)
    turn = story.bot(4.0, 5.0, asked=3.5).final("what do I owe", 4.5).told().turns[0]
    assert (turn.response_latency_ns, turn.at_least_ns) == (None, None)


def test_an_onset_that_a_service_told_late_gives_no_stop_latency(call: Call) -> None:
    story = call(mode="realtime", caller_edges=("server",)).bot(1.0, 5.4, why="greeting", cut=True)
    told = service_heard(story, 4.8, 6.0).interruption(5.0).final("no wait", 7.2).end(9.0).told()
    (overlap,) = told.overlaps
    assert (overlap.cell, overlap.stop_latency_ns, overlap.stop_at_least_ns) == ("TP", None, 400_000_000)


def test_speech_to_speech_words_without_edges_belong_before_the_answer_that_they_caused(call: Call) -> None:
    story = call(mode="realtime", recogniser=None, caller_edges=(), agent_edges=("playout",)).bot(
        0.5, 2.0, why="greeting"
    )
    story.bot(5.0, 7.0, asked=4.9).final("where is my order.", 5.8).final("The one of Monday.", 6.4)
    story.final("and the other one?", 12.0).bot(12.6, 14.0, asked=12.4)
    told = story.bot(20.0, 22.0, asked=19.8).final("goodbye", 20.9).told(as_of=40.0)
    assert [(t.text, t.answered_by, t.at_least_ns, t.unanswered) for t in told.turns] == [
        ("where is my order. The one of Monday.", "a2", 100_000_000, False),
        ("and the other one?", "a3", 600_000_000, False),
        ("goodbye", "a4", 200_000_000, False),
    ]
    assert {t.reason for t in told.turns} == {"no_acoustic_anchor"}


def test_speech_to_speech_tools_end_where_the_last_of_them_answered(call: Call) -> None:
    story = service_heard(call(mode="realtime", caller_edges=("server",)), 1.0, 2.0, silence=0.5).turn_end(2.5)
    story.run("a", "requested", 2.6, why="user_turn").run("a", "tools_called", 2.8).final("what do I owe", 3.2)
    for name, answered in (("x", 3.4), ("y", 3.6)):
        story.tool("look_up", "called", 2.8, tool_id=name, response_id="a")
        story.tool("look_up", "result", answered, tool_id=name)
    story.run("b", "requested", 4.1, why="tool_result", after="a").run("b", "first_audio", 4.2).play("b", 4.2, 6.0)
    assert {k: v / 1e9 for k, v in story.told().turns[0].parts_ns.items()} == {
        "endpointing": 0.5, "model": 0.9, "tools": 0.8,
    }  # fmt: skip
