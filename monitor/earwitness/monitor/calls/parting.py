"""A chapter's facts parted at a cut, so that what lies behind it need not be gathered a second time."""

from __future__ import annotations

from typing import TypeVar

from earwitness.monitor.calls.facts import Edge, Facts, Said, StagesKnown

_Key = TypeVar("_Key")


def goes_on_behind(facts: Facts, cut_at_ns: int) -> bool:
    """Make a chapter's facts those of the next one, which begins with the events of ``cut_at_ns``: the same as if
    these were gathered behind its carry. False: only gathering them tells, and the facts are as they were.

    Nothing is asked of responses and tools that are spoken of on both sides: there no cut would be.
    """
    caller, agent = _edges_behind(facts.caller_edges, cut_at_ns), _edges_behind(facts.agent_edges, cut_at_ns)
    if facts.gaps or caller is None or agent is None:
        return False
    facts.caller_edges, facts.agent_edges = caller, agent
    facts.runs = {name: run for name, run in facts.runs.items() if run.first_ns >= cut_at_ns}
    facts.tools = {name: tool for name, tool in facts.tools.items() if tool.called_ns >= cut_at_ns}
    facts.turn_ends = [end for end in facts.turn_ends if end.at_ns >= cut_at_ns]
    facts.classifier = [verdict for verdict in facts.classifier if verdict.at_ns >= cut_at_ns]
    facts.said, facts.said_by_others, facts.agent_said = (
        _said_behind(said, cut_at_ns) for said in (facts.said, facts.said_by_others, facts.agent_said)
    )
    facts.interruptions, facts.meant_cuts, facts.one_way = (
        [at for at in moments if at >= cut_at_ns] for moments in (facts.interruptions, facts.meant_cuts, facts.one_way)
    )
    _keep_states(facts, cut_at_ns)
    _part_stages(facts, cut_at_ns)
    return True


def _edges_behind(edges: dict[_Key, list[Edge]], cut_at_ns: int) -> dict[_Key, list[Edge]] | None:
    """Edges in the order in which each source first told of one; None where their moments do not tell that."""
    behind = [
        (later[0].at_ns, key, later)
        for key, own in edges.items()
        if (later := [edge for edge in own if edge.at_ns >= cut_at_ns])
    ]
    if len(behind) > 1:
        if len({at for at, _, _ in behind}) < len(behind):
            return None
        behind.sort(key=lambda one: one[0])
    return {key: later for _, key, later in behind}


def _said_behind(said: list[Said], cut_at_ns: int) -> list[Said]:
    return [one for one in said if one.at_ns >= cut_at_ns]


def _keep_states(facts: Facts, cut_at_ns: int) -> None:
    """Of what holds until it is told otherwise the last word before the cut stays."""
    muted = [mute for mute in facts.mutes if mute[0] < cut_at_ns]
    facts.mutes = (muted[-1:] if muted and muted[-1][1] else []) + facts.mutes[len(muted) :]
    held = sum(at < cut_at_ns for at, _ in facts.holds)
    facts.holds = facts.holds[max(held - 1, 0) :]
    failed = sum(at < cut_at_ns for at in facts.transport_errors)
    facts.transport_errors = facts.transport_errors[max(failed - 1, 0) :]


def _part_stages(facts: Facts, cut_at_ns: int) -> None:
    """Service metrics, and what was written of them where no response could change it."""
    gone, known = sum(entry[0] < cut_at_ns for entry in facts.stages), facts.stages_known
    facts.stages = facts.stages[gone:]
    if facts.cancelled or known.count < gone:
        facts.cancelled = sum("cancelled" in run.at for run in facts.runs.values())
        facts.stages_known = StagesKnown()
        return
    known.count, known.drafts = known.count - gone, known.drafts[gone:]
    known.invalid = [at for at in known.invalid if at >= cut_at_ns]
