"""What a consumer fetched, given batch by batch and each record as it lies there. aiokafka takes records singly through
two layers and makes another object of each, of which nothing is needed here (what that saves: docs/decisions.md)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any, Final

import structlog

from earwitness.monitor.log.kafka_library import kafka, kafka_errors

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_KNOWN: Final = (
    "_tp", "_records", "_records_iterator", "_check_crcs", "_isolation_level", "_key_deserializer",
    "_value_deserializer", "next_fetch_offset",
)  # fmt: skip
_ALL: Final = 0
"""How aiokafka says that transactions are no matter."""


def give_plainly(consumer: Any) -> bool:
    """Let a consumer that was started, and has no partitions yet, give records with ``offset``, ``timestamp``, ``key``
    and ``value`` and hardly more. False, and it gives what it always did, where it does not keep what it fetched in
    the way that is known here: which is logged once in a process, as reading then costs more."""
    fetcher: Any = getattr(consumer, "_fetcher", None)
    if type(getattr(fetcher, "_records", None)) is not OrderedDict or fetcher._records:
        say_that_it_is_unknown()
        return False
    fetcher._records = _Fetched()
    return True


@cache
def say_that_it_is_unknown() -> None:
    """Once in a process."""
    _log.warning("this aiokafka is not known from within: reading works and costs more", aiokafka=kafka.__version__)


class _Fetched(OrderedDict[Any, Any]):
    """What was fetched of each partition and not yet given."""

    def __setitem__(self, partition: Any, fetched: Any) -> None:
        records: Any = getattr(fetched, "_partition_records", None)
        if all(hasattr(records, name) for name in _KNOWN):
            if _is_plain(records):
                fetched._partition_records = PlainRecords(records)
        elif not hasattr(fetched, "check_raise"):  # the other that is kept here is an error, which has no records
            say_that_it_is_unknown()
        super().__setitem__(partition, fetched)


def _is_plain(records: Any) -> bool:
    reads_all: bool = records._isolation_level == _ALL
    return reads_all and records._key_deserializer is None and records._value_deserializer is None


class PlainRecords:
    """The records of one answer of a broker for one partition, in place of aiokafka's ``PartitionRecords``. An answer
    is megabytes, of which the garbage collector sees a few objects: nothing of it may be part of a circle."""

    def __init__(self, theirs: Any) -> None:
        # It and its iterator hold each other. To close that is not enough on every Python: where it has not begun, it
        # may keep what it holds.
        theirs._records_iterator = None
        self._place = _Place(theirs.next_fetch_offset)
        self._given = chain.from_iterable(_batches(theirs, self._place))

    def __iter__(self) -> Iterator[Any]:
        return self._given

    def __next__(self) -> Any:
        return next(self._given)

    @property
    def next_fetch_offset(self) -> int:
        """The offset behind the last record that was given, and behind what holds no record."""
        place = self._place
        given = len(place.batch) - place.left.__length_hint__() if place.batch else 0  # type: ignore[attr-defined]
        offset: int = place.batch[given - 1].offset + 1 if given else place.next
        return offset


class _Place:
    """How far an answer has been given."""

    __slots__ = ("batch", "left", "next")

    def __init__(self, first: int) -> None:
        self.batch: list[Any] = []
        self.left: Iterator[Any] = iter(())
        self.next = first
        """From where to fetch if nothing of the batch in hand is given any more."""


def _batches(theirs: Any, place: _Place) -> Iterator[Iterator[Any]]:
    records = theirs._records
    while records.has_next():
        batch = records.next_batch()
        if theirs._check_crcs and not batch.validate_crc():
            raise kafka_errors.CorruptRecordException(f"Invalid CRC - {theirs._tp}")
        if not batch.is_control_batch:
            wanted = list(batch)
            if wanted and wanted[0].offset < place.next:
                # What was asked for from its middle begins before what is wanted.
                wanted = [record for record in wanted if record.offset >= place.next]
            place.left, place.batch = iter(wanted), wanted
            yield place.left
        # A batch keeps its end when the last of its records are gone by compaction.
        place.batch, place.next = [], batch.next_offset
