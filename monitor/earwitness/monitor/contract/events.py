"""The event contract: all that the service side may know of a live call.

Facts, never verdicts. Fields are only ever added, never renamed or reused; readers ignore what they do
not know. Times are nanoseconds: ``at_ns`` (when the speaker noticed the fact) and every other ``*_ns``
that is a moment lie on the call's own monotonic clock, which starts with the call; ``wall_ns`` only dates
an event and enters no duration.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

SCHEMA_VERSION = 1

Party = Literal["caller", "agent", "other"]
Evidence = Literal["audio", "vad", "server", "decision", "playout"]
Mode = Literal["cascade", "realtime", "unknown"]
Direction = Literal["inbound", "outbound", "unknown"]
Why = Literal["user_turn", "eager", "tool_result", "greeting", "prompt", "resumed", "application", "unknown"]
Ns = Annotated[int, Field(ge=0)]


class Event(BaseModel):
    """What every event carries. ``(call_id, source, seq)`` is its identity.

    ``source`` is the process or tool that speaks (``bot``, ``judge``, ``label``, ``survey``, ...); ``seq``
    counts its events of this call from 0 without gaps, and ``at_ns`` never falls from one to the next.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    v: int = SCHEMA_VERSION
    call_id: str
    source: str
    seq: Ns
    at_ns: Ns
    wall_ns: Ns


class CallStarted(Event):
    """First event of a call: who answers, with which settings, and what can be seen of it."""

    kind: Literal["call_started"] = "call_started"
    agent: str
    version: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    provider: str | None = None
    direction: Direction = "unknown"
    caller_hash: str | None = None
    mode: Mode = "unknown"
    language: str | None = None
    recogniser: bool | None = None
    caller_edges: tuple[Evidence, ...] = ()
    """Sources of caller speech edges that this call has; empty: none is known to exist."""
    agent_edges: tuple[Evidence, ...] = ()
    vad_start_s: float | None = None
    vad_stop_s: float | None = None
    turn_start: tuple[str, ...] = ()
    turn_stop: tuple[str, ...] = ()
    min_words: int | None = None
    mute_strategies: tuple[str, ...] = ()
    paced_playout: bool | None = None
    """Whether audio is written at the pace at which the far end plays it."""
    measuring_point: Literal["pipeline", "recording"] = "pipeline"
    versions: dict[str, str] = Field(default_factory=dict)
    process: str | None = None
    owns_clock: bool = True
    clock_offset_ns: int = 0
    """For a process that does not own the clock: what to add to its times."""
    trace_id: str | None = None
    consent: bool | None = None
    recording: str | None = None


class Connected(Event):
    """The far end is there."""

    kind: Literal["connected"] = "connected"
    participant: str | None = None


class SpeechStarted(Event):
    """A party began to make sound at ``edge_ns``; ``correction_ns`` is what the detector's own delay took off."""

    kind: Literal["speech_started"] = "speech_started"
    party: Party
    evidence: Evidence
    edge_ns: Ns
    correction_ns: int = 0
    participant: str | None = None
    snr_db: float | None = None


class SpeechEnded(Event):
    """A party fell silent at ``edge_ns``."""

    kind: Literal["speech_ended"] = "speech_ended"
    party: Party
    evidence: Evidence
    edge_ns: Ns
    correction_ns: int = 0
    participant: str | None = None
    voiced_ns: Ns | None = None
    inferred: bool = False
    """True where no end was heard and the last audio that arrived stands for it."""
    snr_db: float | None = None


class AudioGap(Event):
    """A party's audio stopped arriving (``stopped``) or came back (``resumed``)."""

    kind: Literal["audio_gap"] = "audio_gap"
    party: Party
    state: Literal["stopped", "resumed"]
    last_audio_ns: Ns


class Playout(Event):
    """First or last audible sample of the agent as written to the transport, or the far end's own word that it
    has played everything (``drained``).

    ``uncertain`` says that audio was written faster than real time and the far end said nothing: the end then
    lies between ``edge_ns`` and first write + ``written_ns``.
    """

    kind: Literal["playout"] = "playout"
    phase: Literal["first", "last", "drained"]
    edge_ns: Ns
    response_id: str | None = None
    written_ns: Ns | None = None
    uncertain: bool = False
    truncated: bool | None = None
    """At ``last``: True where audio or text of the response was thrown away, False where it was played whole."""


class TurnStarted(Event):
    """The pipeline decided that the caller's turn began. A decision, not speech."""

    kind: Literal["turn_started"] = "turn_started"
    strategy: str | None = None


class TurnEnded(Event):
    """The pipeline decided that the caller's turn was over (``d`` of the definitions is ``at_ns``)."""

    kind: Literal["turn_ended"] = "turn_ended"
    strategy: str | None = None
    reason: str | None = None
    incomplete_at_ns: tuple[int, ...] = ()
    """Moments since the turn began at which a turn model said "not finished"."""
    complete_at_ns: Ns | None = None
    """When a turn model said "over"."""


class Interruption(Event):
    """The pipeline cut itself off, or would have. Comes with every user turn, also when the agent is silent."""

    kind: Literal["interruption"] = "interruption"
    cause: Literal["user_turn", "application", "dtmf", "service", "voicemail", "unknown"] = "unknown"
    by: str | None = None


class Classifier(Event):
    """A model's word on one overlap, named by ``overlap_id`` or by the moment of the request."""

    kind: Literal["classifier"] = "classifier"
    answer: Literal["interruption", "backchannel", "unknown"]
    overlap_id: str | None = None
    requested_ns: Ns | None = None
    confidence: float | None = None
    model: str | None = None


class Transcript(Event):
    """Words of a party, redacted. ``form`` says how a text relates to earlier ones of its utterance."""

    kind: Literal["transcript"] = "transcript"
    party: Party
    text: str
    final: bool
    interim_count: int = 0
    """Interim results seen for this utterance so far."""
    form: Literal["whole", "delta", "cumulative"] = "whole"
    participant: str | None = None
    language: str | None = None
    utterance_start_ns: Ns | None = None
    utterance_end_ns: Ns | None = None
    utterance_id: str | None = None
    revision_of: int | None = None
    """``seq`` of an earlier transcript of this source that this one replaces."""
    finalized: bool | None = None
    eager: bool = False
    """A prediction of the turn's end; never the caller's words."""
    in_context: bool | None = None
    """False where the pipeline threw the words away (a minimum word count, a mute)."""
    truncated: bool = False


class AgentText(Event):
    """Text of a response: fragments that join in order. ``unspoken`` is given once, when playback was cut."""

    kind: Literal["agent_text"] = "agent_text"
    response_id: str | None = None
    intended: str | None = None
    spoken: str | None = None
    unspoken: str | None = None
    truncated: bool = False


class Response(Event):
    """A milestone of one run of the model, or of one text that the application had spoken.

    ``requested`` carries why it began. ``cause_turn`` counts the pipeline's user turns from 1. ``after`` names
    the response whose tools it follows.
    """

    kind: Literal["response"] = "response"
    response_id: str
    phase: Literal[
        "requested", "first_token", "first_text", "first_audio", "ended", "cancelled", "empty", "tools_called"
    ]
    why: Why | None = None
    cause_turn: int | None = None
    after: str | None = None
    processor: str | None = None
    model: str | None = None


class Stage(Event):
    """A service's own metric. ``value_s`` is absent where it was not measured; a time to first byte of a request
    that never gave one is ``censored``."""

    kind: Literal["stage"] = "stage"
    service: Literal["stt", "llm", "tts", "turn", "realtime", "other"]
    metric: str
    processor: str | None = None
    model: str | None = None
    value_s: float | None = None
    usage: dict[str, float] = Field(default_factory=dict)
    censored: bool = False
    response_id: str | None = None


class Tool(Event):
    """A moment in the life of one tool call. A cancelled call stays cancelled."""

    kind: Literal["tool"] = "tool"
    tool_call_id: str
    name: str
    phase: Literal["called", "started", "update", "result", "error", "cancelled", "timed_out"]
    arguments: str | None = None
    result: str | None = None
    error: str | None = None
    duration_ns: Ns | None = None
    blocking: bool = True
    """Whether the answer waits for it."""
    response_id: str | None = None
    truncated: bool = False


class Mute(Event):
    """The pipeline began or ceased to ignore the caller."""

    kind: Literal["mute"] = "mute"
    state: Literal["on", "off"]
    cause: str | None = None


class Dtmf(Event):
    """A key was pressed; ``button`` is redacted unless the site asked for it."""

    kind: Literal["dtmf"] = "dtmf"
    party: Party
    button: str


class Participant(Event):
    """Somebody joined or left. ``participant`` is the id that speech and transcripts carry."""

    kind: Literal["participant"] = "participant"
    state: Literal["joined", "left"]
    participant: str
    role: Literal["caller", "agent", "human_agent", "other"] = "other"
    reason: str | None = None


class Transfer(Event):
    """A step of a hand-over to a human or to another line."""

    kind: Literal["transfer"] = "transfer"
    phase: Literal["requested", "ringing", "completed", "failed", "abandoned", "callback"]
    target: str | None = None
    by: str | None = None
    reason: str | None = None


class Transport(Event):
    """What the transport says of the line."""

    kind: Literal["transport"] = "transport"
    event: Literal["quality", "disconnected", "error", "one_way"]
    loss_ratio: float | None = None
    jitter_ms: float | None = None
    round_trip_ms: float | None = None
    reason: str | None = None


class App(Event):
    """The application's own fact: ``outcome``, ``intent``, ``label``, ``csat``, ``goal_met`` or any other name."""

    kind: Literal["app"] = "app"
    name: str
    value: str | float | bool | None = None


class Fault(Event):
    """An error, once, at its origin."""

    kind: Literal["fault"] = "fault"
    fault_id: str
    processor: str | None = None
    category: str | None = None
    message: str | None = None
    recovered: bool | None = None
    fatal: bool = False


class DroppedRange(BaseModel):
    """Events ``first_seq`` to ``last_seq`` of a source that will never come, and why."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    first_seq: Ns
    last_seq: Ns
    reason: Literal["buffer_full", "spool_full", "rate_capped", "too_large", "shutdown", "refused"]
    source: str | None = None
    """Whose events; None: those of the source that reports it. The ``writer`` reports for all of its process."""


class Health(Event):
    """How the hook itself fares: every 60 s of a call, and at once when something was lost."""

    kind: Literal["health"] = "health"
    loop_lag_ms: float | None = None
    buffer_bytes: int | None = None
    spooled_events: int | None = None
    dropped: tuple[DroppedRange, ...] = ()
    invalid: dict[str, int] = Field(default_factory=dict)
    observer_errors: int = 0
    frames_seen: int | None = None
    no_frames_seen: bool = False


class CallEnded(Event):
    """Last event of the bot: the first cause seen, and counts of its events so that a reader knows what is missing."""

    kind: Literal["call_ended"] = "call_ended"
    cause: Literal["caller", "agent", "transport", "error", "idle", "unknown"]
    terminal: Literal["end", "cancel", "stop", "none"] = "none"
    reason: str | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    """Events by kind, this one not counted; their sum is the number of events before it."""
    tail_incomplete: bool = False


class Verdict(Event):
    """A judge's word on one criterion of the call."""

    kind: Literal["verdict"] = "verdict"
    criterion: str
    verdict: Literal["pass", "fail", "abstain", "judge_error", "judge_refused"]
    rubric: str | None = None
    model: str | None = None
    evidence: tuple[str, ...] = ()
    reason: str | None = None
    inclusion_probability: float | None = None
    triggered: bool = False
    attempts: int = 1


class HumanLabel(Event):
    """A person's word on one thing of the call: whether an overlap was wanted, a turn's text, a criterion."""

    kind: Literal["human_label"] = "human_label"
    subject: str
    """An overlap, turn or criterion id."""
    label: str
    author: str | None = None


class LateFact(Event):
    """Something learnt after the call: a re-contact, a survey, a goal that was met after all."""

    kind: Literal["late_fact"] = "late_fact"
    name: str
    value: str | float | bool | None = None


AnyEvent = Annotated[
    CallStarted
    | Connected
    | SpeechStarted
    | SpeechEnded
    | AudioGap
    | Playout
    | TurnStarted
    | TurnEnded
    | Interruption
    | Classifier
    | Transcript
    | AgentText
    | Response
    | Stage
    | Tool
    | Mute
    | Dtmf
    | Participant
    | Transfer
    | Transport
    | App
    | Fault
    | Health
    | CallEnded
    | Verdict
    | HumanLabel
    | LateFact,
    Field(discriminator="kind"),
]

EVENT_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)

EVENT_TYPES: tuple[type[Event], ...] = (
    CallStarted, Connected, SpeechStarted, SpeechEnded, AudioGap, Playout, TurnStarted, TurnEnded, Interruption,
    Classifier, Transcript, AgentText, Response, Stage, Tool, Mute, Dtmf, Participant, Transfer, Transport, App,
    Fault, Health, CallEnded, Verdict, HumanLabel, LateFact,
)  # fmt: skip
"""Every kind, in the order of the contract."""
