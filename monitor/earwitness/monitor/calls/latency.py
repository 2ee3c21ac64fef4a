"""How long the caller waited, and where that time went (definitions, "Latency")."""

from __future__ import annotations

from typing import Final, NamedTuple

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.answers import chain_of
from earwitness.monitor.calls.facts import Run, TurnEnd
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.talk import TurnDraft
from earwitness.monitor.contract.records import Reason

ACOUSTIC: Final = ("audio", "vad", "server", "playout")
UNATTRIBUTED: Final = "unattributed"


class Measured(NamedTuple):
    """``response_latency`` of a turn and its parts, or why there is none."""

    latency_ns: int | None = None
    reason: Reason | None = None
    at_least_ns: int | None = None


def decided(scene: Scene, turn: TurnDraft, until_ns: int) -> TurnEnd | None:
    """``d``: the decision that led to the answer, or the last one before ``until_ns`` where nothing answered."""
    after = [t for t in scene.facts.turn_ends if turn.start_ns <= t.at_ns <= until_ns]
    if not after:
        return None
    chain = chain_of(scene, turn.answer) if turn.answer is not None else []
    asked = chain[0].asked_ns if chain else None
    before = [t for t in after if asked is None or t.at_ns <= asked]
    return (before or after)[-1]


def measure(scene: Scene, turn: TurnDraft, earlier_edge: bool) -> Measured:
    """The turn's latency; ``earlier_edge``: an end of caller speech was seen in an earlier turn (A09)."""
    answer, a_on = turn.answer, turn.answer_ns
    if answer is None or a_on is None:
        return Measured()
    if not turn.sample:
        return Measured(reason="agent_interruption")
    last = turn.utterances[-1]
    u_off = last.off_ns
    no_anchor: Reason = "stale_anchor" if earlier_edge else "no_acoustic_anchor"
    if last.words_only or u_off is None or last.inferred:
        return Measured(
            reason="no_acoustic_anchor" if last.words_only else no_anchor, at_least_ns=_at_least(turn, a_on)
        )
    if evidence_of_onset(answer, a_on) not in ACOUSTIC:
        return Measured(reason="no_acoustic_anchor")
    if last.off_at_most:
        # The service's word came after the fact: the caller had been silent for longer than it looks from there.
        return Measured(reason="no_acoustic_anchor", at_least_ns=_at_least(turn, a_on))
    latency = a_on - u_off
    began = scene.facts.connected_ns or 0
    if not -scene.bounds.turn_end_ns <= latency <= scene.horizon_ns - min(began, u_off):
        return Measured(reason="invalid")
    return Measured(latency_ns=latency)


def evidence_of_onset(voice: Voice, on_ns: int) -> str:
    """What the onset of an answer rests on."""
    for sound in voice.sounds:
        if sound.on_ns == on_ns:
            return sound.on_by
    return voice.sounds[0].on_by


def _at_least(turn: TurnDraft, a_on_ns: int) -> int | None:
    """Neither the final transcript nor a service's word of the end can have come before the caller's last word: the
    wait was at least this long."""
    last = turn.utterances[-1]
    if last.words_only:
        return max(a_on_ns - last.at_ns, 0)
    said = [f.at_ns for s in last.segments for f in s.finals]
    over_by = [max(said)] if said and max(said) <= a_on_ns else []
    if last.off_at_most and last.off_ns is not None and last.off_ns <= a_on_ns:
        over_by.append(last.off_ns)
    return a_on_ns - min(over_by) if over_by else None


def parts(scene: Scene, turn: TurnDraft, d: TurnEnd | None) -> dict[str, int]:
    """Split the latency at the milestones of the run that became audible; the parts sum to it exactly.

    Milestones are taken in time order: one that lies before the one before it takes no time of its own, and what lies
    between two known ones with one missing between them is ``unattributed``.
    """
    answer, a_on, u_off = turn.answer, turn.answer_ns, turn.u_off_ns
    if answer is None or a_on is None or u_off is None:
        return {}
    split: dict[str, int] = {}
    if a_on <= u_off:
        return {UNATTRIBUTED: a_on - u_off} if a_on < u_off else {}
    clock = _Clock(u_off, a_on, split)
    realtime = scene.facts.started is not None and scene.facts.started.mode == "realtime"
    if d is not None:
        _endpointing(turn, d, clock)
    chain = chain_of(scene, answer)
    for n, run in enumerate(chain):
        at = run.at
        if n:
            ran_tools = chain[n - 1].at.get("tools_called", chain[n - 1].at.get("ended"))
            clock.step("model" if realtime else UNATTRIBUTED, ran_tools)
            clock.step("tools" if ran_tools is not None else UNATTRIBUTED, _answered_by_tools(scene, chain[n - 1], run))
        elif not realtime:
            clock.step("queue" if d is not None else UNATTRIBUTED, at.get("requested"))
        if realtime:
            continue
        clock.step("llm" if "requested" in at else UNATTRIBUTED, at.get("first_token"))
    if chain:
        at = chain[-1].at
        if realtime:
            clock.step("model", at.get("first_audio"))
        else:
            clock.step("aggregation" if "first_token" in at else UNATTRIBUTED, at.get("first_text"))
            clock.step("tts" if "first_text" in at else UNATTRIBUTED, at.get("first_audio"))
        clock.step("output" if "first_audio" in at else UNATTRIBUTED, a_on)
    clock.step(UNATTRIBUTED, a_on)
    return split


def _answered_by_tools(scene: Scene, asking: Run, run: Run) -> int | None:
    """When the tools of a run let the next one begin: its request; in speech-to-speech, where the service hides that,
    when the last of them had answered."""
    requested = run.at.get("requested")
    if scene.facts.started is None or scene.facts.started.mode != "realtime" or requested is None:
        return requested
    answered = [t.ended_ns for t in scene.facts.tools.values() if t.run == asking.id and t.ended_ns is not None]
    return min(max(answered, default=requested), requested)


class _Clock:
    """Walks from ``u_off`` to ``a_on``; each step gives the time since the last one to a part."""

    def __init__(self, now_ns: int, end_ns: int, split: dict[str, int]) -> None:
        self.now_ns, self.end_ns, self.split = now_ns, end_ns, split

    def step(self, part: str, to_ns: int | None) -> None:
        """Go on to a milestone, if it is known and not behind."""
        if to_ns is None or to_ns <= self.now_ns:
            return
        to_ns = min(to_ns, self.end_ns)
        if to_ns > self.now_ns:
            self.split[part] = self.split.get(part, 0) + to_ns - self.now_ns
            self.now_ns = to_ns


def _endpointing(turn: TurnDraft, d: TurnEnd, clock: _Clock) -> None:
    """From ``u_off`` to ``d``: waiting by setting, by a turn model's "not finished" (B11), for the recogniser."""
    start = clock.now_ns
    unfinished = next((n for n in d.incomplete_ns if start <= n <= d.at_ns), None)
    complete = d.complete_ns if d.complete_ns is not None and start <= d.complete_ns <= d.at_ns else None
    if unfinished is not None and (complete is None or unfinished <= complete):
        clock.step("endpointing", unfinished)
        clock.step("hold", complete if complete is not None else d.at_ns)
    if complete is not None:
        clock.step("endpointing", complete)
        finals = [
            f.at_ns for u in turn.utterances for s in u.segments for f in s.finals if complete < f.at_ns <= d.at_ns
        ]
        clock.step("recognition", max(finals, default=None))
    clock.step("endpointing", d.at_ns)
