"""Facts around the talk: how a call began and ended, who was there, what line, application and hook say of it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from earwitness.monitor.contract.event import Direction, Event, Evidence, Mode, Ns, Party


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
