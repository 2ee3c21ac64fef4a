"""What a consumer fetched, given batch by batch and each record as it lies there. aiokafka takes records singly through
two layers and makes another object of each, of which nothing is needed here: two fifths of the price of reading."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from earwitness.monitor.log.kafka_library import kafka_errors

_KNOWN: Final = (
    "_tp", "_records", "_records_iterator", "_check_crcs", "_isolation_level", "_key_deserializer",
    "_value_deserializer", "next_fetch_offset",
)  # fmt: skip
_ALL: Final = 0
"""How aiokafka says that transactions are no matter."""


def give_plainly(consumer: Any) -> bool:
    """Let a consumer that was started, and has no partitions yet, give records with ``offset``, ``timestamp``, ``key``
    and ``value`` and hardly more. False, and it gives what it always did, where it does not keep what it fetched in
    the way that is known here."""
    fetcher: Any = getattr(consumer, "_fetcher", None)
    if type(getattr(fetcher, "_records", None)) is not OrderedDict or fetcher._records:
        return False
    fetcher._records = _Fetched()
    return True


class _Fetched(OrderedDict[Any, Any]):
    """What was fetched of each partition and not yet given."""

    def __setitem__(self, partition: Any, fetched: Any) -> None:
        records: Any = getattr(fetched, "_partition_records", None)
        if all(hasattr(records, name) for name in _KNOWN) and _is_plain(records):
            fetched._partition_records = PlainRecords(records)
        super().__setitem__(partition, fetched)


def _is_plain(records: Any) -> bool:
    reads_all: bool = records._isolation_level == _ALL
    return reads_all and records._key_deserializer is None and records._value_deserializer is None


class PlainRecords:
    """The records of one answer of a broker for one partition, in place of aiokafka's ``PartitionRecords``."""

    def __init__(self, theirs: Any) -> None:
        # It and its iterator hold each other, and megabytes. To close that is not enough on every Python: where it has
        # not begun, it may keep what it holds.
        theirs._records_iterator = None
        self._theirs = theirs
        self._batch: list[Any] = []
        self._left: Iterator[Any] = iter(())
        self._next = theirs.next_fetch_offset
        """From where to fetch if nothing of the batch in hand is given any more."""
        self._given = chain.from_iterable(self._batches())

    def __iter__(self) -> Iterator[Any]:
        return self._given

    def __next__(self) -> Any:
        return next(self._given)

    @property
    def next_fetch_offset(self) -> int:
        """The offset behind the last record that was given, and behind what holds no record."""
        given = len(self._batch) - self._left.__length_hint__() if self._batch else 0  # type: ignore[attr-defined]
        offset: int = self._batch[given - 1].offset + 1 if given else self._next
        return offset

    def _batches(self) -> Iterator[Iterator[Any]]:
        records = self._theirs._records
        while records.has_next():
            batch = records.next_batch()
            if self._theirs._check_crcs and not batch.validate_crc():
                raise kafka_errors.CorruptRecordException(f"Invalid CRC - {self._theirs._tp}")
            if not batch.is_control_batch:
                wanted = list(batch)
                if wanted and wanted[0].offset < self._next:
                    # What was asked for from its middle begins before what is wanted.
                    wanted = [record for record in wanted if record.offset >= self._next]
                self._left, self._batch = iter(wanted), wanted
                yield self._left
            # A batch keeps its end when the last of its records are gone by compaction.
            self._batch, self._next = [], batch.next_offset
