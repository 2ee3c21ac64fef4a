"""What was published of each record, so that a restart neither repeats a record nor lets its revision fall.

A worker that folds the log again may come to the same record over fewer revisions than were published before. The
ledger is read back from the records topic and gives every published change a revision above the last one.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, NamedTuple

from earwitness.consumers.revisions import AMBIGUOUS, Published, Revisions
from earwitness.monitor.contract.record_encoder import encode_record
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.named_tuples import maker_of


class News(NamedTuple):
    """A record to be published as ``payload``. ``first_final``: no final revision of it was published before."""

    record: AnyRecord
    payload: bytes
    first_final: bool


class Ledger:
    """Last published revisions of the records of all held calls."""

    def __init__(self) -> None:
        self._calls: dict[str, Revisions] = {}
        self.touched: set[str] = set()
        """Calls of which something was published or read back, until somebody clears it."""

    def note(self, record: AnyRecord, payload: bytes) -> bool:
        """Remember a record that was read back from the log; whether that was news. An older revision than the known
        one changes nothing; two that differ under one number are both superseded by the next that is published."""
        known = self._of(record.call_id)
        before = known.get(record.id)
        if before is not None and record.revision < before.revision:
            return False
        now = Published(record.revision, _digest(payload), record.final)
        if now == before:
            return False
        if before is not None and before.revision == now.revision:
            now = Published(record.revision, AMBIGUOUS, before.final or record.final)
        known.put(record.id, now)
        self.touched.add(record.call_id)
        return True

    def news(self, record: AnyRecord) -> News | None:
        """What to publish for a record's newest state; None where the log has it already."""
        call_id, final = record.call_id, record.final
        known = self._calls.get(call_id) or self._of(call_id)
        payload = encode_record(record)
        if known.put_first(record.id, record.revision, _digest(payload), final):
            self.touched.add(call_id)
            return _news((record, payload, final))
        before = known.get(record.id)
        if before is not None and record.revision <= before.revision:
            record = record.model_copy(update={"revision": before.revision})
            payload = encode_record(record)
            if _digest(payload) == before.digest:
                return None
            record = record.model_copy(update={"revision": before.revision + 1})
            payload = encode_record(record)
        known.put(record.id, Published(record.revision, _digest(payload), final))
        self.touched.add(call_id)
        return News(record, payload, final and not (before is not None and before.final))

    def forget(self, call_ids: set[str]) -> None:
        """Drop the calls that are no longer held."""
        for call_id in call_ids:
            self._calls.pop(call_id, None)
        self.touched -= call_ids

    def of_call(self, call_id: str) -> bytes:
        """What is known of a call's records."""
        known = self._calls.get(call_id)
        return b"" if known is None else known.saved()

    def put_back(self, call_id: str, published: bytes) -> None:
        """What is known of a call's records, as `of_call` gave it. Raises ValueError."""
        self._calls[call_id] = Revisions(published)

    def calls(self) -> set[str]:
        """The calls that it knows of."""
        return set(self._calls)

    def _of(self, call_id: str) -> Revisions:
        known = self._calls.get(call_id)
        if known is None:
            known = self._calls[call_id] = Revisions()
        return known


_news: Final = maker_of(News)


def _digest(payload: bytes) -> bytes:
    return blake2b(payload, digest_size=8).digest()
