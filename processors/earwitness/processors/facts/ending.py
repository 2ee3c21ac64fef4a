"""How a call ends: the first cause seen wins."""

from __future__ import annotations

from typing import Any, Literal

from earwitness.processors.facts.shared import SECOND, Moments
from earwitness.processors.frames import Handler
from earwitness.processors.text_bound import bounded

Cause = Literal["caller", "agent", "transport", "error", "idle", "unknown"]
Terminal = Literal["end", "cancel", "stop", "none"]

SILENT_LINE_NS = 2 * SECOND
"""Caller audio missing for this long before a disconnect: the line was lost, nobody hung up."""

_REASONS: tuple[tuple[str, Cause], ...] = (
    ("idle timeout", "idle"),
    ("can no longer do its job", "error"),
    ("fatal error", "error"),
)


class Ending:
    """Cause, terminal frame and reason of the end. Frames and events that come after the first one add, but do not
    change the cause."""

    def __init__(self, now: Moments) -> None:
        self._now = now
        self.cause: Cause | None = None
        self.reason: str | None = None
        self.terminal: Terminal = "none"
        self.end_seen_ns: int | None = None
        """When the pipeline was first told to stop."""

    def frames(self) -> dict[str, Handler]:
        return {
            "EndWorkerFrame": self._asked,
            "EndTaskFrame": self._asked,
            "StopWorkerFrame": self._asked,
            "StopTaskFrame": self._asked,
            "CancelWorkerFrame": lambda data: self._cancel(data, None),
            "CancelTaskFrame": lambda data: self._cancel(data, None),
            "EndFrame": lambda data: self._end(data, "end"),
            "StopFrame": lambda data: self._end(data, "stop"),
            "CancelFrame": lambda data: self._cancel(data, "cancel"),
        }

    def _set(self, cause: Cause, reason: str | None) -> None:
        if self.cause is None:
            self.cause = cause
        if self.reason is None:
            self.reason = reason

    def _seen(self, at_ns: int, terminal: Terminal) -> None:
        self._now.ending = True
        if self.end_seen_ns is None:
            self.end_seen_ns = at_ns
        self.terminal = terminal

    def _asked(self, data: Any) -> None:
        self._set("agent", _text(data.frame))

    def _end(self, data: Any, terminal: Terminal) -> None:
        self._seen(data.timestamp, terminal)
        self._set("agent", _text(data.frame))

    def _cancel(self, data: Any, terminal: Terminal | None) -> None:
        reason = _text(data.frame)
        if terminal is not None:
            self._seen(data.timestamp, terminal)
        self._set(_cause_of(reason) or ("unknown" if terminal is not None else "agent"), reason)

    def disconnected(self, at_ns: int, fault: str | None) -> None:
        """The transport says that the far end is gone; ``fault`` where it says why and it is an error."""
        last_ns = self._now.last_caller_audio_ns
        lost = last_ns is not None and at_ns - last_ns >= SILENT_LINE_NS
        self._set("transport" if fault is not None or lost else "caller", fault)

    def failed(self, reason: str) -> None:
        """The pipeline never started, or got stuck."""
        self._set("error", reason)

    def close(self, at_ns: int) -> None:
        del at_ns


def _cause_of(reason: str | None) -> Cause | None:
    for part, cause in _REASONS:
        if reason and part in reason:
            return cause
    return None


def _text(frame: Any) -> str | None:
    reason = getattr(frame, "reason", None)
    return bounded(str(reason), 300)[0] if reason is not None else None
