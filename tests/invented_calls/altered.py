"""The same call told otherwise: moved in time, under another clock, without some of its events, with more behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from invented_calls.script import CALL_ID, S
from invented_calls.sound import MOMENTS

from earwitness.monitor.contract.events import EVENT_ADAPTER

LEARNT = frozenset({"human_label", "verdict", "late_fact", "expectation"})
EVENT_MOMENTS = frozenset(
    {"edge_ns", "last_audio_ns", "requested_ns", "complete_at_ns", "utterance_start_ns", "utterance_end_ns"}
)


def changed(event: Any, **fields: Any) -> Any:
    """The event with other values."""
    return event.model_copy(update=fields)


def later(event: Any, by_ns: int) -> Any:
    """The event with all that is a moment in it moved."""
    fields: dict[str, Any] = {"at_ns": event.at_ns + by_ns, "wall_ns": event.wall_ns + by_ns}
    for name in EVENT_MOMENTS:
        if (at := getattr(event, name, None)) is not None:
            fields[name] = at + by_ns
    if unfinished := getattr(event, "incomplete_at_ns", ()):
        fields["incomplete_at_ns"] = tuple(at + by_ns for at in unfinished)
    return changed(event, **fields)


def moved_back(content: dict[str, dict[str, Any]], by_ns: int) -> dict[str, dict[str, Any]]:
    """Records' contents with all that is a moment in them moved back; the call began at 0 either way."""
    moved: dict[str, dict[str, Any]] = {}
    for record_id, fields in content.items():
        names = {*MOMENTS[fields["kind"]], "event_wall_ns"} | ({"duration_ns"} if record_id == "call" else set())
        if record_id == "call" and fields["ended_ns"] is None:
            names -= {"event_wall_ns"}
        moved[record_id] = _moved(fields, names, by_ns)
        if "unheard" in fields:
            inside = {"at_ns", "until_ns", "moments_ns"}
            moved[record_id]["unheard"] = tuple(_moved(one, inside, by_ns) for one in fields["unheard"])
    return moved


def _moved(fields: dict[str, Any], names: set[str], by_ns: int) -> dict[str, Any]:
    def back(value: Any) -> Any:
        return tuple(map(back, value)) if isinstance(value, tuple) else None if value is None else value - by_ns

    return {name: back(value) if name in names else value for name, value in fields.items()}


def learnt(events: Iterable[Any]) -> list[Any]:
    """What was learnt of the call later."""
    return [e for e in events if e.kind in LEARNT]


def lived(events: Iterable[Any]) -> list[Any]:
    """What was told of the call while it went on."""
    return [e for e in events if e.kind not in LEARNT]


def two_clocks(events: Iterable[Any]) -> bool:
    """Whether another process has a clock of its own."""
    return any(e.kind == "call_started" and not e.owns_clock for e in events)


def sounds_after(at_ns: int, first_seq: int) -> list[Any]:
    """Both sides go on talking behind the end of a call, for the same sources as before."""
    told: Sequence[tuple[int, dict[str, Any]]] = (
        (2, {"kind": "speech_started", "party": "caller", "evidence": "vad", "edge_ns": at_ns}),
        (20, {"kind": "speech_ended", "party": "caller", "evidence": "vad", "edge_ns": at_ns + S}),
        (21, {"kind": "turn_ended"}),
        (21, {"kind": "interruption"}),
        (30, {"kind": "playout", "phase": "first", "edge_ns": at_ns + 3 * S, "response_id": "after"}),
        (30, {"kind": "speech_started", "party": "agent", "evidence": "decision", "edge_ns": at_ns + 3 * S}),
        (50, {"kind": "playout", "phase": "last", "edge_ns": at_ns + 5 * S, "response_id": "after"}),
    )
    return [
        EVENT_ADAPTER.validate_python(
            {"call_id": CALL_ID, "source": "bot", "seq": first_seq + n, "at_ns": at_ns + tenths * S // 10, "wall_ns": 0}
            | fields
        )
        for n, (tenths, fields) in enumerate(told)
    ]
