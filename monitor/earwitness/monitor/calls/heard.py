"""A call as somebody heard it: speech intervals of both sides, words and expectations where given.

This is the second evidence path (definitions, "Time and evidence": measuring point ``recording``). ``events_of`` says
it in the events of the contract, so that one fold serves recordings and live calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from earwitness.monitor.calls.intervals import Span


@dataclass(frozen=True, slots=True)
class HeardWords:
    """What one party said between two moments."""

    party: Literal["caller", "agent"]
    start_ns: int
    end_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the caller wanted in the overlap at a moment (within 0.5 s): the floor, or not. ``at_ns`` None: in every
    overlap that no other expectation names (definitions, "Interruptions", rule 8)."""

    at_ns: int | None
    wanted: bool


@dataclass(frozen=True, slots=True)
class HeardCall:
    """A recording's speech. Spans are in nanoseconds since its beginning, in order, and do not touch within a side."""

    call_id: str
    duration_ns: int
    caller: tuple[Span, ...]
    agent: tuple[Span, ...]
    words: tuple[HeardWords, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    caller_snr_db: float | None = None
    """Measured on the caller's channel; None where intervals came from elsewhere."""
    echo: tuple[Span, ...] = ()
    """Speech-like sound in the caller's channel that is the agent's own: in ``caller`` too, and it wanted nothing."""
    unobserved: tuple[Literal["caller", "agent"], ...] = ()
    """Sides whose channel was digital silence throughout: they have no spans, and nobody knows whether they spoke."""
    details: dict[str, str] = field(default_factory=dict[str, str])
    """What to say of the source: sample rate, voice activity, channels."""
