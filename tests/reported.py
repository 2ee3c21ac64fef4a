"""A reporter that the tests of the taps give them: it keeps what it is told, and checks it against the contract."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract import events


class Reported:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[type[events.Event], int, dict[str, Any]]] = []

    def emit(self, event_type: type[events.Event], /, *, at_ns: int, **fields: Any) -> None:
        event_type(call_id="c", source="taps", seq=len(self.events), at_ns=at_ns, wall_ns=0, **fields)
        self.events.append((event_type, at_ns, fields))

    def of(self, kind: type[events.Event]) -> list[dict[str, Any]]:
        return [fields for event_type, _, fields in self.events if event_type is kind]

    def spans_s(self, party: str) -> list[tuple[float, float]]:
        """Segments of a party as told, those closer than 0.6 s merged as the definitions do."""
        spans: list[tuple[float, float]] = []
        for kind, _, fields in self.events:
            if fields.get("party") != party:
                continue
            edge_s = fields["edge_ns"] / 1e9 if "edge_ns" in fields else 0.0
            if kind is events.SpeechStarted:
                merges = spans and edge_s - spans[-1][1] < 0.6
                spans.append((spans.pop()[0] if merges else edge_s, edge_s))
            elif kind is events.SpeechEnded:
                spans[-1] = (spans[-1][0], edge_s)
        return spans
