"""What is said of the parts of a call, in words that a tired person understands."""

from __future__ import annotations

from earwitness.monitor import wording
from earwitness.monitor.cli.views.lanes import S, Scale
from earwitness.monitor.contract.latency_parts import LATENCY_PARTS
from earwitness.monitor.contract.records import AgentTurn, Call, DeadAir, Overlap, ToolCall, Turn

PART_ORDER = tuple(part.name for part in LATENCY_PARTS)
CELL_WORDS = {
    "TP": "barge-in, agent gave way",
    "FN": "missed barge-in",
    "FP": "false yield",
    "TN": "talked through, rightly",
}
REASON_WORDS = {
    "no_acoustic_anchor": "no anchor",
    "stale_anchor": "stale anchor",
    "user_spoke_first": "caller first",
    "unobservable": "one-sided audio",
    "muted": "caller muted",
    "not_audible": "not audible",
    "no_transcript": "no words",
    "prompt": "a prompt",
    "agent_interruption": "agent interrupted",
    "cancelled": "cancelled",
    "invalid": "invalid time",
}
"""Why a number is absent, in two words."""
OUTCOME_WORDS = {
    "contained": "contained",
    "escalated": "escalated to a human",
    "escalation_failed": "escalation failed",
    "escalation_abandoned": "caller left before the hand-over",
    "transfer_promised": "transfer promised, not done",
    "cut_off": "cut off by the agent",
    "abandoned": "abandoned while waiting",
}


def overlap_class(overlap: Overlap) -> str:
    """What kind of overlap it was."""
    kind = overlap.want_class.replace("_", " ") if overlap.want_class else None
    match overlap.cell:
        case "FP":
            return f"false yield ({kind})" if kind else "false yield"
        case "TN":
            return f"{kind or 'sound'} talked through"
        case "TP" | "FN":
            return CELL_WORDS[overlap.cell or ""]
        case None:
            if overlap.terminal:
                return "at the agent's end"
            return "want unknown" if overlap.wanted == "unknown" else "set aside"


def end_words(call: Call) -> str:
    """How the call ended."""
    return {"caller": "by caller", "agent": "by agent", "transport": "line lost"}.get(
        call.end_cause or "", call.end_cause or "unknown"
    )


def turn_note(turn: Turn) -> str:
    """Why a turn has no latency, or what else is to be known of it."""
    if turn.turn_class != "eligible":
        return f"not counted: {turn.turn_class.replace('_', ' ')}"
    if turn.unanswered:
        waited = f" for {wording.short_time(turn.waited_ns / S)}" if turn.waited_ns else ""
        return f"never answered, waited{waited}"
    if turn.overdue and turn.response_latency_ns is None:
        return "waiting for an answer for over 10 s"
    if turn.reason is not None:
        least = f", at least {wording.short_time(turn.at_least_ns / S)}" if turn.at_least_ns else ""
        return f"latency – ({REASON_WORDS[turn.reason]}{least})"
    return "cut off by a premature end of turn" if turn.premature_endpoint else ""


def answer_note(turn: Turn | None, answer: AgentTurn) -> str:
    """The latency that an answer ended, and its parts."""
    bits: list[str] = []
    if turn is not None and turn.response_latency_ns is not None:
        total = f"response {wording.short_time(turn.response_latency_ns / S)}"
        ranked = sorted(
            turn.parts_ns.items(), key=lambda part: PART_ORDER.index(part[0]) if part[0] in PART_ORDER else 99
        )
        parts = " + ".join(f"{wording.printable(name, 20)} {wording.milliseconds(ns / S)}" for name, ns in ranked if ns)
        bits.append(f"{total} = {parts}" if parts else total)
        bits += _owners(turn)
    elif answer.greeting_latency_ns is not None:
        bits.append(f"greeting {wording.short_time(answer.greeting_latency_ns / S)}")
    elif answer.why not in ("user_turn", "unknown"):
        bits.append(answer.why.replace("_", " "))
    if not answer.audible:
        bits.append("never audible")
    if answer.interrupted:
        bits.append("interrupted" + (f", unsaid: {quoted(answer.unspoken, 40)}" if answer.unspoken else ""))
    return " · ".join(bits)


def _owners(turn: Turn) -> list[str]:
    """Whose time the latency was, the most first."""
    owned = sorted(((spent, owner) for owner, spent in turn.owners_ns.items() if spent > 0), reverse=True)
    if len(owned) < 2 and not any(owner != "unknown" for _, owner in owned):
        return []
    return ["whose: " + ", ".join(f"{owner} {wording.milliseconds(spent / S)}" for spent, owner in owned)]


def overlap_note(overlap: Overlap) -> str:
    """What became of an overlap."""
    talk = f", both talked {wording.short_time(overlap.talk_over_ns / S)}" if overlap.talk_over_ns else ""
    stop = f" after {wording.short_time(overlap.stop_latency_ns / S)}" if overlap.stop_latency_ns is not None else ""
    match overlap.cell:
        case "TP":
            note = f"barge-in, agent gave way{stop}"
        case "FN":
            why = f" ({overlap.missed_because.replace('_', ' ')})" if overlap.missed_because else ""
            note = f"missed barge-in: agent kept talking{talk}{why}"
        case "FP":
            note = f"{overlap_class(overlap)}: agent stopped for it{stop}"
        case "TN":
            note = overlap_class(overlap)
        case None:
            gave = {True: f", agent gave way{stop}", False: ", agent kept the floor", None: ""}[overlap.gave_way]
            note = f"overlap, {overlap_class(overlap)}{gave}"
    if overlap.decided_by == "human":
        note += f" · label by {decider_words(overlap)}"
    return note + (
        f", went on {wording.short_time(overlap.resumed_after_ns / S)} later" if overlap.resumed_after_ns else ""
    )


def decider_words(overlap: Overlap) -> str:
    """Who or what says whether the caller wanted the floor."""
    if overlap.decided_by == "human":
        return f"human ({wording.printable(overlap.labelled_by, 30)})" if overlap.labelled_by else "human"
    return (overlap.decided_by or wording.NOTHING).replace("_", " ")


def tool_words(tool: ToolCall) -> str:
    """A tool call, short enough for a mark under the lanes."""
    took = f" {tool.duration_ns / S:.1f} s" if tool.duration_ns is not None else ""
    status = "" if tool.status in ("ok", "running") else f", {tool.status.replace('_', ' ')}"
    return f"tool {wording.printable(tool.name, 30)}{took}{status}"


def tool_note(tool: ToolCall) -> str:
    """How a tool call went."""
    took = f"{wording.short_time(tool.duration_ns / S)}, " if tool.duration_ns is not None else ""
    error = f": {wording.printable(tool.error, 60)}" if tool.error else ""
    return f"{took}{tool.status.replace('_', ' ')}{error}"


def quoted(text: str | None, limit: int = 300) -> str:
    """Words from outside, made harmless."""
    return f'"{wording.printable(text, limit)}"' if text else "(no words)"


def subject_words(subject: str) -> str:
    """``turn 4`` for ``t4``, ``overlap 2`` for ``o2``."""
    kind = {"t": "turn", "o": "overlap", "a": "reply", "d": "dead air"}.get(subject[:1])
    return f"{kind} {subject[1:]}" if kind and subject[1:].isdigit() else wording.printable(subject, 40)


def owner(stretch: DeadAir) -> str:
    """Who owed speech for the longest part of a stretch."""
    owed = _owed(stretch)
    return max(owed, key=lambda name: owed[name])


def owners(stretch: DeadAir) -> str:
    """Who owed speech, and for how long each where it is more than one."""
    owed = {name: ns for name, ns in _owed(stretch).items() if ns}
    if len(owed) < 2:
        return f"{next(iter(owed), 'nobody')} owed speech"
    return "owed by " + ", ".join(f"{name} {ns / S:.1f} s" for name, ns in owed.items())


def _owed(stretch: DeadAir) -> dict[str, int]:
    return {"agent": stretch.agent_ns, "tool": stretch.tool_ns, "hold": stretch.hold_ns, "caller": stretch.caller_ns}


def dead_air_s(stretch: DeadAir, scale: Scale | None) -> float:
    """Length of a stretch; of one that goes on, as far as is seen."""
    end = stretch.end_ns if stretch.end_ns is not None else scale.duration_ns if scale else stretch.start_ns
    return (end - stretch.start_ns) / S
