"""The line itself: who is on it, keys, hand-overs, disconnections. Frames, and the transport's own events."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from earwitness.monitor.contract.events import Connected, Dtmf, Participant, Transfer, Transport
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import Handler
from earwitness.processors.text_bound import bounded

DAILY = "pipecat.transports.daily.transport"


class Line:
    """``connected``, ``dtmf``, ``participant``, ``transfer`` and ``transport`` events."""

    def __init__(self, now: Moments, disconnected: Callable[[int, str | None], None]) -> None:
        self._now = now
        self._disconnected = disconnected
        self._connected = False
        self._present: set[str] = set()

    def frames(self) -> dict[str, Handler]:
        return {
            "ClientConnectedFrame": lambda data: self.connected(data.timestamp, None),
            "BotConnectedFrame": lambda data: None,
            "InputDTMFFrame": lambda data: self._keys(data, "caller"),
            "OutputDTMFFrame": lambda data: self._keys(data, "agent"),
            "OutputDTMFUrgentFrame": lambda data: self._keys(data, "agent"),
        }

    def transfer_frames(self) -> dict[type[Any], Handler]:
        """Handlers for Daily's hand-over frames, which live in an optional module."""
        daily = sys.modules.get(DAILY)  # never imported by us: it complains where Daily's library is missing
        kinds = (getattr(daily, name, None) for name in ("DailySIPTransferFrame", "DailySIPReferFrame"))
        return {kind: self._transfer_asked for kind in kinds if isinstance(kind, type)}

    def connected(self, at_ns: int, participant: str | None) -> None:
        if not self._connected:
            self._connected = True
            self._now.emit(Connected, at_ns, participant=participant)

    def _keys(self, data: Any, party: str) -> None:
        frame = data.frame
        buttons = getattr(frame, "buttons", None) or [getattr(frame, "button", None)]
        for button in buttons:
            if button is not None:
                self._now.emit(Dtmf, data.timestamp, party=party, button=str(getattr(button, "value", button)))

    def _transfer_asked(self, data: Any) -> None:
        self._now.emit(Transfer, data.timestamp, phase="requested", by=type(data.frame).__name__)

    def transfer_left(self, at_ns: int, kind: str) -> None:
        """A hand-over frame has left the output, behind the audio: the transport has carried it out."""
        self._now.emit(Transfer, at_ns, phase="completed", by=kind)

    # events of the transport

    def hooks(self) -> dict[str, Callable[..., Callable[[int], None]]]:
        """By name of the transport's event: what to do, made from the event's arguments."""
        return {
            "on_client_connected": lambda *_: lambda at_ns: self.connected(at_ns, None),
            "on_first_participant_joined": lambda *args: lambda at_ns: self.connected(at_ns, _id(args)),
            "on_participant_joined": lambda *args: lambda at_ns: self._joined(at_ns, args),
            "on_participant_connected": lambda *args: lambda at_ns: self._joined(at_ns, args),
            "on_participant_left": lambda *args: lambda at_ns: self._left(at_ns, args),
            "on_participant_disconnected": lambda *args: lambda at_ns: self._left(at_ns, args),
            "on_client_disconnected": lambda *_: lambda at_ns: self._gone(at_ns, None, error=False),
            "on_session_timeout": lambda *_: lambda at_ns: self._gone(at_ns, "session timeout", error=True),
            "on_error": lambda *args: lambda at_ns: self._error(at_ns, _reason(args)),
            "on_dialin_error": lambda *args: lambda at_ns: self._gone(at_ns, _reason(args), error=True),
            "on_dialin_stopped": lambda *_: lambda at_ns: self._gone(at_ns, None, error=False),
            "on_dialout_answered": lambda *_: lambda at_ns: self._dialled(at_ns, "completed"),
            "on_dialout_connected": lambda *_: lambda at_ns: self._dialled(at_ns, "ringing"),
            "on_dialout_error": lambda *_: lambda at_ns: self._dialled(at_ns, "failed"),
        }

    def _joined(self, at_ns: int, args: tuple[Any, ...]) -> None:
        who = _id(args)
        if who is not None and who not in self._present:
            self._present.add(who)
            role = "caller" if len(self._present) == 1 else "other"
            self._now.emit(Participant, at_ns, state="joined", participant=who, role=role)

    def _left(self, at_ns: int, args: tuple[Any, ...]) -> None:
        who, reason = _id(args), _reason(args[1:])
        if who is not None:
            self._present.discard(who)
            self._now.emit(Participant, at_ns, state="left", participant=who, reason=reason)

    def _dialled(self, at_ns: int, phase: str) -> None:
        # dialling out after the caller is on the line fetches somebody else
        if self._connected:
            self._now.emit(Transfer, at_ns, phase=phase, by="dialout")

    def _error(self, at_ns: int, reason: str | None) -> None:
        self._now.emit(Transport, at_ns, event="error", reason=reason)

    def _gone(self, at_ns: int, reason: str | None, *, error: bool) -> None:
        if error:
            self._now.emit(Transport, at_ns, event="error", reason=reason)
        self._now.emit(Transport, at_ns, event="disconnected", reason=reason)
        self._disconnected(at_ns, reason if error else None)

    def close(self, at_ns: int) -> None:
        del at_ns


def _id(args: tuple[Any, ...]) -> str | None:
    if not args:
        return None
    first: Any = args[0]
    if hasattr(first, "get"):  # Daily describes participants, others name them
        first = first.get("id") or first.get("session_id")
    return str(first) if isinstance(first, str | int) and str(first) else None


def _reason(args: tuple[Any, ...]) -> str | None:
    if not args or args[0] is None:
        return None
    return bounded(str(args[0]), 200)[0]
