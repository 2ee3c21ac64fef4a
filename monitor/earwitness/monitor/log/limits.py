"""How large a record may be, on every log, so that what one takes the other takes too."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.log.protocol import Outgoing, RecordTooLarge

MAX_RECORD_BYTES = 1_000_000
"""Key and value together; Kafka's own default limit is 1 MiB with its overhead."""


def check_sizes(records: Sequence[Outgoing], topic: str, log: str) -> None:
    """Raises RecordTooLarge, before anything is written, when one record is over the limit."""
    for record in records:
        size = len(record.value or b"")
        # A key is a call id; only near the limit is it worth counting in bytes.
        if size + 4 * len(record.key) > MAX_RECORD_BYTES and size + len(record.key.encode()) > MAX_RECORD_BYTES:
            raise RecordTooLarge(
                f"{log}: a record of {size} bytes for {topic} (key {record.key[:80]}) is over the limit of "
                f"{MAX_RECORD_BYTES}; split it or cut its text"
            )
