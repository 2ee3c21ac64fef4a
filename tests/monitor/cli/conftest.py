"""One short call as events, and logs and files that hold it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.contract.events import (
    AgentText,
    AnyEvent,
    CallEnded,
    CallStarted,
    Connected,
    Playout,
    Response,
    SpeechEnded,
    SpeechStarted,
    Transcript,
    TurnEnded,
    TurnStarted,
)
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing

S = 1_000_000_000
MakeCall = Callable[..., list[AnyEvent]]


def one_call(
    call_id: str = "c-7f3a", *, text: str = "good morning", latency_s: float = 0.9, began_ns: int = 10**18
) -> list[AnyEvent]:
    """A caller says something from 1.0 to 2.0 s; the agent answers ``latency_s`` later and speaks for 2 s."""
    events: list[AnyEvent] = []

    def add(kind: type[Any], at_s: float, **fields: Any) -> None:
        at_ns = round(at_s * S)
        events.append(
            kind(call_id=call_id, source="bot", seq=len(events), at_ns=at_ns, wall_ns=began_ns + at_ns, **fields)
        )

    a_on_s = 2.0 + latency_s
    add(
        CallStarted,
        0,
        agent="clinic",
        version="42",
        mode="cascade",
        recogniser=True,
        caller_edges=("vad",),
        agent_edges=("playout",),
    )
    add(Connected, 0.1)
    add(SpeechStarted, 1.2, party="caller", evidence="vad", edge_ns=S, correction_ns=S // 5)
    add(TurnStarted, 1.2)
    add(Transcript, 2.1, party="caller", text=text, final=True)
    add(SpeechEnded, 2.2, party="caller", evidence="vad", edge_ns=2 * S, correction_ns=S // 5)
    add(TurnEnded, 2.3)
    add(Response, 2.31, response_id="r1", phase="requested", why="user_turn", cause_turn=1)
    add(Response, 2.6, response_id="r1", phase="first_token")
    add(AgentText, 2.6, response_id="r1", intended="Hello, how can I help?")
    add(Playout, a_on_s, phase="first", edge_ns=round(a_on_s * S), response_id="r1")
    add(AgentText, a_on_s + 2, response_id="r1", spoken="Hello, how can I help?")
    add(Playout, a_on_s + 2, phase="last", edge_ns=round((a_on_s + 2) * S), response_id="r1", truncated=False)
    add(Response, a_on_s + 2, response_id="r1", phase="ended")
    add(CallEnded, a_on_s + 3, cause="caller", terminal="end")
    return events


@pytest.fixture
def make_call() -> MakeCall:
    return one_call


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    """An embedded log that holds two calls of a minute ago."""
    path = tmp_path / "log.db"
    now_ns = time.time_ns()
    calls = [one_call("c-7f3a", began_ns=now_ns - 60 * S), one_call("c-81c0", began_ns=now_ns - 50 * S, latency_s=2.4)]

    async def write(all_events: Sequence[AnyEvent]) -> None:
        log = await open_log(str(path))
        await log.append("earwitness.events", [Outgoing(event.call_id, encode(event)) for event in all_events])
        await log.close()

    asyncio.run(write([event for events in calls for event in events]))
    return path


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine reach a test."""
    for name in ("EARWITNESS_SETTINGS", "EARWITNESS_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EARWITNESS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
