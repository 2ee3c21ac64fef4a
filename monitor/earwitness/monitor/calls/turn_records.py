"""Records of caller turns."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.classes import Standing, is_interim_only, standing, turn_text
from earwitness.monitor.calls.facts import Run
from earwitness.monitor.calls.latency import decided, evidence_of_onset, measure, parts
from earwitness.monitor.calls.lexicon import tokens
from earwitness.monitor.calls.page import Content, Page
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.stalls import agent_text, stalled
from earwitness.monitor.calls.talk import TurnDraft, turn_of_tool
from earwitness.monitor.calls.unheard import reaches_nobody
from earwitness.monitor.contract.latency_parts import by_owner
from earwitness.monitor.contract.records import Turn


def write_turns(page: Page) -> list[Standing]:
    """Write the turns that are decided or overdue; the fate of every turn is returned."""
    scene, talk = page.scene, page.talk
    fates: list[Standing] = []
    edge_seen = page.carry.edge_seen
    for n, turn in enumerate(talk.turns):
        if turn.start_ns >= page.before_ns:
            break
        unheard = bool(page.unheard) and reaches_nobody(page.unheard, turn.answer_ns)
        fate = standing(scene, talk, n, page.cause, took_leave=page.carry.took_leave, unheard=unheard)
        fates.append(fate)
        runs, done = _work(page, turn, fate)
        content = _turn(page, turn, fate, edge_seen, runs)
        edge_seen = edge_seen or any(u.off_ns is not None and not u.inferred for u in turn.utterances)
        start = turn.start_ns
        if content["response_latency_ns"] is not None:
            page.latencies.append((start, content["response_latency_ns"]))
        if content["reason"] == "invalid":
            page.count("invalid", start)
        shown = fate.resolved or fate.overdue
        if shown and content["interim_only"]:
            page.count("interim_only", start)
        if content["duplicate_reply"]:
            page.count("duplicate_reply", start, content["duplicate_reply"])
        if not shown or turn.doubtful:
            continue
        at = turn.u_off_ns if turn.u_off_ns is not None else start
        final = fate.resolved and page.settled(done) and (scene.over or not _awaits_words(scene, turn))
        page.add(Turn, page.turn_id(turn) or "", at, content, final=final, place_ns=start)
    return fates


def _awaits_words(scene: Scene, turn: TurnDraft) -> bool:
    """Whether words may still come that tell of the caller going on after the turn was taken for over."""
    answered = turn.answer_ns
    return answered is not None and scene.awaits_words(turn.start_ns, answered + scene.bounds.premature_after_ns)


def _work(page: Page, turn: TurnDraft, fate: Standing) -> tuple[list[Run], int]:
    """The responses of a turn, and when it was through with: answered (or the wait in vain), all that was under way
    said, every tool back. What begins for it later than ``Bounds.settle_ns`` after that comes when its record is final
    and changes it no more."""
    scene, settle = page.scene, page.scene.bounds.settle_ns
    done = turn.answer_ns if turn.answer_ns is not None else fate.until_ns
    own = page.runs_of(turn)
    if not own:
        return [], done
    spans = [(at, at) for run in own for at in run.at.values()]
    spans += [(s.on_ns, s.end_ns(scene.horizon_ns)) for v in scene.voices if v.run in own for s in v.sounds]
    if scene.facts.tools:
        names = {run.id for run in own}
        spans += [(t.called_ns, t.ended_ns or scene.horizon_ns) for t in scene.facts.tools.values() if t.run in names]
    spans.sort()
    for begin, end in spans:
        if begin > done + settle:
            break
        done = max(done, end)
    return [r for r in own if (asked := r.asked_ns) is not None and asked <= done + settle], done


def _turn(page: Page, turn: TurnDraft, fate: Standing, edge_seen: bool, runs: Sequence[Run]) -> Content:
    scene, talk = page.scene, page.talk
    measured = measure(scene, turn, edge_seen)
    latency, reason = measured.latency_ns, fate.reason or measured.reason
    if fate.turn_class != "eligible" or fate.reason == "not_audible":
        latency = None
    end = decided(scene, turn, turn.answer_ns if turn.answer_ns is not None else fate.until_ns)
    last = turn.utterances[-1]
    u_off = turn.u_off_ns
    known_off = u_off if not last.inferred and not last.off_at_most else None
    d = end.at_ns if end is not None else None
    models = [r for r in runs if r.why not in ("application", "prompt", "greeting", "resumed") and "requested" in r.at]
    evidence: dict[str, str] = {}
    if turn.u_on_ns is not None:
        evidence["u_on"] = turn.utterances[0].segments[0].on_by
    if u_off is not None and not last.inferred:
        evidence["u_off"] = last.segments[-1].off_by
    if turn.answer is not None and turn.answer_ns is not None:
        evidence["a_on"] = evidence_of_onset(turn.answer, turn.answer_ns)
    audible, told = page.audible, scene.facts.tools
    tools = tuple([t.id for t in told.values() if turn_of_tool(talk, t) is turn]) if told else ()
    split = parts(scene, turn, end) if latency is not None else {}
    return {
        "u_on_ns": turn.u_on_ns,
        "u_off_ns": u_off,
        "d_ns": d,
        "a_on_ns": turn.answer_ns,
        "turn_class": fate.turn_class,
        "answered_by": page.voice_id(turn.answer),
        "response_latency_ns": latency,
        "reason": None if latency is not None else reason,
        "at_least_ns": measured.at_least_ns if latency is None else None,
        "endpoint_delay_ns": None if d is None or known_off is None else d - known_off,
        "agent_ttfa_ns": None if d is None or turn.answer_ns is None or not turn.sample else turn.answer_ns - d,
        "parts_ns": split,
        "owners_ns": by_owner(split),
        "unanswered": fate.unanswered,
        "overdue": fate.overdue,
        "waited_ns": fate.waited_ns,
        "premature_endpoint": turn.premature,
        "text": turn_text(turn),
        "interim_only": is_interim_only(turn),
        "evidence": evidence,
        "generations": len(models),
        "duplicate_reply": _repeats(scene, runs),
        "empty_completion": len([r for r in runs if "empty" in r.at]),
        "cancelled_generation": len([r for r in runs if "cancelled" in r.at and id(r) not in audible]),
        "stalled": any(stalled(scene, talk, v) for v in scene.voices if v.run in runs),
        "tool_ids": tools,
    }


def _repeats(scene: Scene, runs: Sequence[Run]) -> int:
    """How often a response of the turn says what an earlier one of it had said (A26)."""
    if len(runs) < 2:
        return 0
    said = [
        tokens(text) for v in scene.voices if v.run is not None and v.run in runs and (text := agent_text(scene, v))
    ]
    return len(said) - len(set(said))
