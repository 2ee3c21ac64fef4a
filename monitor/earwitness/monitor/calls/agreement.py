"""How far kinds of evidence agree on the same speech (definitions, "Time and evidence").

A live call may have several witnesses of one edge: the taps on the audio, the pipeline's voice activity, a service's
word, what was written to the transport, a recording. Numbers take the best; this says how far the others lie from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds, S
from earwitness.monitor.calls.facts import Edge, Facts, is_other
from earwitness.monitor.calls.heard import HeardCall
from earwitness.monitor.calls.intervals import Span, clip, total
from earwitness.monitor.calls.speech import Segment, pair
from earwitness.monitor.contract.events import Evidence

Party = Literal["caller", "agent"]
Json = dict[str, Any]

RECORDING: Final = "recording"
ORDER: Final[dict[Party, tuple[str, ...]]] = {
    "caller": (RECORDING, "audio", "vad", "server"),
    "agent": (RECORDING, "playout", "audio", "server"),
}
"""Kinds by which speech is witnessed, the one that others are held against first. What the pipeline decided is none."""
EDGES: Final[dict[Party, tuple[str, str]]] = {"caller": ("u_on", "u_off"), "agent": ("a_on", "a_off")}
FAR: Final = 4
"""Edges of speech that both heard are one edge up to so many times ``Bounds.match_ns`` (1 s); a service's word lags."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Speech as one witness tells it; an edge that it did not see is None."""

    on_ns: int | None
    off_ns: int | None

    @property
    def start_ns(self) -> int:
        """Its beginning, or all that is known of it."""
        return self.on_ns if self.on_ns is not None else self.off_ns or 0

    @property
    def end_ns(self) -> int:
        """Its end, or all that is known of it."""
        return self.off_ns if self.off_ns is not None else self.on_ns or 0


@dataclass(slots=True)
class EdgeAgreement:
    """One kind of edge, two witnesses. ``differences_ns``: the second's moment minus the first's, for every edge that
    both have; what only one has is counted."""

    party: Party
    edge: str
    kinds: tuple[str, str]
    differences_ns: list[int] = field(default_factory=list[int])
    only_first: int = 0
    only_second: int = 0


def witnesses(
    facts: Facts, *, horizon_ns: int, bounds: Bounds = DEFAULT_BOUNDS
) -> dict[tuple[Party, str], list[Stretch]]:
    """The speech of both sides by who tells of it. Edges that nobody heard (inferred, uncertain) are left open, and the
    taps' where their own quality check does not hold are left out, as they are of the numbers."""
    found: dict[tuple[Party, str], list[Stretch]] = {}
    gaps = facts.gaps.get("caller", [])
    by_kind: dict[str, list[Edge]] = {}
    for (evidence, participant), edges in facts.caller_edges.items():
        if not is_other(facts, participant):
            by_kind.setdefault(evidence, []).extend(edges)
    for kind, edges in by_kind.items():
        heard = [e for e in edges if e.snr_db is None or e.snr_db >= bounds.snr_least_db]
        heard.sort(key=lambda e: e.at_ns)
        paired = pair(heard, _evidence(kind), facts, gaps, horizon_ns=horizon_ns, over=True)
        found["caller", kind] = _stretches(paired)
    for kind, edges in facts.agent_edges.items():
        if kind in ORDER["agent"]:
            paired = pair(edges, _evidence(kind), None, facts.gaps.get("agent", []), horizon_ns=horizon_ns, over=True)
            found["agent", kind] = _stretches(paired)
    plays = [play for run in facts.runs.values() for play in run.plays]
    written = [Stretch(p.first_ns, None if p.uncertain_until_ns is not None else p.last_ns) for p in plays]
    if written:
        found["agent", "playout"] = sorted((s for s in written if s != Stretch(None, None)), key=lambda s: s.start_ns)
    return found


def recorded(heard: HeardCall, *, offset_ns: int = 0) -> dict[tuple[Party, str], list[Stretch]]:
    """The speech that a recording of the call holds, moved to the call's clock; a side whose channel is empty tells
    nothing, and the agent's own sound on the caller's line is not the caller's speech."""
    found: dict[tuple[Party, str], list[Stretch]] = {}
    sides: tuple[tuple[Party, Sequence[Span]], ...] = (("caller", _without_echo(heard)), ("agent", heard.agent))
    for party, spans in sides:
        if party not in heard.unobserved:
            cut_off = party in heard.speaking_at_end
            found[party, RECORDING] = [
                Stretch(on + offset_ns, None if cut_off and n == len(spans) - 1 else off + offset_ns)
                for n, (on, off) in enumerate(spans)
            ]
    return found


def agreements(
    told: Mapping[tuple[Party, str], Sequence[Stretch]], bounds: Bounds = DEFAULT_BOUNDS
) -> list[EdgeAgreement]:
    """Every two witnesses of a side against each other, edge by edge, in a fixed order."""
    found: list[EdgeAgreement] = []
    for party, order in ORDER.items():
        kinds = [kind for kind in order if told.get((party, kind))]
        for n, first in enumerate(kinds):
            for second in kinds[n + 1 :]:
                found += _held_against(party, (first, second), told[party, first], told[party, second], bounds)
    return found


def pooled(calls: Iterable[Sequence[EdgeAgreement]]) -> list[Json]:
    """The agreement of many calls, one row for each side, edge and two kinds: ``median_s`` and ``p90_abs_s`` are None
    where no edge was seen by both."""
    rows: dict[tuple[str, str, tuple[str, str]], EdgeAgreement] = {}
    for one in calls:
        for own in one:
            row = rows.setdefault((own.party, own.edge, own.kinds), EdgeAgreement(own.party, own.edge, own.kinds))
            row.differences_ns += own.differences_ns
            row.only_first += own.only_first
            row.only_second += own.only_second
    return [
        {
            "party": row.party,
            "edge": row.edge,
            "kinds": list(row.kinds),
            **summary(row.differences_ns),
            "only": [row.only_first, row.only_second],
        }
        for row in rows.values()
    ]


def summary(differences_ns: Sequence[int]) -> Json:
    """``n``, the median difference and the 90th percentile of its size, in seconds."""
    return {
        "n": len(differences_ns),
        "median_s": _percentile(differences_ns, 50),
        "p90_abs_s": _percentile([abs(d) for d in differences_ns], 90),
    }


def _percentile(values_ns: Sequence[int], percent: int) -> float | None:
    ranked = sorted(values_ns)
    if not ranked:
        return None
    low, rest = divmod(percent * (len(ranked) - 1), 100)
    high = low + (1 if rest else 0)
    return round((ranked[low] + (ranked[high] - ranked[low]) * rest / 100) / S, 6)


def _held_against(
    party: Party, kinds: tuple[str, str], first: Sequence[Stretch], second: Sequence[Stretch], bounds: Bounds
) -> list[EdgeAgreement]:
    on, off = (EdgeAgreement(party, edge, kinds) for edge in EDGES[party])
    for a, b in _same_speech(first, second, bounds.match_ns):
        far = FAR * bounds.match_ns
        _count(on, _first_on(a), _first_on(b), far)
        _count(off, _last_off(a), _last_off(b), far)
    return [on, off]


def _count(row: EdgeAgreement, a_ns: int | None, b_ns: int | None, far_ns: int) -> None:
    if a_ns is not None and b_ns is not None and abs(b_ns - a_ns) <= far_ns:
        row.differences_ns.append(b_ns - a_ns)
        return
    row.only_first += a_ns is not None
    row.only_second += b_ns is not None


def _first_on(stretches: Sequence[Stretch]) -> int | None:
    return stretches[0].on_ns if stretches else None


def _last_off(stretches: Sequence[Stretch]) -> int | None:
    return max(stretches, key=lambda s: s.end_ns).off_ns if stretches else None


def _same_speech(
    first: Sequence[Stretch], second: Sequence[Stretch], tolerance_ns: int
) -> list[tuple[list[Stretch], list[Stretch]]]:
    """Stretches of both that tell of the same speech: those that overlap, one way or through others; and neighbours
    within the tolerance of which nobody else heard anything."""
    ordered = sorted([(s, 0) for s in first] + [(s, 1) for s in second], key=lambda x: (x[0].start_ns, x[1]))
    groups: list[tuple[list[Stretch], list[Stretch]]] = []
    reach = 0
    for stretch, which in ordered:
        # Two stretches of one witness are two; only the other's speech over the pause between them makes them one.
        if not groups or stretch.start_ns > reach:
            groups.append(([], []))
        groups[-1][which].append(stretch)
        reach = max(reach, stretch.end_ns)
    joined: list[tuple[list[Stretch], list[Stretch]]] = []
    for group in groups:
        last = joined[-1] if joined else None
        alone = last is not None and bool(last[0]) != bool(last[1]) and bool(group[0]) != bool(group[1])
        if last is not None and alone and bool(last[0]) != bool(group[0]):
            end = max(s.end_ns for s in (*last[0], *last[1]))
            if min(s.start_ns for s in (*group[0], *group[1])) - end <= tolerance_ns:
                joined[-1] = (last[0] or group[0], last[1] or group[1])
                continue
        joined.append(group)
    return joined


def _stretches(segments: Sequence[Segment]) -> list[Stretch]:
    return [
        Stretch(s.on_ns, None if s.inferred else s.off_ns) for s in segments if s.on_ns is not None or not s.inferred
    ]


def _without_echo(heard: HeardCall) -> list[Span]:
    return [span for span in heard.caller if 2 * total(clip(heard.echo, *span)) < span[1] - span[0]]


def _evidence(kind: str) -> Evidence:
    return "audio" if kind == "audio" else "vad" if kind == "vad" else "server"
