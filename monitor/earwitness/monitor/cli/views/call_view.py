"""One call as text, made to be pasted into a ticket: head, lanes, then what was said and measured, in time order."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from earwitness.monitor import wording
from earwitness.monitor.calls.sides import Sides
from earwitness.monitor.cli.views.call_words import (
    CELL_WORDS,
    OUTCOME_WORDS,
    REASON_WORDS,
    answer_note,
    dead_air_s,
    end_words,
    overlap_class,
    overlap_note,
    owner,
    owners,
    quoted,
    subject_words,
    tool_note,
    tool_words,
    turn_note,
)
from earwitness.monitor.cli.views.evidence_words import Usual, evidence_line, unusual_evidence, usual_evidence
from earwitness.monitor.cli.views.lanes import S, Scale, hundredths, lane, marks, ruler, written_in
from earwitness.monitor.cli.views.unheard_words import line_words, unheard_note
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Overlap,
    ToolCall,
    Turn,
)

LANE_INDENT = 9
DATED_FROM_NS = 946_684_800 * S
"""Wall times before the year 2000 are none: a recording does not say when it was made."""
NOTE_COLUMN = 38
"""Where notes begin, beside words that are shorter."""


@dataclass(frozen=True, slots=True)
class _Line:
    at_ns: int
    rank: int
    subject: str
    who: str
    said: str
    note: str


def call_view(
    records: Iterable[AnyRecord], sides: Sides | None = None, *, width: int = 100, zone: tzinfo | None = None
) -> list[str]:
    """The lines of one call. ``records`` are the latest revisions; those taken back are left out by themselves.

    ``sides``: when each side was audible; without it the lanes show turns whole, their pauses filled.
    """
    found = [record for record in records if not record.retracted]
    call = next((r for r in found if isinstance(r, Call)), None)
    scale = Scale(max(length_ns(found, call), 1), max(20, width - LANE_INDENT - 1))
    usual = usual_evidence(found)
    evidence = [f"        {said}"] if (said := evidence_line(usual)) else []
    lines = [*head_lines(found, call, zone), *evidence, ""]
    if length_ns(found, call) > 0:
        lines += [*_lanes(found, _sides(found, scale) if sides is None else sides, scale), ""]
    for line in sorted(_lines(found, usual), key=lambda one: (one.at_ns, one.rank)):
        lines += _shown(line, width)
    return lines


def head_lines(
    found: Sequence[AnyRecord], call: Call | None, zone: tzinfo | None = None, *, dated: bool = False
) -> list[str]:
    """Whose call it was, how it ended, and its numbers in a few lines. ``dated``: when in full and in UTC, for readers
    elsewhere; left out where it is not known."""
    if call is None:
        return [f"{wording.printable(found[0].call_id)}  no call record yet" if found else "no records"]
    labels = {
        **({"agent": call.agent} if call.agent else {}),
        **({"version": call.version} if call.version else {}),
        **call.labels,
    }
    bits = [wording.printable(call.call_id)]
    if labels:  # a recording does not say whose agent it was
        bits.append(wording.group_name(sorted(labels.items())))
    if not dated:
        bits.append(wording.clock(call.started_wall_ns, zone, seconds=True))
    elif call.started_wall_ns >= DATED_FROM_NS:
        bits.append(wording.utc_text(call.started_wall_ns))
    if call.ended_ns is None:
        bits.append("in progress")
    else:
        bits += [wording.compact_span(call.ended_ns / S), f"ended: {end_words(call)}"]
    if call.outcome is not None:
        bits.append(OUTCOME_WORDS.get(call.outcome, call.outcome.replace("_", " ")))
    lines = ["  ".join(bits)]
    if call.outcome_reason:
        lines.append(f"        reason: {wording.printable(call.outcome_reason)}")
    lines.append(f"        {_latency_words(found)}")
    lines.append(f"        {_overlap_words(found)}")
    if call.line is not None:
        lines.append(f"        line: {line_words(call.line)}")
    if quality := _quality_words(call):
        lines.append(f"        {quality}")
    return lines


def _latency_words(found: Sequence[AnyRecord]) -> str:
    turns = [r for r in found if isinstance(r, Turn)]
    timed = sorted((t.response_latency_ns, t.id) for t in turns if t.response_latency_ns is not None)
    unanswered = sum(t.unanswered for t in turns)
    if not timed:
        reasons = sorted({REASON_WORDS[t.reason] for t in turns if t.reason})
        words = f"response latency – ({', '.join(reasons) or 'no turns'})"
    else:
        worst_ns, worst = timed[-1]
        middle_ns = (timed[(len(timed) - 1) // 2][0] + timed[len(timed) // 2][0]) / 2
        words = f"response latency p50 {wording.short_time(middle_ns / S)} (n {len(timed)}) · worst "
        words += f"{wording.short_time(worst_ns / S)} ({subject_words(worst)})"
    return words + (f" · {unanswered} unanswered" if unanswered else "")


def _overlap_words(found: Sequence[AnyRecord]) -> str:
    overlaps = [r for r in found if isinstance(r, Overlap)]
    if not overlaps:
        return "no overlaps"
    counts: dict[str, int] = {}
    for overlap in overlaps:
        counts[overlap_class(overlap)] = counts.get(overlap_class(overlap), 0) + 1
    return f"{wording.plural(len(overlaps), 'overlap')}: " + ", ".join(f"{n} {name}" for name, n in counts.items())


def _quality_words(call: Call) -> str:
    bits: list[str] = []
    if not call.caller_observable:
        bits.append("the caller's side cannot be observed")
    if call.missing_events or call.dropped_events:
        bits.append(f"{call.missing_events + call.dropped_events} of {call.events:,} events missing")
    if call.tail_incomplete:
        bits.append("the end of the call is missing")
    if call.faults:
        by = ", ".join(f"{wording.printable(name, 30)} {n}" for name, n in list(call.faults_by.items())[:3])
        after = f", {call.faults_recovered} recovered" if call.faults_recovered else ""
        bits.append(wording.plural(call.faults, "fault") + f" ({by}{after})" * bool(by))
    return "note: " + " · ".join(bits) if bits else ""


def _lanes(found: Sequence[AnyRecord], sides: Sides, scale: Scale) -> list[str]:
    caller, agent = lane(sides.caller, scale), lane(sides.agent, scale)
    notes: list[tuple[int, str]] = []
    for r in found:
        match r:
            case DeadAir():
                text = f"dead air {dead_air_s(r, scale):.1f} s, {owner(r)}"
                written = written_in(agent, (r.start_ns, r.end_ns or scale.duration_ns), text, scale)
                if written == agent:
                    notes.append((r.start_ns, text))
                agent = written
            case Overlap(cell="FN" | "FP" | "TP"):
                notes.append((r.u_on_ns, CELL_WORDS[r.cell or ""].removesuffix(", agent gave way")))
            case AgentInterruption():
                notes.append((r.at_ns, "agent interrupts"))
            case ToolCall():
                notes.append((r.called_ns, tool_words(r)))
            case Turn(unanswered=True) if r.u_off_ns is not None:
                notes.append((r.u_off_ns, f"{subject_words(r.id)} unanswered"))
            case _:
                pass
    indent = " " * LANE_INDENT
    return [
        indent + ruler(scale),
        " caller  " + caller,
        " agent   " + agent,
        *(indent + line for line in marks(notes, scale)),
    ]


def _sides(found: Sequence[AnyRecord], scale: Scale) -> Sides:
    """As far as the records tell: what lies within a turn they do not say."""
    caller = [
        (r.u_on_ns, r.u_off_ns)
        for r in found
        if isinstance(r, Turn | Overlap) and r.u_on_ns is not None and r.u_off_ns is not None
    ]
    agent = [
        (r.a_on_ns, r.a_off_ns if r.a_off_ns is not None else scale.duration_ns)
        for r in found
        if isinstance(r, AgentTurn) and r.audible and r.a_on_ns is not None
    ]
    return Sides(scale.duration_ns, tuple(caller), tuple(agent))


def _lines(found: Sequence[AnyRecord], usual: Usual) -> Iterable[_Line]:
    turns = {r.id: r for r in found if isinstance(r, Turn)}
    answers = {t.answered_by: t for t in turns.values() if t.answered_by}
    # Speech that began over the agent's may open a turn: said once, with what became of the overlap beside it.
    overlaps = {r.u_on_ns: r for r in found if isinstance(r, Overlap)}
    opened = {t.u_on_ns for t in turns.values() if t.text}
    for r in found:
        match r:
            case Turn():
                at_ns = r.u_on_ns if r.u_on_ns is not None else r.u_off_ns if r.u_off_ns is not None else r.d_ns or 0
                yield _Line(
                    at_ns,
                    0,
                    subject_words(r.id),
                    "caller",
                    quoted(r.text),
                    _both(_joined(turn_note(r), overlaps.get(at_ns)), unusual_evidence(r, usual)),
                )
            case AgentTurn():
                note = _both(answer_note(answers.get(r.id), r), unusual_evidence(r, usual))
                yield _Line(r.a_on_ns or 0, 2, "", "agent", quoted(r.text), note)
            case Overlap() if r.u_on_ns not in opened:
                yield _Line(r.u_on_ns, 1, subject_words(r.id), "caller", quoted(r.text),
                            _both(overlap_note(r), unusual_evidence(r, usual)))  # fmt: skip
            case DeadAir():
                note = f"dead air {dead_air_s(r, None):.1f} s: {owners(r)}" if r.end_ns else "dead air, going on"
                yield _Line(r.start_ns, 3, "", "", "", note)
            case ToolCall():
                yield _Line(r.called_ns, 3, "", "tool", wording.printable(r.name, 60), tool_note(r))
            case AgentInterruption():
                yield _Line(r.at_ns, 1, "", "", "", f"agent interrupts the caller ({r.cause.replace('_', ' ')})")
            case Call():
                for unheard in r.unheard:
                    yield _Line(unheard.at_ns, 3, "", "", "", unheard_note(unheard))
            case _:
                pass


def _joined(note: str, overlap: Overlap | None) -> str:
    return note if overlap is None else _both(overlap_note(overlap), note)


def _both(*notes: str) -> str:
    return " · ".join(note for note in notes if note)


def _shown(line: _Line, width: int) -> list[str]:
    """One fact: subject, time, who and words on the left; what was measured beside it, or under it."""
    start = f" {line.subject:<10} {hundredths(line.at_ns):>8} {line.who:<6} "
    indent = " " * len(start)
    room = max(20, width - len(start))
    if not line.said:
        first, *rest = textwrap.wrap(line.note, room) or [""]
        return [(start + first).rstrip(), *(indent + more for more in rest)]
    words = textwrap.wrap(line.said, room) or [""]
    notes: list[str] = []
    if line.note and len(words) == 1 and len(words[0]) + 3 + len(line.note) <= room:
        gap = max(3, min(NOTE_COLUMN, room - len(line.note)) - len(words[0]))
        words = [words[0] + " " * gap + line.note]
    elif line.note:
        notes = textwrap.wrap(line.note, room)
    return [start + words[0], *(indent + more for more in (*words[1:], *notes))]


def length_ns(found: Sequence[AnyRecord], call: Call | None) -> int:
    """How long the call is, or as far as anything in it reaches."""
    moments = [0]
    for r in found:
        match r:
            case Turn():
                moments += [r.u_off_ns or 0, r.a_on_ns or 0]
            case AgentTurn():
                moments += [r.a_on_ns or 0, r.a_off_ns or 0]
            case Overlap():
                moments += [r.u_on_ns, r.u_off_ns or 0]
            case DeadAir():
                moments += [r.start_ns, r.end_ns or 0]
            case ToolCall():
                moments += [r.called_ns, r.ended_ns or 0]
            case _:
                pass
    reach = max(moments)
    return max(call.ended_ns, reach) if call is not None and call.ended_ns is not None else reach
