"""A live call against a recording of it: where the recording lies on the call's clock, each turn's latency in both."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from earwitness.monitor.calls.agreement import (
    EdgeAgreement,
    Json,
    Stretch,
    agreements,
    recorded,
    summary,
    witnesses,
)
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS, Bounds, S
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.heard import HeardCall
from earwitness.monitor.contract.records import AnyRecord, Turn

SEARCH_NS: Final = 120 * S
"""How far a recording may have begun before or after the call's clock."""
NEAR_NS: Final = S // 10
LEAST_VOTES: Final = 4
"""So many onsets must fall together before a recording is moved."""
SAME_TURN_NS: Final = S


@dataclass(frozen=True, slots=True)
class RecordingAgreement:
    """One recording against the call. ``offset_ns``: what was added to the recording's times; 0 for one that lies on
    the call's clock, as those that Earwitness makes do."""

    call_id: str
    recording: str
    offset_ns: int
    edges: list[EdgeAgreement]
    turns: list[tuple[Turn | None, Turn | None]]
    """Turns with a latency of the live call and of the recording; None where one has none there."""

    @property
    def latency_differences_ns(self) -> list[int]:
        """Recording's latency minus the live one, of each turn that has both."""
        return [
            theirs.response_latency_ns - own.response_latency_ns
            for own, theirs in self.turns
            if own is not None
            and theirs is not None
            and own.response_latency_ns is not None
            and theirs.response_latency_ns is not None
        ]


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call as the pipeline told it: what its events say, where it ended, its latest records."""

    call_id: str
    facts: Facts
    horizon_ns: int
    records: Sequence[AnyRecord]


def recording_agreement(
    live: LiveCall, heard: HeardCall, from_recording: Sequence[AnyRecord], bounds: Bounds = DEFAULT_BOUNDS
) -> RecordingAgreement:
    """Hold a recording against the call that it is of. ``from_recording``: the recording's latest records."""
    told = witnesses(live.facts, horizon_ns=live.horizon_ns, bounds=bounds)
    offset_ns = offset_of(told, recorded(heard), bounds)
    both = told | recorded(heard, offset_ns=offset_ns)
    edges = [row for row in agreements(both, bounds) if "recording" in row.kinds]
    turns = _same_turns(_timed(live.records), _timed(from_recording), offset_ns)
    return RecordingAgreement(live.call_id, heard.call_id, offset_ns, edges, turns)


def offset_of(
    told: dict[Any, list[Stretch]], of_recording: dict[Any, list[Stretch]], bounds: Bounds = DEFAULT_BOUNDS
) -> int:
    """What to add to the recording's times so that most onsets of both sides fall together; 0 where that is near 0
    (``Bounds.match_ns``), or too few do."""
    differences: list[int] = []
    for (party, _), stretches in of_recording.items():
        theirs = [s.on_ns for s in stretches if s.on_ns is not None]
        kind = next((k for k in ("audio", "playout", "vad", "server") if told.get((party, k))), None)
        own = sorted(s.on_ns for s in told.get((party, kind), []) if s.on_ns is not None)
        for at in theirs:
            differences += [o - at for o in own[bisect_left(own, at - SEARCH_NS) : bisect_right(own, at + SEARCH_NS)]]
    differences.sort()
    best: tuple[int, int, int] = (0, 0, 0)
    for n, difference in enumerate(differences):
        upto = bisect_right(differences, difference + NEAR_NS)
        found = (upto - n, -abs(difference), differences[(n + upto - 1) // 2])
        best = max(best, found)
    votes, _, offset = best
    return offset if votes >= LEAST_VOTES and abs(offset) > bounds.match_ns else 0


def recording_summary(found: Sequence[RecordingAgreement]) -> tuple[Json, list[Json]]:
    """Latency differences over all recordings (recording - live), and each recording's own turns."""
    differences = [d for one in found for d in one.latency_differences_ns]
    pooled: Json = {
        **summary(differences),
        "only_live": sum(theirs is None for one in found for _, theirs in one.turns),
        "only_recording": sum(own is None for one in found for own, _ in one.turns),
    }
    each = [
        {
            "call_id": one.call_id,
            "recording": one.recording,
            "offset_s": round(one.offset_ns / S, 6),
            "turns": [_turn(own, theirs) for own, theirs in one.turns],
        }
        for one in found
    ]
    return pooled, each


def _turn(own: Turn | None, theirs: Turn | None) -> Json:
    values = [None if t is None or t.response_latency_ns is None else t.response_latency_ns for t in (own, theirs)]
    both = values[0] is not None and values[1] is not None
    return {
        "id": None if own is None else own.id,
        "recording_id": None if theirs is None else theirs.id,
        "response_latency_s": _s(values[0]),
        "recording_latency_s": _s(values[1]),
        "difference_s": _s((values[1] or 0) - (values[0] or 0)) if both else None,
    }


def _timed(records: Sequence[AnyRecord]) -> list[Turn]:
    turns = [r for r in records if isinstance(r, Turn) and r.response_latency_ns is not None and r.u_off_ns is not None]
    return sorted(turns, key=lambda t: t.u_off_ns or 0)


def _same_turns(own: list[Turn], theirs: list[Turn], offset_ns: int) -> list[tuple[Turn | None, Turn | None]]:
    """Turns whose ends lie within a second of each other, the nearest first, each once."""
    near = sorted(
        (abs((a.u_off_ns or 0) - (b.u_off_ns or 0) - offset_ns), n, k)
        for n, a in enumerate(own)
        for k, b in enumerate(theirs)
        if abs((a.u_off_ns or 0) - (b.u_off_ns or 0) - offset_ns) <= SAME_TURN_NS
    )
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for _, n, k in near:
        if n not in partner and k not in taken:
            partner[n] = k
            taken.add(k)
    pairs: list[tuple[Turn | None, Turn | None]] = [
        (turn, theirs[partner[n]] if n in partner else None) for n, turn in enumerate(own)
    ]
    return pairs + [(None, turn) for k, turn in enumerate(theirs) if k not in taken]


def _s(value_ns: int | None) -> float | None:
    return None if value_ns is None else round(value_ns / S, 6)
