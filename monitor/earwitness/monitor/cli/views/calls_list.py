"""A list of calls: one line each, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from earwitness.monitor import wording
from earwitness.monitor.call_names import call_name
from earwitness.monitor.cli.views.call_words import OUTCOME_WORDS
from earwitness.monitor.cli.views.lanes import S
from earwitness.monitor.contract.records import AnyRecord, Call, DeadAir, Overlap, Turn

HEADING = (
    f"{'began':<9} {'call':<22} {'agent':<20} {'lasted':>7} {'turns':>6} {'p50 ms':>7} {'worst':>7}  what happened"
)


@dataclass(frozen=True, slots=True)
class CallLine:
    """One call in the list."""

    started_wall_ns: int
    agent: str
    text: str


def call_line(records: Iterable[AnyRecord], zone: tzinfo | None = None) -> CallLine | None:
    """A call's line; None where nothing is known of it as a call."""
    found = [record for record in records if not record.retracted]
    call = next((r for r in found if isinstance(r, Call)), None)
    if call is None:
        return None
    timed = sorted(r.response_latency_ns for r in found if isinstance(r, Turn) and r.response_latency_ns is not None)
    turns = sum(isinstance(r, Turn) for r in found)
    middle = (
        wording.milliseconds((timed[(len(timed) - 1) // 2] + timed[len(timed) // 2]) / 2 / S)
        if timed
        else wording.NOTHING
    )
    worst = wording.milliseconds(timed[-1] / S) if timed else wording.NOTHING
    lasted = wording.compact_span(call.ended_ns / S) if call.ended_ns is not None else "live"
    who = wording.group_name([("agent", call.agent), *([("version", call.version)] if call.version else [])])
    text = (
        f"{wording.clock(call.started_wall_ns, zone, seconds=True):<9} {call_name(call.call_id, 22):<22} "
        f"{who[:20]:<20} {lasted:>7} {turns:>6} {middle:>7} {worst:>7}  {_story(call, found)}"
    )
    return CallLine(call.started_wall_ns, call.agent, text)


def _story(call: Call, found: Sequence[AnyRecord]) -> str:
    cells = [r.cell for r in found if isinstance(r, Overlap)]
    owed_ns = sum(r.agent_ns + r.tool_ns for r in found if isinstance(r, DeadAir))
    bits = [OUTCOME_WORDS.get(call.outcome, call.outcome.replace("_", " "))] if call.outcome else ["in progress"]
    for count, what in (
        (sum(r.unanswered for r in found if isinstance(r, Turn)), "unanswered turn"),
        (cells.count("FN"), "missed barge-in"),
        (cells.count("FP"), "false yield"),
        (call.facts.get("dead_not_failed", 0), "stretch dead but not failed"),
        (call.facts.get("one_way_audio", 0), "stretch of one-way audio"),
        (call.faults, "fault"),
    ):
        if count:
            bits.append(wording.plural(count, what))
    if owed_ns:
        bits.append(f"dead air {owed_ns / S:.1f} s")
    return ", ".join(bits)
