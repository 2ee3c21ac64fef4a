"""Caller turns, what answers them, and speech in which both take part, in one pass over onsets in time.

Definitions, "Speech and turns" and "Interruptions". The pass sees every onset of either side once, in order; it may
look at what came later (a record is revised when that is learnt), and never changes what lies before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.facts import Run, ToolLife
from earwitness.monitor.calls.overlaps import OverlapDraft, is_echo, judge, stop_of
from earwitness.monitor.calls.scene import Scene, Utterance

Cause = Literal["overlap", "premature_endpoint", "resumed"]


@dataclass(slots=True, eq=False)
class TurnDraft:
    """A caller turn in the making."""

    utterances: list[Utterance]
    answer: Voice | None = None
    answer_ns: int | None = None
    sample: bool = True
    """False where audio answers the turn without giving a latency (a recording's agent onset inside the turn)."""
    answered_after: int = 0
    """How many utterances the turn had when it was answered; none follow."""
    premature: bool = False
    interrupted: bool = False
    """Agent audio began before the turn was over."""
    doubtful: bool = False
    """Opened by an overlap of which it is too early to say whether it is speech at all."""

    @property
    def start_ns(self) -> int:
        """Where the turn begins, or all that is known of it."""
        return self.utterances[0].at_ns

    @property
    def u_on_ns(self) -> int | None:
        """Onset of the turn's first speech."""
        return self.utterances[0].on_ns

    @property
    def u_off_ns(self) -> int | None:
        """End of the turn's last speech."""
        return self.utterances[-1].off_ns

    def end_ns(self, horizon_ns: int) -> int:
        """End of the turn's last speech, or the horizon while it goes on."""
        return self.utterances[-1].end_ns(horizon_ns)


@dataclass(frozen=True, slots=True)
class InterruptionDraft:
    """An onset of the agent while the caller's turn was not over."""

    at_ns: int
    cause: Cause
    turn: TurnDraft
    voice: Voice


@dataclass(slots=True)
class Talk:
    """What the pass found."""

    turns: list[TurnDraft] = field(default_factory=list[TurnDraft])
    overlaps: list[OverlapDraft] = field(default_factory=list[OverlapDraft])
    interruptions: list[InterruptionDraft] = field(default_factory=list[InterruptionDraft])
    owner: dict[str, TurnDraft] = field(default_factory=dict[str, TurnDraft])
    """Which turn each response belongs to, by response id."""


def turn_of_tool(talk: Talk, tool: ToolLife) -> TurnDraft | None:
    """The turn for which a tool was called."""
    if tool.run is not None:
        return talk.owner.get(tool.run)
    before = [t for t in talk.turns if t.start_ns <= tool.called_ns]
    return before[-1] if before else None


def follow(scene: Scene, *, overlaps_before: int = 0) -> Talk:
    """Walk through a call's onsets; ``overlaps_before``: how many overlaps it had before what the scene shows."""
    walk = _Walk(scene, overlaps_before)
    onsets: list[tuple[int, int, int, Utterance | tuple[Sound, Voice]]] = [
        (on, 1, n, (sound, voice)) for n, (on, sound, voice) in enumerate(scene.sounds())
    ]
    # Words that are placed at the request which they caused come before what it made audible, even at once.
    onsets += [(u.at_ns, 0 if u.words_only else 2, n, u) for n, u in enumerate(scene.utterances)]
    onsets.sort(key=lambda o: o[:3])
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
        self.last_interruption: InterruptionDraft | None = None

    @property
    def turn(self) -> TurnDraft | None:
        return self.talk.turns[-1] if self.talk.turns else None

    def hear_agent(self, sound: Sound, voice: Voice) -> None:
        """An onset of the agent: it interrupts the caller, or answers, or neither."""
        turn = self.turn
        mine = self._owner(voice, sound)
        if turn is None or (turn.answer is not None and turn.answer is not voice):
            return
        if turn.answer is not None:
            return
        cause = self._interrupts(turn, sound, voice, belongs=mine is turn)
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
        end = self._speech_end(turn.utterances[-1])
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
            turn = self._turn_of(run, asked, self.talk.turns)
            if turn is not None:
                self.talk.owner[run.id] = turn

    def _answer(self, turn: TurnDraft, voice: Voice, sound: Sound, *, sample: bool) -> None:
        turn.answer, turn.answer_ns, turn.sample = voice, sound.on_ns, sample
        turn.answered_after = len(turn.utterances)

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

    def _interrupts(self, turn: TurnDraft, sound: Sound, voice: Voice, *, belongs: bool) -> Cause | None:
        """Whether agent speech that begins now breaks into the caller's turn, and by which cause."""
        bounds, at = self.bounds, sound.on_ns
        if belongs and self._premature(turn, at, voice):
            return "premature_endpoint"
        last = turn.utterances[-1]
        end = self._speech_end(last)
        if last.on_ns is not None and last.on_ns + bounds.interruption_tolerance_ns < at < end - bounds.turn_end_ns:
            return "overlap"
        if self._is_resumption(sound, voice):
            following = self._next_speech(at)
            if following is not None and following.at_ns - at <= bounds.resumed_after_ns:
                return "resumed"
        return None

    def _speech_end(self, utterance: Utterance) -> int:
        """Where the caller's speech ends, pauses of less than ``Bounds.caller_merge_ns`` filled: by what is clearly the
        same turn, not by what may be a backchannel."""
        bounds, end = self.bounds, utterance.end_ns(self.scene.horizon_ns)
        for later in self.scene.utterances:
            if later.on_ns is None or later.on_ns < end or later.other or later.muted:
                continue
            if later.on_ns - end >= bounds.caller_merge_ns:
                break
            long = later.end_ns(self.scene.horizon_ns) - later.on_ns > bounds.backchannel_most_ns
            if later.is_backchannel or not (later.words or long) or is_echo(self.scene, later):
                break
            end = later.end_ns(self.scene.horizon_ns)
        return end

    def _premature(self, turn: TurnDraft, at_ns: int, voice: Voice) -> bool:
        """The caller goes on shortly after the end that the pipeline took for the turn's end (B08)."""
        bounds = self.bounds
        asked = self._root_asked(voice)
        decided = [t.at_ns for t in self.scene.facts.turn_ends if turn.start_ns <= t.at_ns <= at_ns]
        before = [d for d in decided if asked is None or d <= asked]
        d = max(before or decided, default=at_ns)
        known = [u for u in turn.utterances if u.off_ns is not None and u.off_ns <= d]
        if not known:
            return False
        end = known[-1].off_ns or 0
        for later in self.scene.utterances:
            if later.at_ns <= end or later.other or later.muted or later in known:
                continue
            if later.at_ns - end > bounds.premature_gap_ns or later.at_ns - at_ns > bounds.premature_after_ns:
                return False
            words = later.words
            small = later.tongue.is_stop(words) or (later.at_ns >= at_ns and later.is_backchannel)
            return bool(words) and not small and not is_echo(self.scene, later)
        return False

    def _next_speech(self, at_ns: int) -> Utterance | None:
        later = (u for u in self.scene.utterances if u.at_ns >= at_ns and not u.other and not u.muted)
        return next(later, None)

    def _is_resumption(self, sound: Sound, voice: Voice) -> bool:
        """Whether text that was broken off goes on with this sound."""
        if voice.run is not None and voice.run.why == "resumed":
            return True
        return sound is not voice.sounds[0]

    def _owner(self, voice: Voice, sound: Sound) -> TurnDraft | None:
        """The turn that a response belongs to, settled at its first sound."""
        run = voice.run
        if run is None or not run.at:
            turn = self.turn
            end = None if turn is None else turn.end_ns(self.scene.horizon_ns)
            waits = turn is not None and turn.answer is None and end is not None
            if run is not None and sound is not voice.sounds[0]:
                return self.talk.owner.get(run.id)
            if turn is None or not waits or end is None or end - self.bounds.turn_end_ns > sound.on_ns:
                return None
            if run is not None:
                self.talk.owner[run.id] = turn
            return turn
        if run.id not in self.talk.owner:
            asked = run.asked_ns
            found = None if asked is None else self._turn_of(run, asked, self.talk.turns)
            if found is not None:
                self.talk.owner[run.id] = found
        return self.talk.owner.get(run.id)

    def _turn_of(self, run: Run, asked_ns: int, turns: Sequence[TurnDraft]) -> TurnDraft | None:
        """Which turn a response belongs to (definitions, "What answers a turn")."""
        if run.why in ("greeting", "prompt", "resumed"):
            return None
        if run.why == "tool_result" and run.after is not None and run.after in self.scene.facts.runs:
            return self._turn_of_chain(run, turns)
        caused = self._ended_before(asked_ns, turns)
        if run.why in ("application", "unknown"):
            waiting = caused is not None and (caused.answer_ns is None or caused.answer_ns > asked_ns)
            return caused if waiting and caused is not None else None
        if caused is None and turns and turns[-1].start_ns < asked_ns:
            return turns[-1]
        return caused

    def _turn_of_chain(self, run: Run, turns: Sequence[TurnDraft]) -> TurnDraft | None:
        seen: set[str] = set()
        while run.why == "tool_result" and run.after in self.scene.facts.runs and run.id not in seen:
            seen.add(run.id)
            run = self.scene.facts.runs[run.after]
        if run.id in self.talk.owner:
            return self.talk.owner[run.id]
        asked = run.asked_ns
        if asked is None or run.why == "tool_result":
            return None
        return self._turn_of(run, asked, turns)

    def _ended_before(self, moment_ns: int, turns: Sequence[TurnDraft]) -> TurnDraft | None:
        """The last turn whose end, or eager transcript, came before a moment."""
        for turn in reversed(turns):
            first = turn.utterances[0]
            if turn.start_ns > moment_ns:
                continue
            if first.words_only or (first.off_ns is not None and first.off_ns <= moment_ns):
                return turn
            facts = self.scene.facts
            signs = [t.at_ns for t in facts.turn_ends] + [s.at_ns for s in facts.said if s.eager]
            if any(turn.start_ns <= at <= moment_ns for at in signs):
                return turn
        return None

    def _root_asked(self, voice: Voice) -> int | None:
        """When the first run of an answer was asked for."""
        chain = chain_of(self.scene, voice)
        return chain[0].asked_ns if chain else None


def chain_of(scene: Scene, voice: Voice) -> list[Run]:
    """The runs of an answer in order: from the one that the turn caused to the one that became audible."""
    run = voice.run
    if run is None or not run.at:
        return []
    chain = [run]
    while chain[0].after is not None and chain[0].after in scene.facts.runs and len(chain) < 100:
        earlier = scene.facts.runs[chain[0].after]
        if earlier in chain:
            break
        chain.insert(0, earlier)
    return chain
