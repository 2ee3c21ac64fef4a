"""Microseconds of CPU to decode one event, both ways. Run as a script; prints, judges nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import Response, SpeechEnded, SpeechStarted, Stage, Tool, Transcript, TurnEnded
from earwitness.monitor.contract.wire import decode_event, encode

WALL_NS = 1_700_000_000_000_000_000


def payloads(calls: int = 200) -> list[bytes]:
    """What a cascade call sends in one exchange, many times over."""
    made: list[bytes] = []
    for call in range(calls):
        base: dict[str, Any] = {"call_id": f"call-{call:08d}", "source": "bot", "wall_ns": WALL_NS}
        at = call * 1_000_000
        text = "I would like to move my appointment from Tuesday to the earliest one on Friday"
        made += [
            encode(event)
            for event in (
                SpeechStarted(seq=0, at_ns=at, edge_ns=at, party="caller", evidence="vad", **base),
                SpeechEnded(seq=1, at_ns=at + 5, edge_ns=at, party="caller", evidence="vad", voiced_ns=900, **base),
                Transcript(seq=2, at_ns=at + 6, party="caller", text=text, final=True, language="en", **base),
                TurnEnded(seq=3, at_ns=at + 7, strategy="smart_turn", incomplete_at_ns=(1, 2), **base),
                Response(seq=4, at_ns=at + 8, response_id="r1", phase="requested", why="user_turn", **base),
                Stage(seq=5, at_ns=at + 9, service="llm", metric="ttfb", value_s=0.41, model="gpt-x", **base),
                Tool(seq=6, at_ns=at + 9, tool_call_id="t", name="lookup", phase="called", arguments="{}", **base),
            )
        ]
    return made


def microseconds(decode: Callable[[bytes], object], batch: list[bytes], rounds: int = 9) -> float:
    """Best of several rounds: the least disturbed one."""
    best = float("inf")
    gc.disable()
    for _ in range(rounds):
        began = time.process_time()
        for payload in batch:
            decode(payload)
        best = min(best, time.process_time() - began)
    gc.enable()
    return best / len(batch) * 1e6


def main() -> None:
    batch = payloads()
    size = sum(map(len, batch)) / len(batch)
    print(f"decode one event (mean {size:.0f} bytes), us of CPU")
    for name, decode in (("consumers (msgspec)", decode_event_fast), ("checked (pydantic)", decode_event)):
        print(f"  {name:20} {microseconds(decode, batch):6.2f}")


if __name__ == "__main__":
    main()
