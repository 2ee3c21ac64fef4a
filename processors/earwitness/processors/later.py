"""Redaction that a call's event loop has no time for: it is done in the thread of the sink, before the event leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from earwitness.processors.sink import Outbound, PatientRedactor, PatientSink, Redactor, Sink, Unredacted

Write = Callable[[Mapping[str, Any]], bytes]


class Later:
    """The way of texts that take long, from a recorder to its sink."""

    def __init__(self, sink: PatientSink, redactor: PatientRedactor) -> None:
        self._put = sink.put_unredacted
        self.takes_long = redactor.takes_long
        self._redactor = redactor
        self._there: Redactor | None = None

    def put(self, head: Outbound, fields: Mapping[str, Any], write: Write) -> bool:
        """Whether the sink has taken the event; ``head`` is all of it but its bytes, which ``write`` makes of redacted
        fields. False where it must be made now, or cannot be made at all."""
        envelope = {
            "call_id": head.call_id, "source": head.source, "seq": head.seq,
            "at_ns": head.at_ns, "wall_ns": head.wall_ns,
        }  # fmt: skip

        def make() -> bytes:
            return write({**self._redacted(head.kind, fields), **envelope})

        try:
            # What is no event must be found now, when it can still be counted as none.
            size = len(write({**fields, **envelope}))
        except Exception:
            return False
        return self._put(Unredacted(head, size, make))

    def _redacted(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """In the thread of the sink."""
        if self._there is None:
            self._there = self._redactor.for_another_thread()
        return self._there.fields(kind, fields)


def later_of(sink: Sink, redactor: Redactor) -> Later | None:
    """For a sink and a redactor that can."""
    if isinstance(sink, PatientSink) and isinstance(redactor, PatientRedactor):
        return Later(sink, redactor)
    return None
