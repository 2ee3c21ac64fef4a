"""What the edges of a call rest on, in few words: the usual once, and at a line what differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from earwitness.monitor.contract.records import AgentTurn, AnyRecord, Overlap, Turn

_NAMES = {
    "u_on": "caller's onset",
    "u_off": "caller's end",
    "a_on": "agent's onset",
    "a_off": "agent's end",
}
Usual = Mapping[str, str]
"""The kind of evidence on which most edges of ``caller`` and ``agent`` rest."""


def usual_evidence(found: Sequence[AnyRecord]) -> Usual:
    """What most edges of each side rest on; a side without edges is left out."""
    kinds: dict[str, Counter[str]] = {}
    for record in found:
        for edge, kind in _edges(record):
            kinds.setdefault(_side(edge), Counter())[kind] += 1
    return {side: min(counts, key=lambda kind: (-counts[kind], kind)) for side, counts in sorted(kinds.items())}


def evidence_line(usual: Usual) -> str:
    """``edges by: caller audio, agent playout``; nothing where no edge was heard."""
    if not usual:
        return ""
    sides = ((side, usual[side]) for side in ("caller", "agent") if side in usual)
    return "edges by: " + ", ".join(f"{side} {kind}" for side, kind in sides) + ", unless a line says otherwise"


def unusual_evidence(record: AnyRecord, usual: Usual) -> str:
    """``caller's end by vad``, for the edges of a record that rest on something else than most."""
    return ", ".join(f"{_NAMES[edge]} by {kind}" for edge, kind in _edges(record) if kind != usual.get(_side(edge)))


def _edges(record: AnyRecord) -> Iterator[tuple[str, str]]:
    """The edges that are a record's own: the agent's in a turn or overlap, and those of a silence, stand at the speech
    that they belong to."""
    if isinstance(record, Turn | Overlap | AgentTurn):
        for edge in ("a_on", "a_off") if isinstance(record, AgentTurn) else ("u_on", "u_off"):
            if edge in record.evidence:
                yield edge, record.evidence[edge]


def _side(edge: str) -> str:
    return "caller" if edge.startswith("u") else "agent"
