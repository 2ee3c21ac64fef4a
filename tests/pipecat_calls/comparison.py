"""The call with known truth, read in one run by Earwitness and by its peers: a column for each, the truth first."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from pipecat_calls.known_call import SCRIPT, KnownCall, known_call
from pipecat_calls.peers import LatencyPeer, Sample, SpanPeer, TurnPeer, openinference
from pipecat_calls.recorded import RecordedCall, record_call

from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.records import AnyRecord, Overlap, ToolCall, Turn

SAME_S = 0.1
"""A sample belongs to a question whose answer began then and took as long, give or take this."""


@dataclass(frozen=True)
class Column:
    """What one of them says of the call; None: it has no such field. The rows of the table, in this order."""

    median_ms: int | None = None
    longest_ms: int | None = None
    questions_measured: int | None = None
    other_samples: int | None = None
    turns: int | None = None
    unanswered: int | None = None
    cut_off: int | None = None
    rightly: int | None = None
    wrongly: int | None = None
    missed: int | None = None
    talked_through: int | None = None
    tools: int | None = None


ROWS = {
    "median_ms": "response latency, median (ms)",
    "longest_ms": "response latency, longest (ms)",
    "questions_measured": "questions with the latency that the caller waited",
    "other_samples": "latencies that belong to no question",
    "turns": "turns",
    "unanswered": "questions never answered",
    "cut_off": "agent cut off by the caller",
    "rightly": "rightly, by a barge-in",
    "wrongly": 'wrongly, by an "mm hmm"',
    "missed": "barge-ins missed",
    "talked_through": '"mhm" rightly talked through',
    "tools": "tool calls",
}


@dataclass(frozen=True)
class Comparison:
    """One run, and what each made of it."""

    known: KnownCall
    call: RecordedCall
    records: list[AnyRecord]
    columns: dict[str, Column]


def compare() -> Comparison:
    """Run the call once, watched by all of them at the same time."""
    peers: list[Any] = []

    def observers() -> list[Any]:
        peers.extend((LatencyPeer(), TurnPeer()))
        return [peer.observer for peer in peers]

    with openinference() as spans:
        call = record_call(SCRIPT, taps=True, observers=observers)
    known = known_call(call.truth.caller, call.truth.agent)
    records = fold(call.events)
    latency, turns = peers
    traced = SpanPeer(spans)
    columns = {
        "truth": truth_column(known),
        "Earwitness": own_column(known, records),
        "`UserBotLatencyObserver`": Column(**_latencies(known, latency.samples), tools=latency.tools),
        "`TurnTrackingObserver`": Column(turns=turns.turns, cut_off=turns.interrupted),
        "OpenInference": Column(
            **_latencies(known, traced.samples), turns=traced.turns, cut_off=traced.interrupted, tools=traced.tools
        ),
    }
    return Comparison(known, call, records, columns)


def table(columns: dict[str, Column]) -> str:
    """The columns as Markdown; "–" where one has no such field."""
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for row in fields(Column):
        cells = (getattr(column, row.name) for column in columns.values())
        lines.append(f"| {ROWS[row.name]} | {' | '.join('–' if cell is None else f'{cell:,}' for cell in cells)} |")
    return "\n".join(lines)


def truth_column(known: KnownCall) -> Column:
    """What is true of the call."""
    gaps = [said.a_on_s - said.u_off_s for said in known.questions if said.a_on_s is not None]
    right, wrong = len(known.of_cell("TP")), len(known.of_cell("FP"))
    return Column(
        median_ms=round(statistics.median(gaps) * 1e3),
        longest_ms=round(max(gaps) * 1e3),
        questions_measured=len(gaps),
        other_samples=0,
        turns=len(known.questions),
        unanswered=0,
        cut_off=right + wrong,
        rightly=right,
        wrongly=wrong,
        missed=len(known.of_cell("FN")),
        talked_through=len(known.of_cell("TN")),
        tools=sum(said.tool_s is not None for said in known.said),
    )


def own_column(known: KnownCall, records: Sequence[AnyRecord]) -> Column:
    """What Earwitness's records say of the call."""
    turns = [record for record in records if isinstance(record, Turn)]
    overlaps = [record for record in records if isinstance(record, Overlap)]
    said = report(records)["summary"]
    cells = said["interruptions"]
    samples = [
        Sample(turn.response_latency_ns / 1e9, turn.a_on_ns / 1e9, turn.a_on_ns / 1e9)
        for turn in turns
        if turn.response_latency_ns is not None and turn.a_on_ns is not None
    ]
    return Column(
        **_latencies(known, samples),
        turns=len(turns),
        unanswered=said["response_latency"]["unanswered"],
        cut_off=sum(overlap.gave_way is True for overlap in overlaps) + cells["spurious"],
        rightly=cells["tp"],
        wrongly=cells["fp"],
        missed=cells["fn"],
        talked_through=cells["tn"],
        tools=sum(isinstance(record, ToolCall) for record in records),
    )


def _latencies(known: KnownCall, samples: Sequence[Sample]) -> dict[str, int]:
    """Median and longest of all that was reported; how many belong to a question, each once, and how many to none."""
    open_questions = [(said.a_on_s, said.a_on_s - said.u_off_s) for said in known.questions if said.a_on_s is not None]
    found = 0
    for sample in samples:
        for question in open_questions:
            began_s, gap_s = question
            in_time = sample.since_s - SAME_S <= began_s <= sample.until_s + SAME_S
            if in_time and abs(sample.latency_s - gap_s) <= SAME_S:
                open_questions.remove(question)
                found += 1
                break
    values = [sample.latency_s for sample in samples]
    return {
        "median_ms": round(statistics.median(values) * 1e3),
        "longest_ms": round(max(values) * 1e3),
        "questions_measured": found,
        "other_samples": len(samples) - found,
    }
