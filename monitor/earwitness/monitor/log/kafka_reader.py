"""Reading from Kafka: with a group, whose members share partitions, or without, all partitions from given offsets.

Nothing is committed and no position is reset except here. A reader that hears nothing for a while asks whether there
would be something to hear: a client that stands still is replaced, a broker that does not answer is reported.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from earwitness.monitor.log.kafka_clients import is_member, new_consumer, stop_consumer
from earwitness.monitor.log.kafka_entries import Entries
from earwitness.monitor.log.kafka_library import KafkaError, RebalanceListener, kafka, kafka_errors
from earwitness.monitor.log.kafka_settings import KafkaSettings
from earwitness.monitor.log.kafka_words import Asked, cluster_name, in_words
from earwitness.monitor.log.protocol import Entry, Gap, LogError, LogRefused, LogUnavailable

T = TypeVar("T")
PAUSED_S: Final = 0.02
"""Who polls again after so long has paused: what the client holds for him is what there was when the pause began."""
FRESH_S: Final = 0.03
"""How long he then waits for what came in the pause, which is asked for only when that is out of the way."""
_NOT_OURS: tuple[type[Exception], ...] = (
    kafka_errors.CommitFailedError,
    kafka_errors.IllegalStateError,
    kafka_errors.UnknownMemberIdError,
    kafka_errors.IllegalGenerationError,
    kafka_errors.RebalanceInProgressError,
)


class _Watch(RebalanceListener):  # type: ignore[misc]
    """Tells a reader what it has lost and gained; whatever takes time is left to the next poll."""

    def __init__(self, reader: KafkaReader) -> None:
        self._reader = reader

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        await self._reader.part()
        self._reader.revoke()

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._reader.assign(partition.partition for partition in assigned)


class KafkaReader:
    """A reader of a `KafkaLog`; made by `KafkaLog.reader`."""

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        *,
        group: str | None,
        start: Mapping[int, int] | str,
        on_close: Callable[[KafkaReader], None],
    ) -> None:
        self._settings = settings
        self._name = cluster_name(settings)
        self._about = Asked(self._name, settings.sasl_username, topic, "Read", group or "")
        self._topic = topic
        self._group = group
        self._start = start
        self._on_close = on_close
        self._within_s = settings.request_timeout_ms / 1000
        self._consumer: Any = None
        self._positions: dict[int, int] = {}
        self._fresh: set[int] = set()
        self._gaps: list[Gap] = []
        self._entries = Entries(topic)
        self._changes = 0
        self._heard_s = time.monotonic()
        self._given_s = time.monotonic()
        self._stood_at: dict[int, int] | None = None
        self._hand_over_s = 0.0
        self._leaving: frozenset[int] = frozenset()
        self._let_go = asyncio.Event()
        self._closed = False

    async def open(self, partitions: int) -> None:
        """Connect; without a group, go to the start of that many partitions. Raises LogError."""
        if self._group is None:
            self._fresh = set(range(partitions))
        await self._connect()
        if self._group is None:
            await self._asked(self._settle())

    async def _connect(self) -> None:
        self._consumer = consumer = await new_consumer(self._settings, self._group)
        self._heard_s, self._stood_at = time.monotonic(), None
        if self._group is not None:
            consumer.subscribe([self._topic], listener=_Watch(self))
            return
        consumer.assign([self._tp(number) for number in sorted(self._positions.keys() | self._fresh)])
        for number, position in self._positions.items():
            consumer.seek(self._tp(number), position)

    def _tp(self, number: int) -> Any:
        return kafka.TopicPartition(self._topic, number)

    async def part(self) -> None:
        """Wait until what is ours was let go of, for as long as `hand_over` said; not where it was lost already."""
        if not (self._hand_over_s and self._positions and is_member(self._consumer)):
            return
        self._let_go.clear()
        self._leaving = frozenset(self._positions)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hand_over_s):
                await self._let_go.wait()
        self._leaving = frozenset()

    def revoke(self) -> None:
        """The group takes everything back, and gives anew: called at each of its changes."""
        self._positions = {}
        self._fresh = set()

    def assign(self, numbers: Iterable[int]) -> None:
        """These partitions are ours now; where to begin is settled by the next poll."""
        self._fresh = set(numbers)
        if not self._fresh:
            self._changes += 1

    async def _asked(self, work: Awaitable[T]) -> T:
        """Await an answer of the cluster. Raises LogError; where none comes, the client is replaced."""
        try:
            async with asyncio.timeout(self._within_s):
                return await work
        except (TimeoutError, OSError) as error:
            await self._drop()
            raise in_words(error, self._about) from error
        except KafkaError as error:
            raise in_words(error, self._about) from error

    async def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if self._group is not None:
            self.revoke()
        if consumer is not None:
            await stop_consumer(consumer)

    async def _settle(self) -> None:
        """Find where to begin in partitions that are new to us."""
        numbers = sorted(self._fresh)
        committed: dict[int, int] = {}
        if self._group is not None:
            for number in numbers:
                position = await self._consumer.committed(self._tp(number))
                if position is not None:
                    committed[number] = position
        first = await self._first([number for number in numbers if number not in committed])
        for number, position in (committed | first).items():
            # The group may have changed while we asked.
            if number in self._fresh:
                with suppress(kafka_errors.IllegalStateError):
                    self._consumer.seek(self._tp(number), position)
                    self._positions[number] = position
                    self._known(number)

    def _known(self, number: int) -> None:
        """Where to begin in a partition is known now; that it is ours counts as a change when it is of all of them."""
        if number in self._fresh:
            self._fresh.discard(number)
            self._changes += not self._fresh

    async def _first(self, numbers: Sequence[int]) -> dict[int, int]:
        asked = {} if isinstance(self._start, str) else {n: self._start[n] for n in numbers if n in self._start}
        rest = [self._tp(number) for number in numbers if number not in asked]
        if not rest:
            return asked
        ask = self._consumer.end_offsets if self._start == "latest" else self._consumer.beginning_offsets
        return asked | {tp.partition: offset for tp, offset in (await ask(rest)).items()}

    async def poll(self, *, timeout_s: float, max_records: int = 2_000) -> Sequence[Entry]:
        now_s = time.monotonic()
        has_paused = now_s - self._given_s > PAUSED_S
        try:
            entries = await self._poll(now_s + timeout_s, max_records)
            if has_paused and 0 < len(entries) < max_records:
                entries += await self._what_came_after(entries, max_records - len(entries))
        except Exception:
            self._check()  # closed meanwhile: whatever broke, broke by that
            raise
        finally:
            self._given_s = time.monotonic()
        return entries

    async def _what_came_after(self, entries: Sequence[Entry], max_records: int) -> list[Entry]:
        """What came while nobody polled: the client fetches no more than what it had at once until that is taken."""
        try:
            return await self._get(FRESH_S, max_records)
        except LogError:
            return []  # the next poll says so
        except BaseException:
            # A poll that is cancelled has read nothing.
            await self.seek({entry.partition: entry.offset for entry in reversed(entries)})
            raise

    async def _poll(self, deadline: float, max_records: int) -> list[Entry]:
        while True:
            self._check()
            if self._consumer is None:
                await self._connect()
            if self._leaving:
                return []
            if self._group is None:
                self._take_in_new_partitions()
            if self._fresh:
                await self._asked(self._settle())
            left = deadline - time.monotonic()
            entries = await self._get(max(0.0, left), max_records)
            if not entries and self._group is None:
                await self._step_over_holes()
            if entries:
                self._heard_s, self._stood_at = time.monotonic(), None
                return entries
            if time.monotonic() - self._heard_s > self._settings.doubt_after_s:
                await self._doubt()
            if time.monotonic() >= deadline:
                return entries

    def _check(self) -> None:
        if self._closed:
            raise LogRefused(f"{self._name}: this reader is closed")

    def _take_in_new_partitions(self) -> None:
        known: set[int] = self._consumer.partitions_for_topic(self._topic) or set[int]()
        if new := known - self._positions.keys() - self._fresh:
            self._fresh |= new
            self._consumer.assign([self._tp(number) for number in sorted(self._positions.keys() | self._fresh)])
            for number, position in self._positions.items():
                self._consumer.seek(self._tp(number), position)

    async def _get(self, timeout_s: float, max_records: int) -> list[Entry]:
        # While a group changes, aiokafka waits beyond its own timeout. Cancelling it loses nothing.
        try:
            async with asyncio.timeout(timeout_s + 0.02):
                batches = await self._consumer.getmany(timeout_ms=int(timeout_s * 1000), max_records=max_records)
        except TimeoutError:
            return []
        except kafka_errors.OffsetOutOfRangeError as error:
            await self._asked(self._go_on_at_the_oldest(error.args[0]))
            return []
        except kafka_errors.NoOffsetForPartitionError:
            return []  # aiokafka was quicker than `_settle`
        except KafkaError as error:
            raise in_words(error, self._about) from error
        entries: list[Entry] = []
        for tp, records in batches.items():
            number = tp.partition
            self._positions[number] = records[-1].offset + 1
            self._known(number)
            entries += self._entries.of(number, records)
        return entries

    async def _go_on_at_the_oldest(self, out_of_range: Mapping[Any, int]) -> None:
        oldest = await self._consumer.beginning_offsets(list(out_of_range))
        for tp, expected in out_of_range.items():
            with suppress(kafka_errors.IllegalStateError):
                self._consumer.seek(tp, oldest[tp])
                self._positions[tp.partition] = oldest[tp]
                self._known(tp.partition)
                self._gaps.append(Gap(self._topic, tp.partition, expected, oldest[tp]))

    async def _step_over_holes(self) -> None:
        """aiokafka also moves over what is no record of ours: holes of compaction, marks of transactions."""
        for number, position in self._positions.items():
            with suppress(kafka_errors.IllegalStateError, TimeoutError):
                async with asyncio.timeout(0.1):
                    at = await self._consumer.position(self._tp(number))
                    self._positions[number] = max(position, at)

    async def _doubt(self) -> None:
        """Nothing came for a while: is there nothing, or does nobody say so? Raises LogUnavailable."""
        self._heard_s = time.monotonic()
        numbers = sorted(self._positions)
        tps = [self._tp(number) for number in numbers or [0]]
        ends = {tp.partition: end for tp, end in (await self._asked(self._consumer.end_offsets(tps))).items()}
        at: dict[int, int] = {}
        for number in numbers:
            with suppress(kafka_errors.IllegalStateError, TimeoutError):
                async with asyncio.timeout(0.1):
                    at[number] = await self._consumer.position(self._tp(number))
        behind = {number: position for number, position in at.items() if position < ends[number]}
        still = [number for number, position in behind.items() if (self._stood_at or {}).get(number) == position]
        self._stood_at = behind
        if still:
            await self._drop()
            raise LogUnavailable(
                f"{self._name}: reading {self._topic} stood still at partition {still[0]}, offset {behind[still[0]]}; "
                "the reader connects anew"
            )

    def take_gaps(self) -> Sequence[Gap]:
        gaps, self._gaps = self._gaps, []
        return gaps

    def positions(self) -> dict[int, int]:
        return dict(sorted(self._positions.items()))

    @property
    def changes(self) -> int:
        return self._changes

    async def seek(self, positions: Mapping[int, int]) -> None:
        for number, at in positions.items():
            if number in self._positions and self._consumer is not None:
                # The group may have changed meanwhile.
                with suppress(kafka_errors.IllegalStateError):
                    self._consumer.seek(self._tp(number), at)
                    self._positions[number] = at

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        if self._group is None:
            raise ValueError("a reader without a group has nothing to commit to")
        mine = {number: at for number, at in positions.items() if number in self._positions}
        if not mine or self._consumer is None:
            return {}
        try:
            async with asyncio.timeout(self._within_s):
                await self._consumer.commit({self._tp(number): at for number, at in mine.items()})
        except _NOT_OURS:
            return {}  # the group has moved on without us; what it reads again is folded by identity
        except (KafkaError, OSError, TimeoutError) as error:
            raise in_words(error, self._about) from error
        return mine

    def hand_over(self, within_s: float) -> None:
        # The others wait for a member that does not come back for one session.
        self._hand_over_s = min(within_s, self._settings.session_timeout_ms / 3_000)

    @property
    def leaving(self) -> frozenset[int]:
        return self._leaving

    async def let_go(self) -> None:
        self._leaving = frozenset()
        self._let_go.set()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._on_close(self)
        await self._drop()
        self._positions = {}
