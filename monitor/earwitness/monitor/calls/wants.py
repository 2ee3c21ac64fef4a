"""Whether the caller wanted the floor: the first rule that says something (definitions, "Interruptions": wanted)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.intervals import clip
from earwitness.monitor.calls.overlaps import OverlapDraft, Stop
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.calls.tokens import tokens, word_count
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import DecidedBy, Wanted

SAYS_YES = frozenset({"wanted", "yes", "true", "want"})
SAYS_NO = frozenset({"not", "no", "false", "unwanted", "not_wanted"})


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
        utterance.own_words = _is_echo(scene, utterance)
    return utterance.own_words


def _is_echo(scene: Scene, utterance: Utterance) -> bool:
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
    first = words[0]
    if first not in own:
        return False
    said = tuple(own)
    return any(word == first and said[i : i + len(words)] == words for i, word in enumerate(said))


def judge(scene: Scene, draft: OverlapDraft) -> None:
    """Say whether the caller wanted the floor: the first rule of the definitions' list, from 3 on, that says something.

    Labels and the judge (rules 1 and 2) come after the fact: they change the row, and open or close no turn. What was
    expected of a recording is known from its beginning.
    """
    utterance = draft.utterances[0]
    draft.words = tuple(w for u in draft.utterances for w in u.words)
    expected = expectation(scene.facts, draft.u_on_ns, scene.bounds)
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


def expectation(facts: Facts, u_on_ns: int, bounds: Bounds) -> Wanted | None:
    """What whoever gave a recording says of the overlap there: the expectation nearest to it within the bound, else
    what is expected of every overlap (rule 8)."""
    if not facts.expected:
        return None
    near = [(abs(at - u_on_ns), at, wanted) for at, wanted in facts.expected if at is not None]
    nearest = min(near, default=None)
    if nearest is not None and nearest[0] <= bounds.expectation_reach_ns:
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
    after = [
        u for u in scene.utterances if draft.u_on_ns < u.at_ns <= until and u not in draft.utterances and not u.other
    ]
    if any(u.words for u in after) or any(
        draft.u_on_ns <= s.at_ns <= until and s.text.strip() for s in scene.loose_words
    ):
        return False
    if scene.over:
        return True
    return None if scene.horizon_ns < until or scene.awaits_words(draft.u_on_ns, until) else True


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
    following = bisect_right(scene.utterances, draft.u_on_ns, key=_place)
    for later in islice(scene.utterances, following, None):
        if later in draft.utterances or later.other or later.muted or later.echo:
            continue
        if later.at_ns - end > scene.bounds.words_follow_ns:
            break
        heard = clip(scene.agent_spans(), later.at_ns, later.end_ns(scene.horizon_ns))
        if later.is_more and not heard:
            return True
    return False


def _place(utterance: Utterance) -> int:
    return utterance.at_ns


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
