"""What somebody else published of our calls, until it is known whether it stands.

A worker that was stopped, or that lost a partition and did not know it yet, may have published a record that only stood
as of its last look: of a silence behind which more had come already, say. Who goes on from an older state never makes
that record, so nobody would take it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import decode_record


class ReadBack:
    """Records that were read back from the log, of each the last revision."""

    def __init__(self) -> None:
        self.records_from: int | None = None
        """Where the first of them lies; None: there are none."""
        self.goal = 0
        """The end of the events when the last of them was there: whoever published it had read no further."""
        self._said: dict[str, dict[str, tuple[int, bytes]]] = {}

    def note(self, record: AnyRecord, payload: bytes, offset: int) -> None:
        """A record was read back."""
        self.records_from = offset if self.records_from is None else min(self.records_from, offset)
        of_call = self._said.setdefault(record.call_id, {})
        if record.id not in of_call or of_call[record.id][0] <= record.revision:
            # One that was taken back needs no other word, but is the last.
            of_call[record.id] = record.revision, b"" if record.retracted else payload

    def calls(self) -> Collection[str]:
        """The calls that something was said of."""
        return self._said.keys()

    def beside(self, call_id: str, standing: Collection[str]) -> Iterator[AnyRecord]:
        """What was said of a call beside the records with these ids, taken back."""
        for record_id, (_, payload) in self._said[call_id].items():
            if payload and record_id not in standing:
                yield decode_record(payload).model_copy(update={"retracted": True})
