"""Field cases whose essence is what Pipecat does: whole pipelines, from the frames to the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pipecat.frames.frames import EndFrame, InterruptionFrame
from pipecat_calls.fixtures import RunCall
from pipecat_calls.line import Truth
from pipecat_calls.script import At, CallTool, Reply, Say, Script, Tool

from earwitness.monitor.calls.whole_call import fold

pytestmark = pytest.mark.pipecat

HELLO = Reply("Hello.")
LONG = Reply("It is on its way to you and will be there on Thursday in the morning.")
ASKS = Say("where is my order")


@dataclass
class Told:
    """A call's records by kind, and what really happened."""

    records: list[Any]
    truth: Truth

    def of(self, kind: str) -> list[Any]:
        return [record for record in self.records if record.kind == kind]

    @property
    def call(self) -> Any:
        return self.of("call")[0]

    @property
    def latencies(self) -> list[float | None]:
        return [None if t.response_latency_ns is None else t.response_latency_ns / 1e9 for t in self.of("turn")]

    def waited(self, turn: int, answer: int) -> float:
        """What the caller heard between a line of theirs and the agent's turn of that number."""
        return self.truth.agent[answer][0] - self.truth.caller[turn][1]


@pytest.fixture
def told(run_call: RunCall) -> Any:
    """``told(taps=True, **script)``: the records of a scripted call."""

    def run(*, taps: bool = True, **script: Any) -> Told:
        call = run_call(Script(**script), taps=taps, transport=True)
        return Told(fold(call.events), call.truth)

    return run


def hang_up(at_s: float) -> At:
    return At(at_s, lambda call: call.hang_up())


def test_a07_a_pipeline_without_a_vad_has_no_latency_and_says_so(told: Any) -> None:
    found = told(taps=False, lines=(Say("yes please"),), replies=(HELLO, Reply("Done.", ends=True)), vad="none")

    (turn,) = found.of("turn")
    assert (turn.text, turn.turn_class, turn.response_latency_ns, turn.reason) == (
        "yes please", "eligible", None, "no_acoustic_anchor",
    )  # fmt: skip
    assert 0 < turn.at_least_ns / 1e9 <= found.waited(0, 1)


def test_a07_the_taps_measure_it_all_the_same(told: Any) -> None:
    found = told(lines=(Say("yes please"),), replies=(HELLO, Reply("Done.", ends=True)), vad="none")

    assert found.latencies == [pytest.approx(found.waited(0, 1), abs=0.03)]


def test_a15_the_parts_of_an_answer_with_a_tool_add_up_to_what_the_caller_heard(told: Any) -> None:
    found = told(
        lines=(Say("what do I owe"),),
        replies=(HELLO, CallTool("balance"), Reply("Forty dollars.", ends=True)),
        tools={"balance": Tool(takes_s=0.7)},
    )

    (turn,) = found.of("turn")
    assert found.latencies == [pytest.approx(found.waited(0, 1), abs=0.03)]
    assert sum(turn.parts_ns.values()) == turn.response_latency_ns
    assert (turn.parts_ns["tools"], turn.parts_ns["llm"], turn.generations) == (700_000_000, 500_000_000, 2)


def test_a17_an_agent_that_ends_the_call_on_a_caller_who_speaks_has_cut_them_off(told: Any) -> None:
    found = told(
        lines=(Say("thanks for that"), Say("and my other order is late", at_s=3.1)),
        replies=(HELLO, CallTool("end_call", first_token_s=0.3)),
        tools={"end_call": Tool(takes_s=9.0)},
        events=(At(4.0, lambda call: call.worker.queue_frame(EndFrame())),),
        ends_s=20,
    )

    assert (found.call.end_cause, found.call.outcome, found.call.contained) == ("agent", "cut_off", False)
    assert found.latencies[-1] is None
    assert found.of("turn")[-1].unanswered


def test_a22_a_caller_whose_audio_stops_does_not_speak_for_ever(told: Any) -> None:
    def deaf(call: Any) -> None:
        call.line.caller.flows = False

    found = told(lines=(Say("one two three four five six seven eight"),), replies=(HELLO,), events=(At(2.6, deaf),),
                 ends_s=20)  # fmt: skip

    spoken = found.call.talk_ns["caller"] / 1e9
    assert spoken == pytest.approx(2.6 - found.truth.caller[0][0], abs=0.05)
    assert found.call.facts["end_inferred"] == 1
    assert found.of("overlap") == []


@pytest.mark.parametrize(("min_words", "cell"), [(0, "FP"), (2, "TN")])
def test_b01_a_backchannel_is_no_turn_whether_the_pipeline_falls_for_it_or_not(
    told: Any, min_words: int, cell: str
) -> None:
    found = told(
        lines=(ASKS, Say("mhm", into_s=1.0, patient=False)), replies=(HELLO, LONG, Reply("As I said.")),
        min_words=min_words, ends_s=14,
    )  # fmt: skip

    assert [(o.cell, o.want_class, o.stop_latency_ns) for o in found.of("overlap")] == [(cell, "backchannel", None)]
    assert found.latencies == [pytest.approx(found.waited(0, 1), abs=0.03)]


def test_b04_a_cough_that_stops_the_agent_is_a_false_yield_and_its_silence_the_agents(told: Any) -> None:
    found = told(
        lines=(ASKS, Say("cough", into_s=1.0, heard="", lasts_s=0.3, patient=False)),
        replies=(HELLO, LONG, Reply("As I said.")),
        ends_s=14,
    )

    (overlap,) = found.of("overlap")
    assert (overlap.cell, overlap.want_class, overlap.stop_latency_ns) == ("FP", "noise", None)
    assert len(found.of("turn")) == 1
    silence = found.of("dead_air")[0]
    assert silence.agent_ns / 1e9 == pytest.approx(found.truth.agent[2][0] - found.truth.caller[1][1], abs=0.05)
    assert [a.why for a in found.of("agent_turn")] == ["greeting", "user_turn", "resumed"]


def test_b08_digits_with_a_pause_are_one_turn_that_was_cut_off(told: Any) -> None:
    found = told(
        lines=(Say("four one five"), Say("five five five", at_s=3.35)),
        replies=(HELLO, Reply("Thank you, I will look."), Reply("Found it.")),
        ends_s=10,
    )

    (turn,) = found.of("turn")
    assert (turn.text, turn.premature_endpoint) == ("four one five five five five", True)
    assert [(i.cause, i.at_ns / 1e9) for i in found.of("agent_interruption")] == [
        ("premature_endpoint", pytest.approx(found.truth.agent[1][0], abs=0.02))
    ]
    assert [o.cell for o in found.of("overlap")] == [None]


def test_b09_words_of_an_utterance_that_never_ends_count_although_they_are_told_late(told: Any) -> None:
    found = told(
        lines=(Say("one two three four five six seven eight nine"),), replies=(HELLO,), finals=False,
        events=(hang_up(25.0),),
    )  # fmt: skip

    (turn,) = found.of("turn")
    assert (turn.interim_only, turn.unanswered, turn.text) == (
        True,
        True,
        "one two three four five six seven eight nine",
    )
    assert (found.call.end_cause, found.call.outcome, found.call.contained) == ("caller", "abandoned", False)
    assert [round(d.agent_ns / 1e9, 1) for d in found.of("dead_air")] == [20.9]


def test_b11_what_the_turn_model_holds_back_is_its_settings_time(told: Any) -> None:
    found = told(
        lines=(Say("I would say uh"),), replies=(HELLO, Reply("Take your time.")), verdicts=(False,), ends_s=12
    )

    (turn,) = found.of("turn")
    assert found.latencies == [pytest.approx(found.waited(0, 1), abs=0.03)]
    assert turn.parts_ns["hold"] / 1e9 > 3
    assert sum(n for part, n in turn.parts_ns.items() if part != "hold") / 1e9 < 1
    ttfb = {s.service: s.value_ns for s in found.of("stage_sample") if s.metric == "ttfb" and s.value_ns}
    assert ttfb["llm"] == pytest.approx(250_000_000, abs=20_000_000)


def test_b13_a_stop_that_the_pipeline_throws_away_is_missed_because_of_its_setting(told: Any) -> None:
    found = told(lines=(ASKS, Say("stop", into_s=1.0, patient=False)), replies=(HELLO, LONG), min_words=2, ends_s=12)

    assert [(o.cell, o.missed_because) for o in found.of("overlap")] == [("FN", "min_words")]


def test_b14_a_tool_without_a_result_leaves_the_caller_waiting(told: Any) -> None:
    found = told(
        lines=(Say("book it"), Say("hello?", at_s=12.0)), replies=(HELLO, CallTool("book"), Reply("Sorry.")),
        tools={"book": Tool(takes_s=0.4, result={})}, ends_s=16,
    )  # fmt: skip

    first, second = found.of("turn")
    assert (first.unanswered, first.tool_ids, second.unanswered) == (True, ("call_1",), False)
    assert found.latencies == [None, pytest.approx(found.waited(1, 1), abs=0.03)]
    silence = found.of("dead_air")[0]
    assert (silence.tool_ns, silence.caller_ns) == (400_000_000, 0)
    assert silence.agent_ns / 1e9 == pytest.approx(found.truth.caller[1][0] - found.truth.caller[0][1] - 0.4, abs=0.05)


def test_b18_a_cut_with_nobody_speaking_is_counted_beside_the_square(told: Any) -> None:
    cut = At(1.5, lambda call: call.llm.broadcast_frame(InterruptionFrame))
    found = told(replies=(LONG,), events=(cut,), ends_s=8)

    assert found.call.facts["spurious_interruption"] == 1
    assert (found.of("overlap"), found.of("turn")) == ([], [])
    assert [(a.interrupted, a.unspoken) for a in found.of("agent_turn")] == [
        (True, "to you and will be there on Thursday in the morning.")
    ]


def test_f02_a_caller_who_leaves_a_frozen_agent_abandons_the_call(told: Any) -> None:
    found = told(
        lines=(Say("next please"), Say("hello?", at_s=12.0)),
        replies=(HELLO, CallTool("next_node", text="Fine."), Reply(""), Reply("")),
        tools={"next_node": Tool(takes_s=0.2)},
        events=(hang_up(25.0),),
    )

    assert (found.call.end_cause, found.call.outcome, found.call.contained) == ("caller", "abandoned", False)
    assert found.of("turn")[-1].unanswered


def test_f04_an_agent_that_takes_leave_and_hangs_up_may_have_contained_the_call(told: Any) -> None:
    found = told(
        lines=(Say("no thank you goodbye"),), replies=(HELLO, Reply("Goodbye and have a nice day.", ends=True)),
    )  # fmt: skip

    assert (found.call.end_cause, found.call.outcome, found.call.contained) == ("agent", "contained", True)


def test_f05_a_transfer_that_failed_is_no_escalation(told: Any) -> None:
    found = told(
        lines=(Say("a human please"),), replies=(HELLO, CallTool("transfer_to_human"), Reply("That did not work.")),
        tools={"transfer_to_human": Tool(takes_s=0.5, error="503")}, events=(hang_up(9.0),),
    )  # fmt: skip

    assert (found.call.outcome, found.call.contained) == ("escalation_failed", False)
