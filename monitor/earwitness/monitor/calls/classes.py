"""Whether a turn counts (definitions, "Speech and turns": class of a turn), and why it has no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from earwitness.monitor.calls.lexicon import Lexicon
from earwitness.monitor.calls.outcome import takes_leave
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.talk import Talk, TurnDraft
from earwitness.monitor.calls.transcripts import interim_only, text_of
from earwitness.monitor.calls.unheard import made_in_vain
from earwitness.monitor.contract.records import EndCause, Reason, TurnClass

MOST_WORDS_BEHIND_LEAVE: Final = 5
"""As in "thanks a lot for your help"; more are a sentence of their own."""


class Standing(NamedTuple):
    """What became of a turn. ``resolved``: it was answered, or the wait was in vain."""

    turn_class: TurnClass
    unanswered: bool
    overdue: bool
    waited_ns: int | None
    resolved: bool
    until_ns: int
    reason: Reason | None


def words_in(turn: TurnDraft) -> tuple[str, ...]:
    """All words of a turn."""
    return tuple([w for u in turn.utterances for w in u.words])


def turn_text(turn: TurnDraft) -> str | None:
    """What the caller said in the turn."""
    if turn.utterances[0].words_only:
        return " ".join(u.final_text for u in turn.utterances if u.final_text) or None
    return text_of([s for u in turn.utterances for s in u.segments])


def is_interim_only(turn: TurnDraft) -> bool:
    """Whether only interim words were ever heard of it."""
    return interim_only([s for u in turn.utterances for s in u.segments])


def standing(
    scene: Scene, talk: Talk, n: int, cause: EndCause | None, *, took_leave: bool, unheard: bool = False
) -> Standing:
    """Class and fate of the ``n``-th turn; ``cause``: how the call ended, None while it goes on; ``took_leave``: the
    agent said farewell before what the scene shows; ``unheard``: its answer did not reach the caller."""
    turn = talk.turns[n]
    is_last = n + 1 == len(talk.turns)
    until = scene.horizon_ns if is_last else talk.turns[n + 1].start_ns
    no_answer = turn.answer is None or unheard
    in_vain = no_answer and (scene.over or not is_last)
    turn_class = _class(scene, turn, until, cause if is_last else None, took_leave=took_leave)
    u_off = turn.end_ns(scene.horizon_ns)
    waited = max(until - u_off, 0) if no_answer else None
    overdue = waited is not None and waited >= scene.bounds.overdue_ns and turn_class == "eligible"
    return Standing(
        turn_class,
        unanswered=in_vain and turn_class == "eligible",
        overdue=overdue,
        waited_ns=waited if in_vain or overdue else None,
        resolved=in_vain or turn.answer is not None,
        until_ns=until,
        reason="not_audible" if unheard else _reason(scene, talk, turn, turn_class, until),
    )


def _class(scene: Scene, turn: TurnDraft, until_ns: int, cause: EndCause | None, *, took_leave: bool) -> TurnClass:
    bounds, end = scene.bounds, turn.end_ns(scene.horizon_ns)
    if not scene.agent_edges:
        return "unobservable"
    last = turn.utterances[-1]
    if last.segments and all(s.muted for s in last.segments):
        return "muted"
    settled = scene.over or scene.horizon_ns - end >= bounds.words_reach_ns or until_ns < scene.horizon_ns
    if scene.recogniser and settled and not words_in(turn):
        return "no_transcript"
    if turn.answer is not None:
        return "eligible"
    for voice in scene.voices:
        if voice.run is not None and voice.run.why == "greeting" and turn.start_ns < voice.on_ns <= until_ns:
            return "greeted"
    if cause is None:
        return "eligible"
    since = scene.horizon_ns - end
    if cause == "caller" and since <= bounds.closing_ns:
        return "closing"
    if cause == "agent" and _took_leave(scene, turn, took_leave):
        return "closing"
    if cause in ("transport", "unknown", "error") and since <= bounds.lost_ns:
        return "lost"
    return "eligible"


def _took_leave(scene: Scene, turn: TurnDraft, took_leave: bool) -> bool:
    """The agent's farewell was audible, and the caller's words are a closing or a backchannel."""
    words, last = words_in(turn), turn.utterances[-1]
    if last.inferred and not last.words:
        return False
    if not _closes(last.tongue, words, turn_text(turn) or "") and not last.tongue.is_backchannel(words):
        return False
    return took_leave or any(takes_leave(scene, v) for v in scene.voices)


def _closes(lexicon: Lexicon, words: Sequence[str], text: str) -> bool:
    """Whether the words take leave and ask for nothing more: behind the last words of leave stand few others, none
    that stop the agent ("no thanks, wait") and no question ("thanks, and my other order?")."""
    starts = [n for n in range(len(words)) if lexicon.is_closing(words[n:])]
    if not starts or text.rstrip().endswith(("?", "？", "؟")):
        return False
    begins = starts[-1]
    ends = next(n for n in range(begins + 1, len(words) + 1) if lexicon.is_closing(words[begins:n]))
    rest = words[ends:]
    return len(rest) <= MOST_WORDS_BEHIND_LEAVE and not any(lexicon.is_stop(rest[n:]) for n in range(len(rest)))


def _reason(scene: Scene, talk: Talk, turn: TurnDraft, turn_class: TurnClass, until_ns: int) -> Reason | None:
    """Why an unanswered turn has no latency, where that is known."""
    if turn_class == "no_transcript":
        return "no_transcript"
    if turn_class in ("muted", "unobservable"):
        return "muted" if turn_class == "muted" else "unobservable"
    if turn.answer is not None:
        return None
    if turn_class == "greeted":
        return "user_spoke_first"
    if turn.interrupted:
        return "agent_interruption"
    runs = [r for r in scene.facts.runs.values() if talk.owner.get(r.id) is turn]
    if any(made_in_vain(scene, r) for r in runs):
        return "not_audible"
    if runs and all("cancelled" in r.at for r in runs):
        return "cancelled"
    prompted = (v for v in scene.voices if v.run is not None and v.run.why == "prompt")
    return "prompt" if any(turn.start_ns < v.on_ns <= until_ns for v in prompted) else None
