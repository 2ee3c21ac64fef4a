"""The record of the call as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from earwitness.monitor.calls.classes import Standing, words_in
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.intervals import clip, total
from earwitness.monitor.calls.lexicon import tokens
from earwitness.monitor.calls.line_quality import line_told
from earwitness.monitor.calls.outcome import Unfinished, ending, promises_transfer
from earwitness.monitor.calls.page import Content, Page
from earwitness.monitor.calls.silence import Stretch, talk_time
from earwitness.monitor.calls.unheard import counted
from earwitness.monitor.contract.records import Call


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


def count_facts(page: Page) -> None:
    """Count what no other record counts."""
    scene = page.scene
    audible = page.audible
    for at in scene.phantoms:
        page.count("phantom_speech", at)
    for segment in scene.segments:
        if segment.inferred and not segment.other:
            page.count("end_inferred", segment.start_ns)
    for run in scene.facts.runs.values():
        if "empty" in run.at:
            page.count("empty_completion", run.first_ns)
        if "cancelled" in run.at and id(run) not in audible:
            page.count("cancelled_generation", run.first_ns)
    for said in scene.loose_words:
        page.count("words_without_speech", said.at_ns, said.final and bool(tokens(said.text)))


def caller_spoke(page: Page) -> bool:
    """Whether the caller was heard to speak so far."""
    if page.carry.caller_spoke or any(not s.other and not s.echo for s in page.scene.segments):
        return True
    return any(words_in(turn) for turn in page.talk.turns)


def talk_so_far(page: Page, to_ns: int) -> dict[str, int]:
    """Who was audible for how long, from the connection on."""
    scene, past = page.scene, page.carry
    begun = scene.facts.connected_ns or 0
    before = past.talk_ns if begun <= past.cut_ns else {}
    now = talk_time(scene, from_ns=max(begun, past.cut_ns), to_ns=to_ns)
    return {name: before.get(name, 0) + spent for name, spent in now.items()} if now else dict(before)


def other_speech_so_far(page: Page, to_ns: int) -> int:
    """How long others on the caller's side spoke."""
    spans = clip(page.scene.caller_spans(other=True), page.carry.cut_ns, to_ns)
    return page.carry.other_speech_ns + total(spans)


def last_critical(page: Page, stretches: Sequence[Stretch]) -> int | None:
    """When the last critical dead air ended."""
    scene = page.scene
    critical = [s for s in stretches if s.owed_by_agent_ns >= scene.bounds.critical_dead_air_ns]
    if not critical:
        return page.carry.critical_end_ns
    end = critical[-1].end_ns
    return scene.horizon_ns if end is None else end


def write_call(page: Page, fates: Sequence[Standing], stretches: Sequence[Stretch], tally: Tally) -> None:
    """Write the call: what is known of it now, and what it came to once it is over."""
    scene, facts = page.scene, page.scene.facts
    observable = (scene.caller_edges or "said" in facts.had) and not facts.counts.get("no_frames_seen")
    content: Content = {
        "started_wall_ns": page.wall_ns,
        "measuring_point": "recording" if facts.recording else "pipeline",
        "connected_ns": facts.connected_ns,
        "caller_observable": observable,
        "reason": None if observable else "unobservable",
        "facts": _facts(page),
        "unheard": page.unheard,
        "line": line_told(facts),
        "line_reason": None if facts.line_reports else "unobservable",
        "app": dict(facts.app),
        "faults": len(facts.faults),
        "faults_recovered": sum([recovered for _, recovered in facts.faults.values()]),
        "faults_by": _faults_by(facts) if facts.faults else {},
    }
    if scene.over and page.cause is not None:
        content |= _ended(page, fates, stretches, observable=observable)
        content |= {
            "events": tally.events,
            "missing_events": tally.missing,
            "dropped_events": tally.dropped,
            "late_in_call": tally.late,
            "stray": tally.stray,
            "duplicates": tally.duplicates,
            "tail_incomplete": tally.tail_incomplete,
        }
    page.add(Call, "call", scene.horizon_ns if scene.over else 0, content, final=scene.over)


def _faults_by(facts: Facts) -> dict[str, int]:
    return dict(sorted(Counter(origin or "unknown" for origin, _ in facts.faults.values()).items()))


def _ended(page: Page, fates: Sequence[Standing], stretches: Sequence[Stretch], *, observable: bool) -> Content:
    scene, talk = page.scene, page.talk
    last = talk.turns[-1] if talk.turns else None
    speaking = (
        last is not None
        and last.answer is None
        and last.utterances[-1].inferred
        and scene.horizon_ns - last.end_ns(scene.horizon_ns) <= scene.bounds.still_speaking_ns
        and fates[-1].turn_class != "closing"
    )
    awaits = bool(fates) and (fates[-1].unanswered or _deaf(page, fates[-1]))
    promised = page.carry.promised_transfer or any(promises_transfer(scene, v) for v in scene.voices)
    lost = bool(fates) and fates[-1].turn_class == "lost"
    left_open = Unfinished(awaits, speaking, lost, caller_spoke(page), promised, last_critical(page, stretches))
    assert page.cause is not None
    lasted: Content = {
        "ended_ns": scene.horizon_ns,
        "duration_ns": scene.horizon_ns,
        "talk_ns": talk_so_far(page, scene.horizon_ns),
        "other_speech_ns": other_speech_so_far(page, scene.horizon_ns),
    }
    if scene.facts.recording and page.cause == "unknown":
        return lasted | {"outcome_reason": "a recording does not tell how the call ended"}
    came_to = ending(scene, page.cause, left_open, observable=observable)
    return lasted | {
        "end_cause": came_to.cause,
        "outcome": came_to.outcome,
        "in_scope": came_to.in_scope,
        "contained": came_to.contained,
        "outcome_reason": came_to.why,
    }


def _deaf(page: Page, last: Standing) -> bool:
    """Whether the caller spoke, waited in vain, and in all the call no word of theirs was ever heard: what then looks
    like noise was as likely every question that they had."""
    waited = last.waited_ns is not None and last.waited_ns > page.scene.bounds.closing_ns
    return last.turn_class == "no_transcript" and waited and "words" not in page.scene.facts.had


def _facts(page: Page) -> dict[str, int]:
    """Counted facts by name, the past's among them."""
    counts = dict(page.carry.counts)
    for name, n in page.scene.facts.counts.items():
        counts[name] = counts.get(name, 0) + n
    for _, name, n in page.counted:
        counts[name] = counts.get(name, 0) + n
    counts |= counted(page.unheard)
    values = {latency for _, latency in page.latencies}
    if page.carry.latencies:
        values.add(page.carry.same_latency_ns if page.carry.same_latency_ns is not None else -1)
    n = page.carry.latencies + len(page.latencies)
    if n >= page.scene.bounds.zero_variance_turns and len(values) == 1 and -1 not in values:
        counts["zero_variance"] = 1
    return {name: n for name, n in sorted(counts.items()) if n}
