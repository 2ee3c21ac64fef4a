"""Records given as they lie in their batches: aiokafka's own, and behind each the same place to go on from."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import gc
import struct
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from aiokafka.consumer import fetcher  # type: ignore[import-untyped, unused-ignore]
from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped, unused-ignore]
from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped, unused-ignore]
from aiokafka.record.util import calc_crc32c  # type: ignore[import-untyped, unused-ignore]
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from earwitness.monitor.log.kafka_fetched import PlainRecords, give_plainly, say_that_it_is_unknown
from earwitness.monitor.log.kafka_library import kafka, kafka_errors

PARTITION = kafka.TopicPartition("t", 3)
CONTROL = 0x20


class Written(NamedTuple):
    """A batch on the log: which of its ``size`` offsets still hold a record; or a mark of transactions."""

    size: int
    kept: frozenset[int]
    control: bool = False
    compression: int = 0


def batch_of(base: int, written: Written) -> bytes:
    builder: Any = DefaultRecordBatchBuilder(2, written.compression, 0, -1, -1, -1, 1_000_000)
    for place in sorted(written.kept):
        offset = base + place
        value = None if offset % 5 == 0 else b"%d" % offset
        builder.append(place, 1_700 + offset, b"call-%d" % (offset % 3), value, [])
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, base)
    struct.pack_into(">i", made, 23, written.size - 1)
    if written.control:
        struct.pack_into(">h", made, 21, CONTROL)
    struct.pack_into(">I", made, 17, calc_crc32c(bytes(made[21:])))
    return bytes(made)


def answer_of(log: Sequence[Written], first: int) -> bytes:
    found, base = b"", first
    for written in log:
        found += batch_of(base, written)
        base += written.size
    return found


def theirs_of(answer: bytes, fetch_offset: int, isolation: int = fetcher.READ_UNCOMMITTED) -> Any:
    return fetcher.PartitionRecords(PARTITION, MemoryRecords(answer), [], fetch_offset, None, None, True, isolation)


def told(record: Any) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value


@pytest.fixture
def said() -> Iterator[list[Any]]:
    """What this process logs, as if it had logged nothing yet."""
    say_that_it_is_unknown.cache_clear()
    with capture_logs() as logged:
        yield logged
    say_that_it_is_unknown.cache_clear()


@st.composite
def written_batches(draw: st.DrawFn) -> Written:
    size = draw(st.integers(1, 5))
    if draw(st.integers(0, 4)) == 0:
        return Written(1, frozenset({0}), control=True)
    return Written(size, draw(st.frozensets(st.integers(0, size - 1))), compression=draw(st.sampled_from([0, 1, 4])))


@given(st.lists(written_batches(), max_size=5), st.integers(0, 12))
def test_what_is_given_and_where_to_go_on_are_aiokafkas_own(log: Sequence[Written], into: int) -> None:
    answer = answer_of(log, 100)
    theirs, ours = theirs_of(answer, 100 + into), PlainRecords(theirs_of(answer, 100 + into))

    assert ours.next_fetch_offset == theirs.next_fetch_offset
    while (wanted := next(theirs, None)) is not None:
        assert told(next(ours)) == told(wanted)
        assert ours.next_fetch_offset == theirs.next_fetch_offset
    assert next(ours, None) is None
    assert ours.next_fetch_offset == theirs.next_fetch_offset


@given(st.lists(written_batches(), max_size=5), st.lists(st.integers(1, 4), min_size=30, max_size=30))
def test_portions_are_aiokafkas_own(log: Sequence[Written], portions: Sequence[int]) -> None:
    answer = answer_of(log, 7)
    theirs, ours = fetched_of(answer, 7), fetched_of(answer, 7)
    fetched = give_all(ours)

    for most in portions:
        assert [told(one) for one in fetched.getall(most)] == [told(one) for one in theirs.getall(most)]
        assert position(ours) == position(theirs)
        assert fetched.has_more() == theirs.has_more()
        if not theirs.has_more():
            break  # a consumer asks it no more


def fetched_of(answer: bytes, fetch_offset: int) -> Any:
    """An answer as a consumer holds it, and where it believes to stand."""
    state = SimpleNamespace(position=fetch_offset, paused=False)
    state.consumed_to = lambda offset: setattr(state, "position", offset)
    assignment = SimpleNamespace(active=True, state_value=lambda _: state)
    theirs = theirs_of(answer, fetch_offset)
    return fetcher.FetchResult(PARTITION, assignment=assignment, partition_records=theirs, backoff=0)


def position(fetched: Any) -> int:
    at: int = fetched._assignment.state_value(PARTITION).position
    return at


def give_all(fetched: Any) -> Any:
    """The same, as a consumer that gives plainly holds it."""
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict[Any, Any]()))
    assert give_plainly(consumer)
    consumer._fetcher._records[PARTITION] = fetched
    assert isinstance(fetched._partition_records, PlainRecords)
    return consumer._fetcher._records[PARTITION]


def test_a_batch_that_was_damaged_is_refused_and_fetched_again() -> None:
    answer = bytearray(answer_of([Written(2, frozenset({0, 1}))] * 2, 11))
    answer[answer.rindex(b"14")] ^= 1  # of the last record's value: it can still be read

    unchecked = theirs_of(bytes(answer), 11)
    unchecked._check_crcs = False
    ours = PlainRecords(theirs_of(bytes(answer), 11))

    assert [one.value for one in PlainRecords(unchecked)] == [b"11", b"12", b"13", b"04"]
    assert [next(ours).offset, next(ours).offset] == [11, 12]
    with pytest.raises(kafka_errors.CorruptRecordException, match="Invalid CRC"):
        next(ours)
    assert ours.next_fetch_offset == 13


@pytest.mark.parametrize("taken", [0, 3, 5, 7, 10, 99])
def test_nothing_of_an_answer_waits_for_the_garbage_collector(taken: int) -> None:
    """Given whole, or let go before, as at a seek or when partitions move. Of megabytes of records only a few objects
    are tracked: it comes very seldom."""
    answer = answer_of([Written(5, frozenset(range(5)))] * 2, 0)
    gc.collect()
    gc.disable()
    try:
        theirs = theirs_of(answer, 0)
        ours = PlainRecords(theirs)
        held = weakref.ref(theirs), weakref.ref(ours)
        assert len(list(islice(ours, taken))) == min(taken, 10)
        del theirs, ours
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


def test_who_makes_something_else_of_keys_or_values_is_left_to_aiokafka(said: list[Any]) -> None:
    fetched = fetched_of(b"", 0)
    theirs = fetched._partition_records
    theirs._value_deserializer = bytes.decode
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict[Any, Any]()))
    give_plainly(consumer)
    consumer._fetcher._records[PARTITION] = fetched

    assert fetched._partition_records is theirs
    assert said == []


def test_who_reads_only_what_is_committed_is_left_to_aiokafka(said: list[Any]) -> None:
    fetched = fetched_of(b"", 0)
    theirs = fetched._partition_records = theirs_of(b"", 0, fetcher.READ_COMMITTED)
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict[Any, Any]()))
    give_plainly(consumer)
    consumer._fetcher._records[PARTITION] = fetched

    assert fetched._partition_records is theirs
    assert said == []


@pytest.mark.parametrize("records", [None, {}, OrderedDict({PARTITION: object()})])
def test_a_consumer_that_is_not_as_known_is_left_as_it_is_and_told_of_once(records: Any, said: list[Any]) -> None:
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=records))

    assert not give_plainly(consumer)
    assert consumer._fetcher._records is records
    assert not give_plainly(SimpleNamespace())
    assert [(one["log_level"], one["aiokafka"]) for one in said] == [("warning", kafka.__version__)]


def test_answers_that_are_not_as_known_are_left_as_they_are_and_told_of_once(said: list[Any]) -> None:
    for _ in range(2):
        fetched = fetched_of(b"", 0)
        theirs = fetched._partition_records
        del theirs._check_crcs
        consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict[Any, Any]()))
        assert give_plainly(consumer)
        consumer._fetcher._records[PARTITION] = fetched
        assert fetched._partition_records is theirs

    assert len(said) == 1


def test_an_error_of_a_partition_is_kept_as_it_is(said: list[Any]) -> None:
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict[Any, Any]()))
    give_plainly(consumer)
    error = consumer._fetcher._records[PARTITION] = fetcher.FetchError(error=OSError(), backoff=0)

    assert consumer._fetcher._records[PARTITION] is error
    assert said == []
