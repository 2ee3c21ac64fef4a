"""Facts become events here: numbered, dated, redacted, checked, serialised, and handed to the sink.

A recorder never raises: what cannot be made into an event is counted, and ``health`` says so. It knows nothing of
Pipecat.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import ValidationError

from earwitness.monitor.contract.encoder import WRITERS
from earwitness.monitor.contract.events import EVENT_TYPES, DroppedRange, Event, Health, Transcript
from earwitness.processors.later import Write, later_of
from earwitness.processors.sink import Outbound, Redactor, Sink

EVENTS_PER_SECOND: Final = 50
BURST: Final = 250

KIND: Final[dict[type[Event], str]] = {cls: cls.model_fields["kind"].default for cls in EVENT_TYPES}
ALWAYS: Final = frozenset({"call_started", "call_ended", "health"})
"""Kinds that neither a cap nor a full buffer takes away."""


def _making(kind: type[Event]) -> tuple[str, int, Write]:
    """What it takes to make an event of this kind: its name, how early it is given up, its checks and bytes."""
    name = KIND[kind]
    droppable = 0 if name in ALWAYS else 2 if name == "stage" else 1
    return name, droppable, WRITERS[kind]


_MAKING: Final = {kind: _making(kind) for kind in EVENT_TYPES}
_outbound: Final = Outbound._make
"""What the constructor does, at little more than half the price: every event pays it."""


class Dates(Protocol):
    """Turns a moment of the call into wall time."""

    def wall_of(self, at_ns: int) -> int: ...


def sampled(call_id: str, share: float) -> bool:
    """Whether a call is among the ``share`` (0 to 1) of calls that are watched: the same on every machine."""
    point = int.from_bytes(hashlib.blake2b(call_id.encode(), digest_size=8).digest(), "big") / 2**64
    return point < share


@dataclass(slots=True)
class Ledger:
    """What the recorders of one call count together."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Events by kind, the capped ones included: each has a ``seq``."""
    invalid: dict[str, int] = field(default_factory=dict[str, int])
    """Facts by kind that the contract refused."""
    errors: int = 0
    """Exceptions that were caught in the hooks of this call."""


class _Cap:
    """At most so many events a second and so many at once, by the call's own clock, which never falls: each event that
    passes takes its share of a second, which may lie ahead by that many events."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._share_ns = 1e9 / per_second
        self._ahead_ns = (burst - 1) * self._share_ns
        self._taken_to_ns = 0.0

    def take(self, at_ns: int) -> bool:
        taken_to_ns = self._taken_to_ns
        if taken_to_ns < at_ns:
            taken_to_ns = at_ns
        elif taken_to_ns - at_ns > self._ahead_ns:
            return False
        self._taken_to_ns = taken_to_ns + self._share_ns
        return True


class Recorder:
    """One source of one call: numbers its events from 0 without gaps, with ``at_ns`` that never falls.

    Events over the cap are dropped and their range of ``seq`` reported in ``health``; ``call_started``,
    ``call_ended`` and ``health`` are never capped. ``on`` False (switched off, or sampled out) records nothing.
    Safe to use from several threads.
    """

    def __init__(
        self,
        call_id: str,
        *,
        source: str = "bot",
        sink: Sink,
        redactor: Redactor,
        clock: Dates,
        ledger: Ledger | None = None,
        per_second: float = EVENTS_PER_SECOND,
        burst: float = BURST,
        on: bool = True,
    ) -> None:
        self.call_id = call_id
        self.source = source
        self.ledger = ledger if ledger is not None else Ledger()
        self.on = on
        self._sink = sink
        self._redactor = redactor
        self._later = later_of(sink, redactor)
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._cap_of = _Cap(per_second, burst)
        self._seq = 0
        self._at_ns = 0
        self._capped: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def child(self, source: str) -> Recorder:
        """Another source of the same call, with a ``seq`` of its own and the shared counts."""
        return Recorder(
            self.call_id,
            source=source,
            sink=self._sink,
            redactor=self._redactor,
            clock=self._clock,
            ledger=self.ledger,
            per_second=self._per_second,
            burst=self._burst,
            on=self.on,
        )

    @property
    def next_seq(self) -> int:
        return self._seq

    def emit(self, kind: type[Event], /, at_ns: int, **fields: Any) -> int | None:
        """Record a fact noticed at ``at_ns``; its ``seq``, or None where there is no event to number."""
        if not self.on:
            return None
        try:
            with self._lock:
                name, droppable, write = _MAKING[kind]
                at_ns = self._at_ns if at_ns < self._at_ns else at_ns
                seq = self._seq
                if droppable and not self._cap_of.take(at_ns):
                    self._cap(seq)
                else:
                    wall_ns = self._clock.wall_of(at_ns)
                    call_id, source = self.call_id, self.source
                    if kind is Transcript and not fields.get("final", True):
                        droppable = 2
                    later = self._later
                    if later is None or not (
                        later.takes_long(name, fields)
                        and later.put(
                            _outbound((call_id, source, seq, name, at_ns, wall_ns, b"", droppable)), fields, write
                        )
                    ):
                        made: dict[str, Any] = self._redactor.fields(name, fields)
                        made["call_id"], made["source"], made["seq"] = call_id, source, seq
                        made["at_ns"], made["wall_ns"] = at_ns, wall_ns
                        payload = write(made)
                        self._sink.put(_outbound((call_id, source, seq, name, at_ns, wall_ns, payload, droppable)))
                self._seq = seq + 1
                self._at_ns = at_ns
                counts = self.ledger.counts
                counts[name] = counts.get(name, 0) + 1
                return seq
        except ValidationError:
            name = KIND.get(kind, "?")
            self.ledger.invalid[name] = self.ledger.invalid.get(name, 0) + 1
        except Exception:  # a hook must never harm the call, whatever went wrong here
            self.ledger.errors += 1
        return None

    def _cap(self, seq: int) -> None:
        if self._capped and self._capped[-1][1] == seq - 1:
            self._capped[-1] = (self._capped[-1][0], seq)
        else:
            self._capped.append((seq, seq))

    @property
    def lossy(self) -> bool:
        """Whether something was capped and not yet reported."""
        return bool(self._capped)

    def health(self, at_ns: int, **fields: Any) -> None:
        """Report how this source fares, with what it capped since the last report."""
        capped, self._capped = self._capped, []
        dropped = tuple(DroppedRange(first_seq=first, last_seq=last, reason="rate_capped") for first, last in capped)
        self.emit(Health, at_ns, dropped=dropped, **fields)
