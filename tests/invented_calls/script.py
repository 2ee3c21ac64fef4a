"""Events of one invented call, written down in any order of seconds and told in the order of the call."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract.events import EVENT_ADAPTER

S = 1_000_000_000
WALL_NS = 1_800_000_000 * S
CALL_ID = "c1"


def ns(seconds: float) -> int:
    return round(seconds * 1000) * (S // 1000)


class Script:
    """What happened in a call; ``seq`` follows the moments, source by source."""

    def __init__(self) -> None:
        self._told: list[tuple[int, int, dict[str, Any]]] = []

    def put(self, at_s: float, kind: str, source: str = "bot", **fields: Any) -> None:
        """An event noticed at ``at_s``."""
        self._told.append((max(ns(at_s), 0), len(self._told), {"kind": kind, "source": source, **fields}))

    def edge(self, start: bool, edge_s: float, at_s: float, party: str, evidence: str, **more: Any) -> None:
        """A party began or ceased to make sound at ``edge_s``."""
        source = "taps" if evidence == "audio" else "bot"
        kind = "speech_started" if start else "speech_ended"
        self.put(at_s, kind, source, party=party, evidence=evidence, edge_ns=max(ns(edge_s), 0), **more)

    def raw(self) -> list[dict[str, Any]]:
        """The events' fields in the order of the call."""
        seqs: dict[str, int] = {}
        told: list[dict[str, Any]] = []
        for at_ns, _, fields in sorted(self._told, key=lambda t: t[:2]):
            source = fields["source"]
            seq = seqs.get(source, 0)
            seqs[source] = seq + 1
            told.append({"call_id": CALL_ID, "seq": seq, "at_ns": at_ns, "wall_ns": WALL_NS + at_ns, **fields})
        return told

    def events(self) -> list[Any]:
        """The events in the order of the call."""
        return [EVENT_ADAPTER.validate_python(fields) for fields in self.raw()]
