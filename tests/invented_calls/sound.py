"""What must hold of any call's records, whatever its events were: the checks, one idea each.

Each says of how many records it holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS

LEAST_LATENCY_NS = -DEFAULT_BOUNDS.turn_end_ns
MOMENTS = {
    "turn": ("u_on_ns", "u_off_ns", "d_ns", "a_on_ns"),
    "agent_turn": ("a_on_ns", "a_off_ns"),
    "overlap": ("u_on_ns", "u_off_ns", "a_off_ns"),
    "agent_interruption": ("at_ns",),
    "dead_air": ("start_ns", "end_ns"),
    "tool_call": ("called_ns", "ended_ns"),
    "call": ("connected_ns", "ended_ns"),
    "stage_sample": (),
}
SPANS = (("u_on_ns", "u_off_ns"), ("a_on_ns", "a_off_ns"), ("start_ns", "end_ns"), ("called_ns", "ended_ns"))
OF_WALL = ("event_wall_ns", "started_wall_ns")
OF_EITHER_SIGN = ("endpoint_delay_ns",)
"""A turn model may decide before the caller has quite ended."""


def durations(record: Any) -> dict[str, int]:
    """Every length of time that a record tells, those inside its dictionaries too."""
    found: dict[str, int] = {}
    moments = (*MOMENTS[record.kind], *OF_WALL)
    for name, value in record.model_dump().items():
        if name in moments or value is None or not name.endswith("_ns"):
            continue
        found |= {f"{name}[{key}]": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
    return found


def check_no_impossible_duration(records: Sequence[Any], as_of_ns: int) -> int:
    """None negative (an answer may begin 0.3 s before the caller ends), none longer than the call."""
    length = as_of_ns
    for call in (r for r in records if r.kind == "call"):
        length = call.ended_ns if call.ended_ns is not None else as_of_ns
    for record in records:
        for name, value in durations(record).items():
            assert isinstance(value, int), (record.kind, name, value)
            early = name in ("response_latency_ns", "parts_ns[unattributed]", "owners_ns[unknown]")
            least = -length if name in OF_EITHER_SIGN else LEAST_LATENCY_NS if early else 0
            assert least <= value <= max(length, 0), (record.kind, record.id, name, value, length)
    return len(records)


def check_no_impossible_moment(records: Sequence[Any], as_of_ns: int) -> int:
    """No moment before the call or after its end, and nothing ends before it begins."""
    for record in records:
        for name in MOMENTS[record.kind]:
            at = getattr(record, name)
            assert at is None or 0 <= at <= as_of_ns, (record.kind, record.id, name, at)
        for begin, end in SPANS:
            a, b = getattr(record, begin, None), getattr(record, end, None)
            assert a is None or b is None or a <= b, (record.kind, record.id, begin, a, end, b)
    return len(records)


def check_parts_sum_to_the_whole(records: Sequence[Any], events: Iterable[Any] = ()) -> int:
    """The parts of a latency, the two halves of it, and the shares of the call's time, less that in which nobody knows
    whether the agent was still heard: the events tell whether there was any."""
    all_known = not any(e.kind == "playout" and e.uncertain for e in events)
    for r in records:
        if r.kind == "turn":
            assert (r.response_latency_ns is None) == (r.parts_ns == {} and r.response_latency_ns != 0)
            if r.response_latency_ns is not None:
                assert sum(r.parts_ns.values()) == r.response_latency_ns == r.a_on_ns - r.u_off_ns
            if None not in (r.response_latency_ns, r.endpoint_delay_ns, r.agent_ttfa_ns):
                assert r.endpoint_delay_ns + r.agent_ttfa_ns == r.response_latency_ns
        elif r.kind == "call" and r.talk_ns:
            assert set(r.talk_ns) == {"caller", "agent", "both", "nobody"}
            lasted = max(r.ended_ns - (r.connected_ns or 0), 0)
            assert sum(r.talk_ns.values()) == lasted if all_known else sum(r.talk_ns.values()) <= lasted
        elif r.kind == "dead_air" and r.end_ns is not None:
            assert r.agent_ns + r.tool_ns + r.hold_ns + r.caller_ns <= r.end_ns - r.start_ns
    return len(records)


def check_nothing_is_counted_twice(records: Sequence[Any]) -> int:
    """Ids are unique; one answer answers one turn; an onset is one turn's, one overlap's, one interruption's."""
    ids = [r.id for r in records]
    assert len(ids) == len(set(ids)), "an id stands twice"
    by_kind: dict[str, list[Any]] = {}
    for record in records:
        by_kind.setdefault(record.kind, []).append(record)
    turns = by_kind.get("turn", [])
    answers = [t.answered_by for t in turns if t.answered_by is not None]
    assert len(answers) == len(set(answers)), "an answer answers two turns"
    assert len(by_kind.get("call", [])) <= 1
    places = [(i.turn, i.at_ns) for i in by_kind.get("agent_interruption", [])]
    assert len(places) == len(set(places)), "an agent's onset interrupts twice"
    stretches = sorted((d.start_ns, d.end_ns) for d in by_kind.get("dead_air", []) if d.end_ns is not None)
    assert all(a[1] <= b[0] for a, b in pairwise(stretches)), "silences overlap"
    return len(records)


def check_turns_do_not_overlap(records: Sequence[Any]) -> int:
    """A caller's speech belongs to one turn: each begins when the one before it is over."""
    spans = [
        (t.u_on_ns if t.u_on_ns is not None else t.u_off_ns, t.u_off_ns)
        for t in records
        if t.kind == "turn" and t.u_off_ns is not None
    ]
    spans.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(spans)), spans
    return len(records)


def check_absent_numbers_say_why(records: Sequence[Any]) -> int:
    """A turn that was answered and has no latency gives its reason; one with a latency gives none."""
    for r in records:
        if r.kind != "turn":
            continue
        assert not (r.unanswered and r.response_latency_ns is not None)
        assert not (r.unanswered and r.answered_by is not None)
        if r.response_latency_ns is not None:
            assert r.reason is None
            assert r.turn_class == "eligible"
            assert {"u_off", "a_on"} <= set(r.evidence)
            assert r.at_least_ns is None
        elif r.answered_by is not None:
            assert r.reason is not None, r
    return len(records)


def check_the_report_is_sound(shown: dict[str, Any], records: Sequence[Any]) -> int:
    """Counts within their denominators, coverage within 0 and 1, percentiles in order, every number finite."""
    json.dumps(shown, allow_nan=False)
    for section in (shown["summary"]["response_latency"],):
        assert section["n"] == section["answered"] + section["unanswered"] <= section["eligible"]
        assert section["coverage"] is None or 0 <= section["coverage"] <= 1
        assert (section["coverage"] is None) == (section["eligible"] == 0)
        quantiles = ("p50", "p90", "p95", "p99")
        known = [section[f"{q}_s"] for q in quantiles if section[f"{q}_s"] is not None]
        censored = [section["more_than_s"][q] for q in quantiles if q in section["more_than_s"]]
        assert known == sorted(known)
        assert censored == sorted(censored)
        assert [q for q in quantiles if q in section["more_than_s"]] == list(quantiles[len(known) :][: len(censored)])
        assert len(known) + len(censored) == (4 if section["n"] else 0)
    cells = shown["summary"]["interruptions"]
    overlaps = [r for r in records if r.kind == "overlap"]
    dead_air = shown["summary"]["dead_air"]
    assert cells["reason"] == dead_air["reason"]
    assert (dead_air["n"] is None) == (cells["tp"] is None) == (cells["reason"] is not None)
    counted = sum(cells[name] or 0 for name in ("tp", "fn", "fp", "tn", "unknown", "terminal"))
    apart = sum(o.cell is None and o.terminal is None and o.wanted != "unknown" for o in overlaps)
    assert counted + apart == len(overlaps) or cells["reason"] is not None
    for name in ("missed_rate", "false_yield_rate"):
        assert cells[name] is None or 0 <= cells[name] <= 1
    ratio = [value for value in shown["summary"]["talk_ratio"].values() if value is not None]
    assert not ratio or math.isclose(sum(ratio), 1, abs_tol=1e-5)
    assert all(value >= 0 for value in ratio)
    return len(records)
