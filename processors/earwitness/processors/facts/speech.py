"""Edges of speech as the pipeline reports them: the VAD's, a service's, and the output's own idea of the agent."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract.events import AudioGap, Evidence, Party, SpeechEnded, SpeechStarted
from earwitness.processors.facts.service_delay import end_delay_ns
from earwitness.processors.facts.shared import SECOND, Moments
from earwitness.processors.frames import Handler, optional_class

TWIN_S = 0.05
GAP_NS = SECOND


class Speech:
    """Speech edges (definitions, "Time and evidence").

    A VAD frame's own ``timestamp`` is wall time and enters no edge (A42): the edge is the moment of the push less the
    detector's delay. The user aggregator pushes each VAD frame twice, once each way, without saying that they are
    twins; their wall timestamps agree within microseconds, which tells them from two edges. A service's word comes
    after the silence that it waits for: that is taken off where its settings are known, else the edge says that it
    may lie earlier.
    """

    def __init__(self, now: Moments, *, watch_gaps: bool = True) -> None:
        self._now = now
        self.watch_gaps = watch_gaps
        self._seen: dict[type[Any], float] = {}
        self._open: dict[tuple[Party, Evidence, str | None], int] = {}
        self._gap_open = False
        self._llm_service = optional_class("pipecat.services.llm_service", "LLMService")
        self.vad_start_s: float | None = None
        self.vad_stop_s: float | None = None

    def frames(self) -> dict[str, Handler]:
        return {
            "VADUserStartedSpeakingFrame": self._vad_started,
            "VADUserStoppedSpeakingFrame": self._vad_stopped,
            "ProposedUserStartedSpeakingFrame": self._service_heard_start,
            "ProposedUserStoppedSpeakingFrame": self._service_heard_end,
            "UserStartedSpeakingFrame": self._turn_started,
            "UserStoppedSpeakingFrame": self._turn_stopped,
            "BotStartedSpeakingFrame": self._agent_started,
            "BotStoppedSpeakingFrame": self._agent_stopped,
        }

    def _twin(self, data: Any) -> bool:
        kind: type[Any] = data.frame.__class__
        stamp = getattr(data.frame, "timestamp", None)
        moment = stamp if isinstance(stamp, float) else data.timestamp / 1e9
        before, self._seen[kind] = self._seen.get(kind), moment
        return before is not None and abs(moment - before) < TWIN_S

    def _vad_started(self, data: Any) -> None:
        if self._twin(data):
            return
        delay_s = getattr(data.frame, "start_secs", None) or self.vad_start_s or 0.0
        self._start(data.timestamp, "caller", "vad", correction_ns=round(delay_s * SECOND))

    def _vad_stopped(self, data: Any) -> None:
        if self._twin(data):
            return
        delay_s = getattr(data.frame, "stop_secs", None) or self.vad_stop_s or 0.0
        self._stop(data.timestamp, "caller", "vad", correction_ns=round(delay_s * SECOND))

    def _from_service(self, data: Any) -> bool:
        return self._llm_service is not None and isinstance(data.source, self._llm_service)

    def _turn_started(self, data: Any) -> None:
        # some speech-to-speech services announce the turn itself: their word on the caller's speech, not ours
        if self._from_service(data):
            self._service_heard_start(data)

    def _turn_stopped(self, data: Any) -> None:
        if self._from_service(data):
            self._service_heard_end(data)

    def _service_heard_start(self, data: Any) -> None:
        self._start(data.timestamp, "caller", "server", delay_known=False)

    def _service_heard_end(self, data: Any) -> None:
        delay_ns = end_delay_ns(data.source)
        self._stop(data.timestamp, "caller", "server", correction_ns=delay_ns or 0, delay_known=delay_ns is not None)

    def _agent_started(self, data: Any) -> None:
        destination = getattr(data.frame, "transport_destination", None)
        if destination is None:
            self._now.agent_speaking = True
        self._start(data.timestamp, "agent", "decision", participant=destination)

    def _agent_stopped(self, data: Any) -> None:
        destination = getattr(data.frame, "transport_destination", None)
        if destination is None:
            self._now.agent_speaking = False
        self._stop(data.timestamp, "agent", "decision", participant=destination)

    def _start(
        self,
        at_ns: int,
        party: Party,
        evidence: Evidence,
        *,
        correction_ns: int = 0,
        delay_known: bool = True,
        participant: str | None = None,
    ) -> None:
        edge_ns = max(0, at_ns - correction_ns)
        self._open[party, evidence, participant] = edge_ns
        self._now.emit(
            SpeechStarted, at_ns, party=party, evidence=evidence, edge_ns=edge_ns,
            correction_ns=at_ns - edge_ns, delay_known=delay_known, participant=participant,
        )  # fmt: skip

    def _stop(
        self,
        at_ns: int,
        party: Party,
        evidence: Evidence,
        *,
        correction_ns: int = 0,
        delay_known: bool = True,
        participant: str | None = None,
    ) -> None:
        edge_ns = max(0, at_ns - correction_ns)
        began_ns = self._open.pop((party, evidence, participant), None)
        if began_ns is not None and evidence != "server":  # whose beginning may lie before where it was noticed
            edge_ns = max(edge_ns, began_ns)
        self._now.emit(
            SpeechEnded, at_ns, party=party, evidence=evidence, edge_ns=edge_ns,
            correction_ns=at_ns - edge_ns, delay_known=delay_known, participant=participant,
        )  # fmt: skip

    def caller_audio(self, at_ns: int) -> None:
        """The caller's audio is back after it had stopped."""
        if self._gap_open:
            self._gap_open = False
            last_ns = self._now.last_caller_audio_ns or 0
            self._now.emit(AudioGap, at_ns, party="caller", state="resumed", last_audio_ns=last_ns)

    def tick(self, at_ns: int) -> None:
        """Notice that the caller's audio has stopped arriving."""
        last_ns = self._now.last_caller_audio_ns
        watching = self.watch_gaps and not self._gap_open and not self._now.ending
        if watching and last_ns is not None and at_ns - last_ns >= GAP_NS:
            self._gap_open = True
            self._now.emit(AudioGap, at_ns, party="caller", state="stopped", last_audio_ns=last_ns)

    @property
    def gap_open(self) -> bool:
        return self._gap_open

    def close(self, at_ns: int) -> None:
        """A CancelFrame while somebody speaks brings no stop frame: close what is open, and say so."""
        for (party, evidence, participant), began_ns in list(self._open.items()):
            heard_ns = self._now.last_caller_audio_ns if party == "caller" else at_ns
            edge_ns = max(began_ns, min(at_ns, heard_ns if heard_ns is not None else at_ns))
            self._now.emit(
                SpeechEnded, at_ns, party=party, evidence=evidence, edge_ns=edge_ns,
                participant=participant, inferred=True,
            )  # fmt: skip
        self._open.clear()
