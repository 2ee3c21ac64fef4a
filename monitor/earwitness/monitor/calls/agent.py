"""When the agent was audible, and with which response (definitions, "Time and evidence" and "Speech and turns").

``playout`` gives a response's first and last sample; pauses inside it come from ``audio`` (the tap on what was
written). ``server`` and ``decision`` serve only in a call that has nothing better; a decision-only stretch in a call
that does have better is phantom speech (A02).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.facts import Facts, Play, Run
from earwitness.monitor.calls.speech import Segment, pair
from earwitness.monitor.contract.events import Evidence


class Sound(msgspec.Struct, gc=False):
    """A stretch in which the agent was audible. ``off_ns`` None: it goes on. Between ``off_ns`` and
    ``uncertain_until_ns`` nobody knows (A30)."""

    on_ns: int
    off_ns: int | None
    on_by: Evidence
    off_by: Evidence
    uncertain_until_ns: int | None = None

    def end_ns(self, horizon_ns: int) -> int:
        """Its end, or the horizon while it goes on."""
        return horizon_ns if self.off_ns is None else self.off_ns


class Voice(msgspec.Struct, eq=False):
    """All that one response made audible. ``run`` None: nobody says which response it was."""

    run: Run | None
    sounds: list[Sound] = msgspec.field(default_factory=list[Sound])
    chain: list[Run] | None = None
    """The runs that led to it, once they were asked for (`answers.chain_of`)."""
    stalled: bool | None = None
    """Whether it fell silent in its middle, once that was asked (`stalls.stalled`)."""

    @property
    def on_ns(self) -> int:
        """First audible sample."""
        return self.sounds[0].on_ns

    @property
    def off_ns(self) -> int | None:
        """Last audible sample, None while it goes on."""
        return self.sounds[-1].off_ns

    @property
    def truncated(self) -> bool | None:
        """Whether its last stretch was cut (True) or played whole (False), where the transport said so."""
        return self.run.plays[-1].truncated if self.run is not None and self.run.plays else None


@dataclass(slots=True)
class Heard:
    """What the agent made audible, response by response in the order of first sound."""

    voices: list[Voice]
    phantoms: list[int]
    """Where the pipeline claimed speech and nothing was audible."""


def agent_voices(facts: Facts, bounds: Bounds, *, horizon_ns: int, over: bool) -> Heard:
    """The agent's audible responses."""
    gaps = facts.gaps.get("agent", [])
    kinds: dict[str, list[Segment]] = {}
    for evidence, edges in facts.agent_edges.items():
        paired = pair(edges, _kind(evidence), None, gaps, horizon_ns=horizon_ns, over=over)
        kinds[evidence] = [s for s in paired if s.on_ns is not None]
    audio, server, decision = (kinds.get(k, []) for k in ("audio", "server", "decision"))
    # Where what is written would be seen, the pipeline's word alone is no sound: it says so of what it cannot write.
    declared = {f"agent:{kind}" for kind in (facts.started.agent_edges if facts.started is not None else ())}
    better = (facts.had | declared) & {"agent:playout", "agent:audio"}
    voices: list[Voice] = []
    left = list(audio)
    played = [run for run in facts.runs.values() if run.plays]
    firsts = sorted([p.first_ns for run in played for p in run.plays if p.first_ns is not None])
    for run in played:
        sounds: list[Sound] = []
        for play in run.plays:
            following = None if play.first_ns is None else _next_first(firsts, play.first_ns)
            inside = _within(audio, play, following, bounds.match_ns, horizon_ns)
            if inside:
                left = [s for s in left if s not in inside]
            sounds += _split(play, inside, decision, following, horizon_ns=horizon_ns, over=over)
        if sounds:
            voices.append(Voice(run, sounds))
    if not better:
        left = list(server) or list(decision)
    if left:
        _place(left, voices, facts, bounds)
    for voice in voices:
        voice.sounds = _joined(voice.sounds, bounds.agent_merge_ns)
    voices.sort(key=lambda v: (v.on_ns, v.run.id if v.run else ""))
    if not decision or not (better or "agent:server" in facts.had):
        return Heard(voices, [])
    near, sounds = bounds.match_ns, [sound for voice in voices for sound in voice.sounds]
    best = [(x.on_ns - near, (horizon_ns if x.off_ns is None else x.off_ns) + near) for x in sounds]
    return Heard(voices, [s.start_ns for s in decision if s.off_ns is not None and not _heard(s, best)])


def _kind(name: str) -> Evidence:
    return "audio" if name == "audio" else "server" if name == "server" else "decision"


def _next_first(firsts: Sequence[int], first_ns: int) -> int | None:
    """When the next stretch of any response begins after this one began."""
    following = bisect_right(firsts, first_ns)
    return firsts[following] if following < len(firsts) else None


def _within(
    audio: Sequence[Segment], play: Play, following_ns: int | None, tolerance_ns: int, horizon_ns: int
) -> list[Segment]:
    """What the tap heard of a play: it began before the play's end and the next one, and ended not before it."""
    if play.first_ns is None:
        return []
    ends = [at for at in (play.last_ns, following_ns) if at is not None]
    before, after = min(ends, default=None), play.first_ns - tolerance_ns
    return [
        s
        for s in audio
        if s.on_ns is not None
        and (before is None or s.on_ns < before)
        and (horizon_ns if s.off_ns is None else s.off_ns) > after
    ]


def _split(
    play: Play,
    audio: Sequence[Segment],
    decision: Sequence[Segment],
    following_ns: int | None,
    *,
    horizon_ns: int,
    over: bool,
) -> list[Sound]:
    """The audible stretches of one play: its own edges, the tap's pauses."""
    if play.first_ns is None or play.first_ns > horizon_ns:
        return []
    off, off_by = _end_of(play, audio, decision, following_ns, horizon_ns=horizon_ns, over=over)
    uncertain = play.uncertain_until_ns
    if len(audio) < 2:
        return [Sound(play.first_ns, off, "playout", off_by, uncertain)]
    sounds: list[Sound] = []
    for n, segment in enumerate(audio):
        first, last = n == 0, n == len(audio) - 1
        on = play.first_ns if first else max(segment.start_ns, play.first_ns)
        end = off if last else segment.off_ns
        if end is not None and off is not None:
            end = min(end, off)
        if end is not None and end <= on:
            continue
        sounds.append(Sound(on, end, "playout" if first else "audio", off_by if last else "audio"))
    if sounds:
        sounds[-1].uncertain_until_ns = uncertain
    return sounds or [Sound(play.first_ns, off, "playout", off_by, uncertain)]


def _end_of(
    play: Play,
    audio: Sequence[Segment],
    decision: Sequence[Segment],
    following_ns: int | None,
    *,
    horizon_ns: int,
    over: bool,
) -> tuple[int | None, Evidence]:
    """Where a play ends, and on what that rests: its own last sample, else the tap, else the pipeline's word."""
    first = play.first_ns or 0
    if play.last_ns is not None:
        return min(max(play.last_ns, first), horizon_ns), "playout"
    if audio:
        last = audio[-1].off_ns
        if (last is None and not over) or (last is not None and last > first):
            return last, "audio"
    stops = [s.off_ns for s in decision if s.off_ns is not None and s.off_ns > first]
    ends = [n for n in (min(stops, default=None), following_ns) if n is not None]
    if ends:
        return min(ends), "decision"
    return (horizon_ns, "decision") if over else (None, "playout")


def _place(left: Sequence[Segment], voices: list[Voice], facts: Facts, bounds: Bounds) -> None:
    """Give sound that no play covers to the response that was at work, else let it stand for itself."""
    by_run = {v.run.id: v for v in voices if v.run is not None}
    nameless: Voice | None = None
    for segment in left:
        on = segment.start_ns
        sound = Sound(on, segment.off_ns, segment.on_by, segment.off_by)
        run = _at_work(facts, on, bounds)
        if run is not None:
            voice = by_run.get(run.id)
            if voice is None:
                voice = by_run[run.id] = Voice(run)
                voices.append(voice)
            voice.sounds.append(sound)
            continue
        last = nameless.off_ns if nameless is not None else None
        if nameless is not None and last is not None and on - last < bounds.agent_merge_ns:
            nameless.sounds.append(sound)
            continue
        nameless = Voice(None, [sound])
        voices.append(nameless)


def _at_work(facts: Facts, on_ns: int, bounds: Bounds) -> Run | None:
    """The response that a sound of no play belongs to: the last that had something to say then."""
    best: tuple[int, Run] | None = None
    for run in facts.runs.values():
        ready = min((run.at[m] for m in ("first_audio", "first_text") if m in run.at), default=None)
        ready = run.asked_ns if ready is None else ready
        cancelled = run.at.get("cancelled")
        if ready is None or ready > on_ns + bounds.match_ns or "empty" in run.at:
            continue
        if cancelled is not None and cancelled <= on_ns:
            continue
        if best is None or ready >= best[0]:
            best = (ready, run)
    return best[1] if best is not None else None


def _joined(sounds: list[Sound], closer_than_ns: int) -> list[Sound]:
    """Stretches of one response closer than that are one (A01)."""
    if len(sounds) == 1:
        return sounds
    out: list[Sound] = []
    for sound in sorted(sounds, key=lambda s: s.on_ns):
        last = out[-1] if out else None
        if last is None or (last.off_ns is not None and sound.on_ns - last.off_ns >= closer_than_ns):
            out.append(sound)
            continue
        if last.off_ns is None or sound.off_ns is None:
            last.off_ns, last.off_by = None, sound.off_by
        elif sound.off_ns >= last.off_ns:
            last.off_ns, last.off_by = sound.off_ns, sound.off_by
            last.uncertain_until_ns = sound.uncertain_until_ns
    return out


def _heard(segment: Segment, spans: Sequence[tuple[int, int]]) -> bool:
    start = segment.start_ns
    end = segment.off_ns if segment.off_ns is not None else start
    return any(s < end and start < e for s, e in spans)
