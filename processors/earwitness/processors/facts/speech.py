"""Edges of speech as the pipeline reports them: the VAD's, a service's, and the output's own idea of the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from earwitness.monitor.contract.events import AudioGap, Evidence, Party, SpeechEnded, SpeechStarted
from earwitness.processors.facts.service_delay import end_delay_ns
from earwitness.processors.facts.shared import MS, SECOND, Moments
from earwitness.processors.facts.vad_audio import Place, VadAudio
from earwitness.processors.frames import Handler, optional_class

TWIN_S = 0.05
GAP_NS = SECOND
WAIT_NS: Final = SECOND // 2
"""An edge out of late audio waits so long, until it can be told when that audio was spoken."""
MOST_WAIT_NS: Final = 3 * SECOND


class _LateEdge(NamedTuple):
    """What the VAD said at ``seen_ns`` of audio that was late; ``place`` None: of audio in time, behind late one."""

    place: Place | None
    seen_ns: int
    tell: Callable[..., None]
    delay_ns: int


class Speech:
    """Speech edges (definitions, "Time and evidence").

    A VAD frame's own ``timestamp`` is wall time and enters no edge (A42): the edge is the moment of the push less the
    detector's delay. The user aggregator pushes each VAD frame twice, once each way, without saying that they are
    twins; their wall timestamps agree within microseconds, which tells them from two edges. A service's word comes
    after the silence that it waits for: that is taken off where its settings are known, else the edge says that it
    may lie earlier. What a VAD finds in audio that a blocked event loop has kept waiting lies where that audio stands.
    """

    def __init__(self, now: Moments) -> None:
        self._now = now
        self.vad_audio = VadAudio(now.clock.now_ns, self._count_fault)
        self._late: list[_LateEdge] = []
        self._vad_ended_ns = 0
        self.watch_gaps = True
        """Whether it is for us to tell of gaps in the caller's audio."""
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
        before = self._seen.get(kind)
        self._seen = {kind: moment}  # behind an edge of the other kind comes a new one, however close
        return before is not None and abs(moment - before) < TWIN_S

    def _vad_started(self, data: Any) -> None:
        if self._twin(data):
            return
        delay_s = getattr(data.frame, "start_secs", None) or self.vad_start_s or 0.0
        self._vad_says(data, self._start, round(delay_s * SECOND))

    def _vad_stopped(self, data: Any) -> None:
        if self._twin(data):
            return
        delay_s = getattr(data.frame, "stop_secs", None) or self.vad_stop_s or 0.0
        self._vad_says(data, self._stop, round(delay_s * SECOND))

    def _vad_says(self, data: Any, tell: Callable[..., None], delay_ns: int) -> None:
        place = self.vad_audio.place_of(data.frame)
        if place is None and not self._late:
            tell(data.timestamp, "caller", "vad", correction_ns=delay_ns)
            return
        if not self._late:
            self._now.agenda.post(data.timestamp + WAIT_NS, self._settle)
        self._late.append(_LateEdge(place, data.timestamp, tell, delay_ns))

    def _settle(self, at_ns: int) -> None:
        if self._late and not self.vad_audio.settled() and at_ns - self._late[0].seen_ns < MOST_WAIT_NS:
            self._now.agenda.post(at_ns + 100 * MS, self._settle)
        else:
            self._tell_late(at_ns)

    def _tell_late(self, at_ns: int) -> None:
        late, self._late = self._late, []
        for place, seen_ns, tell, delay_ns in late:
            edge_ns = seen_ns - delay_ns
            more: dict[str, bool] = {}
            if place is not None and not place.forced:
                edge_ns = place.at_ns() - delay_ns
            elif place is not None and place.whole:
                # no end of speech, and nobody was silent: the loop stood still, and the VAD with it
                edge_ns, more = place.at_ns(), {"inferred": True}
            at_ns = max(at_ns, seen_ns)
            tell(at_ns, "caller", "vad", correction_ns=at_ns - max(0, edge_ns), **more)

    def _count_fault(self) -> None:
        self._now.record.ledger.errors += 1

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
        if evidence == "vad":
            edge_ns = max(edge_ns, self._vad_ended_ns)
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
        inferred: bool = False,
    ) -> None:
        edge_ns = max(0, at_ns - correction_ns)
        began_ns = self._open.pop((party, evidence, participant), None)
        if began_ns is not None and evidence != "server":  # whose beginning may lie before where it was noticed
            edge_ns = max(edge_ns, began_ns)
        if evidence == "vad":
            self._vad_ended_ns = edge_ns
        self._now.emit(
            SpeechEnded, at_ns, party=party, evidence=evidence, edge_ns=edge_ns,
            correction_ns=at_ns - edge_ns, delay_known=delay_known, participant=participant, inferred=inferred,
        )  # fmt: skip

    def caller_audio(self, at_ns: int) -> None:
        """The caller's audio is back after it had stopped."""
        if self._gap_open:
            self._gap_open = False
            last_ns = self._now.last_caller_audio_ns or 0
            self._now.emit(AudioGap, at_ns, party="caller", state="resumed", last_audio_ns=last_ns)

    def tick(self, at_ns: int, *, late: bool = False) -> None:
        """Notice that the caller's audio has stopped arriving; ``late``: the loop was blocked until now, and audio may
        wait behind it."""
        last_ns = self._now.last_caller_audio_ns
        watching = self.watch_gaps and not self._gap_open and not self._now.ending and not late
        if watching and last_ns is not None and at_ns - last_ns >= GAP_NS:
            self._gap_open = True
            self._now.emit(AudioGap, at_ns, party="caller", state="stopped", last_audio_ns=last_ns)

    @property
    def gap_open(self) -> bool:
        return self._gap_open

    def close(self, at_ns: int) -> None:
        """A CancelFrame while somebody speaks brings no stop frame: close what is open, and say so."""
        self._tell_late(at_ns)
        for (party, evidence, participant), began_ns in list(self._open.items()):
            heard_ns = self._now.last_caller_audio_ns if party == "caller" else at_ns
            edge_ns = max(began_ns, min(at_ns, heard_ns if heard_ns is not None else at_ns))
            self._now.emit(
                SpeechEnded, at_ns, party=party, evidence=evidence, edge_ns=edge_ns,
                participant=participant, inferred=True,
            )  # fmt: skip
        self._open.clear()
