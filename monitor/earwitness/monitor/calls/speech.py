"""Segments of speech out of edges of several kinds of evidence (definitions, "Time and evidence").

Edges are paired kind by kind. Then the segments of the best kind stand as they are; a lesser kind adds a segment only
where no better one lies (within ``Bounds.match_ns``), and lends its edge where the better one has none. Best first:
``audio`` that passed its own quality check, ``vad``, ``server``. An ``audio`` edge under 15 dB or inside an audio gap
is poor: it counts only in a call that has no other source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.facts import Edge, Facts, Gap, Said, is_other
from earwitness.monitor.contract.events import Evidence

EDGE_SLACK_NS: Final = S // 10
"""How far behind the last audio that arrived an edge may lie that was heard in it: frames arrive late and in pieces."""
CALLER_ORDER: Final[tuple[Evidence, ...]] = ("audio", "vad", "server")


class Segment(msgspec.Struct, eq=False):
    """A stretch of speech. ``on_ns`` None: its beginning was not seen; ``off_ns`` None: it goes on.

    ``inferred``: no end was heard, and what stands there makes no overlap after it and no latency. ``on_at_most`` and
    ``off_at_most``: the edge lies there or before, since its source tells of it an unknown time after the fact.
    """

    on_ns: int | None
    off_ns: int | None
    on_by: Evidence
    off_by: Evidence
    inferred: bool = False
    on_at_most: bool = False
    off_at_most: bool = False
    muted: bool = False
    other: bool = False
    echo: bool = False
    """The sound correlates with the agent's own (B07)."""
    finals: list[Said] = msgspec.field(default_factory=list[Said])
    interim: str = ""
    others: list[Said] = msgspec.field(default_factory=list[Said])
    """Words of somebody else, where the caller's are missing: then it was somebody else who spoke."""
    closed_by_final: bool = False
    """A final came for it, be it an empty one."""
    language: str | None = None
    """That of its words, where the recogniser tells it."""

    @property
    def start_ns(self) -> int:
        """Where it lies in time: its beginning, or all that is known of it."""
        if self.on_ns is not None:
            return self.on_ns
        return self.off_ns if self.off_ns is not None else 0

    def end_ns(self, horizon_ns: int) -> int:
        """Its end, or the horizon while it goes on."""
        return horizon_ns if self.off_ns is None else self.off_ns


def caller_segments(facts: Facts, bounds: Bounds, *, horizon_ns: int, over: bool) -> list[Segment]:
    """Segments of the caller and of others on the caller's side, in order; ``over``: the call is."""
    own: dict[str, list[Segment]] = {}
    segments: list[Segment] = []
    gaps = facts.gaps.get("caller", [])
    for (evidence, participant), edges in facts.caller_edges.items():
        if is_other(facts, participant):
            spoken = pair(edges, "audio", facts, gaps, horizon_ns=horizon_ns, over=over)
            for segment in spoken:
                segment.other = True
            segments += spoken if evidence == _best_other(facts, participant) else []
        else:
            own.setdefault(evidence, []).extend(
                pair(edges, _as_evidence(evidence), facts, gaps, horizon_ns=horizon_ns, over=over)
            )
    good, poor = _by_quality(facts, own.pop("audio", []), gaps, bounds)
    layers = [good, own.get("vad", []), own.get("server", [])]
    declared = facts.started.caller_edges if facts.started is not None else ()
    if "vad" not in declared and not facts.had & {"caller:vad", "caller:server"}:
        layers.append(poor)
    segments += layered(layers, bounds)
    if len(segments) > 1:
        segments.sort(key=lambda s: (s.start_ns, s.end_ns(horizon_ns)))
    _mark_muted(segments, mute_spans(facts, horizon_ns), horizon_ns)
    return segments


def mute_spans(facts: Facts, horizon_ns: int) -> list[tuple[int, int]]:
    """When the pipeline ignored the caller."""
    spans: list[tuple[int, int]] = []
    since: int | None = None
    for at, on in facts.mutes:
        if on and since is None:
            since = at
        elif not on and since is not None:
            spans.append((since, at))
            since = None
    if since is not None and since < horizon_ns:
        spans.append((since, horizon_ns))
    return spans


def pair(
    edges: Sequence[Edge], evidence: Evidence, facts: Facts | None, gaps: Sequence[Gap], *, horizon_ns: int, over: bool
) -> list[Segment]:
    """Pair beginnings and ends of one kind of evidence (A22, A35: what is missing is not invented). ``facts`` are
    given for the caller: turns, words and mutes tell nothing of when the agent's speech ended."""
    segments: list[Segment] = []
    begun: int | None = None
    begun_at_most = False
    unbroken = not gaps and (facts is None or not facts.mutes)

    def close(end_ns: int, *, inferred: bool, at_most: bool = False) -> None:
        nonlocal begun
        if begun is not None:
            end_ns = min(end_ns, horizon_ns)
            on_ns = min(begun, end_ns) if begun_at_most else begun
            segments.append(Segment(on_ns, max(on_ns, end_ns), evidence, evidence, inferred, begun_at_most, at_most))
            begun = None

    for edge in edges:
        if edge.edge_ns > horizon_ns:
            continue
        if edge.start:
            if begun is not None:
                close(_last_sign(facts, gaps, begun, edge.edge_ns), inferred=True)
            begun, begun_at_most = edge.edge_ns, edge.at_most
            continue
        if unbroken and begun is not None:
            close(edge.edge_ns, inferred=edge.inferred, at_most=edge.at_most)
            segments[-1].echo = edge.echo
            continue
        broken = None if unbroken or begun is None else _broken_ns(facts, gaps, begun, edge.at_ns)
        silent = None if unbroken or begun is None or facts is None else _silent_before(gaps, begun, edge.edge_ns)
        if silent is not None and broken is None:
            # A detector that hears nothing any more stops by itself: that is no end of speech (A22).
            close(silent, inferred=True)
            continue
        if begun is not None and broken is None:
            close(edge.edge_ns, inferred=edge.inferred, at_most=edge.at_most)
            segments[-1].echo = edge.echo
            continue
        if broken is not None:
            close(broken, inferred=True)
        last = segments[-1] if segments else None
        if last is None or last.off_ns is None or edge.edge_ns > last.off_ns:
            segments.append(Segment(None, edge.edge_ns, evidence, evidence, edge.inferred, off_at_most=edge.at_most))
    if begun is not None:
        stopped = _given_up_ns(facts, gaps, begun, evidence)
        if stopped is not None:
            close(stopped, inferred=True)
        elif over:
            close(horizon_ns, inferred=True)
        else:
            segments.append(Segment(begun, None, evidence, evidence, on_at_most=begun_at_most))
    return segments


def layered(layers: Sequence[list[Segment]], bounds: Bounds) -> list[Segment]:
    """Merge segments of several kinds, the best first, so that speech seen twice stands once."""
    standing: list[Segment] = []
    for layer in layers:
        if not layer:
            continue
        added: list[Segment] = []
        for segment in layer:
            same = _touched(standing, segment, bounds.match_ns)
            if not same:
                added.append(segment)
                continue
            _lend(same, segment)
        if added:
            standing = sorted(standing + added, key=_start)
    return standing


def _start(segment: Segment) -> int:
    return segment.start_ns


def _lend(same: Sequence[Segment], lesser: Segment) -> None:
    """Give the edges of a lesser segment to better ones that lack them."""
    first, last = same[0], same[-1]
    if first.on_ns is None and lesser.on_ns is not None and first.off_ns is not None:
        first.on_ns, first.on_by = min(lesser.on_ns, first.off_ns), lesser.on_by
        first.on_at_most = lesser.on_at_most
    unsure = last.off_ns is None or last.inferred
    if unsure and lesser.off_ns is not None and not lesser.inferred and lesser.off_ns >= last.start_ns:
        last.off_ns, last.off_by, last.inferred = lesser.off_ns, lesser.off_by, False
        last.off_at_most = lesser.off_at_most


def _touched(standing: Sequence[Segment], segment: Segment, tolerance_ns: int) -> list[Segment]:
    """Which of them share time with a segment, or nearly."""
    after, end = segment.start_ns - tolerance_ns, segment.off_ns
    before = None if end is None else end + tolerance_ns
    return [s for s in standing if (s.off_ns is None or after <= s.off_ns) and (before is None or s.start_ns <= before)]


def _broken_ns(facts: Facts | None, gaps: Sequence[Gap], begun_ns: int, seen_ns: int) -> int | None:
    """Where speech stopped being observed before an end was noticed that cannot be its own, if it did.

    Its audio stopped and came back, or the input was muted and opened again, in between (A22, A35).
    """
    lost = [g.last_ns for g in gaps if begun_ns <= g.last_ns and g.back_ns is not None and g.back_ns <= seen_ns]
    muted_at: int | None = None
    for at, on in facts.mutes if facts is not None else ():
        if at < begun_ns or at > seen_ns:
            continue
        if on:
            muted_at = at if muted_at is None else muted_at
        elif muted_at is not None:
            lost.append(muted_at)
            break
    if not lost:
        return None
    return min(lost + ([t.at_ns for t in facts.turn_ends if t.at_ns > begun_ns] if facts is not None else []))


def _silent_before(gaps: Sequence[Gap], begun_ns: int, edge_ns: int) -> int | None:
    """Where the audio stopped, if it did before an end that was told of nothing but its absence."""
    lost = (g.last_ns for g in gaps if begun_ns <= g.last_ns < edge_ns - EDGE_SLACK_NS)
    return min(lost, default=None)


def _last_sign(facts: Facts | None, gaps: Sequence[Gap], begun_ns: int, next_ns: int) -> int:
    """The last that was known of speech whose end was lost before the next began."""
    broken = _broken_ns(facts, gaps, begun_ns, next_ns)
    if broken is not None:
        return broken
    if facts is None:
        return begun_ns
    signs = [t.at_ns for t in facts.turn_ends] + [s.at_ns for s in facts.said]
    return max((at for at in signs if begun_ns <= at <= next_ns), default=begun_ns)


def _given_up_ns(facts: Facts | None, gaps: Sequence[Gap], begun_ns: int, evidence: Evidence) -> int | None:
    """Where speech without an end stops: the last audio that arrived, else the pipeline's word that it was over."""
    ends = [g.last_ns for g in gaps if g.last_ns >= begun_ns]
    if facts is None:
        return min(ends, default=None)
    if not ends:
        ends = [t.at_ns for t in facts.turn_ends if t.at_ns > begun_ns]
    if not ends and evidence == "server":
        ends = [s.at_ns for s in facts.said if s.final and s.at_ns > begun_ns]
    return min(ends, default=None)


def _by_quality(
    facts: Facts, segments: list[Segment], gaps: Sequence[Gap], bounds: Bounds
) -> tuple[list[Segment], list[Segment]]:
    """Split the taps' segments by whether their own quality check holds."""
    if not segments:
        return [], []
    least = bounds.snr_least_db
    audio = [edges for (evidence, _), edges in facts.caller_edges.items() if evidence == "audio"]
    noisy = {e.edge_ns for edges in audio for e in edges if e.snr_db is not None and e.snr_db < least}
    good: list[Segment] = []
    poor: list[Segment] = []
    if not gaps and not noisy:
        return segments, []
    for segment in segments:
        edges = [n for n in (segment.on_ns, segment.off_ns) if n is not None]
        lost = any(g.last_ns < n and (g.back_ns is None or n < g.back_ns) for g in gaps for n in edges)
        (poor if lost or any(n in noisy for n in edges) else good).append(segment)
    return good, poor


def _mark_muted(segments: Sequence[Segment], spans: Sequence[tuple[int, int]], horizon_ns: int) -> None:
    """Speech that began while the pipeline ignored the caller and did not outlast that (A34)."""
    if not spans:
        return
    for segment in segments:
        end = segment.end_ns(horizon_ns)
        segment.muted = segment.on_ns is not None and any(s <= segment.on_ns and end <= e for s, e in spans)


def _best_other(facts: Facts, participant: str | None) -> str:
    kinds = [e for e, p in facts.caller_edges if p == participant]
    return next((k for k in CALLER_ORDER if k in kinds), kinds[0])


def _as_evidence(name: str) -> Evidence:
    return "audio" if name == "audio" else "vad" if name == "vad" else "server"
