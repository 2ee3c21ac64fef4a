"""The scripted call with known truth: every count exact and every time to a frame, taps or none, peers or none."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pipecat_calls.comparison import Column, Comparison, compare, own_column, table, truth_column  # isort: skip

from pipecat.pipeline.worker import PipelineWorker
from pipecat_calls.known_call import GAP_S, SCRIPT, KnownCall, Said, known_call, written_truth
from pipecat_calls.peers import openinference
from pipecat_calls.recorded import RecordedCall, record_call

from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.events import Transcript
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Overlap,
    Record,
    ToolCall,
    Turn,
)

pytestmark = pytest.mark.pipecat

README = Path(__file__).parents[2] / "README.md"
FRAME_S = 0.02
R = TypeVar("R", bound=Record)
TRUE = Column(
    median_ms=450, longest_ms=450, questions_measured=20, other_samples=0, turns=20, unanswered=0, cut_off=4,
    rightly=2, wrongly=2, missed=1, talked_through=3, tools=4,
)  # fmt: skip


@dataclass(frozen=True)
class Watched:
    """A run of the call as Earwitness saw it, and the evidence that its caller edges must rest on."""

    call: RecordedCall
    records: list[AnyRecord]
    evidence: str

    def of(self, kind: type[R]) -> list[R]:
        """Records of a kind in order of time."""
        return sorted((r for r in self.records if isinstance(r, kind)), key=lambda r: r.event_wall_ns)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare()


@pytest.fixture(scope="module")
def with_peers(compared: Comparison) -> Watched:
    return Watched(compared.call, compared.records, "audio")


@pytest.fixture(scope="module")
def with_taps() -> Watched:
    call = record_call(SCRIPT, taps=True)
    return Watched(call, fold(call.events), "audio")


@pytest.fixture(scope="module")
def observer_alone() -> Watched:
    call = record_call(SCRIPT, way="observer")
    return Watched(call, fold(call.events), "vad")


@pytest.fixture(scope="module", params=["with_taps", "observer_alone", "with_peers"])
def watched(request: pytest.FixtureRequest) -> Watched:
    found: Watched = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def known() -> KnownCall:
    return written_truth()


def near(at_ns: int | None, true_s: float | None) -> None:
    assert at_ns is not None
    assert true_s is not None
    assert at_ns / 1e9 == pytest.approx(true_s, abs=FRAME_S + 1e-6)


def test_the_run_is_the_call_that_is_written_down(watched: Watched, known: KnownCall) -> None:
    heard = known_call(watched.call.truth.caller, watched.call.truth.agent)

    def times(said: Said) -> list[float | None]:
        return [said.u_on_s, said.u_off_s, said.a_on_s, said.a_off_s, *(said.tool_s or ())]

    assert [(said.text, said.cell) for said in heard.said] == [(said.text, said.cell) for said in known.said]
    for one, other in zip(heard.said, known.said, strict=True):
        assert times(one) == pytest.approx(times(other), abs=0.001)
    assert [pytest.approx(turn, abs=0.001) for turn in known.agent] == list(heard.agent)
    assert [said.a_on_s - said.u_off_s for said in heard.questions if said.a_on_s] == pytest.approx([GAP_S] * 20)


def test_the_truth_is_what_the_script_is_for(known: KnownCall) -> None:
    assert truth_column(known) == TRUE


def test_every_count_is_exact(watched: Watched, known: KnownCall) -> None:
    assert own_column(known, watched.records) == TRUE
    said = report(watched.records)["summary"]
    latency, cells = said["response_latency"], said["interruptions"]
    assert (latency["n"], latency["answered"], latency["eligible"], latency["coverage"]) == (20, 20, 20, 1.0)
    assert [cells[name] for name in ("tp", "fp", "tn", "fn")] == [2, 2, 3, 1]
    assert [cells[name] for name in ("unknown", "terminal", "spurious")] == [0, 0, 0]
    assert [*watched.of(AgentInterruption), *watched.of(DeadAir)] == []


def test_every_latency_is_true_to_a_frame(watched: Watched, known: KnownCall) -> None:
    turns = watched.of(Turn)

    for turn, asked in zip(turns, known.questions, strict=True):
        assert (turn.turn_class, turn.reason, turn.premature_endpoint) == ("eligible", None, False)
        assert turn.evidence["u_off"] == watched.evidence
        assert turn.evidence["a_on"] == "playout"
        assert (turn.text or "").endswith(asked.text)
        near(turn.u_off_ns, asked.u_off_s)
        near(turn.a_on_ns, asked.a_on_s)
        near(turn.response_latency_ns, GAP_S)
        assert sum(turn.parts_ns.values()) == turn.response_latency_ns
    assert statistics.median(turn.response_latency_ns or 0 for turn in turns) / 1e9 == pytest.approx(GAP_S, abs=FRAME_S)
    assert report(watched.records)["summary"]["response_latency"]["p50_s"] == pytest.approx(GAP_S, abs=FRAME_S)


def test_every_overlap_has_its_cell_and_its_times(watched: Watched, known: KnownCall) -> None:
    for overlap, said in zip(watched.of(Overlap), known.of_cell("TP", "FP", "TN", "FN"), strict=True):
        assert (overlap.text, overlap.cell) == (said.text, said.cell)
        assert overlap.gave_way is (said.cell in ("TP", "FP"))
        near(overlap.u_on_ns, said.u_on_s)
        near(overlap.u_off_ns, said.u_off_s)
        if said.cell in ("TP", "FN"):
            near(overlap.stop_latency_ns, (said.a_off_s or 0) - said.u_on_s)
    assert [o.missed_because for o in watched.of(Overlap) if o.cell == "FN"] == ["min_words"]


def test_what_was_talked_through_opens_no_turn_and_gives_no_latency(watched: Watched, known: KnownCall) -> None:
    small = {said.text for said in known.of_cell("TN", "FP")}

    assert len([e for e in watched.call.of(Transcript, final=True) if e.text in small]) == 5
    assert [turn.text for turn in watched.of(Turn) if any(word in (turn.text or "") for word in small)] == []


def test_the_ignored_stop_and_the_question_after_it_are_one_turn(watched: Watched, known: KnownCall) -> None:
    (stop,) = known.of_cell("FN")
    (turn,) = [turn for turn in watched.of(Turn) if "stop" in (turn.text or "")]

    assert turn.text == "stop what does that cost"
    near(turn.u_on_ns, stop.u_on_s)


def test_the_tools_ran_when_and_as_long_as_the_script_says(watched: Watched, known: KnownCall) -> None:
    asked = [said for said in known.said if said.tool_s is not None]
    turns = {turn.id: turn.text for turn in watched.of(Turn)}

    assert [tool.name for tool in watched.of(ToolCall)] == ["price", "orders", "parcels", "opening"]
    for tool, said in zip(watched.of(ToolCall), asked, strict=True):
        assert (tool.status, turns[tool.turn or ""]) == ("ok", said.text)
        assert said.tool_s is not None
        near(tool.called_ns, said.tool_s[0])
        near(tool.ended_ns, said.tool_s[1])


def test_the_agents_turns_begin_and_end_where_the_far_end_heard_them(watched: Watched, known: KnownCall) -> None:
    cut = [said.a_off_s for said in known.of_cell("TP", "FP")]

    for turn, (on_s, off_s) in zip(watched.of(AgentTurn), known.agent, strict=True):
        near(turn.a_on_ns, on_s)
        near(turn.a_off_ns, off_s)
        assert turn.interrupted is (off_s in cut)


def test_a_reply_in_two_parts_answers_once(watched: Watched) -> None:
    (asked,) = [turn for turn in watched.of(Turn) if turn.text == "where is my last order"]
    said = watched.of(AgentTurn)
    first = [part.id for part in said].index(asked.answered_by or "")

    assert [part.why for part in said[first : first + 2]] == ["user_turn", "tool_result"]
    assert said[first + 1].id not in [turn.answered_by for turn in watched.of(Turn)]


def test_the_call_ends_right_behind_the_agent_and_cuts_nobody_off(watched: Watched, known: KnownCall) -> None:
    (call,) = watched.of(Call)

    assert (call.end_cause, call.outcome, call.tail_incomplete, call.missing_events) == ("agent", "contained", False, 0)
    near(call.ended_ns, known.ended_s)
    assert not watched.of(AgentTurn)[-1].interrupted


def test_peers_in_the_same_run_change_nothing(with_peers: Watched, with_taps: Watched) -> None:
    def told(run: Watched) -> list[dict[str, Any]]:
        return [record.model_dump(exclude={"call_id", "event_wall_ns"}) for record in run.of(Record)]

    assert told(with_peers) == told(with_taps)


def test_openinference_leaves_the_worker_as_it_was() -> None:
    made = PipelineWorker.__init__

    with openinference():
        assert PipelineWorker.__init__ is not made
    assert PipelineWorker.__init__ is made


def test_the_readme_shows_what_the_benchmark_prints(compared: Comparison) -> None:
    assert compared.columns["truth"] == compared.columns["Earwitness"] == TRUE
    assert table(compared.columns) in README.read_text(encoding="utf-8")
