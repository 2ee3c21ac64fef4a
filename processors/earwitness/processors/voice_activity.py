"""What the audio of one party says about a call: chunks in, facts for the log out. No clock, no loop, no Pipecat.

An ear is used by one thread at a time; its facts carry every field of their event but the moment of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from earwitness.monitor.audio.audible import AudibleDetector, PlayoutClock
from earwitness.monitor.audio.framing import UnsupportedAudio
from earwitness.monitor.audio.voice_activity import Edge, SpeechDetector
from earwitness.monitor.contract import events

GAP_NS = 1_000_000_000
"""Audio that stays away for this long is a gap (docs/events.md)."""
MOST_PARTICIPANTS = 8

LAST_CHUNKS_NS = 100_000_000
"""What a far end plays on after the end of the pipeline: on the recording, though the call has been told by then."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Audio of a party. ``arrival_ns``: when its last sample was there, or when the transport had accepted it."""

    audio: bytes
    rate_hz: int
    channels: int
    arrival_ns: int
    participant: str | None = None

    @property
    def samples(self) -> int:
        """Of each channel."""
        return len(self.audio) // (2 * max(1, self.channels))

    @property
    def duration_ns(self) -> int:
        return self.samples * 1_000_000_000 // max(1, self.rate_hz)


@dataclass(frozen=True, slots=True)
class Mark:
    """The agent's transport began to write a response, or told the far end to throw away what it has queued; or the
    pipeline was told to end, and stops reading the caller's audio before the agent has finished."""

    kind: Literal["write_begins", "cleared", "ending"]
    at_ns: int


@dataclass(frozen=True, slots=True)
class Fact:
    """An event to be reported, without the moment at which it is."""

    event: type[events.Event]
    fields: Mapping[str, Any]


class Track(Protocol):
    """Where a party's audio goes besides: one side of a recording."""

    def add(self, chunk: Chunk, start_ns: int) -> None:
        """``start_ns``: when the chunk begins to play."""
        ...

    def arrived(self, chunks: Sequence[Chunk]) -> None:
        """Chunks of one stream that their arrivals date, a burst of late ones whole."""
        ...

    def cut(self, at_ns: int) -> None:
        """What was to play after ``at_ns`` was thrown away."""
        ...


class Ear(Protocol):
    """Listens to one party."""

    def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
        """What these chunks and marks say, in the order of their arrival."""
        ...

    def idle(self, now_ns: int) -> list[Fact]:
        """What the absence of audio up to now says."""
        ...

    def stop(self, now_ns: int) -> list[Fact]:
        """The call is over: close what is open."""
        ...

    @property
    def restless(self) -> bool:
        """Whether ``idle`` may have something to say although no audio comes."""
        ...


class CallerEar:
    """Caller speech from arrival-stamped audio, for each participant apart; gaps in it (A22), up to the mark that the
    pipeline ends: audio that stays away behind it is no fault of the line. Nor is audio missing that came late, in one
    burst, behind a blocked event loop: its speech is placed where its samples stand."""

    def __init__(self, track: Track | None = None, *, ending: bool = False) -> None:
        self._track = track
        self._ending = ending
        self._detectors: dict[str | None, tuple[tuple[int, int], SpeechDetector | None]] = {}
        self._last_audio_ns: int | None = None
        self._in_gap = False

    @property
    def restless(self) -> bool:
        return self._last_audio_ns is not None and not self._in_gap and not self._ending

    def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
        facts: list[Fact] = []
        streams: dict[tuple[str | None, int, int], list[Chunk]] = {}
        for number, item in enumerate(items):
            if isinstance(item, Mark):
                if item.kind == "ending" and not self._ending:
                    facts += self._listen(streams)
                    streams = {}
                    facts += self.idle(item.at_ns)
                    self._ending = True
                continue
            last_ns = self._last_audio_ns
            away_ns = 0 if last_ns is None or self._ending else item.arrival_ns - last_ns
            missing = away_ns >= GAP_NS and away_ns - made_up_ns(items, number) >= GAP_NS
            if last_ns is not None and (self._in_gap or missing):
                facts += self._listen(streams)
                streams = {}
                facts += self.idle(item.arrival_ns)
                self._in_gap = False
                facts.append(_gap("caller", "resumed", last_ns))
            self._last_audio_ns = item.arrival_ns
            streams.setdefault((item.participant, item.rate_hz, item.channels), []).append(item)
        return facts + self._listen(streams)

    def _listen(self, streams: Mapping[tuple[str | None, int, int], list[Chunk]]) -> list[Fact]:
        facts: list[Fact] = []
        for (participant, _, _), stream in streams.items():
            detector = self._detector(stream[0], facts)
            if detector is None:
                continue
            if self._track is not None:
                self._track.arrived(stream)
            edges = detector.feed_all([(chunk.audio, chunk.arrival_ns) for chunk in stream])
            facts.extend(_speech("caller", edge, participant) for edge in edges)
        return facts

    def idle(self, now_ns: int) -> list[Fact]:
        if self._in_gap or self._ending or self._last_audio_ns is None or now_ns - self._last_audio_ns < GAP_NS:
            return []
        facts = self.stop(now_ns)
        self._in_gap = True
        facts.append(_gap("caller", "stopped", self._last_audio_ns))
        return facts

    def stop(self, now_ns: int) -> list[Fact]:
        return [
            _speech("caller", edge, participant)
            for participant, (_, detector) in self._detectors.items()
            if detector is not None
            for edge in detector.stop(now_ns)
        ]

    def _detector(self, chunk: Chunk, facts: list[Fact]) -> SpeechDetector | None:
        form = (chunk.rate_hz, chunk.channels)
        known = self._detectors.get(chunk.participant)
        if known is not None and known[0] == form:
            return known[1]
        if known is not None and known[1] is not None:
            facts.extend(_speech("caller", edge, chunk.participant) for edge in known[1].stop(chunk.arrival_ns))
        if known is None and len(self._detectors) >= MOST_PARTICIPANTS:
            gone, (_, oldest) = next(iter(self._detectors.items()))
            if oldest is not None:
                facts.extend(_speech("caller", edge, gone) for edge in oldest.stop(chunk.arrival_ns))
            del self._detectors[gone]
        try:
            detector = SpeechDetector(chunk.rate_hz, chunk.channels)
        except UnsupportedAudio as refusal:
            detector = None
            facts.extend(unobservable("caller", str(refusal), chunk.arrival_ns))
        self._detectors[chunk.participant] = (form, detector)
        return detector


def made_up_ns(items: Sequence[Chunk | Mark], number: int) -> int:
    """How much of a delay the chunks behind this one make up for: so much of what seemed to be missing came late."""
    first = items[number]
    assert isinstance(first, Chunk)
    most_ns = audio_ns = 0
    for chunk in items[number + 1 :]:
        if isinstance(chunk, Chunk) and chunk.participant == first.participant:
            audio_ns += chunk.duration_ns
            most_ns = max(most_ns, audio_ns - (chunk.arrival_ns - first.arrival_ns))
    return most_ns


class AgentEar:
    """The agent's audible speech from audio that its transport has written.

    Which response it belongs to, and whether its end is certain (A30), is ``playout``'s to say: the observer's.
    """

    def __init__(self, track: Track | None = None) -> None:
        self._track = track
        self._playout = PlayoutClock()
        self._detector = AudibleDetector()
        self._refused: tuple[int, int] | None = None

    @property
    def restless(self) -> bool:
        return self._detector.waiting

    def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
        facts: list[Fact] = []
        for item in items:
            facts += self._hear(item)
        return facts

    def _hear(self, item: Chunk | Mark) -> list[Fact]:
        if isinstance(item, Mark):
            if item.kind == "write_begins":
                self._playout.write_begins(item.at_ns)
            else:
                self._cut(item.at_ns)
            return []
        if (item.rate_hz, item.channels) == self._refused or item.rate_hz < 1 or item.channels < 1:
            return []
        start_ns = self._playout.written(item.duration_ns, item.arrival_ns)
        if self._track is not None:
            self._track.add(item, start_ns)
        try:
            edges = self._detector.feed(item.audio, item.rate_hz, item.channels, start_ns, item.arrival_ns)
        except UnsupportedAudio as refusal:
            self._refused = (item.rate_hz, item.channels)
            return unobservable("agent", str(refusal), item.arrival_ns)
        return _told(edges)

    def idle(self, now_ns: int) -> list[Fact]:
        return _told(self._detector.advance(now_ns))

    def stop(self, now_ns: int) -> list[Fact]:
        if self._track is not None:
            self._track.cut(now_ns + LAST_CHUNKS_NS)
        return _told(self._detector.stop(now_ns))

    def _cut(self, at_ns: int) -> None:
        self._playout.cleared(at_ns)
        self._detector.cut(at_ns)
        if self._track is not None:
            self._track.cut(at_ns)


def _told(edges: list[Edge]) -> list[Fact]:
    return [_speech("agent", edge, None) for edge in edges]


def unobservable(party: events.Party, reason: str, at_ns: int) -> list[Fact]:
    """A party that cannot be listened to: said as audio that stopped, so that nobody takes it for silence (B19)."""
    return [Fact(events.Health, {"invalid": {f"{party}_tap: {reason}": 1}}), _gap(party, "stopped", at_ns)]


def _gap(party: events.Party, state: Literal["stopped", "resumed"], last_audio_ns: int) -> Fact:
    return Fact(events.AudioGap, {"party": party, "state": state, "last_audio_ns": max(0, last_audio_ns)})


def _speech(party: events.Party, edge: Edge, participant: str | None) -> Fact:
    fields: dict[str, Any] = {
        "party": party,
        "evidence": "audio",
        "edge_ns": max(0, edge.edge_ns),
        "participant": participant,
        "snr_db": edge.snr_db,
    }
    if edge.kind == "onset":
        return Fact(events.SpeechStarted, fields)
    return Fact(events.SpeechEnded, fields | {"voiced_ns": edge.voiced_ns, "inferred": edge.inferred})
