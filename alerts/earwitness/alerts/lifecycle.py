"""One alert's life: quiet, without enough data, pending, firing, and resolved, as a pure step.

Not enough data is a state of its own and never means OK: it neither opens nor closes an alert (D21), and only
after a bounded time without any does a firing one end, saying so. No clock here: ``now_ns`` is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Literal

from earwitness.monitor.measures.reading import Labels


class Side(Enum):
    """Where a reading lies."""

    OVER = "over"
    """Beyond the threshold."""
    BETWEEN = "between"
    """Back within the threshold, not yet within the clear threshold."""
    CLEAN = "clean"
    """Within the clear threshold."""
    UNKNOWN = "unknown"
    """Nothing measured, or fewer than the minimum."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things must hold: over it before firing, within it before resolving, without data before giving up."""

    for_ns: int = 0
    keep_firing_ns: int = 0
    hold_ns: int = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Insufficient:
    """Not enough data to say."""

    kind: Literal["insufficient"] = "insufficient"


@dataclass(frozen=True, slots=True)
class Quiet:
    """Measured, and within the threshold."""

    kind: Literal["quiet"] = "quiet"


@dataclass(frozen=True, slots=True)
class Pending:
    """Over the threshold since ``since_ns``, not yet long enough."""

    since_ns: int
    blind_since_ns: int | None = None
    kind: Literal["pending"] = "pending"


@dataclass(frozen=True, slots=True)
class Firing:
    """Open. ``since_ns`` is when it first went over; with the fingerprint it identifies this firing for ever."""

    since_ns: int
    clean_since_ns: int | None = None
    blind_since_ns: int | None = None
    kind: Literal["firing"] = "firing"


State = Insufficient | Quiet | Pending | Firing


@dataclass(frozen=True, slots=True)
class Opened:
    """An alert began to fire."""

    since_ns: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A firing alert ended."""

    since_ns: int
    why: Literal["clear", "no_data"]


Change = Opened | Closed


def fingerprint(rule: str, labels: Labels) -> str:
    """The same for a rule and its labels on every machine and after every restart: 16 hex digits."""
    parts = [rule, *(part for pair in sorted(labels) for part in pair)]
    framed = b"".join(len(raw).to_bytes(4) + raw for raw in (part.encode("utf-8", "replace") for part in parts))
    return sha256(framed).hexdigest()[:16]


def aligned(now_ns: int, step_ns: int) -> int:
    """The beginning of the step that ``now_ns`` lies in: evaluations repeated after a restart agree on it."""
    return now_ns - now_ns % step_ns


def step(state: State, side: Side, now_ns: int, timing: Timing) -> tuple[State, Change | None]:
    """Advance by one reading; what opened or closed, if anything."""
    match state, side:
        case ((Insufficient() | Quiet()), Side.OVER):
            return _pending(Pending(now_ns), now_ns, timing)
        case Pending(), Side.OVER:
            return _pending(replace(state, blind_since_ns=None), now_ns, timing)
        case ((Insufficient() | Quiet() | Pending()), (Side.BETWEEN | Side.CLEAN)):
            return Quiet(), None
        case ((Insufficient() | Quiet()), Side.UNKNOWN):
            return Insufficient(), None
        case Pending(blind_since_ns=blind), Side.UNKNOWN:
            since = now_ns if blind is None else blind
            return (
                (Insufficient(), None)
                if now_ns - since >= timing.hold_ns
                else (replace(state, blind_since_ns=since), None)
            )
        case Firing(), Side.OVER | Side.BETWEEN:
            return Firing(state.since_ns), None
        case Firing(clean_since_ns=clean), Side.CLEAN:
            since = now_ns if clean is None else clean
            if now_ns - since >= timing.keep_firing_ns:
                return Quiet(), Closed(state.since_ns, "clear")
            return Firing(state.since_ns, clean_since_ns=since), None
        case Firing(blind_since_ns=blind), _:
            since = now_ns if blind is None else blind
            if now_ns - since >= timing.hold_ns:
                return Insufficient(), Closed(state.since_ns, "no_data")
            return replace(state, blind_since_ns=since), None
        case _:  # pragma: no cover - the pairs above are all there are
            raise AssertionError(state)


def _pending(state: Pending, now_ns: int, timing: Timing) -> tuple[State, Change | None]:
    if now_ns - state.since_ns >= timing.for_ns:
        return Firing(state.since_ns), Opened(state.since_ns)
    return state, None
