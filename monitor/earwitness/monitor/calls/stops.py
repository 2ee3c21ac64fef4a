"""Whether the agent gave way in an overlap, when and why (definitions, "Interruptions": gave way)."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.intervals import clip, intersect, total
from earwitness.monitor.calls.overlaps import OverlapDraft, Stop
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.contract.records import Terminal


def stop_of(scene: Scene, draft: OverlapDraft) -> Stop:
    """Whether, when and how the response that was audible at ``u_on`` fell silent and stayed so."""
    if draft.stop is None:
        draft.stop = _stop_of(scene, draft)
    return draft.stop


def _stop_of(scene: Scene, draft: OverlapDraft) -> Stop:
    voice, stop = draft.voice, _stopped_ns(scene, draft)
    watched = None if scene.over else scene.horizon_ns
    if stop is None or draft.uncertain:
        cut = False if scene.pipeline else None
        return Stop(
            draft.u_on_ns, None, cut, False, None, False, None, None, draft.uncertain, watched,
            draft.utterances[0].on_at_most,
        )  # fmt: skip
    lasting = scene.over or scene.horizon_ns - stop >= scene.bounds.stop_silence_ns
    cut = _was_cut(scene, draft, stop) if scene.pipeline else None
    following = [on for on, s, _ in scene.sounds() if on >= stop and s is not draft.sound]
    again = next((s.on_ns for s in voice.sounds if s.on_ns > stop), None)
    if again is None and voice.run is not None:
        # Only what the agent says next can go on with what was cut; after another response it is a new beginning.
        later = next((v for v in scene.voices if v.on_ns >= stop and v is not voice), None)
        again = later.on_ns if later is not None and _resumes(later, voice) else None
    return Stop(
        draft.u_on_ns,
        stop,
        cut,
        lasting,
        (min(following) if following else scene.horizon_ns) - stop if following or scene.over else None,
        bool(following),
        None if again is None else again - stop,
        _terminal(scene, draft, stop, cut=cut, again=again),
        draft.uncertain,
        watched,
        draft.utterances[0].on_at_most,
    )


def talk_over_ns(scene: Scene, draft: OverlapDraft) -> int:
    """Time in the overlap in which both are audible: what the agent says after it fell silent is no part of it."""
    spans = [(u.at_ns, u.end_ns(scene.horizon_ns)) for u in draft.utterances]
    lo, hi = spans[0][0], spans[-1][1]
    stop = _stopped_ns(scene, draft)
    hi = hi if stop is None else min(hi, stop)
    return total(intersect(spans, clip(scene.agent_spans(), lo, hi)))


def _stopped_ns(scene: Scene, draft: OverlapDraft) -> int | None:
    """When the response that was audible at the onset fell silent for good, or for at least the stated time."""
    sounds: Sequence[Sound] = draft.voice.sounds
    at = next((n for n, s in enumerate(sounds) if s is draft.sound), 0)
    off = sounds[at].off_ns
    if off is None:
        return None
    if scene.over and off >= scene.horizon_ns:
        return None if scene.pipeline else off
    return off


def _was_cut(scene: Scene, draft: OverlapDraft, stop_ns: int) -> bool:
    """Whether an interruption or a truncated playback ended the response; not so where it is known to be whole."""
    last = draft.sound is draft.voice.sounds[-1]
    if last and draft.voice.truncated is not None:
        return draft.voice.truncated
    run = draft.voice.run
    near = scene.bounds.match_ns
    if any(draft.u_on_ns <= at <= stop_ns + near for at in scene.facts.interruptions):
        return True
    if run is None:
        return False
    cancelled = run.at.get("cancelled")
    return bool(run.unspoken) or (cancelled is not None and draft.u_on_ns <= cancelled <= stop_ns + near)


def _resumes(later: Voice, earlier: Voice) -> bool:
    if later.run is None or earlier.run is None or later is earlier:
        return False
    return later.run.why == "resumed" and (later.run.after is None or later.run.after == earlier.run.id)


def _terminal(
    scene: Scene, draft: OverlapDraft, stop_ns: int, *, cut: bool | None, again: int | None
) -> Terminal | None:
    """The caller began in the response's last syllables (B15); a recording cannot tell it from a quick stop."""
    if stop_ns - draft.u_on_ns > scene.bounds.terminal_ns:
        return None
    if not scene.pipeline:
        return "terminal_or_yield"
    whole = draft.voice.truncated is False or (not cut and draft.voice.run is not None)
    return "natural_end" if whole and again is None else None
