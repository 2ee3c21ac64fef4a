"""One whole call on the running Pipecat, checked event by event in its main facts: for the oldest version we work on.

``python tests/pipecat_calls/smoke_oldest.py`` in an environment with that version; prints what it saw, or fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "monitor"), str(ROOT / "processors")]

from pipecat_calls.recorded import RecordedCall, record_call  # noqa: E402
from pipecat_calls.script import order_call  # noqa: E402

from earwitness.monitor.contract.events import (  # noqa: E402
    AgentText,
    CallEnded,
    CallStarted,
    Event,
    Interruption,
    Playout,
    Response,
    SpeechEnded,
    SpeechStarted,
    Transcript,
    TurnEnded,
)
from earwitness.monitor.contract.events import Tool as ToolEvent  # noqa: E402

CALL = order_call(reason="done")


def check(call: RecordedCall) -> None:
    """The facts that must hold on every version."""

    def near(at_ns: int, truth_s: float, within_s: float) -> None:
        assert abs(at_ns / 1e9 - truth_s) <= within_s, (at_ns / 1e9, truth_s)

    started = call.one(CallStarted)
    assert (started.mode, started.recogniser, started.vad_stop_s) == ("cascade", True, 0.2)
    for (on, off), began, ended in zip(
        call.truth.caller,
        call.of(SpeechStarted, party="caller", evidence="vad"),
        call.of(SpeechEnded, party="caller", evidence="vad"),
        strict=True,
    ):
        near(began.edge_ns, on, 0.005)
        near(ended.edge_ns, off, 0.005)
    for (on, off), first, last in zip(
        call.truth.agent, call.of(Playout, phase="first"), call.of(Playout, phase="last"), strict=True
    ):
        near(first.edge_ns, on, 0.045)
        near(last.edge_ns, off, 0.045)
    assert [event.why for event in call.of(Response, phase="requested")] == [
        "greeting", "user_turn", "tool_result", "user_turn", "user_turn",
    ]  # fmt: skip
    assert [event.phase for event in call.of(ToolEvent)] == ["called", "started", "result"]
    assert [event.text for event in call.of(Transcript, final=True)] == [line.text for line in CALL.lines]
    assert len(call.of(TurnEnded)) == len(call.of(Interruption)) == 3
    assert len(call.of(Playout, phase="last", truncated=True)) == 1
    (unspoken,) = [event.unspoken for event in call.of(AgentText) if event.unspoken]
    assert unspoken.endswith("Thursday.")
    end = call.one(CallEnded)
    assert (end.cause, end.terminal, end.reason, end.tail_incomplete) == ("agent", "end", "done", False)
    ledger = call.witness._recorder.ledger
    assert (ledger.errors, ledger.invalid) == (0, {})
    bot: list[Event] = [event for event in call.events if event.source == "bot"]
    assert [event.seq for event in bot] == list(range(len(bot)))


def main() -> None:
    """Place the call and check it."""
    call = record_call(CALL, taps=True)
    check(call)
    version = call.one(CallStarted).versions.get("pipecat-ai")
    print(f"pipecat-ai {version}: {len(call.events)} events, all as they should be")


if __name__ == "__main__":
    main()
