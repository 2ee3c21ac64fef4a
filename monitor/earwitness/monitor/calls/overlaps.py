"""Whether the caller wanted the floor, and whether the agent gave way (definitions, "Interruptions")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.intervals import clip, intersect, total
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.calls.tokens import tokens, word_count
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import Cell, DecidedBy, Terminal, Wanted

EXPECTATION_REACH_NS: Final = S // 2
"""How far from its overlap's onset an expectation may lie."""
SAYS_YES = frozenset({"wanted", "yes", "true", "want"})
SAYS_NO = frozenset({"not", "no", "false", "unwanted", "not_wanted"})


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


def cell_of(wanted: Wanted | None, gave_way: bool | None) -> Cell | None:
    """The cell of the 2×2, where both sides are known."""
    if gave_way is None or wanted not in ("yes", "no"):
        return None
    if wanted == "yes":
        return "TP" if gave_way else "FN"
    return "FP" if gave_way else "TN"


def talk_over_ns(scene: Scene, draft: OverlapDraft) -> int:
    """Time in the overlap in which both are audible: what the agent says after it fell silent is no part of it."""
    spans = [(u.at_ns, u.end_ns(scene.horizon_ns)) for u in draft.utterances]
    lo, hi = spans[0][0], spans[-1][1]
    stop = _stopped_ns(scene, draft)
    hi = hi if stop is None else min(hi, stop)
    return total(intersect(spans, clip(scene.agent_spans(), lo, hi)))


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


@dataclass(frozen=True, slots=True)
class Told:
    """What a person or the judge says of an overlap; ``want_class`` and ``author`` where a person gave them."""

    wanted: Wanted
    by: DecidedBy
    want_class: WantClass | None = None
    author: str | None = None


def labelled(facts: Facts, overlap_id: str) -> Told | None:
    """What a person or the judge says of an overlap, in this order."""
    label = facts.labels.get(overlap_id)
    if label is not None and (human := _yes_no(label.said)) is not None:
        return Told(human, "human", label.want_class if human == "no" else None, label.author)
    verdict = facts.judged.get(f"wanted:{overlap_id}")
    if verdict in ("pass", "fail"):
        return Told("yes" if verdict == "pass" else "no", "judge")
    return None


def expectation(facts: Facts, u_on_ns: int) -> Wanted | None:
    """What whoever gave a recording says of the overlap there: the expectation nearest to it within the bound, else
    what is expected of every overlap (rule 8)."""
    near = [(abs(at - u_on_ns), at, wanted) for at, wanted in facts.expected if at is not None]
    nearest = min(near, default=None)
    if nearest is not None and nearest[0] <= EXPECTATION_REACH_NS:
        return "yes" if nearest[2] else "no"
    if any(not wanted for _, wanted in facts.expected):
        return "no"
    return "yes" if any(at is None for at, _ in facts.expected) else None


def _yes_no(label: str) -> Wanted | None:
    return "yes" if label in SAYS_YES else "no" if label in SAYS_NO else None


def class_if_unwanted(scene: Scene, draft: OverlapDraft) -> WantClass | None:
    """The class of a false want, where a label says that it was one."""
    if draft.utterances[0].other:
        return "not_addressed"
    if draft.utterances[0].echo:
        return "echo"
    if scene.recogniser and not draft.words:
        return "noise"
    return "backchannel" if draft.utterances[0].tongue.is_backchannel(draft.words) else None


def _is_noise(scene: Scene, draft: OverlapDraft) -> bool | None:
    """Whether no word was heard in it nor shortly after; None: too early to say (B04)."""
    end = draft.u_off_ns
    if end is None and not scene.over:
        return None
    until = (scene.horizon_ns if end is None else end) + scene.bounds.noise_wait_ns
    after = (u for u in scene.utterances if draft.u_on_ns < u.at_ns <= until and u not in draft.utterances)
    if any(u.words for u in after if not u.other) or any(
        draft.u_on_ns <= s.at_ns <= until and s.text.strip() for s in scene.loose_words
    ):
        return False
    return True if scene.over or scene.horizon_ns >= until else None


def _wants_by_words(scene: Scene, draft: OverlapDraft) -> bool:
    """Words that are no backchannel, in this speech or in speech that follows at once into the agent's silence."""
    tongue = draft.utterances[0].tongue
    if draft.words and tongue.reads(draft.words) and not tongue.is_backchannel(draft.words):
        return True
    end = draft.u_off_ns
    if end is None:
        return False
    if draft.voice.truncated is False and draft.sound.end_ns(scene.horizon_ns) > end:
        return False  # the agent talked on to its own end: what the caller says then is the answer to all of it
    for later in scene.utterances:
        if later.at_ns <= draft.u_on_ns or later in draft.utterances or later.other or later.muted or later.echo:
            continue
        if later.at_ns - end > scene.bounds.words_follow_ns:
            break
        heard = clip(scene.agent_spans(), later.at_ns, later.end_ns(scene.horizon_ns))
        if later.is_more and not heard:
            return True
    return False


def _classified(scene: Scene, draft: OverlapDraft) -> Wanted | None:
    """The classifier's answer to a request made for this very overlap, by id or by the moment of asking (B16)."""
    end = draft.u_off_ns
    for verdict in reversed(scene.facts.classifier):
        if verdict.overlap_id is not None:
            mine = verdict.overlap_id == draft.id
        else:
            asked = verdict.requested_ns
            mine = (
                asked is not None and draft.u_on_ns <= asked and (end is None or asked <= end + scene.bounds.match_ns)
            )
        if mine and verdict.answer != "unknown":
            return "yes" if verdict.answer == "interruption" else "no"
    return None


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
