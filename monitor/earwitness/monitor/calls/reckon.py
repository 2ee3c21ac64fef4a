"""From a call's facts to the contents of its records: everything that ``CallTimeline`` publishes, as of one moment.

A pure function: same facts, same moment, same contents. Ids count in time order (``t1``, ``a1``, ``o1``, ``d1``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.classes import Standing, is_interim_only, standing, turn_text, words_in
from earwitness.monitor.calls.evidence import Facts, Run, ToolLife
from earwitness.monitor.calls.intervals import total
from earwitness.monitor.calls.latency import decided, evidence_of_onset, measure, parts
from earwitness.monitor.calls.lexicon import tokens
from earwitness.monitor.calls.outcome import Unfinished, end_cause, ending
from earwitness.monitor.calls.overlaps import cell_of, missed_because, talk_over_ns, yields
from earwitness.monitor.calls.scene import Scene, build_scene
from earwitness.monitor.calls.silence import Stretch, broke_off, dead_air, talk_time
from earwitness.monitor.calls.turns import Talk, TurnDraft, follow
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    Call,
    DeadAir,
    EndCause,
    Overlap,
    Record,
    StageSample,
    ToolCall,
    Turn,
)

Content = dict[str, Any]
Draft = tuple[type[Record], str, Content]
"""A record's class, id and fields, without those that every record of the call shares."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the timeline counted of the events themselves."""

    events: int = 0
    missing: int = 0
    dropped: int = 0
    late: int = 0
    stray: int = 0
    duplicates: int = 0
    tail_incomplete: bool = False


@dataclass(slots=True)
class _Page:
    """The records of one call being written."""

    scene: Scene
    talk: Talk
    wall_ns: int
    cause: EndCause | None
    drafts: list[Draft] = field(default_factory=list[Draft])
    turn_id: dict[int, str] = field(default_factory=dict[int, str])
    voice_id: dict[int, str] = field(default_factory=dict[int, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, kind: type[Record], record_id: str, at_ns: int, content: Content, *, final: bool) -> None:
        """Write a record that counts at ``at_ns``."""
        content["event_wall_ns"], content["final"] = self.wall_ns + at_ns, final
        self.drafts.append((kind, record_id, content))

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counted fact."""
        if by:
            self.counts[name] = self.counts.get(name, 0) + by

    def settled(self, at_ns: int) -> bool:
        """Whether the stated time has passed since, or the call is over."""
        return self.scene.over or self.scene.horizon_ns - at_ns >= self.scene.bounds.settle_ns


def reckon(facts: Facts, bounds: Bounds, *, as_of_ns: int, over: bool, wall_ns: int, tally: Tally) -> list[Draft]:
    """The contents of a call's records as of a moment; ``over``: the call ended at ``as_of_ns``."""
    scene = build_scene(facts, bounds, as_of_ns=as_of_ns, over=over)
    talk = follow(scene)
    page = _Page(scene, talk, wall_ns, end_cause(scene, as_of_ns) if over else None, counts=dict(facts.counts))
    page.voice_id = {id(v): f"a{n + 1}" for n, v in enumerate(scene.voices)}
    page.turn_id = {id(t): f"t{n + 1}" for n, t in enumerate(talk.turns)}
    fates = _turns(page)
    _agent_turns(page)
    _overlaps(page)
    for n, found in enumerate(talk.interruptions):
        content: Content = {"at_ns": found.at_ns, "cause": found.cause, "turn": page.turn_id.get(id(found.turn))}
        page.add(AgentInterruption, f"i{n + 1}", found.at_ns, content, final=page.settled(found.at_ns))
    stretches = dead_air(scene, talk)
    _stretches(page, stretches)
    _tools(page)
    _stages(page)
    _call(page, fates, stretches, tally)
    return page.drafts


def _turns(page: _Page) -> list[Standing]:
    scene, talk = page.scene, page.talk
    fates: list[Standing] = []
    edge_seen = False
    latencies: list[int] = []
    for n, turn in enumerate(talk.turns):
        fate = standing(scene, talk, n, page.cause)
        fates.append(fate)
        content = _turn(page, turn, fate, edge_seen)
        edge_seen = edge_seen or any(u.off_ns is not None and not u.inferred for u in turn.utterances)
        if content["response_latency_ns"] is not None:
            latencies.append(content["response_latency_ns"])
        page.count("invalid", content["reason"] == "invalid")
        shown = fate.resolved or fate.overdue
        page.count("interim_only", shown and content["interim_only"])
        page.count("duplicate_reply", content["duplicate_reply"])
        if not shown or turn.doubtful:
            continue
        settle_at = turn.answer_ns if turn.answer_ns is not None else fate.until_ns
        at = turn.u_off_ns if turn.u_off_ns is not None else turn.start_ns
        page.add(Turn, page.turn_id[id(turn)], at, content, final=fate.resolved and page.settled(settle_at))
    if len(latencies) >= scene.bounds.zero_variance_turns and len(set(latencies)) == 1:
        page.count("zero_variance")
    return fates


def _turn(page: _Page, turn: TurnDraft, fate: Standing, edge_seen: bool) -> Content:
    scene, talk = page.scene, page.talk
    measured = measure(scene, turn, edge_seen)
    latency, reason = measured.latency_ns, fate.reason or measured.reason
    if fate.turn_class != "eligible":
        latency = None
    end = decided(scene, turn, turn.answer_ns if turn.answer_ns is not None else fate.until_ns)
    last = turn.utterances[-1]
    u_off = turn.u_off_ns
    known_off = u_off if not last.inferred else None
    d = end.at_ns if end is not None else None
    runs = [r for r in scene.facts.runs.values() if talk.owner.get(r.id) is turn]
    models = [r for r in runs if r.why not in ("application", "prompt", "greeting", "resumed") and "requested" in r.at]
    evidence: dict[str, str] = {}
    if turn.u_on_ns is not None:
        evidence["u_on"] = turn.utterances[0].segments[0].on_by
    if known_off is not None:
        evidence["u_off"] = last.segments[-1].off_by
    if turn.answer is not None and turn.answer_ns is not None:
        evidence["a_on"] = evidence_of_onset(turn.answer, turn.answer_ns)
    audible = {id(v.run) for v in scene.voices}
    tools = tuple(t.id for t in scene.facts.tools.values() if _turn_of_tool(page, t) is turn)
    return {
        "u_on_ns": turn.u_on_ns,
        "u_off_ns": u_off,
        "d_ns": d,
        "a_on_ns": turn.answer_ns,
        "turn_class": fate.turn_class,
        "answered_by": None if turn.answer is None else page.voice_id[id(turn.answer)],
        "response_latency_ns": latency,
        "reason": None if latency is not None else reason,
        "at_least_ns": measured.at_least_ns if latency is None else None,
        "endpoint_delay_ns": None if d is None or known_off is None else d - known_off,
        "agent_ttfa_ns": None if d is None or turn.answer_ns is None or not turn.sample else turn.answer_ns - d,
        "parts_ns": parts(scene, turn, end) if latency is not None else {},
        "unanswered": fate.unanswered,
        "overdue": fate.overdue,
        "waited_ns": fate.waited_ns,
        "premature_endpoint": turn.premature,
        "text": turn_text(turn),
        "interim_only": is_interim_only(turn),
        "evidence": evidence,
        "generations": len(models),
        "duplicate_reply": _repeats(scene, runs),
        "empty_completion": sum("empty" in r.at for r in runs),
        "cancelled_generation": sum("cancelled" in r.at and id(r) not in audible for r in runs),
        "stalled": any(_stalled(scene, talk, v) for v in scene.voices if v.run is not None and v.run in runs),
        "tool_ids": tools,
    }


def _repeats(scene: Scene, runs: Sequence[Run]) -> int:
    """How often a response of the turn says what an earlier one of it had said (A26)."""
    said = [
        tokens(text) for v in scene.voices if v.run is not None and v.run in runs and (text := agent_text(scene, v))
    ]
    return len(said) - len(set(said))


def _stalled(scene: Scene, talk: Talk, voice: Voice) -> bool:
    """Whether a response fell silent in its middle, and nobody made it (A28)."""
    bounds = scene.bounds
    for n, sound in enumerate(voice.sounds):
        off = sound.off_ns
        if off is None:
            continue
        following = voice.sounds[n + 1].on_ns if n + 1 < len(voice.sounds) else None
        until = following if following is not None else scene.horizon_ns
        if until - off < bounds.dead_air_ns:
            continue
        if following is None and (scene.over or voice.truncated or not broke_off(scene, voice)):
            continue
        cut = any(sound.on_ns <= at <= off + bounds.match_ns for at in scene.facts.interruptions)
        if not cut and not any(o.sound is sound for o in talk.overlaps):
            return True
    return False


def agent_text(scene: Scene, voice: Voice) -> str | None:
    """What a response made audible, as text: what was spoken, or all that it meant to say where it was not cut."""
    run = voice.run
    if run is None:
        return None
    if run.spoken:
        return " ".join(text.strip() for _, text in run.spoken)
    meant = " ".join(text.strip() for _, text in run.intended)
    if not run.unspoken:
        return (meant or None) if not voice.truncated else None
    cut = " ".join(run.unspoken).strip()
    return meant.removesuffix(cut).strip() or None


def _agent_turns(page: _Page) -> None:
    scene, talk = page.scene, page.talk
    for n, voice in enumerate(scene.voices):
        run, off = voice.run, voice.off_ns
        owner = talk.owner.get(run.id) if run is not None else None
        answers = owner if owner is not None else next((t for t in talk.turns if t.answer is voice), None)
        latency, reason = _greeting(scene, voice) if n == 0 else (None, None)
        evidence: dict[str, str] = {"a_on": voice.sounds[0].on_by}
        if off is not None:
            evidence["a_off"] = voice.sounds[-1].off_by
        cut = voice.truncated is True or any(o.voice is voice and yields(scene, o).caused for o in talk.overlaps)
        content: Content = {
            "a_on_ns": voice.on_ns,
            "a_off_ns": off,
            "why": run.why if run is not None else "unknown",
            "answers": page.turn_id.get(id(answers)) if answers is not None else None,
            "text": agent_text(scene, voice),
            "unspoken": (" ".join(run.unspoken) or None) if run is not None else None,
            "audible": True,
            "interrupted": cut,
            "uncertain_end": voice.sounds[-1].uncertain_until_ns is not None,
            "greeting_latency_ns": latency,
            "greeting_reason": reason,
            "evidence": evidence,
        }
        done = off is not None and page.settled(max(off, voice.sounds[-1].uncertain_until_ns or 0))
        page.add(AgentTurn, page.voice_id[id(voice)], voice.on_ns, content, final=scene.over or done)
        page.count("stalled_turn", _stalled(scene, talk, voice))
        heard_out = off is None or off >= scene.horizon_ns - scene.bounds.stop_silence_ns
        page.count("truncated_by_hangup", page.cause == "caller" and heard_out and voice.truncated is not False)
    _silent_runs(page)


def _greeting(scene: Scene, voice: Voice) -> tuple[int | None, str | None]:
    """``greeting_latency``: connected to first agent audio, when nobody spoke before (A23, A24)."""
    connected = scene.facts.connected_ns
    if connected is None:
        return None, None
    if any(u.at_ns < voice.on_ns and not u.other for u in scene.utterances):
        return None, "user_spoke_first"
    return (voice.on_ns - connected, None) if voice.on_ns >= connected else (None, "invalid")


def _silent_runs(page: _Page) -> None:
    """Responses that were never audible: their text is kept and marked."""
    scene = page.scene
    audible = {v.run.id for v in scene.voices if v.run is not None}
    n = 0
    for run in scene.facts.runs.values():
        end = run.at.get("cancelled", run.at.get("ended"))
        meant = " ".join(text.strip() for _, text in run.intended) or " ".join(run.unspoken)
        since = run.asked_ns if run.asked_ns is not None else (run.intended[0][0] if run.intended else None)
        if run.id in audible or since is None or not (meant or "first_audio" in run.at):
            continue
        if not scene.over and (end is None or scene.horizon_ns - end < scene.bounds.settle_ns):
            continue
        n += 1
        owner = page.talk.owner.get(run.id)
        content: Content = {
            "a_on_ns": None,
            "a_off_ns": None,
            "why": run.why,
            "answers": page.turn_id.get(id(owner)) if owner is not None else None,
            "text": None,
            "unspoken": meant or None,
            "audible": False,
        }
        page.add(AgentTurn, f"n{n}", since, content, final=scene.over)
        page.count("not_audible", "first_audio" in run.at and "cancelled" not in run.at)


def _overlaps(page: _Page) -> None:
    scene = page.scene
    for draft in page.talk.overlaps:
        done = yields(scene, draft)
        gave_way = done.caused if scene.pipeline else done.observed
        counted = draft.wanted in ("yes", "no") and not draft.uncertain
        labelled = draft.decided_by in ("human", "expectation")
        outside = done.terminal == "natural_end" or (done.terminal == "terminal_or_yield" and not labelled)
        cell = cell_of(draft.wanted, gave_way) if counted and not outside else None
        end = draft.u_off_ns
        stop = done.stopped_ns if draft.wanted == "yes" and done.silent_for_ns is not None else None
        speaking = end is None and not scene.over
        if speaking and gave_way is None:
            continue
        content: Content = {
            "u_on_ns": draft.u_on_ns,
            "u_off_ns": end,
            "agent_turn": page.voice_id.get(id(draft.voice)),
            "gave_way": gave_way,
            "yielded_observed": done.observed,
            "yielded_caused": done.caused,
            "stop_latency_ns": None if stop is None else stop - draft.u_on_ns,
            "silent_for_ns": done.silent_for_ns,
            "talk_over_ns": None if speaking or draft.uncertain else talk_over_ns(scene, draft),
            "wanted": draft.wanted,
            "want_class": draft.want_class,
            "cell": cell,
            "decided_by": draft.decided_by,
            "resumed_after_ns": done.resumed_after_ns,
            "terminal": done.terminal,
            "missed_because": missed_because(scene, draft) if cell == "FN" else None,
            "text": " ".join(t for u in draft.utterances if (t := u.text)) or None,
        }
        settle_at = scene.horizon_ns if end is None else end
        page.add(Overlap, draft.id, draft.u_on_ns, content, final=page.settled(settle_at) and not draft.pending)
    page.count("speech_while_muted", sum(u.muted for u in scene.utterances))
    page.count("spurious_interruption", _spurious(scene))


def _spurious(scene: Scene) -> int:
    """Cuts of the agent by the pipeline with no caller speech near (B18)."""
    near, found = scene.bounds.spurious_near_ns, set[int]()
    for at in scene.facts.interruptions:
        if not scene.over and scene.horizon_ns - at < near:
            continue
        cut = scene.audible_at(at) or scene.audible_at(max(at - scene.bounds.match_ns, 0))
        if cut is None or cut[1].truncated is False:
            continue
        off = cut[0].off_ns
        if off is None or off > at + scene.bounds.yield_unwanted_ns:
            continue
        spoke = any(u.at_ns - near <= at <= u.end_ns(scene.horizon_ns) + near for u in scene.utterances)
        if not spoke and not any(abs(s.at_ns - at) <= near for s in scene.facts.said):
            found.add(id(cut[0]))
    return len(found)


def _stretches(page: _Page, stretches: Sequence[Stretch]) -> None:
    bounds = page.scene.bounds
    for n, stretch in enumerate(stretches):
        page.count("dead_air_warning", stretch.owed_by_agent_ns >= bounds.warning_dead_air_ns)
        page.count("dead_air_critical", stretch.owed_by_agent_ns >= bounds.critical_dead_air_ns)
        content: Content = {
            "start_ns": stretch.start_ns,
            "end_ns": stretch.end_ns,
            "agent_ns": stretch.agent_ns,
            "tool_ns": stretch.tool_ns,
            "hold_ns": stretch.hold_ns,
            "caller_ns": stretch.caller_ns,
        }
        final = stretch.end_ns is not None and page.settled(stretch.end_ns)
        page.add(DeadAir, f"d{n + 1}", stretch.start_ns, content, final=final)


def _turn_of_tool(page: _Page, tool: ToolLife) -> TurnDraft | None:
    if tool.run is not None and tool.run in page.talk.owner:
        return page.talk.owner[tool.run]
    if tool.run is not None:
        return None
    before = [t for t in page.talk.turns if t.start_ns <= tool.called_ns]
    return before[-1] if before else None


def _tools(page: _Page) -> None:
    for tool in page.scene.facts.tools.values():
        turn = _turn_of_tool(page, tool)
        timed = tool.ended_ns is not None and tool.status != "cancelled"
        took = tool.measured_ns if tool.measured_ns is not None else (tool.ended_ns or 0) - tool.called_ns
        content: Content = {
            "name": tool.name,
            "called_ns": tool.called_ns,
            "ended_ns": tool.ended_ns,
            "status": tool.status,
            "duration_ns": took if timed else None,
            "arguments": tool.arguments,
            "result": tool.result,
            "error": tool.error,
            "turn": page.turn_id.get(id(turn)) if turn is not None else None,
        }
        final = page.scene.over or (tool.ended_ns is not None and page.settled(tool.ended_ns))
        page.add(ToolCall, f"tool:{tool.id}", tool.called_ns, content, final=final)
        page.count("tool_cancelled", tool.status == "cancelled")
        page.count("tool_error", tool.status == "error")
        page.count("tool_timed_out", tool.status == "timed_out")


def _stages(page: _Page) -> None:
    """Service metrics: 0 and absent are "not measured" (A12), a first byte that never came is censored (A11)."""
    runs = page.scene.facts.runs
    for at, source, seq, e in page.scene.facts.stages:
        value, censored = e.value_s, e.censored
        run = runs.get(e.response_id) if e.response_id is not None else None
        if "ttfb" in e.metric and run is not None and "cancelled" in run.at:
            first = run.at.get("first_token" if e.service == "llm" else "first_audio")
            censored = censored or first is None or first > run.at["cancelled"]
        invalid = value is not None and not (math.isfinite(value) and 0 <= value * S <= at)
        page.count("invalid", invalid)
        measured = value is not None and not invalid and not censored and value > 0
        content: Content = {
            "service": e.service,
            "metric": e.metric,
            "processor": e.processor,
            "model": e.model,
            "value_ns": round(value * S) if measured else None,
            "censored": censored,
        }
        page.add(StageSample, f"m:{source}:{seq}", at, content, final=True)
    for run in runs.values():
        _model_duration(page, run)


def _model_duration(page: _Page, run: Run) -> None:
    """A model's duration is request → end of that response (A04); a later end of the same changes nothing."""
    requested, ended = run.at.get("requested"), run.at.get("ended", run.at.get("tools_called"))
    if requested is None or ended is None or "cancelled" in run.at or run.why == "application" or ended < requested:
        return
    content: Content = {"service": "llm", "metric": "duration", "value_ns": ended - requested}
    page.add(StageSample, f"m:run:{run.id}", ended, content, final=True)


def _call(page: _Page, fates: Sequence[Standing], stretches: Sequence[Stretch], tally: Tally) -> None:
    scene, talk, facts = page.scene, page.talk, page.scene.facts
    observable = (scene.caller_edges or bool(facts.said)) and not facts.counts.get("no_frames_seen")
    page.count("phantom_speech", scene.phantoms)
    page.count("end_inferred", sum(s.inferred for s in scene.segments if not s.other))
    page.count("empty_completion", sum("empty" in r.at for r in facts.runs.values()))
    audible = {id(v.run) for v in scene.voices}
    page.count("cancelled_generation", sum("cancelled" in r.at and id(r) not in audible for r in facts.runs.values()))
    page.count("words_without_speech", sum(1 for s in scene.loose_words if s.final and tokens(s.text)))
    content: Content = {
        "started_wall_ns": page.wall_ns,
        "connected_ns": facts.connected_ns,
        "caller_observable": observable,
        "reason": None if observable else "unobservable",
        "facts": {name: n for name, n in sorted(page.counts.items()) if n},
        "app": dict(facts.app),
        "faults": len(facts.faults),
        "other_speech_ns": total(scene.caller_spans(other=True)) if scene.over else 0,
    }
    if scene.over and page.cause is not None:
        last = talk.turns[-1] if talk.turns else None
        speaking = last is not None and last.answer is None and last.utterances[-1].inferred
        speaking = speaking and last is not None and last.end_ns(scene.horizon_ns) >= scene.horizon_ns
        awaits = bool(fates) and fates[-1].unanswered
        spoke = any(not s.other for s in scene.segments) or any(words_in(t) for t in talk.turns)
        came_to = ending(scene, page.cause, Unfinished(awaits, speaking, spoke), stretches, observable=observable)
        content |= {
            "ended_ns": scene.horizon_ns,
            "end_cause": came_to.cause,
            "outcome": came_to.outcome,
            "in_scope": came_to.in_scope,
            "contained": came_to.contained,
            "outcome_reason": came_to.why,
            "duration_ns": scene.horizon_ns,
            "talk_ns": talk_time(scene, from_ns=facts.connected_ns or 0),
            "events": tally.events,
            "missing_events": tally.missing,
            "dropped_events": tally.dropped,
            "late_in_call": tally.late,
            "stray": tally.stray,
            "duplicates": tally.duplicates,
            "tail_incomplete": tally.tail_incomplete,
        }
    page.add(Call, "call", scene.horizon_ns if scene.over else 0, content, final=scene.over)
