"""What every event carries, and the words that several kinds share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

Party = Literal["caller", "agent", "other"]
Evidence = Literal["audio", "vad", "server", "decision", "playout"]
Mode = Literal["cascade", "realtime", "unknown"]
Direction = Literal["inbound", "outbound", "unknown"]
Why = Literal["user_turn", "eager", "tool_result", "greeting", "prompt", "resumed", "application", "unknown"]
Ns = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Nanoseconds, or a count: what fits into 64 bits with a sign, as readers in other languages hold it."""


class Event(BaseModel):
    """What every event carries. ``(call_id, source, seq)`` is its identity.

    ``source`` is the process or tool that speaks (``bot``, ``judge``, ``label``, ``survey``, ...); ``seq``
    counts its events of this call from 0 without gaps, and ``at_ns`` never falls from one to the next.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    v: int = SCHEMA_VERSION
    call_id: str
    source: str
    seq: Ns
    at_ns: Ns
    wall_ns: Ns
