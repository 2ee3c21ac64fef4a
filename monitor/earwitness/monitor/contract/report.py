"""What ``earwitness analyze --json`` prints (interfaces, "analyze"): the one place that says its shape.

Times are seconds of the call's own clock. A number that was not measured is ``null``, never 0. Fields are only added.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from earwitness.monitor.contract.event import Evidence, Why
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import (
    Cell,
    DecidedBy,
    EndCause,
    MeasuringPoint,
    Outcome,
    Reason,
    Terminal,
    TurnClass,
    Wanted,
)

Seconds = float | None


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")


class TurnShown(_Shape):
    """A caller turn and what answered it."""

    id: str
    u_on_s: Seconds
    u_off_s: Seconds
    turn_class: TurnClass = Field(alias="class")
    answered_by: str | None
    a_on_s: Seconds
    response_latency_s: Seconds
    at_least_s: Seconds
    """Where only a lower bound of the latency is known."""
    reason: Reason | None
    parts_s: dict[str, float]
    """Where the latency went; the parts add up to it."""
    owners_s: dict[str, float]
    """The same by who owns the time."""
    waited_s: Seconds
    """How long it awaited an answer in vain, or has so far."""
    unanswered: bool
    """Counted as a wait in vain: it got no answer, or none for so long that it is overdue."""
    premature_endpoint: bool
    """Cut off by a premature endpoint: its latency is out of the headline."""
    text: str | None
    evidence: dict[str, Evidence]


class AgentTurnShown(_Shape):
    """What one response of the agent made audible."""

    id: str
    a_on_s: Seconds
    a_off_s: Seconds
    why: Why
    text: str | None
    unspoken: str | None
    evidence: dict[str, Evidence]


class OverlapShown(_Shape):
    """Caller speech that began while the agent was audible."""

    id: str
    u_on_s: float
    u_off_s: Seconds
    a_off_s: Seconds
    """When the response that was audible at ``u_on_s`` fell silent, whatever the caller wanted."""
    gave_way: bool | None
    yielded_observed: bool | None
    yielded_caused: bool | None
    stop_latency_s: Seconds
    """Where the caller wanted the floor."""
    stop_at_least_s: Seconds
    silent_for_s: Seconds
    talk_over_s: Seconds
    wanted: Wanted | None
    want_class: WantClass | None = Field(alias="class")
    cell: Cell | None
    decided_by: DecidedBy | None
    labelled_by: str | None
    """Who, where a person decided and gave a name."""
    resumed_after_s: Seconds
    terminal: Terminal | None
    text: str | None
    evidence: dict[str, Evidence]


class AgentInterruptionShown(_Shape):
    """Agent speech that began while the caller's turn was not over."""

    at_s: float
    cause: Literal["overlap", "premature_endpoint", "resumed"]
    evidence: dict[str, Evidence]


class DeadAirShown(_Shape):
    """A stretch in which nobody was audible, split by who owed speech."""

    start_s: float
    end_s: Seconds
    agent_s: float
    tool_s: float
    hold_s: float
    caller_s: float
    evidence: dict[str, Evidence]


class UnheardShown(_Shape):
    """A stretch in which audio was made and reached nobody, and what shows it."""

    what: Literal["dead_not_failed", "one_way_audio"]
    by: Literal["no_playout", "caller_asks", "audio_gap", "transport"]
    lost: Literal["agent", "caller"] | None
    start_s: float
    end_s: Seconds
    """Null where it went on."""
    responses: list[str]
    asked_s: list[float]
    """When the caller asked whether anybody is there."""


class LineShown(_Shape):
    """What transports told of the line; a number that none told is null."""

    reports: int
    loss_ratio_mean: float | None
    loss_ratio_worst: float | None
    jitter_ms_mean: float | None
    jitter_ms_worst: float | None
    round_trip_ms_mean: float | None
    round_trip_ms_worst: float | None


class CallShown(_Shape):
    """One call."""

    call_id: str
    measuring_point: MeasuringPoint
    duration_s: Seconds
    end_cause: EndCause | None
    outcome: Outcome | None
    turns: list[TurnShown]
    agent_turns: list[AgentTurnShown]
    overlaps: list[OverlapShown]
    agent_interruptions: list[AgentInterruptionShown]
    dead_air: list[DeadAirShown]
    unheard: list[UnheardShown]
    line: LineShown | None
    """Null where no transport told of it."""
    notes: tuple[str, ...] = ()
    """What to know of a recording beside its numbers: cut off, clipped, a leak taken out, a side not recorded."""


class Quantiles(_Shape):
    """Percentiles of what was measured. One that touches a wait in vain is ``null``, and stands in ``more_than_s``."""

    p50_s: Seconds
    p90_s: Seconds
    p95_s: Seconds
    p99_s: Seconds
    more_than_s: dict[Literal["p50", "p90", "p95", "p99"], float]


class AnsweredOnly(_Shape):
    """The same over answered turns alone."""

    p50_s: Seconds
    p95_s: Seconds


class ResponseLatency(Quantiles):
    """The headline, over eligible turns that no premature endpoint cut off. ``n``: all that were ranked."""

    n: int
    answered: int
    unanswered: int
    eligible: int
    coverage: float | None
    answered_only: AnsweredOnly


class StopLatency(Quantiles):
    """How long the agent took to fall silent where the caller wanted the floor; ``never``: it did not."""

    n: int
    never: int


class Interruptions(_Shape):
    """The 2x2 of overlaps, and what stands beside it. A rate with a denominator under 10 is ``null``. The counts are
    ``null``, and ``reason`` says why, where no call has both sides observed."""

    tp: int | None
    fn: int | None
    fp: int | None
    tn: int | None
    unknown: int | None
    terminal: int | None
    spurious: int | None
    reason: Reason | None
    missed_rate: float | None
    false_yield_rate: float | None


class DeadAirSummary(_Shape):
    """Dead air of all calls together; ``null`` with a ``reason`` where no call has both sides observed."""

    n: int | None
    longest_s: Seconds
    agent_and_tool_s: Seconds
    reason: Reason | None


class TalkRatio(_Shape):
    """Shares of the time of the calls of which both sides are observed."""

    caller: float | None
    agent: float | None
    both: float | None
    nobody: float | None


class Outcomes(_Shape):
    """What the calls came to."""

    contained: int
    in_scope: int


class UnheardSummary(_Shape):
    """Calls in which audio reached nobody, or one side only."""

    dead_not_failed_calls: int
    one_way_audio_calls: int


class Summary(_Shape):
    """All calls pooled."""

    response_latency: ResponseLatency
    interruptions: Interruptions
    stop_latency: StopLatency
    agent_interruptions: int | None
    """Null where no call has both sides observed."""
    dead_air: DeadAirSummary
    unheard: UnheardSummary
    line: LineShown | None
    talk_ratio: TalkRatio
    outcomes: Outcomes


Witness = Literal["recording", "playout", "audio", "vad", "server"]


class EdgeAgreementShown(_Shape):
    """How far two kinds of evidence lie apart on the same edges: the second's moment minus the first's."""

    party: Literal["caller", "agent"]
    edge: Literal["u_on", "u_off", "a_on", "a_off"]
    kinds: tuple[Witness, Witness]
    n: int
    """Edges that both have."""
    median_s: Seconds
    p90_abs_s: Seconds
    only: tuple[int, int]
    """Edges that only the first, only the second has."""


class LatencyAgreementShown(_Shape):
    """The recording's response latency minus the live one, over the turns that have both."""

    n: int
    median_s: Seconds
    p90_abs_s: Seconds
    only_live: int
    only_recording: int


class TurnAgreementShown(_Shape):
    """One turn in both; null where one side has no latency there."""

    id: str | None
    recording_id: str | None
    response_latency_s: Seconds
    recording_latency_s: Seconds
    difference_s: Seconds


class RecordingAgreementShown(_Shape):
    """A recording of a live call; ``offset_s`` was added to its times."""

    call_id: str
    recording: str
    offset_s: float
    turns: list[TurnAgreementShown]


class AgreementShown(_Shape):
    """How far pipeline, taps and recordings agree, all calls pooled. Rows only where two kinds of evidence exist."""

    edges: list[EdgeAgreementShown]
    response_latency: LatencyAgreementShown | None
    """Null without recordings of live calls."""
    recordings: list[RecordingAgreementShown]


class Report(_Shape):
    """The numbers of one call or many."""

    v: Literal[1]
    measuring_point: Literal["pipeline", "recording", "mixed"]
    """``mixed``: calls of both kinds are pooled; each says its own."""
    bounds: str
    """Id of the set of bounds in force."""
    calls: list[CallShown]
    summary: Summary
    agreement: AgreementShown | None
    """Null where only records, and no events, were at hand."""


REPORT_ADAPTER: TypeAdapter[Report] = TypeAdapter(Report)
