"""Records of overlaps. A label or a verdict changes a row as long as the call is held, however long it is settled."""

from __future__ import annotations

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.edge_evidence import of_agent_end, of_caller
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.overlaps import OverlapDraft, Stop, cell_of, missed_because
from earwitness.monitor.calls.page import Content, Page
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.stops import stop_of, talk_over_ns
from earwitness.monitor.calls.wants import Basis, class_if_unwanted, labelled
from earwitness.monitor.contract.records import Overlap


def write_overlaps(page: Page) -> None:
    """Write a row for each overlap; while the caller speaks, only once it is known what the agent did."""
    scene, bounds = page.scene, page.scene.bounds
    for draft in page.talk.overlaps:
        if draft.u_on_ns >= page.before_ns:
            break
        stop, end = stop_of(scene, draft), draft.u_off_ns
        speaking = end is None and not scene.over
        if speaking and stop.in_time(draft.wanted, bounds)[0] is None:
            continue
        unrelated = stop.cut is not None and stop.late(bounds)
        content: Content = {
            "u_on_ns": draft.u_on_ns,
            "u_off_ns": end,
            "agent_turn": page.voice_id(draft.voice),
            "a_off_ns": stop.stopped_ns if stop.lasting else None,
            "silent_for_ns": None if unrelated else stop.silent_for_ns,
            "talk_over_ns": None if speaking or draft.uncertain else talk_over_ns(scene, draft),
            "resumed_after_ns": None if unrelated else stop.resumed_after_ns,
            "terminal": stop.terminal,
            "text": " ".join(t for u in draft.utterances if (t := u.text)) or None,
            "evidence": of_caller(draft.utterances) | of_agent_end(scene, stop.stopped_ns if stop.lasting else None),
        }
        basis = Basis(
            stop,
            draft.wanted,
            draft.want_class,
            draft.decided_by,
            class_if_unwanted(scene, draft),
            missed_because(scene, draft),
        )
        final = scene.over or (page.settled(scene.horizon_ns if end is None else end) and _is_done(page, draft, stop))
        content |= verdict(basis, draft.id, scene.facts, bounds)
        page.add(Overlap, draft.id, draft.u_on_ns, content, final=final, basis=basis)
    for utterance in scene.utterances:
        if utterance.muted:
            page.count("speech_while_muted", utterance.at_ns)
    for at in _spurious(scene):
        page.count("spurious_interruption", at)


def _is_done(page: Page, draft: OverlapDraft, stop: Stop) -> bool:
    """Whether nothing that is still to come can change what the agent did about it."""
    end, follow = draft.u_off_ns, page.scene.bounds.words_follow_ns
    if draft.pending or (end is not None and page.scene.awaits_words(draft.u_on_ns, end + follow)):
        return False
    if stop.late(page.scene.bounds):
        return stop.uncertain or (stop.stopped_ns is not None and stop.lasting)
    return stop.followed


def verdict(basis: Basis, overlap_id: str, facts: Facts, bounds: Bounds) -> Content:
    """Whether the caller wanted the floor, by label, judge or rule, and the cell that follows from it."""
    stop = basis.stop
    wanted, want_class, decided_by = basis.wanted, basis.want_class, basis.decided_by
    label = labelled(facts, overlap_id)
    if label is not None and (label.by == "human" or decided_by != "expectation"):
        wanted, decided_by = label.wanted, label.by
        want_class = label.want_class or basis.class_if_unwanted if wanted == "no" else None
    told = decided_by in ("human", "judge", "expectation")
    observed, caused = stop.in_time(wanted, bounds)
    gave_way = observed if stop.cut is None else caused
    outside = stop.terminal == "natural_end" or (stop.terminal == "terminal_or_yield" and not told)
    counted = wanted in ("yes", "no") and not stop.uncertain and not outside
    cell = cell_of(wanted, gave_way) if counted else None
    took = None if stop.stopped_ns is None or not stop.lasting or wanted != "yes" else stop.stopped_ns - stop.u_on_ns
    return {
        "gave_way": gave_way,
        "yielded_observed": observed,
        "yielded_caused": caused,
        "stop_latency_ns": None if stop.on_at_most else took,
        "stop_at_least_ns": took if stop.on_at_most else None,
        "wanted": wanted,
        "want_class": want_class,
        "cell": cell,
        "decided_by": decided_by,
        "labelled_by": label.author if label is not None and decided_by == "human" else None,
        "missed_because": basis.missed_because if cell == "FN" else None,
    }


def _spurious(scene: Scene) -> list[int]:
    """Cuts of the agent by the pipeline with no caller speech near (B18), and no key or application that wanted them.
    Where nobody listens for the caller, nobody knows."""
    near, found = scene.bounds.spurious_near_ns, dict[int, int]()
    if not scene.caller_edges:
        return []
    for at in scene.facts.interruptions:
        if not scene.over and scene.horizon_ns - at < near:
            continue
        if any(abs(meant - at) <= near for meant in scene.facts.meant_cuts):
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
    return list(found.values())
