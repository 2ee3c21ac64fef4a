"""Agent speech that begins while the caller's turn is not over (definitions, "Interruptions": agent interruption)."""

from __future__ import annotations

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.answers import chain_of
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.calls.talk import Cause, TurnDraft
from earwitness.monitor.calls.wants import is_echo


def interrupts(scene: Scene, turn: TurnDraft, sound: Sound, voice: Voice, *, belongs: bool) -> Cause | None:
    """Whether agent speech that begins now breaks into the caller's turn, and by which cause."""
    bounds, at = scene.bounds, sound.on_ns
    if belongs and _premature(scene, turn, at, voice):
        return "premature_endpoint"
    last = turn.utterances[-1]
    end = speech_end(scene, last)
    if last.on_ns is not None and last.on_ns + bounds.interruption_tolerance_ns < at < end - bounds.turn_end_ns:
        return "overlap"
    if _is_resumption(sound, voice):
        following = _next_speech(scene, at)
        if following is not None and following.at_ns - at <= bounds.resumed_after_ns:
            return "resumed"
    return None


def speech_end(scene: Scene, utterance: Utterance) -> int:
    """Where the caller's speech ends, pauses of less than ``Bounds.caller_merge_ns`` filled: by what is clearly the
    same turn, not by what may be a backchannel."""
    bounds, end = scene.bounds, utterance.end_ns(scene.horizon_ns)
    for later in scene.utterances:
        if later.on_ns is None or later.on_ns < end or later.other or later.muted:
            continue
        if later.on_ns - end >= bounds.caller_merge_ns:
            break
        long = later.end_ns(scene.horizon_ns) - later.on_ns > bounds.backchannel_most_ns
        if later.is_backchannel or not (later.words or long) or is_echo(scene, later):
            break
        end = later.end_ns(scene.horizon_ns)
    return end


def _premature(scene: Scene, turn: TurnDraft, at_ns: int, voice: Voice) -> bool:
    """The caller goes on shortly after the end that the pipeline took for the turn's end (B08)."""
    bounds = scene.bounds
    asked = _root_asked(scene, voice)
    decided = [t.at_ns for t in scene.facts.turn_ends if turn.start_ns <= t.at_ns <= at_ns]
    before = [d for d in decided if asked is None or d <= asked]
    d = max(before or decided, default=at_ns)
    known = [u for u in turn.utterances if u.off_ns is not None and u.off_ns <= d]
    if not known:
        return False
    end = known[-1].off_ns or 0
    for later in scene.utterances:
        if later.at_ns <= end or later.other or later.muted or later in known:
            continue
        if later.at_ns - end > bounds.premature_gap_ns or later.at_ns - at_ns > bounds.premature_after_ns:
            return False
        words = later.words
        small = later.tongue.is_stop(words) or (later.at_ns >= at_ns and later.is_backchannel)
        return bool(words) and not small and not is_echo(scene, later)
    return False


def _next_speech(scene: Scene, at_ns: int) -> Utterance | None:
    later = (u for u in scene.utterances if u.at_ns >= at_ns and not u.other and not u.muted)
    return next(later, None)


def _is_resumption(sound: Sound, voice: Voice) -> bool:
    """Whether text that was broken off goes on with this sound."""
    if voice.run is not None and voice.run.why == "resumed":
        return True
    return sound is not voice.sounds[0]


def _root_asked(scene: Scene, voice: Voice) -> int | None:
    """When the first run of an answer was asked for."""
    chain = chain_of(scene, voice)
    return chain[0].asked_ns if chain else None
