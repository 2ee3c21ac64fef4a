"""Rows of the 2×2 in the making: caller speech that begins while the agent is audible (definitions, "Interruptions").

What the caller wanted is said in ``wants``, what the agent did about it in ``stops``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import Cell, DecidedBy, Wanted


@dataclass(slots=True, eq=False)
class OverlapDraft:
    """One row of the 2×2 in the making: caller speech that began while the agent was audible."""

    id: str
    utterances: list[Utterance]
    sound: Sound
    voice: Voice
    set_aside: DecidedBy | None = None
    wanted: Wanted | None = "unknown"
    want_class: WantClass | None = None
    decided_by: DecidedBy | None = None
    uncertain: bool = False
    stop: Stop | None = None
    """What the agent did about it, once that was asked (`stop_of`)."""
    pending: bool = False
    """Too early to say what the caller wanted."""
    words: tuple[str, ...] = field(default_factory=tuple)

    @property
    def u_on_ns(self) -> int:
        """Onset of the caller's speech."""
        return self.utterances[0].at_ns

    @property
    def u_off_ns(self) -> int | None:
        """End of the caller's speech, None while it goes on."""
        return self.utterances[-1].off_ns


<<<<<<< HEAD
=======
@dataclass(frozen=True, slots=True)
class Stop:
    """What the agent did about an overlap, whatever the caller wanted. ``stopped_ns`` None: it did not fall silent."""

    u_on_ns: int
    stopped_ns: int | None
    cut: bool | None
    """An interruption or a truncated playback ended it; None on a recording, where nobody knows."""
    lasting: bool
    """The silence has lasted, or the call is over."""
    silent_for_ns: int | None
    """Until the agent spoke again or the call was over; None before that."""
    followed: bool
    """The agent has spoken again."""
    resumed_after_ns: int | None
    terminal: Terminal | None
    uncertain: bool
    seen_until_ns: int | None
    """Up to when it was watched; None: to the call's end."""
    on_at_most: bool = False
    """The caller began at ``u_on_ns`` or before."""

    def late(self, bounds: Bounds) -> bool:
        """Whether the agent went on beyond the longest window, so that what it did later has nothing to do with it."""
        return self.stopped_ns is None or self.stopped_ns - self.u_on_ns > bounds.yield_wanted_ns

    def in_time(self, wanted: Wanted | None, bounds: Bounds) -> tuple[bool | None, bool | None]:
        """``yielded_observed`` and ``yielded_caused``: silent within the window, and because of it; None: too early to
        say, or (caused) a recording."""
        if self.uncertain:
            return None, None
        recording = self.cut is None
        unwanted = bounds.yield_unwanted_recording_ns if recording else bounds.yield_unwanted_ns
        window = unwanted if wanted == "no" else bounds.yield_wanted_ns
        if self.stopped_ns is None or self.stopped_ns - self.u_on_ns > window:
            late = self.seen_until_ns is None or self.seen_until_ns > self.u_on_ns + window
            observed = False if late else None
        else:
            observed = True if self.lasting else None
        return observed, None if recording or observed is None else observed and self.cut


@dataclass(frozen=True, slots=True)
class Basis:
    """What an overlap's row of the 2×2 is worked out from; enough to work it out again when a label comes."""

    stop: Stop
    wanted: Wanted | None
    want_class: WantClass | None
    decided_by: DecidedBy | None
    class_if_unwanted: WantClass | None
    missed_because: str | None


def is_echo(scene: Scene, utterance: Utterance) -> bool:
    """Whether the sound is the agent's own, or its words are the agent's own of the last seconds (B07)."""
    if utterance.own_words is None:
        utterance.own_words = _is_own(scene, utterance)
    return utterance.own_words


def _is_own(scene: Scene, utterance: Utterance) -> bool:
    if utterance.segments and all(s.echo for s in utterance.segments):
        return True
    words = utterance.words
    if word_count(words) < scene.bounds.echo_least_words or utterance.words_only:
        return False
    start, end = utterance.at_ns - scene.bounds.echo_ns, utterance.end_ns(scene.horizon_ns)
    own: list[str] = []
    for voice in scene.voices:
        if voice.run is not None and any(s.on_ns <= end and s.end_ns(scene.horizon_ns) >= start for s in voice.sounds):
            own += scene.sounding(voice.run, start, end)
    own += [w for s in scene.facts.agent_said if s.lies_in(start, end) for w in tokens(s.text)]
    return any(tuple(own[i : i + len(words)]) == words for i in range(len(own) - len(words) + 1))


def judge(scene: Scene, draft: OverlapDraft) -> None:
    """Say whether the caller wanted the floor: the first rule of the definitions' list, from 3 on, that says something.

    Labels and the judge (rules 1 and 2) come after the fact: they change the row, and open or close no turn. What was
    expected of a recording is known from its beginning.
    """
    utterance = draft.utterances[0]
    draft.words = tuple(w for u in draft.utterances for w in u.words)
    expected = expectation(scene.facts, draft.u_on_ns)
    if expected is not None:
        draft.wanted, draft.decided_by = expected, "expectation"
        draft.want_class = class_if_unwanted(scene, draft) if expected == "no" else None
        return
    if draft.set_aside is not None:
        draft.wanted, draft.decided_by = None, draft.set_aside
        return
    if draft.uncertain:
        return
    if utterance.echo:
        draft.wanted, draft.want_class, draft.decided_by = "no", "echo", "echo"
        return
    if scene.recogniser and not draft.words:
        noise = _is_noise(scene, draft)
        if noise:
            draft.wanted, draft.want_class, draft.decided_by = "no", "noise", "noise"
            return
        draft.pending = noise is None
    if _wants_by_words(scene, draft):
        draft.wanted, draft.decided_by = "yes", "words"
        return
    end = draft.u_off_ns
    short = end is not None and end - draft.u_on_ns <= scene.bounds.backchannel_most_ns
    if short and utterance.tongue.is_backchannel(draft.words):
        draft.wanted, draft.want_class, draft.decided_by = "no", "backchannel", "backchannel"
        return
    answer = _classified(scene, draft)
    if answer is not None:
        draft.wanted, draft.decided_by = answer, "classifier"
        draft.want_class = "backchannel" if answer == "no" else None


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


>>>>>>> be8e4fb (wip3)
def cell_of(wanted: Wanted | None, gave_way: bool | None) -> Cell | None:
    """The cell of the 2×2, where both sides are known."""
    if gave_way is None or wanted not in ("yes", "no"):
        return None
    if wanted == "yes":
        return "TP" if gave_way else "FN"
    return "FP" if gave_way else "TN"


def missed_because(scene: Scene, draft: OverlapDraft) -> str | None:
    """Why the pipeline did not give way, where its own settings or words tell (B13)."""
    thrown_away = any(f.thrown_away for u in draft.utterances for s in u.segments for f in s.finals)
    least = scene.facts.started.min_words if scene.facts.started is not None else None
    # The pipeline counts what stands between spaces, in every script.
    heard = sum(len((u.text or "").split()) for u in draft.utterances)
    if least is not None and draft.words and heard < least:
        return "min_words"
    if any(lo <= draft.u_on_ns < hi for lo, hi in scene.mutes):
        return "muted"
    return "min_words" if thrown_away and least is not None else None
