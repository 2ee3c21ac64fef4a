"""Both sides of a call at one moment: who was audible when, with which words, as far as events up to then tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from earwitness.monitor.calls.agent import Sound, Voice, agent_voices
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.facts import Facts, Run, Said
from earwitness.monitor.calls.intervals import Span, subtract, union
from earwitness.monitor.calls.lexicon import Lexicon, language_of, lexicon, tokens
from earwitness.monitor.calls.speech import Segment, caller_segments, mute_spans
from earwitness.monitor.calls.transcripts import (
    assign,
    assign_belated,
    assign_others,
    places_of_late_words,
    text_of,
    words_of,
)


class Utterance(msgspec.Struct, eq=False):
    """A run of caller speech: segments closer than ``Bounds.overlap_merge_ns``; or, in a call without any source of
    edges, the words of a final alone (``words_only``)."""

    segments: list[Segment]
    on_ns: int | None
    off_ns: int | None
    at_ns: int
    """Where it lies in time."""
    words_only: bool = False
    final_text: str | None = None
    echo: bool = False
    language: str | None = None
    """Of words that stand alone: as the recogniser tells it."""
    muted: bool = False
    """All of it fell on a muted input."""
    other: bool = False
    """Somebody else than the caller spoke."""
    tongue: Lexicon = msgspec.field(default_factory=lambda: lexicon(None))
    """The word lists that judge it: of the language that was heard, else of the call's."""
    own_words: bool | None = None
    """Whether it is the agent's own sound or words, once that was asked (`overlaps.is_echo`)."""
    _words: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What was heard of it."""
        words = self._words
        if words is None:
            words = tokens(self.final_text) if self.final_text is not None else words_of(self.segments)
            self._words = words
        return words

    @property
    def is_backchannel(self) -> bool:
        """Whether words were heard of it, and all are backchannels of its language."""
        return self.tongue.is_backchannel(self.words)

    @property
    def is_more(self) -> bool:
        """Whether words were heard of it that are no backchannels, as far as there are lists to tell."""
        words = self.words
        return bool(words) and self.tongue.reads(words) and not self.tongue.is_backchannel(words)

    @property
    def text(self) -> str | None:
        """The same as text."""
        return self.final_text if self.final_text is not None else text_of(self.segments)

    @property
    def inferred(self) -> bool:
        """No end was heard."""
        return bool(self.segments) and self.segments[-1].inferred

    @property
    def on_at_most(self) -> bool:
        """It began there or before."""
        return bool(self.segments) and self.segments[0].on_at_most

    @property
    def off_at_most(self) -> bool:
        """It ended there or before."""
        return bool(self.segments) and self.segments[-1].off_at_most

    def end_ns(self, horizon_ns: int) -> int:
        """Its end, or the horizon while it goes on."""
        if self.words_only:
            return self.at_ns
        return horizon_ns if self.off_ns is None else self.off_ns


@dataclass(slots=True)
class Scene:
    """What the rules for turns, overlaps and silence look at. ``horizon_ns`` is the call's end or the present."""

    facts: Facts
    bounds: Bounds
    horizon_ns: int
    over: bool
    segments: list[Segment]
    utterances: list[Utterance]
    voices: list[Voice]
    phantoms: list[int]
    loose_words: list[Said]
    tongues: tuple[Lexicon, ...]
    """Word lists of the languages that the agent may speak: the call's and those that the caller was heard in."""
    recogniser: bool
    caller_edges: bool
    """Whether a source of caller edges exists."""
    agent_edges: bool
    mutes: list[Span]
    _sounds: list[tuple[int, Sound, Voice]]
    _agent: list[Span] | None = None
    _uncertain: list[Span] | None = None
    _caller: dict[bool, list[Span]] = field(default_factory=dict[bool, list[Span]])

    @property
    def pipeline(self) -> bool:
        """Whether the pipeline itself is seen, not only a recording of the call."""
        return not self.facts.recording

    def sounds(self) -> Sequence[tuple[int, Sound, Voice]]:
        """Every onset of the agent, in order."""
        return self._sounds

    def audible_at(self, moment_ns: int) -> tuple[Sound, Voice] | None:
        """The agent's sound at a moment, the one that began last where there are several."""
        upto = bisect_right(self._sounds, moment_ns, key=_onset)
        for n in range(upto - 1, -1, -1):
            _, sound, voice = self._sounds[n]
            off, uncertain = sound.off_ns, sound.uncertain_until_ns
            end = self.horizon_ns + 1 if off is None else off
            if moment_ns < end or (uncertain is not None and moment_ns < uncertain):
                return sound, voice
        return None

    def awaits_words(self, after_ns: int, to_ns: int) -> bool:
        """Whether caller speech that began in a stretch of time may still get its first words."""
        return self.recogniser and any(
            after_ns < u.at_ns <= to_ns
            and not (u.other or u.muted or u.words)
            and self.horizon_ns - u.end_ns(self.horizon_ns) < self.bounds.words_reach_ns
            for u in self.utterances
        )

    def agent_spans(self) -> Sequence[Span]:
        """When the agent was audible."""
        found = self._agent
        if found is None:
            horizon = self.horizon_ns
            found = self._agent = union([(on, horizon if s.off_ns is None else s.off_ns) for on, s, _ in self._sounds])
        return found

    def uncertain_spans(self) -> Sequence[Span]:
        """When nobody knows whether the agent was still heard, or again (A30)."""
        found = self._uncertain
        if found is None:
            horizon = self.horizon_ns
            spans = union(
                [
                    (s.off_ns, min(s.uncertain_until_ns, horizon))
                    for _, s, _ in self._sounds
                    if s.off_ns is not None and s.uncertain_until_ns is not None
                ]
            )
            found = self._uncertain = subtract(spans, self.agent_spans()) if spans else spans
        return found

    def caller_spans(self, *, other: bool = False) -> Sequence[Span]:
        """When the caller (or others on the caller's side) made a sound; the agent's own, come back, is none."""
        found = self._caller.get(other)
        if found is None:
            horizon = self.horizon_ns
            found = self._caller[other] = union(
                [(s.start_ns, s.end_ns(horizon)) for s in self.segments if s.other is other and not s.echo]
            )
        return found

    def said_by(self, run: Run, from_ns: int, to_ns: int) -> tuple[str, ...]:
        """The response's words that were audible around a stretch of time; all it has where nobody timed them."""
        if run.spoken:
            return tuple([w for at, words in run.spoken_words() if from_ns <= at <= to_ns for w in words])
        return tuple([w for _, text in run.intended for w in tokens(text)])

    def sounding(self, run: Run, from_ns: int, to_ns: int) -> tuple[str, ...]:
        """Words of the response that may have been audible in a stretch of time: a piece of several words, told at one
        moment, may be heard from the piece before it to the piece after it."""
        pieces = run.spoken_words()
        if not pieces:
            return self.said_by(run, from_ns, to_ns)
        words: list[str] = []
        for n, (at, piece) in enumerate(pieces):
            first = last = at
            if len(piece) > 1:
                first = pieces[n - 1][0] if n else 0
                last = pieces[n + 1][0] if n + 1 < len(pieces) else self.horizon_ns
            if first <= to_ns and last >= from_ns:
                words += piece
        return tuple(words)


def build_scene(facts: Facts, bounds: Bounds, *, as_of_ns: int, over: bool) -> Scene:
    """Lay a call's facts out in time; ``over``: the call has ended and ``as_of_ns`` is its end."""
    segments = caller_segments(facts, bounds, horizon_ns=as_of_ns, over=over)
    heard = agent_voices(facts, bounds, horizon_ns=as_of_ns, over=over)
    declared = facts.started.caller_edges if facts.started is not None else ()
    deaf = bool(facts.counts.get("no_frames_seen")) and not facts.had  # what was declared was never there (A40)
    caller_edges = not deaf and any(e in ("audio", "vad", "server") for e in declared)
    caller_edges = caller_edges or any(kind.startswith("caller:") for kind in facts.had)
    loose = assign(facts.said, segments, bounds, horizon_ns=as_of_ns)
    if loose:
        heard_agent = [(s.on_ns, s.end_ns(as_of_ns)) for v in heard.voices for s in v.sounds]
        loose = assign_belated(loose, segments, heard_agent, bounds)
    assign_others(facts.said_by_others, segments, bounds, horizon_ns=as_of_ns)
    utterances = _utterances(segments, bounds)
    if not caller_edges:
        said = [s for s in loose if s.final and tokens(s.text)]
        realtime = facts.started is not None and facts.started.mode == "realtime"
        places = places_of_late_words(facts, said, bounds) if realtime else [s.at_ns for s in said]
        utterances = [
            Utterance([], None, None, min(at, as_of_ns), words_only=True, final_text=s.text, language=s.language)
            for at, s in sorted(zip(places, said, strict=True), key=lambda pair: (pair[0], pair[1].at_ns))
        ]
        loose = []
    agent_declared = facts.started.agent_edges if facts.started is not None else ()
    agent_edges = (bool(agent_declared) and not deaf) or any(kind.startswith("agent:") for kind in facts.had)
    started = facts.started
    recogniser = "said" in facts.had or bool(started is not None and started.recogniser)
    sounds = [(s.on_ns, s, v) for v in heard.voices for s in v.sounds]
    sounds.sort(key=_onset)
    return Scene(
        facts, bounds, as_of_ns, over, segments, utterances, heard.voices, heard.phantoms, loose,
        _tongues(facts, utterances, bounds), recogniser, caller_edges,
        agent_edges, mute_spans(facts, as_of_ns), sounds,
    )  # fmt: skip


def _onset(sound: tuple[int, Sound, Voice]) -> int:
    return sound[0]


def _tongues(facts: Facts, utterances: Sequence[Utterance], bounds: Bounds) -> tuple[Lexicon, ...]:
    """Give each utterance the word lists that judge it; all the languages of the call."""
    spoken = facts.started.language if facts.started is not None else None
    for utterance in utterances:
        heard = utterance.language
        for segment in utterance.segments:
            heard = segment.language or heard
        utterance.tongue = lexicon(heard or spoken, bounds.words)
    names = {language_of(spoken): None}
    heard_in = sorted([kind for kind in facts.had if kind.startswith("language:")])
    names |= {kind.removeprefix("language:"): None for kind in heard_in}
    return tuple(lexicon(name, bounds.words) for name in names)


def _utterances(segments: Sequence[Segment], bounds: Bounds) -> list[Utterance]:
    """Runs of speech of one speaker, in order."""
    out: list[Utterance] = []
    for segment in segments:
        last = out[-1] if out else None
        if (
            last is not None
            and last.off_ns is not None
            and segment.on_ns is not None
            and segment.on_ns - last.off_ns < bounds.overlap_merge_ns
            and last.other == segment.other
            and last.muted == segment.muted
            and last.segments[-1].echo == segment.echo
        ):
            last.segments.append(segment)
            last.off_ns = None if segment.off_ns is None else max(last.off_ns, segment.off_ns)
            continue
        muted, other = segment.muted, segment.other
        out.append(Utterance([segment], segment.on_ns, segment.off_ns, segment.start_ns, muted=muted, other=other))
    return out
