"""Every edge of every record says what it rests on; what nobody heard rests on nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from earwitness.monitor.calls.report import report

S = 1_000_000_000
Call = Callable[..., Any]


def test_the_edges_of_an_overlap_name_their_witnesses(call: Call) -> None:
    story = call(caller_edges=("audio", "vad")).bot(1.0, 4.0, "we have nine or ten", cut=True).interruption(3.9)
    story.edge(True, 3.0, evidence="audio").edge(True, 3.1, evidence="vad").edge(False, 5.0, evidence="vad")
    told = story.final("no wait", 5.3).end(12).told()

    (overlap,) = told.overlaps
    assert overlap.evidence == {"u_on": "audio", "u_off": "vad", "a_off": "playout"}


def test_an_agent_that_talks_on_has_no_end_in_the_overlap(call: Call) -> None:
    told = call().bot(1.0, None, "on and on").user(2.0, 3.0, "no wait").end(9).told()

    assert "a_off" not in told.overlaps[0].evidence


def test_an_end_that_was_inferred_rests_on_nothing(call: Call) -> None:
    story = call().bot(1.0, 6.0, cut=False).vad_start(2.2)
    told = story.end(9).told()

    assert set(told.overlaps[0].evidence) == {"u_on", "a_off"}


def test_an_interruption_by_the_agent_names_its_onset(call: Call) -> None:
    told = call().user(1.0, 4.0, "let me tell you").bot(2.0, 6.0, cut=False).end(9).told()

    (found,) = told.of("agent_interruption")
    assert found.evidence == {"a_on": "playout"}


def test_a_silence_rests_on_the_speech_around_it(call: Call) -> None:
    told = call().connected(0.0).user(4.0, 5.0, "hello").turn_end(5.4).bot(10.0, 12.0, cut=False).end(20).told()

    assert [d.evidence for d in told.of("dead_air")] == [{"end": "vad"}, {"start": "vad", "end": "playout"},
                                                         {"start": "playout"}]  # fmt: skip


def test_the_report_says_it_of_every_edge(call: Call) -> None:
    told = (
        call().connected(0.0).bot(0.5, 3.5, why="greeting", cut=False).user(4.0, 6.0, "where is it").turn_end(6.4)
        .bot(7.0, 11.0, "on its way", cut=False).user(8.0, 8.3, "mhm").user(12.0, 13.0, "and when").end(30, "caller")
        .told()
    )  # fmt: skip
    (shown,) = report(told.records)["calls"]

    for turn in shown["turns"]:
        assert {"u_on", "u_off"} <= set(turn["evidence"])
    assert all(set(a["evidence"]) == {"a_on", "a_off"} for a in shown["agent_turns"])
    assert all({"u_on", "u_off"} <= set(o["evidence"]) for o in shown["overlaps"])
    assert all(d["evidence"] for d in shown["dead_air"])
