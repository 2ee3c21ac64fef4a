"""Responses that fell silent in their middle, and what of a response was heard as text."""

from __future__ import annotations

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.silence import broke_off
from earwitness.monitor.calls.talk import Talk


def stalled(scene: Scene, talk: Talk, voice: Voice) -> bool:
    """Whether a response fell silent in its middle, nobody made it, and for long nobody else took the floor (A28)."""
    if voice.stalled is None:
        voice.stalled = _stalled(scene, talk, voice)
    return voice.stalled


def _stalled(scene: Scene, talk: Talk, voice: Voice) -> bool:
    bounds = scene.bounds
    for n, sound in enumerate(voice.sounds):
        off = sound.off_ns
        if off is None:
            continue
        following = voice.sounds[n + 1].on_ns if n + 1 < len(voice.sounds) else None
        if _next_sound_ns(scene, off) - off < bounds.dead_air_ns:
            continue
        if following is None and (voice.truncated or not broke_off(scene, voice)):
            continue
        cut = any(sound.on_ns <= at <= off + bounds.match_ns for at in scene.facts.interruptions)
        if not cut and not any(o.sound is sound for o in talk.overlaps):
            return True
    return False


def _next_sound_ns(scene: Scene, moment_ns: int) -> int:
    """When either side is next heard, or the horizon."""
    agent = (on for on, _, _ in scene.sounds() if on >= moment_ns)
    caller = (u.at_ns for u in scene.utterances if u.at_ns >= moment_ns and not (u.other or u.muted))
    return min(next(agent, scene.horizon_ns), next(caller, scene.horizon_ns))


def agent_text(scene: Scene, voice: Voice) -> str | None:
    """What a response made audible, as text: what was spoken, or all that it meant to say where it was not cut."""
    run = voice.run
    if run is None:
        end = voice.sounds[-1].end_ns(scene.horizon_ns)
        return " ".join(s.text for s in scene.facts.agent_said if s.lies_in(voice.on_ns, end)) or None
    lengths = len(run.spoken), len(run.intended)
    if run.joined is None or run.joined[0] != lengths:
        spoken = " ".join(text.strip() for _, text in run.spoken)
        run.joined = lengths, spoken, " ".join(text.strip() for _, text in run.intended)
    _, spoken, meant = run.joined
    if run.spoken:
        return spoken
    if not run.unspoken:
        return (meant or None) if not voice.truncated else None
    return _before(meant, " ".join(run.unspoken)) or None


def _before(meant: str, cut: str) -> str:
    """What was said of a text whose end was cut off; nothing where it does not end so, since nobody knows then."""
    words, gone = meant.split(), cut.split()
    said, rest = words[: len(words) - len(gone)], words[len(words) - len(gone) :]
    return " ".join(said) if len(gone) <= len(words) and rest == gone else ""
