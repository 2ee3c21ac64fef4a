"""What answers a turn: which turn each response belongs to (definitions, "Speech and turns": what answers a turn)."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.facts import Run
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.talk import Talk, TurnDraft


class Answers:
    """Gives each response the turn that it belongs to, as the pass comes to it, and notes it in ``talk.owner``."""

    def __init__(self, scene: Scene, talk: Talk) -> None:
        self.scene = scene
        self.talk = talk

    def owner_of(self, voice: Voice, sound: Sound) -> TurnDraft | None:
        """The turn that a response belongs to, settled at its first sound."""
        run = voice.run
        if run is None or not run.at:
            turn = self.talk.turns[-1] if self.talk.turns else None
            end = None if turn is None else turn.end_ns(self.scene.horizon_ns)
            waits = turn is not None and turn.answer is None and end is not None
            if run is not None and sound is not voice.sounds[0]:
                return self.talk.owner.get(run.id)
            if turn is None or not waits or end is None or end - self.scene.bounds.turn_end_ns > sound.on_ns:
                return None
            if run is not None:
                self.talk.owner[run.id] = turn
            return turn
        if run.id not in self.talk.owner:
            asked = run.asked_ns
            found = None if asked is None else self.turn_of(run, asked, self.talk.turns)
            if found is not None:
                self.talk.owner[run.id] = found
        return self.talk.owner.get(run.id)

    def turn_of(self, run: Run, asked_ns: int, turns: Sequence[TurnDraft]) -> TurnDraft | None:
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
        return self.turn_of(run, asked, turns)

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


def chain_of(scene: Scene, voice: Voice) -> list[Run]:
    """The runs of an answer in order: from the one that the turn caused to the one that became audible."""
    if voice.chain is None:
        voice.chain = _chain_of(scene, voice.run)
    return voice.chain


def _chain_of(scene: Scene, run: Run | None) -> list[Run]:
    if run is None or not run.at:
        return []
    chain = [run]
    while chain[0].after is not None and chain[0].after in scene.facts.runs and len(chain) < 100:
        earlier = scene.facts.runs[chain[0].after]
        if earlier in chain:
            break
        chain.insert(0, earlier)
    return chain
