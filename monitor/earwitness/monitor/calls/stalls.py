"""Responses that fell silent in their middle, and what of a response was heard as text."""

from __future__ import annotations

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.silence import broke_off
from earwitness.monitor.calls.turns import Talk


def stalled(scene: Scene, talk: Talk, voice: Voice) -> bool:
    """Whether a response fell silent in its middle, and nobody made it (A28)."""
    bounds = scene.bounds
    for n, sound in enumerate(voice.sounds):
        off = sound.off_ns
        if off is None:
            continue
        following = voice.sounds[n + 1].on_ns if n + 1 < len(voice.sounds) else None
        until = following if following is not None else scene.horizon_ns
        if until - off < bounds.dead_air_ns:
            continue
        if following is None and (scene.over or voice.truncated or not broke_off(scene, voice)):
            continue
        cut = any(sound.on_ns <= at <= off + bounds.match_ns for at in scene.facts.interruptions)
        if not cut and not any(o.sound is sound for o in talk.overlaps):
            return True
    return False


def agent_text(scene: Scene, voice: Voice) -> str | None:
    """What a response made audible, as text: what was spoken, or all that it meant to say where it was not cut."""
    run = voice.run
    if run is None:
        return None
    if run.spoken:
        return " ".join(text.strip() for _, text in run.spoken)
    meant = " ".join(text.strip() for _, text in run.intended)
    if not run.unspoken:
        return (meant or None) if not voice.truncated else None
    cut = " ".join(run.unspoken).strip()
    return meant.removesuffix(cut).strip() or None
