"""What a call's events say, sorted by what they speak of: edges, runs, tools, words as reported. No judgement yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from earwitness.monitor.calls.tokens import tokens
from earwitness.monitor.contract.learnt_later import WantClass

Entry = tuple[int, str, int, Any]
"""An event at its place in the order of folding: moment on the call's clock, source, seq, the event."""


class Edge(msgspec.Struct, gc=False):
    """Speech of a party began (``start``) or ended at ``edge_ns``, noticed at ``at_ns``."""

    at_ns: int
    edge_ns: int
    start: bool
    inferred: bool = False
    snr_db: float | None = None
    echo: bool = False
    at_most: bool = False
    """It lies there or before: the source tells of it some unknown time after the fact."""


@dataclass(slots=True)
class Gap:
    """No audio of a party arrived after ``last_ns``, until ``back_ns`` if it came back."""

    last_ns: int
    back_ns: int | None = None


class Play(msgspec.Struct, gc=False):
    """One stretch of a response as written to the transport."""

    first_ns: int | None
    last_ns: int | None = None
    truncated: bool | None = None
    uncertain_until_ns: int | None = None
    drained: bool = False


@dataclass(slots=True, eq=False)
class Run:
    """One response: a run of the model, or a text that the application had spoken."""

    id: str
    why: str = "unknown"
    after: str | None = None
    at: dict[str, int] = field(default_factory=dict[str, int])
    """First moment of each milestone."""
    plays: list[Play] = field(default_factory=list[Play])
    intended: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    spoken: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    unspoken: list[str] = field(default_factory=list[str])
    pieces: list[tuple[int, tuple[str, ...]]] = field(default_factory=list[tuple[int, tuple[str, ...]]])
    """The words of what was spoken, as far as they were asked for (`spoken_words`)."""
    joined: tuple[tuple[int, int], str, str] | None = None
    """What was spoken and intended as one text each, as of so many pieces."""
    word_counts: tuple[tuple[int, int], int, int] | None = None
    """How many words were spoken and intended, as of so many pieces."""
    first_ns: int = 0
    """First and last event that spoke of it."""
    last_ns: int = 0

    def spoken_words(self) -> list[tuple[int, tuple[str, ...]]]:
        """What was spoken in words, piece by piece."""
        pieces = self.pieces
        if len(pieces) < len(self.spoken):
            pieces += [(at, tokens(text)) for at, text in self.spoken[len(pieces) :]]
        return pieces

    @property
    def asked_ns(self) -> int | None:
        """When it was asked for; the earliest sign of it where that is not known."""
        requested = self.at.get("requested")
        if requested is not None:
            return requested
        signs = [*self.at.values(), *(p.first_ns for p in self.plays if p.first_ns is not None)]
        return min(signs, default=None)


@dataclass(slots=True)
class ToolLife:
    """One tool call. A cancelled call stays cancelled (A16)."""

    id: str
    name: str
    called_ns: int
    run: str | None
    blocking: bool
    status: str = "running"
    ended_ns: int | None = None
    measured_ns: int | None = None
    last_ns: int = 0
    """Last event that spoke of it."""
    arguments: str | None = None
    result: str | None = None
    error: str | None = None


@dataclass(slots=True)
class TurnEnd:
    """The pipeline's decision that the caller's turn was over."""

    at_ns: int
    incomplete_ns: tuple[int, ...]
    complete_ns: int | None


class Said(msgspec.Struct, gc=False):
    """A transcript."""

    at_ns: int
    text: str
    final: bool
    delta: bool
    eager: bool
    start_ns: int | None
    end_ns: int | None
    utterance: str | None
    thrown_away: bool
    """The pipeline kept the words out of its context."""
    language: str | None = None
    """As the recogniser tells it."""

    def lies_in(self, from_ns: int, to_ns: int) -> bool:
        """Whether its utterance, where its time is known, shares time with a stretch."""
        start = self.at_ns if self.start_ns is None else self.start_ns
        end = self.at_ns if self.end_ns is None else self.end_ns
        return start < to_ns and end > from_ns


@dataclass(slots=True)
class Verdict:
    """A classifier's answer on an overlap."""

    at_ns: int
    answer: str
    overlap_id: str | None
    requested_ns: int | None


@dataclass(frozen=True, slots=True)
class Label:
    """A person's word on one thing of the call."""

    said: str
    want_class: WantClass | None = None
    author: str | None = None


@dataclass(slots=True)
class StagesKnown:
    """What was written of the first ``count`` service metrics: it stands while these two are what they were."""

    wall_ns: int = 0
    cancelled: int = 0
    count: int = 0
    drafts: list[Any] = field(default_factory=list[Any])
    invalid: list[int] = field(default_factory=list[int])
    """Where the values lie that are none."""


@dataclass(slots=True)
class Facts:
    """All that a call's events say, in the order of folding."""

    started: Any = None
    started_wall_ns: int | None = None
    recording: bool = False
    connected_ns: int | None = None
    caller_participant: str | None = None
    caller_edges: dict[tuple[str, str | None], list[Edge]] = field(
        default_factory=dict[tuple[str, str | None], list[Edge]]
    )
    """By evidence and participant, the caller's party and others alike."""
    other_participants: set[str | None] = field(default_factory=set[str | None])
    agent_edges: dict[str, list[Edge]] = field(default_factory=dict[str, list[Edge]])
    gaps: dict[str, list[Gap]] = field(default_factory=dict[str, list[Gap]])
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    turn_ends: list[TurnEnd] = field(default_factory=list[TurnEnd])
    interruptions: list[int] = field(default_factory=list[int])
    meant_cuts: list[int] = field(default_factory=list[int])
    """Interruptions that a key or the application asked for, and keys pressed: no speech is missing behind them."""
    said: list[Said] = field(default_factory=list[Said])
    said_by_others: list[Said] = field(default_factory=list[Said])
    agent_said: list[Said] = field(default_factory=list[Said])
    """What a recogniser heard of the agent's side, where nobody tells what it said."""
    tools: dict[str, ToolLife] = field(default_factory=dict[str, ToolLife])
    mutes: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    transfers: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    human_agent_joined: bool = False
    transport_errors: list[int] = field(default_factory=list[int])
    one_way: list[int] = field(default_factory=list[int])
    """When the transport said that audio flows one way."""
    line: dict[str, tuple[int, float, float]] = field(default_factory=dict[str, tuple[int, float, float]])
    """What the transport told of the line, by name: how often, sum, worst."""
    line_reports: int = 0
    voicemail: bool = False
    dtmf: int = 0
    app: dict[str, str] = field(default_factory=dict[str, str])
    holds: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    faults: dict[str, tuple[str | None, bool]] = field(default_factory=dict[str, tuple[str | None, bool]])
    """By fault id: the processor that raised it, and whether service went on."""
    stages: list[tuple[int, str, int, Any]] = field(default_factory=list[tuple[int, str, int, Any]])
    stages_known: StagesKnown = field(default_factory=StagesKnown)
    cancelled: int = 0
    """How many responses were cancelled."""
    classifier: list[Verdict] = field(default_factory=list[Verdict])
    labels: dict[str, Label] = field(default_factory=dict[str, Label])
    expected: list[tuple[int | None, bool]] = field(default_factory=list[tuple[int | None, bool]])
    """By the moment of an overlap, or for all: whether the caller wanted the floor, as who gave a recording says."""
    judged: dict[str, str] = field(default_factory=dict[str, str])
    """A judge's word by ``criterion:subject``."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    had: set[str] = field(default_factory=set[str])
    """Kinds of evidence that the call has had so far: ``caller:vad``, ``agent:playout``, ``said``."""
    transfer_tools: dict[str, str] = field(default_factory=dict[str, str])
    """Status of each tool call that hands over, by id."""
    dropped: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    ended: Any = None
    ended_ns: int | None = None

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counted fact."""
        if by:
            self.counts[name] = self.counts.get(name, 0) + by

    def run(self, response_id: str, at_ns: int) -> Run:
        """The response of that id, of which an event speaks now."""
        run = self.runs.get(response_id)
        if run is None:
            run = self.runs[response_id] = Run(response_id, first_ns=at_ns)
        run.last_ns = at_ns
        return run


def is_other(f: Facts, participant: str | None) -> bool:
    """Whether a participant on the caller's side is somebody else than the caller (A33)."""
    if participant is None:
        return False
    if participant in f.other_participants:
        return True
    return f.caller_participant is not None and participant != f.caller_participant
