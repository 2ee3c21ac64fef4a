"""What the pipeline decides: turns, the turn model's verdicts, interruptions, mutes."""

from __future__ import annotations

from typing import Any, Literal

from earwitness.monitor.contract.events import Interruption, Mute, TurnEnded, TurnStarted
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import Handler, short_name

Cause = Literal["user_turn", "application", "dtmf", "service", "voicemail", "unknown"]

_CAUSES: tuple[tuple[str, Cause], ...] = (
    ("useraggregator", "user_turn"),
    ("usercontextaggregator", "user_turn"),
    ("userturnprocessor", "user_turn"),
    ("dtmf", "dtmf"),
    ("voicemail", "voicemail"),
    ("rtvi", "application"),
    ("::source", "application"),
    ("pipelinesource", "application"),
    ("llmservice", "service"),
    ("sttservice", "service"),
)


def interruption_cause(source: Any) -> Cause:
    """Who interrupts, by the processor that pushed the frame first: an interruption frame does not say it."""
    names = [short_name(source).lower(), *(cls.__name__.lower() for cls in type(source).__mro__)]
    for part, cause in _CAUSES:
        if any(part in name for name in names):
            return cause
    return "unknown"


class Turns:
    """Turn decisions; ``at_ns`` of an end is ``d`` of the definitions."""

    def __init__(self, now: Moments) -> None:
        self._now = now
        self._incomplete_ns: list[int] = []
        self._complete_ns: int | None = None
        self.mute_cause: str | None = None

    def frames(self) -> dict[str, Handler]:
        return {
            "UserStartedSpeakingFrame": self._started,
            "UserStoppedSpeakingFrame": self._stopped,
            "InterruptionFrame": self._interruption,
            "UserMuteStartedFrame": lambda data: self._mute(data.timestamp, True, self.mute_cause),
            "UserMuteStoppedFrame": lambda data: self._mute(data.timestamp, False, self.mute_cause),
            "STTMuteFrame": lambda data: self._mute(data.timestamp, bool(data.frame.mute), "stt_mute"),
        }

    def _started(self, data: Any) -> None:
        now = self._now
        now.turns += 1
        now.turn_open = True
        now.words_in_turn = False
        self._incomplete_ns.clear()
        self._complete_ns = None
        now.emit(TurnStarted, data.timestamp)

    def _stopped(self, data: Any) -> None:
        self._now.turn_open = False
        self._now.emit(
            TurnEnded, data.timestamp, incomplete_at_ns=tuple(self._incomplete_ns), complete_at_ns=self._complete_ns
        )

    def verdict(self, at_ns: int, complete: bool) -> None:
        """A turn model has said whether the caller's turn is over."""
        if complete:
            self._complete_ns = at_ns
        elif len(self._incomplete_ns) < 100:
            self._incomplete_ns.append(at_ns)

    def _interruption(self, data: Any) -> None:
        self._now.emit(Interruption, data.timestamp, cause=interruption_cause(data.source), by=short_name(data.source))

    def _mute(self, at_ns: int, on: bool, cause: str | None) -> None:
        self._now.muted = on
        self._now.emit(Mute, at_ns, state="on" if on else "off", cause=cause)

    def close(self, at_ns: int) -> None:
        del at_ns
