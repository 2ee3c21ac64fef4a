"""Events of calls as a real Pipecat pipeline told them: the demo's call, gone on with for as long as is wanted."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

S = 1_000_000_000
HOUR_NS = 1_700_006_400 * S
DEMO = Path(__file__).resolve().parent / "data" / "demo_call.jsonl"
PERIOD_NS = 22 * S
"""How long the demo's talk takes, and a breath; then it begins again."""
MOMENTS = ("at_ns", "edge_ns", "last_audio_ns", "complete_at_ns")
NAMES = ("response_id", "utterance_id", "tool_call_id")


class Sent(NamedTuple):
    """An event as it stands on the log."""

    wall_ns: int
    payload: bytes
    call_id: str


def demo_call(number: int, begun_ns: int, length_s: float, *, ended: bool = True) -> list[Sent]:
    """One call of about that length; not ``ended``: it still goes on."""
    told: list[dict[str, Any]] = [json.loads(line) for line in DEMO.read_text().splitlines()]
    head, talk, end = told[:2], told[2:-1], told[-1]
    # The demo's farewell calls a tool that ends the call: with it, the talk could not go on.
    talk = [e for e in talk if e["kind"] != "tool" and e.get("phase") != "tools_called"]
    script = [(e, 0, 0) for e in head]
    for turn in range(int(length_s * S / PERIOD_NS) + 1):
        script += [(e, turn * PERIOD_NS, turn) for e in talk if e["at_ns"] + turn * PERIOD_NS <= length_s * S]
    if ended:
        script.append((end | {"counts": {}}, round(length_s * S) + S - end["at_ns"], 0))
    call_id, numbers = f"call-{number:08d}-7d0c2b1a", dict[str, int]()
    made: list[Sent] = []
    for event, shift_ns, turn in script:
        moved = {name: event[name] + shift_ns for name in MOMENTS if event.get(name) is not None}
        named = {name: f"{event[name]}-{turn}" for name in NAMES if turn and event.get(name) is not None}
        if event["kind"] == "call_started":
            named["agent"] = f"clinic-{number % 10}"
        if turn and event.get("why") == "greeting":
            named["why"] = "user_turn"
        seq = numbers[event["source"]] = numbers.get(event["source"], -1) + 1
        wall_ns = begun_ns + moved["at_ns"]
        whole = event | moved | named | {"call_id": call_id, "seq": seq, "wall_ns": wall_ns}
        made.append(Sent(wall_ns, json.dumps(whole, separators=(",", ":")).encode(), call_id))
    return made


def demo_calls(calls: int, length_s: float, spread_s: float, *, ended: bool = True) -> list[Sent]:
    """Several calls that began within ``spread_s``, in the order in which their events came."""
    draw = random.Random(1)
    sent = [
        e
        for n in range(calls)
        for e in demo_call(n, HOUR_NS + draw.randrange(round(spread_s * S) + 1), length_s, ended=ended)
    ]
    return sorted(sent)
