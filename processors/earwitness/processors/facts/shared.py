"""What the families of facts know of one another: the turn that is open, who is muted, what can be waited for."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from earwitness.monitor.contract.events import Event
from earwitness.processors.clock import CallClock
from earwitness.processors.frames import Handler
from earwitness.processors.recorder import Recorder

MS: Final = 1_000_000
SECOND: Final = 1_000_000_000


class Agenda:
    """Things to do at a moment of the call: what handlers outside the observer saw, and what has to wait a little.

    The observer works it off in the order of the moments before it looks at a later frame, so that events keep the
    order of the facts although two roads bring them.
    """

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = itertools.count()
        self.next_ns: int | None = None
        """The moment of the earliest thing to do."""

    def post(self, at_ns: int, do: Callable[[int], None]) -> None:
        """Do it when the call has come to ``at_ns``; it is given that moment."""
        heapq.heappush(self._due, (at_ns, next(self._order), do))
        self.next_ns = self._due[0][0]

    def take(self, until_ns: int) -> tuple[int, Callable[[int], None]] | None:
        """The next thing due at ``until_ns`` or before, with its moment."""
        if self.next_ns is None or self.next_ns > until_ns:
            return None
        at_ns, _, do = heapq.heappop(self._due)
        self.next_ns = self._due[0][0] if self._due else None
        return at_ns, do


@dataclass
class Moments:
    """State that more than one family reads. Times are on the call's clock."""

    record: Recorder
    clock: CallClock
    agenda: Agenda = field(default_factory=Agenda)
    turns: int = 0
    """User turns that the pipeline has begun so far; the open or last one has this number, from 1."""
    turn_open: bool = False
    words_in_turn: bool = False
    """Whether the recogniser gave any word since the turn began."""
    answered_turn: int = 0
    """The last turn for which a response was asked."""
    muted: bool = False
    agent_speaking: bool = False
    last_caller_audio_ns: int | None = None
    ending: bool = False
    """The pipeline was told to end: it stops reading the caller's audio before the agent has finished."""
    idle_ns: int | None = None
    """When the idle timer last fired."""
    min_words: int = 0
    realtime: bool = False

    def emit(self, kind: type[Event], at_ns: int, **fields: object) -> int | None:
        return self.record.emit(kind, at_ns, **fields)


class Family(Protocol):
    """A family of facts."""

    def frames(self) -> dict[str, Handler]:
        """Handlers by frame class name."""
        ...

    def close(self, at_ns: int) -> None:
        """The call is over: settle what is open."""
        ...
