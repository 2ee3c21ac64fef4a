"""What of a call's settled past the rest of it still needs to know.

A call is folded in chapters, so that its cost does not grow with its length: what lies before a chapter is settled
and stands in this summary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from earwitness.monitor.calls.facts import Facts, StagesKnown
from earwitness.monitor.contract.records import Unheard

KINDS = ("t", "a", "o", "i", "d")
"""First letters of the ids that are counted."""


@dataclass(frozen=True, slots=True)
class Carry:
    """The past of a chapter that begins at ``cut_ns``."""

    cut_ns: int = 0
    cut_at_ns: int = 0
    """Events noticed before this moment are in the past."""
    facts: Facts = field(default_factory=Facts)
    """What lasts: who takes part, what is muted, held, transferred, said by the application."""
    events: int = 0
    last_at_ns: int | None = None
    numbers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    counts: dict[str, int] = field(default_factory=dict[str, int])
    talk_ns: dict[str, int] = field(default_factory=dict[str, int])
    other_speech_ns: int = 0
    edge_seen: bool = False
    """An end of caller speech was seen."""
    caller_spoke: bool = False
    agent_asked: bool = False
    """A response was asked for."""
    latencies: int = 0
    same_latency_ns: int | None = None
    """The latency of every turn so far, where they are all the same."""
    critical_end_ns: int | None = None
    """End of the last critical dead air."""
    unheard: tuple[Unheard, ...] = ()
    promised_transfer: bool = False
    took_leave: bool = False

    @property
    def first(self) -> bool:
        """Whether nothing lies before the chapter."""
        return self.cut_ns == 0

    def begin(self) -> Facts:
        """Facts to gather the chapter's events into."""
        f = self.facts
        return Facts(
            started=f.started,
            started_wall_ns=f.started_wall_ns,
            recording=f.recording,
            connected_ns=f.connected_ns,
            caller_participant=f.caller_participant,
            other_participants=set(f.other_participants),
            gaps={party: [replace(g) for g in gaps] for party, gaps in f.gaps.items()},
            mutes=list(f.mutes),
            transfers=list(f.transfers),
            human_agent_joined=f.human_agent_joined,
            transport_errors=list(f.transport_errors),
            line=dict(f.line),
            line_reports=f.line_reports,
            voicemail=f.voicemail,
            dtmf=f.dtmf,
            app=dict(f.app),
            holds=list(f.holds),
            faults=dict(f.faults),
            labels=dict(f.labels),
            expected=list(f.expected),
            judged=dict(f.judged),
            counts=dict(f.counts),
            had=set(f.had),
            transfer_tools=dict(f.transfer_tools),
            dropped={source: list(ranges) for source, ranges in f.dropped.items()},
            ended=f.ended,
            ended_ns=f.ended_ns,
        )


def residue(facts: Facts) -> Facts:
    """What of a chapter's facts lasts beyond it; the facts themselves are used up."""
    facts.mutes = facts.mutes[-1:] if facts.mutes and facts.mutes[-1][1] else []
    facts.gaps = {party: own[-1:] for party, own in facts.gaps.items() if own and own[-1].back_ns is None}
    facts.transport_errors, facts.holds = facts.transport_errors[-1:], facts.holds[-1:]
    facts.caller_edges, facts.agent_edges, facts.runs, facts.tools = {}, {}, {}, {}
    facts.turn_ends, facts.interruptions, facts.meant_cuts, facts.one_way, facts.classifier = [], [], [], [], []
    facts.said, facts.said_by_others, facts.agent_said = [], [], []
    facts.stages, facts.stages_known, facts.cancelled = [], StagesKnown(), 0
    return facts
