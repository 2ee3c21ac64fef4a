"""Caller turns, what answers them, and speech in which both take part, in one pass over onsets in time.

Definitions, "Speech and turns" and "Interruptions". The pass sees every onset of either side once, in order; it may
look at what came later (a record is revised when that is learnt), and never changes what lies before.
"""

from __future__ import annotations

from operator import itemgetter

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.agent_interruptions import interrupts, speech_end
from earwitness.monitor.calls.answers import Answers
from earwitness.monitor.calls.overlaps import OverlapDraft
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.calls.stops import stop_of
from earwitness.monitor.calls.talk import InterruptionDraft, Talk, TurnDraft
from earwitness.monitor.calls.wants import is_echo, judge


def follow(scene: Scene, *, overlaps_before: int = 0) -> Talk:
    """Walk through a call's onsets; ``overlaps_before``: how many overlaps it had before what the scene shows."""
    walk = _Walk(scene, overlaps_before)
    onsets: list[tuple[int, int, int, Utterance | tuple[Sound, Voice]]] = [
        (on, 1, n, (sound, voice)) for n, (on, sound, voice) in enumerate(scene.sounds())
    ]
    # Words that are placed at the request which they caused come before what it made audible, even at once.
    onsets += [(u.at_ns, 0 if u.words_only else 2, n, u) for n, u in enumerate(scene.utterances)]
    onsets.sort(key=itemgetter(0, 1, 2))
    for _, _, _, what in onsets:
        if isinstance(what, Utterance):
            walk.hear_caller(what)
        else:
            walk.hear_agent(*what)
    walk.assign_silent_runs()
    return walk.talk


class _Walk:
    """The state of the pass: the last turn, and which overlap the caller's speech may still belong to."""

    def __init__(self, scene: Scene, overlaps_before: int) -> None:
        self.scene = scene
        self.overlaps_before = overlaps_before
        self.bounds = scene.bounds
        self.talk = Talk()
        self.answers = Answers(scene, self.talk)
        self.last_interruption: InterruptionDraft | None = None

    @property
    def turn(self) -> TurnDraft | None:
        return self.talk.turns[-1] if self.talk.turns else None

    def hear_agent(self, sound: Sound, voice: Voice) -> None:
        """An onset of the agent: it interrupts the caller, or answers, or neither."""
        turn = self.turn
        mine = self.answers.owner_of(voice, sound)
        if turn is None or turn.answer is not None:
            return
        cause = interrupts(self.scene, turn, sound, voice, belongs=mine is turn)
        last = self.last_interruption
        if cause is not None and last is not None and last.turn is turn and last.at_ns == sound.on_ns:
            return  # one onset, told of two responses
        if cause is not None:
            found = InterruptionDraft(sound.on_ns, cause, turn, voice)
            self.talk.interruptions.append(found)
            self.last_interruption = found
            turn.interrupted = True
            turn.premature = turn.premature or cause == "premature_endpoint"
        if cause in (None, "overlap") and self._talks_over_the_end(turn, sound):
            self._answer(turn, voice, sound, sample=False)
        elif cause is None and mine is turn:
            self._answer(turn, voice, sound, sample=True)

    def _talks_over_the_end(self, turn: TurnDraft, sound: Sound) -> bool:
        """On a recording: an onset inside the turn that talks on beyond its end."""
        if self.scene.pipeline:
            return False
        end = speech_end(self.scene, turn.utterances[-1])
        return sound.on_ns < end - self.bounds.turn_end_ns and sound.end_ns(self.scene.horizon_ns) > end

    def hear_caller(self, utterance: Utterance) -> None:
        """An onset on the caller's side: it opens a turn, goes on with one, or is neither."""
        scene = self.scene
        audible = None if utterance.on_ns is None else scene.audible_at(utterance.on_ns)
        if utterance.muted or utterance.other:
            if audible is not None:
                self._overlap(utterance, *audible, set_aside="muted" if utterance.muted else "other_participant")
            return
        utterance.echo = is_echo(scene, utterance)
        after = self._goes_on_after_interruption(utterance)
        if audible is None:
            if not utterance.echo and not self._joins_last_overlap(utterance):
                self._extend_or_open(utterance)
            return
        if after:
            self._overlap(utterance, *audible, set_aside="after_agent_interruption")
            self._extend_or_open(utterance)
            return
        if self._joins_last_overlap(utterance):
            return
        draft = self._overlap(utterance, *audible)
        if draft.wanted == "yes":
            self._extend_or_open(utterance)
        elif draft.wanted == "unknown":
            self._open_by_unknown(utterance, draft)
        elif draft.want_class == "backchannel" and self._is_early_answer(utterance, draft):
            self._extend_or_open(utterance)

    def assign_silent_runs(self) -> None:
        """Give responses that were never audible to the turn that caused them."""
        for run in self.scene.facts.runs.values():
            asked = run.asked_ns
            if run.id in self.talk.owner or asked is None or not run.at:
                continue
            turn = self.answers.turn_of(run, asked, self.talk.turns)
            if turn is not None:
                self.talk.owner[run.id] = turn

    def _answer(self, turn: TurnDraft, voice: Voice, sound: Sound, *, sample: bool) -> None:
        turn.answer, turn.answer_ns, turn.sample = voice, sound.on_ns, sample

    def _extend_or_open(self, utterance: Utterance) -> None:
        turn = self.turn
        if turn is not None and turn.answer is None:
            quiet = utterance.at_ns - turn.end_ns(self.scene.horizon_ns)
            if quiet <= self.bounds.turn_gap_ns:
                turn.utterances.append(utterance)
                turn.doubtful = False
                return
        self.talk.turns.append(TurnDraft([utterance]))

    def _open_by_unknown(self, utterance: Utterance, draft: OverlapDraft) -> None:
        """An overlap of unknown want counts as the caller's turn if the agent gave way or it outlasts the agent."""
        observed, caused = stop_of(self.scene, draft).in_time("unknown", self.bounds)
        gave_way = caused if self.scene.pipeline else observed
        silent = draft.sound.off_ns
        outlasts = silent is not None and utterance.end_ns(self.scene.horizon_ns) > silent
        if gave_way or outlasts or draft.uncertain:
            before = len(self.talk.turns)
            self._extend_or_open(utterance)
            if len(self.talk.turns) > before:
                self.talk.turns[-1].doubtful = draft.pending

    def _overlap(self, utterance: Utterance, sound: Sound, voice: Voice, set_aside: str | None = None) -> OverlapDraft:
        draft = OverlapDraft(f"o{self.overlaps_before + len(self.talk.overlaps) + 1}", [utterance], sound, voice)
        if set_aside == "muted":
            draft.set_aside = "muted"
        elif set_aside == "other_participant":
            draft.set_aside = "other_participant"
        elif set_aside is not None:
            draft.set_aside = "after_agent_interruption"
        off = sound.off_ns
        draft.uncertain = off is not None and utterance.at_ns >= off
        self.talk.overlaps.append(draft)
        judge(self.scene, draft)
        return draft

    def _joins_last_overlap(self, utterance: Utterance) -> bool:
        """A run shortly after a wanted overlap is part of it, unless all its words are backchannels (B16)."""
        last = self.talk.overlaps[-1] if self.talk.overlaps else None
        if last is None or last.wanted != "yes" or last.u_off_ns is None:
            return False
        if utterance.at_ns - last.u_off_ns > self.bounds.overlap_join_ns:
            return False
        if utterance.is_backchannel:
            return False
        last.utterances.append(utterance)
        last.words += utterance.words
        self._extend_or_open(utterance)
        return True

    def _goes_on_after_interruption(self, utterance: Utterance) -> bool:
        """Whether this is the caller going on after the agent broke into the turn (B06, B08)."""
        found, turn = self.last_interruption, self.turn
        if found is None or turn is None or found.turn is not turn or turn.answer is not None:
            return False
        if found.cause == "overlap":
            last_off = turn.u_off_ns
            return last_off is not None and utterance.at_ns - last_off <= self.bounds.premature_gap_ns
        after = self.bounds.premature_after_ns if found.cause == "premature_endpoint" else self.bounds.resumed_after_ns
        return utterance.at_ns - found.at_ns <= after

    def _is_early_answer(self, utterance: Utterance, draft: OverlapDraft) -> bool:
        """An early "yes": the agent ended by itself at once, and next speaks because of it."""
        off = draft.sound.off_ns
        if off is None or off - draft.u_on_ns > self.bounds.early_answer_ns:
            return False
        stop = stop_of(self.scene, draft)
        if stop.cut or draft.voice.truncated or stop.resumed_after_ns is not None:
            return False
        following = next((u.at_ns for u in self.scene.utterances if u.at_ns > utterance.at_ns), None)
        ended = utterance.end_ns(self.scene.horizon_ns)
        asked = [
            (r.asked_ns, r) for r in self.scene.facts.runs.values() if r.asked_ns is not None and r.asked_ns >= ended
        ]
        first = min(asked, key=lambda pair: pair[0], default=None)
        if first is None or (following is not None and first[0] >= following):
            return False
        return first[1].why in ("user_turn", "eager")
