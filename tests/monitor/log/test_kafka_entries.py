"""aiokafka's records become entries, whatever their keys."""

from __future__ import annotations

from typing import NamedTuple

from earwitness.monitor.log.kafka_entries import MOST_KEYS, Entries
from earwitness.monitor.log.protocol import Entry


class Told(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


def test_records_become_entries_in_their_order() -> None:
    told = [Told(7, b"call-1", b"a", 1_700), Told(8, b"call-1", None, 1_701), Told(10, b"call-2", b"c", 1_702)]

    assert list(Entries("t").of(3, told)) == [
        Entry("t", 3, 7, "call-1", b"a", 1_700_000_000),
        Entry("t", 3, 8, "call-1", None, 1_701_000_000),
        Entry("t", 3, 10, "call-2", b"c", 1_702_000_000),
    ]


def test_a_key_that_is_missing_or_no_text_is_still_one() -> None:
    told = [Told(0, None, b"a", 0), Told(1, b"", b"b", 0), Told(2, b"\xff", b"c", 0)]

    assert [entry.key for entry in Entries("t").of(0, told)] == ["", "", "\ufffd"]


def test_a_key_is_one_text_and_only_so_many_are_remembered() -> None:
    entries = Entries("t")
    first, again = entries.of(0, [Told(0, b"call-1", b"", 0), Told(1, b"call-1", b"", 0)])
    many = [Told(n, str(n).encode(), b"", 0) for n in range(MOST_KEYS + 10)]

    assert first.key is again.key
    assert [entry.key for entry in entries.of(0, many)] == [str(n) for n in range(MOST_KEYS + 10)]
    assert len(entries._keys) <= MOST_KEYS
