"""aiokafka's records as entries: column by column, half the price of a record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Final

from earwitness.monitor.log.protocol import Entry, entry_of

MOST_KEYS: Final = 10_000
"""So many keys are remembered at most: 2 MB."""


class Entries:
    """Makes the entries of one topic. Each key becomes text once: few are read at a time, and each again and again."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._keys: dict[bytes | None, str] = {}

    def of(self, partition: int, records: Sequence[Any]) -> Iterable[Entry]:
        """The entries of records of one partition."""
        keys = self._keys
        return map(
            entry_of,
            zip(
                repeat(self._topic),
                repeat(partition),
                [record.offset for record in records],
                [keys.get(record.key) or self._text_of(record.key) for record in records],
                [record.value for record in records],
                [record.timestamp * 1_000_000 for record in records],
                strict=False,
            ),
        )

    def _text_of(self, key: bytes | None) -> str:
        if len(self._keys) >= MOST_KEYS:
            self._keys.clear()
        text = self._keys[key] = str(key or b"", errors="replace")
        return text
