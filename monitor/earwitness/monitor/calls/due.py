"""When time alone changes something of a call, if no event comes before."""

from __future__ import annotations

from collections.abc import Iterator

from earwitness.monitor.calls.classes import words_in
from earwitness.monitor.calls.overlaps import OverlapDraft
from earwitness.monitor.calls.page import NEVER
from earwitness.monitor.calls.reckon import Reckoning
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.silence import broke_off


def due_ns(found: Reckoning, last_at_ns: int) -> int:
    """The first moment after that of the reckoning at which a record may read differently, apart from becoming final
    (that is ``page.final_at_ns``); NEVER once the call is over. What grows with time is due at once.

    Bounds that are met exactly count as met in one place and as not yet met in another: such a moment is followed by
    the next nanosecond.
    """
    scene = found.page.scene
    if scene.over:
        return NEVER
    horizon = scene.horizon_ns
    moments = [
        last_at_ns + scene.bounds.silent_call_ns,
        *_silence(found),
        *_turns(found),
        *_runs(found),
        *_unheard(found),
    ]
    for draft in found.page.talk.overlaps:
        moments += _overlap(scene, draft)
    moments += [at + scene.bounds.spurious_near_ns for at in scene.facts.interruptions[-3:] if _cuts(scene, at)]
    wordless = (u.off_ns for u in scene.utterances[-4:] if u.off_ns is not None and not u.words)
    moments += [off + scene.bounds.words_reach_ns for off in wordless]
    return min((max(at, horizon + 1) for at in moments if at >= horizon), default=NEVER)


def _cuts(scene: Scene, at_ns: int) -> bool:
    """Whether there was a sound of the agent that an interruption may have cut."""
    return scene.audible_at(at_ns) is not None or scene.audible_at(max(at_ns - scene.bounds.match_ns, 0)) is not None


def _silence(found: Reckoning) -> Iterator[int]:
    """Dead air begins to count; a response turns out to have stalled."""
    scene, bounds = found.page.scene, found.page.scene.bounds
    sounds = [sound for _, sound, _ in scene.sounds()[-3:]]
    uncertain = [s.uncertain_until_ns for s in sounds if s.uncertain_until_ns is not None]
    yield from (at + after for at in uncertain for after in (0, bounds.dead_air_ns))
    for voice in scene.voices[-2:]:
        if voice.off_ns is not None and broke_off(scene, voice):
            yield voice.off_ns + bounds.dead_air_ns
    if found.stretches and found.stretches[-1].end_ns is None:
        yield scene.horizon_ns + 1
    ends = [sound.off_ns for sound in sounds] + [s.off_ns for s in scene.segments[-3:] if not s.echo]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends) or not scene.caller_edges or not scene.agent_edges:
        return
    quiet_since = (*known, scene.facts.connected_ns or 0, found.page.carry.cut_ns)
    yield from (end + bounds.dead_air_ns for end in quiet_since)
    if scene.horizon_ns >= max(known, default=0) + bounds.dead_air_ns:
        # Whoever owes nothing yet may come to owe it.
        yield scene.horizon_ns + 1


def _unheard(found: Reckoning) -> Iterator[int]:
    """Audio that was made turns out to reach nobody."""
    scene, bounds = found.page.scene, found.page.scene.bounds
    for run in scene.facts.runs.values():
        if not run.plays and "first_audio" in run.at:
            yield run.at["first_audio"] + bounds.unheard_ns
    for gap in scene.facts.gaps.get("caller", ())[-1:]:
        if gap.back_ns is None:
            yield gap.last_ns + bounds.one_way_quiet_ns
            if any(sound.off_ns is None for _, sound, _ in scene.sounds()[-3:]):
                yield max(gap.last_ns + bounds.one_way_quiet_ns, scene.horizon_ns + 1)


def _turns(found: Reckoning) -> Iterator[int]:
    """An answer is overdue; a turn of which no word was heard is none that counts; an answer turns out to break in;
    speech outlasts the mute that it fell on."""
    scene, turns = found.page.scene, found.page.talk.turns
    bounds, horizon = scene.bounds, scene.horizon_ns
    for turn in turns[-3:]:
        end = turn.end_ns(horizon)
        if end + bounds.words_reach_ns >= horizon and not words_in(turn):
            yield end + bounds.words_reach_ns
    if any(segment.off_ns is None for segment in scene.segments[-3:]):
        # Agent audio in the last stretch of a turn answers it; while the caller goes on it is none.
        yield from (on + bounds.turn_end_ns for on, _, _ in scene.sounds()[-3:])
    if any(segment.off_ns is None and segment.muted for segment in scene.segments[-3:]):
        yield horizon + 1
    if turns and turns[-1].answer is None and (turns[-1].u_off_ns is not None or turns[-1].utterances[-1].words_only):
        yield max(turns[-1].end_ns(horizon) + bounds.overdue_ns, horizon + 1)


def _runs(found: Reckoning) -> Iterator[int]:
    """A response that ended turns out never to have been audible."""
    scene = found.page.scene
    heard_until = max((v.off_ns for v in scene.voices if v.off_ns is not None), default=0)
    for run in scene.facts.runs.values():
        if run.plays and run.plays[-1].first_ns is not None:
            continue
        ends = [run.at[m] for m in ("cancelled", "ended", "tools_called", "empty") if m in run.at]
        for end in (max(ends, default=0), max(*ends, heard_until, 0)):
            yield from (end + after for after in (scene.bounds.settle_ns, scene.bounds.reorder_ns))


def _overlap(scene: Scene, draft: OverlapDraft) -> Iterator[int]:
    """Whether the agent gave way, and what the caller wanted, is decided."""
    bounds = scene.bounds
    if draft.sound.off_ns is None:
        unwanted = bounds.yield_unwanted_ns if scene.pipeline else bounds.yield_unwanted_recording_ns
        yield draft.u_on_ns + (unwanted if draft.wanted == "no" else bounds.yield_wanted_ns)
    else:
        yield draft.sound.off_ns + bounds.stop_silence_ns
    if draft.pending and draft.u_off_ns is not None:
        yield draft.u_off_ns + bounds.noise_wait_ns
