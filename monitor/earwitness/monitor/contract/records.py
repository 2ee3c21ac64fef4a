"""What the service side works out of a call: turns, agent turns, overlaps, dead air, tools, the call itself.

A record has an ``id`` that is unique in its call and a ``revision`` that grows whenever something later
changed it; readers fold by (call_id, id, revision). Moments are nanoseconds on the call's own clock.
A number that cannot be known is ``None`` and ``reason`` says why; it is never 0.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from earwitness.monitor.contract.events import Evidence, Mode, Why
from earwitness.monitor.contract.learnt_later import WantClass

Reason = Literal[
    "no_acoustic_anchor",
    "stale_anchor",
    "user_spoke_first",
    "unobservable",
    "muted",
    "not_audible",
    "no_transcript",
    "prompt",
    "agent_interruption",
    "cancelled",
    "invalid",
]
"""Why a number is absent (definitions, "Time and evidence"); the list is closed."""

TurnClass = Literal["eligible", "no_transcript", "greeted", "closing", "lost", "muted", "unobservable"]
Wanted = Literal["yes", "no", "unknown"]
DecidedBy = Literal[
    "human", "expectation", "judge", "echo", "noise", "words", "backchannel", "classifier",
    "muted", "other_participant", "after_agent_interruption",
]  # fmt: skip
Cell = Literal["TP", "FN", "FP", "TN"]
Terminal = Literal["natural_end", "terminal_or_yield"]
MeasuringPoint = Literal["pipeline", "recording"]
EndCause = Literal["caller", "agent", "transport", "error", "idle", "unknown"]
Outcome = Literal[
    "voicemail", "wrong_number", "silent", "escalated", "escalation_failed", "escalation_abandoned",
    "transfer_promised", "callback", "unknown", "failed", "cut_off", "abandoned", "declined", "contained",
]  # fmt: skip


class Record(BaseModel):
    """What every record carries. ``event_wall_ns`` is the wall moment at which it counts in windows."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    v: int = 1
    call_id: str
    id: str
    revision: int = 0
    final: bool = False
    retracted: bool = False
    """True where what this id stood for turned out not to be there (speech that became noise): it counts nowhere."""
    event_wall_ns: int
    agent: str
    version: str | None = None
    mode: Mode = "unknown"
    labels: dict[str, str] = Field(default_factory=dict)
    bounds: str = "default-1"


class Turn(Record):
    """A caller turn and what answered it (definitions, "Speech and turns" and "Latency")."""

    kind: Literal["turn"] = "turn"
    u_on_ns: int | None
    u_off_ns: int | None
    d_ns: int | None = None
    a_on_ns: int | None = None
    turn_class: TurnClass = "eligible"
    answered_by: str | None = None
    response_latency_ns: int | None = None
    reason: Reason | None = None
    at_least_ns: int | None = None
    endpoint_delay_ns: int | None = None
    agent_ttfa_ns: int | None = None
    parts_ns: dict[str, int] = Field(default_factory=dict)
    """Parts of the response latency by name; they sum to it exactly."""
    owners_ns: dict[str, int] = Field(default_factory=dict)
    """The same by who owns the time; they sum to it too."""
    unanswered: bool = False
    overdue: bool = False
    waited_ns: int | None = None
    """How long it awaited, where it was not answered."""
    premature_endpoint: bool = False
    """Cut off by a premature endpoint: out of the headline latency, counted beside it."""
    text: str | None = None
    interim_only: bool = False
    evidence: dict[str, Evidence] = Field(default_factory=dict)
    generations: int = 0
    duplicate_reply: int = 0
    empty_completion: int = 0
    cancelled_generation: int = 0
    stalled: bool = False
    tool_ids: tuple[str, ...] = ()


class AgentTurn(Record):
    """What one response, prompt or greeting made audible."""

    kind: Literal["agent_turn"] = "agent_turn"
    a_on_ns: int | None
    a_off_ns: int | None
    why: Why
    answers: str | None = None
    text: str | None = None
    unspoken: str | None = None
    audible: bool = True
    interrupted: bool = False
    uncertain_end: bool = False
    greeting_latency_ns: int | None = None
    greeting_reason: Reason | None = None
    evidence: dict[str, Evidence] = Field(default_factory=dict)


class Overlap(Record):
    """Caller speech that began while the agent was audible (definitions, "Interruptions")."""

    kind: Literal["overlap"] = "overlap"
    u_on_ns: int
    u_off_ns: int | None
    agent_turn: str | None = None
    gave_way: bool | None = None
    yielded_observed: bool | None = None
    yielded_caused: bool | None = None
    a_off_ns: int | None = None
    """When the response that was audible at the onset fell silent, whatever the caller wanted."""
    stop_latency_ns: int | None = None
    stop_at_least_ns: int | None = None
    """Where the onset is a service's word that came late: the agent took at least this long to stop."""
    silent_for_ns: int | None = None
    talk_over_ns: int | None = None
    wanted: Wanted | None = "unknown"
    want_class: WantClass | None = None
    cell: Cell | None = None
    decided_by: DecidedBy | None = None
    labelled_by: str | None = None
    """Who, where a person decided and gave a name."""
    resumed_after_ns: int | None = None
    terminal: Terminal | None = None
    missed_because: str | None = None
    text: str | None = None
    evidence: dict[str, Evidence] = Field(default_factory=dict)
    """What ``u_on``, ``u_off`` and ``a_off`` rest on."""


class AgentInterruption(Record):
    """Agent speech that began while the caller's turn was not over."""

    kind: Literal["agent_interruption"] = "agent_interruption"
    at_ns: int
    cause: Literal["overlap", "premature_endpoint", "resumed"]
    turn: str | None = None
    evidence: dict[str, Evidence] = Field(default_factory=dict)
    """What ``a_on``, the moment, rests on."""


class DeadAir(Record):
    """A stretch in which nobody was audible, split by who owed speech. ``end_ns`` is None while it goes on."""

    kind: Literal["dead_air"] = "dead_air"
    start_ns: int
    end_ns: int | None
    agent_ns: int = 0
    tool_ns: int = 0
    hold_ns: int = 0
    caller_ns: int = 0
    evidence: dict[str, Evidence] = Field(default_factory=dict)
    """What ``start`` and ``end`` rest on: the speech that ended before it and the speech that began after it."""


class ToolCall(Record):
    """One tool call of the agent."""

    kind: Literal["tool_call"] = "tool_call"
    name: str
    called_ns: int
    ended_ns: int | None = None
    status: Literal["running", "ok", "error", "cancelled", "timed_out"] = "running"
    duration_ns: int | None = None
    arguments: str | None = None
    result: str | None = None
    error: str | None = None
    turn: str | None = None


class StageSample(Record):
    """One service metric of the call: a value, or the fact that it was not measured or censored."""

    kind: Literal["stage_sample"] = "stage_sample"
    service: str
    metric: str
    processor: str | None = None
    model: str | None = None
    value_ns: int | None = None
    censored: bool = False


class Unheard(BaseModel):
    """A stretch of the call in which audio was made and reached nobody, and what shows it.

    ``dead_not_failed``: speech was synthesised and never played, while nothing failed. ``one_way_audio``: the agent was
    audible where it was measured and the caller asked whether anybody is there (``caller_asks``), nothing arrived from
    the caller while the agent talked (``audio_gap``), or the transport says so. ``lost``: whose audio did not arrive.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    what: Literal["dead_not_failed", "one_way_audio"]
    by: Literal["no_playout", "caller_asks", "audio_gap", "transport"]
    lost: Literal["agent", "caller"] | None = None
    at_ns: int
    until_ns: int | None = None
    """None: it went on, as far as is known to the call's end."""
    responses: tuple[str, ...] = ()
    """Ids of the responses that were never played."""
    moments_ns: tuple[int, ...] = ()
    """When the caller asked."""


class LineQuality(BaseModel):
    """What the transport told of the line, each number None where it told none."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    reports: int
    loss_ratio_mean: float | None = None
    loss_ratio_worst: float | None = None
    jitter_ms_mean: float | None = None
    jitter_ms_worst: float | None = None
    round_trip_ms_mean: float | None = None
    round_trip_ms_worst: float | None = None


class Call(Record):
    """The call as a whole. ``ended_ns`` is None while it goes on."""

    kind: Literal["call"] = "call"
    started_wall_ns: int
    measuring_point: MeasuringPoint = "pipeline"
    ended_ns: int | None = None
    end_cause: EndCause | None = None
    outcome: Outcome | None = None
    in_scope: bool | None = None
    contained: bool | None = None
    outcome_reason: str | None = None
    caller_observable: bool = True
    reason: Reason | None = None
    connected_ns: int | None = None
    duration_ns: int | None = None
    talk_ns: dict[str, int] = Field(default_factory=dict)
    """Time in which ``caller``, ``agent``, ``both`` or ``nobody`` is audible; empty where unobservable."""
    facts: dict[str, int] = Field(default_factory=dict)
    """Counted facts by their name in the definitions ("Facts that are counted, by name")."""
    unheard: tuple[Unheard, ...] = ()
    """Stretches of dead-but-not-failed speech and of one-way audio, in order."""
    line: LineQuality | None = None
    """None where no transport told of loss or jitter."""
    line_reason: Reason | None = None
    """Why there is no ``line``."""
    app: dict[str, str] = Field(default_factory=dict)
    faults: int = 0
    faults_recovered: int = 0
    """Those after which service went on."""
    faults_by: dict[str, int] = Field(default_factory=dict)
    """By the processor that raised them; ``unknown`` where nobody says."""
    events: int = 0
    missing_events: int = 0
    dropped_events: int = 0
    late_in_call: int = 0
    stray: int = 0
    duplicates: int = 0
    tail_incomplete: bool = False
    other_speech_ns: int = 0


AnyRecord = Annotated[
    Turn | AgentTurn | Overlap | AgentInterruption | DeadAir | ToolCall | StageSample | Call,
    Field(discriminator="kind"),
]

RECORD_ADAPTER: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)

RECORD_TYPES: tuple[type[Record], ...] = (
    Turn, AgentTurn, Overlap, AgentInterruption, DeadAir, ToolCall, StageSample, Call,
)  # fmt: skip
