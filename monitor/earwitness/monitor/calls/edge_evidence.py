"""What each edge in a record rests on (definitions, "Time and evidence"): every edge says it, in one way.

Names of edges: ``u_on``, ``u_off``, ``a_on``, ``a_off``; for silence ``start`` and ``end``. An edge that nobody heard
(inferred, uncertain, still to come) has no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.contract.events import Evidence

EdgeEvidence = dict[str, Evidence]
_Edge = tuple[int | None, Evidence]


def of_caller(utterances: Sequence[Utterance]) -> EdgeEvidence:
    """Onset and end of caller speech that runs over these utterances."""
    found: EdgeEvidence = {}
    first, last = utterances[0], utterances[-1]
    if first.segments and first.on_ns is not None:
        found["u_on"] = first.segments[0].on_by
    if last.segments and last.off_ns is not None and not last.inferred:
        found["u_off"] = last.segments[-1].off_by
    return found


def of_agent_onset(scene: Scene, at_ns: int) -> EdgeEvidence:
    """The agent's onset at a moment."""
    known = next((sound for on, sound, _ in scene.sounds() if on == at_ns), None)
    return {} if known is None else {"a_on": known.on_by}


def of_agent_end(scene: Scene, at_ns: int | None) -> EdgeEvidence:
    """The agent's falling silent at a moment."""
    if at_ns is None:
        return {}
    known = next((s for _, s, _ in scene.sounds() if s.off_ns == at_ns and s.uncertain_until_ns is None), None)
    return {} if known is None else {"a_off": known.off_by}


def of_silence(scene: Scene, start_ns: int, end_ns: int | None) -> EdgeEvidence:
    """What ended before a silence and what began after it; the beginning or end of the call rests on nothing heard."""
    ended: list[_Edge] = []
    begun: list[_Edge] = []
    for segment in scene.segments:
        begun.append((segment.on_ns, segment.on_by))
        if not segment.inferred:
            ended.append((segment.off_ns, segment.off_by))
    for on_ns, sound, _ in scene.sounds():
        begun.append((on_ns, sound.on_by))
        ended.append((sound.off_ns, sound.off_by))
    found: EdgeEvidence = {}
    before, after = _edge_at(ended, start_ns), _edge_at(begun, end_ns)
    if before is not None:
        found["start"] = before
    if after is not None:
        found["end"] = after
    return found


def _edge_at(edges: Iterable[_Edge], at_ns: int | None) -> Evidence | None:
    return None if at_ns is None else next((by for edge_ns, by in edges if edge_ns == at_ns), None)
