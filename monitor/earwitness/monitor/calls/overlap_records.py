"""Records of overlaps; a label or a verdict can change them as long as the call is held."""

from __future__ import annotations

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.overlaps import (
    OverlapDraft,
    Yield,
    cell_of,
    missed_because,
    talk_over_ns,
    yields,
)
from earwitness.monitor.calls.page import Content, Page
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.contract.records import Overlap


def write_overlaps(page: Page) -> None:
    """Write a row for each overlap; the agent's part is written as soon as it is known."""
    scene = page.scene
    for draft in page.talk.overlaps:
        done = yields(scene, draft)
        gave_way = done.caused if scene.pipeline else done.observed
        end = draft.u_off_ns
        speaking = end is None and not scene.over
        if speaking and gave_way is None:
            continue
        content: Content = {
            "u_on_ns": draft.u_on_ns,
            "u_off_ns": end,
            "agent_turn": page.voice_id(draft.voice),
            "silent_for_ns": done.silent_for_ns,
            "talk_over_ns": None if speaking or draft.uncertain else talk_over_ns(scene, draft),
            "resumed_after_ns": done.resumed_after_ns,
            "terminal": done.terminal,
            "missed_because": missed_because(scene, draft),
            "text": " ".join(t for u in draft.utterances if (t := u.text)) or None,
        }
        content |= _verdict(draft, done, scene.bounds, pipeline=scene.pipeline)
        if content["cell"] != "FN":
            content["missed_because"] = None
        settle_at = scene.horizon_ns if end is None else end
        page.add(
            Overlap,
            draft.id,
            draft.u_on_ns,
            content,
            final=page.settled(settle_at) and not draft.pending,
            overlap=draft,
        )
    for utterance in scene.utterances:
        page.count("speech_while_muted", utterance.at_ns, utterance.muted)
    for at in _spurious(scene):
        page.count("spurious_interruption", at)


def _verdict(draft: OverlapDraft, done: Yield, bounds: Bounds, *, pipeline: bool) -> Content:
    """What hangs on whether the caller wanted the floor."""
    gave_way = done.caused if pipeline else done.observed
    by_hand = draft.decided_by in ("human", "expectation", "judge")
    outside = done.terminal == "natural_end" or (done.terminal == "terminal_or_yield" and not by_hand)
    counted = draft.wanted in ("yes", "no") and not draft.uncertain and not outside
    stop = done.stopped_ns if draft.wanted == "yes" and done.silent_for_ns is not None else None
    return {
        "gave_way": gave_way,
        "yielded_observed": done.observed,
        "yielded_caused": done.caused,
        "stop_latency_ns": None if stop is None else stop - draft.u_on_ns,
        "wanted": draft.wanted,
        "want_class": draft.want_class,
        "cell": cell_of(draft.wanted, gave_way) if counted else None,
        "decided_by": draft.decided_by,
    }


def _spurious(scene: Scene) -> list[int]:
    """Cuts of the agent by the pipeline with no caller speech near (B18)."""
    near, found = scene.bounds.spurious_near_ns, dict[int, int]()
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
            found.setdefault(cut[0].on_ns, at)
    return list(found)
