"""Facts of the talk: who made sound when, whose turn it was, what was said."""

from __future__ import annotations

from typing import Literal

from earwitness.monitor.contract.event import Event, Evidence, Ns, Party


class _SpeechEdge(Event):
    """Where a party's sound begins or ends."""

    party: Party
    evidence: Evidence
    edge_ns: Ns
    correction_ns: int = 0
    delay_known: bool = True
    participant: str | None = None
    snr_db: float | None = None


class SpeechStarted(_SpeechEdge):
    """A party began to make sound at ``edge_ns``; ``correction_ns`` is what the detector's own delay took off.

    ``delay_known`` is False where a service gives its word some time after the fact and nobody knows how long: then
    the edge lies at ``edge_ns`` or before it.
    """

    kind: Literal["speech_started"] = "speech_started"


class SpeechEnded(_SpeechEdge):
    """A party fell silent at ``edge_ns``; ``correction_ns`` and ``delay_known`` as at its beginning."""

    kind: Literal["speech_ended"] = "speech_ended"
    voiced_ns: Ns | None = None
    inferred: bool = False
    """True where no end was heard and the last audio that arrived stands for it."""
    echo: bool = False
    """True where the sound is the other party's own, come back on this party's line: nobody spoke."""


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
    """When the words were said, as far as is known: the recogniser's own times, or when words came that are told later
    (then they ended there or before)."""
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
