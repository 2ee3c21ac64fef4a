"""Facts of the agent's work: runs of its model, its services' metrics, its tools."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from earwitness.monitor.contract.event import Event, Ns, Why


class Response(Event):
    """A milestone of one run of the model, or of one text that the application had spoken.

    ``requested`` carries why it began. ``cause_turn`` counts the pipeline's user turns from 1. ``after`` names
    the response whose tools it follows.
    """

    kind: Literal["response"] = "response"
    response_id: str
    phase: Literal[
        "requested", "first_token", "first_text", "first_audio", "ended", "cancelled", "empty", "tools_called"
    ]
    why: Why | None = None
    cause_turn: int | None = None
    after: str | None = None
    processor: str | None = None
    model: str | None = None


class Stage(Event):
    """A service's own metric. ``value_s`` is absent where it was not measured; a time to first byte of a request
    that never gave one is ``censored``."""

    kind: Literal["stage"] = "stage"
    service: Literal["stt", "llm", "tts", "turn", "realtime", "other"]
    metric: str
    processor: str | None = None
    model: str | None = None
    value_s: float | None = None
    usage: dict[str, float] = Field(default_factory=dict)
    censored: bool = False
    response_id: str | None = None


class Tool(Event):
    """A moment in the life of one tool call. A cancelled call stays cancelled."""

    kind: Literal["tool"] = "tool"
    tool_call_id: str
    name: str
    phase: Literal["called", "started", "update", "result", "error", "cancelled", "timed_out"]
    arguments: str | None = None
    result: str | None = None
    error: str | None = None
    duration_ns: Ns | None = None
    blocking: bool = True
    """Whether the answer waits for it."""
    response_id: str | None = None
    truncated: bool = False
