"""What a call's settled chapters keep of their events and records: few bytes, until something comes back to them."""

from __future__ import annotations

import marshal
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from earwitness.monitor.calls.facts import Entry
from earwitness.monitor.contract.decoder import pack_events, unpack_events


@dataclass(frozen=True, slots=True)
class ShelvedEvents:
    """Entries of one chapter, in order. Events that were made by hand stay as they are, and so do numbers that no
    machine word holds: somebody's clock may claim anything."""

    moments_ns: Sequence[int]
    events: bytes | tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.moments_ns)

    def entries(self) -> list[Entry]:
        """The entries again."""
        events = unpack_events(self.events) if isinstance(self.events, bytes) else self.events
        return [(at, e.source, e.seq, e) for at, e in zip(self.moments_ns, events, strict=True)]


def shelve_events(entries: Sequence[Entry]) -> ShelvedEvents:
    """Put entries away."""
    events = [entry[3] for entry in entries]
    moments = [entry[0] for entry in entries]
    try:
        return ShelvedEvents(array("q", moments), pack_events(events))
    except (TypeError, OverflowError):
        return ShelvedEvents(moments, tuple(events))


def shelve(plain: Any) -> bytes:
    """Plain values (numbers, strings, tuples, dictionaries) as few bytes, for this process alone. Raises ValueError
    for anything else."""
    return zlib.compress(marshal.dumps(plain), 1)


def unshelve(packed: bytes) -> Any:
    """The values that were put away."""
    return marshal.loads(zlib.decompress(packed))  # noqa: S302 - bytes that this process made itself
