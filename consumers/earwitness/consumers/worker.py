"""The loop that all workers share: poll, decode, handle, publish, commit.

Offsets are committed after publishing: a crash repeats records and loses none, and readers fold by identity. A
record that cannot be read goes to the dead-letter topic; a log that is away is waited for; a stop finishes the batch
in hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import structlog

from earwitness.consumers.dead_letters import HANDLER_ERROR, DeadLetters, without_payload
from earwitness.consumers.failed import Failed
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.log.protocol import Entry, Gap, Log, LogError, LogUnavailable, Outgoing, Reader, RecordTooLarge
from earwitness.monitor.log.topics import DEAD, topic_name

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
T_answer = TypeVar("T_answer")

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
BATCH: Final = 2_000

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records for one topic."""

    topic: str
    records: Sequence[Outgoing]


class Handler(Protocol[T_contra]):
    """What one kind of worker does with what it reads. It holds what it has to publish until ``take``."""

    def handle_all(self, entries: Sequence[Entry], values: Sequence[T_contra], failed: Failed) -> None:
        """Take in records and what was read of each. ``failed`` makes a record a dead letter and is told why; nothing
        is raised."""
        ...

    def missed(self, gap: Gap) -> None:
        """Records were gone before this worker came to them."""
        ...

    def take(self) -> Sequence[Batch]:
        """All that is to be published now for what was handled; all that there is where nothing was handled since the
        last call of this."""
        ...


class Keeper(Protocol):
    """Who keeps a worker's state, and commits in its place."""

    async def sort_out(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Which of the records that were read are to be handled now."""
        ...

    def is_new(self, entry: Entry) -> bool:
        """Whether no earlier run handled a record."""
        ...

    def wrote(self, topic: str, records: Sequence[Outgoing]) -> None:
        """The worker appended these."""
        ...

    async def keep(self, hands: Hands, *, at_end: bool = False) -> None:
        """What was handled is published: write and commit, when it is time or at the end."""
        ...


class Hands(Protocol):
    """A worker's way with the log: it waits for one that is away."""

    async def answered(self, ask: Callable[[], Awaitable[T]], what: str) -> T: ...
    async def append(self, batch: Batch) -> None: ...


class Stopped(Exception):
    """The stop came while the log was away: what is in hand was not committed and will be read again."""


class Worker(Generic[T]):
    """One reader's loop. ``commit`` False for a reader without a group, which then publishes nothing either.

    ``keeper`` keeps its state, says what is to be handled, and commits. ``patient`` False raises LogError instead of
    waiting for a log that is away. ``pause`` waits for so many seconds, or until the stop; given by tests.
    """

    def __init__(
        self,
        log: Log,
        reader: Reader,
        handler: Handler[T],
        *,
        decode: Callable[[bytes], T],
        dead: DeadLetters,
        commit: bool = True,
        patient: bool = True,
        stop: asyncio.Event | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.reader = reader
        self.dead = dead
        self.records = 0
        """Records read so far."""
        self.away = False
        """Whether the log did not answer the last time."""
        self._read_s = 0.0
        """When the batch in hand was read, by the event loop's clock."""
        self._log = log
        self._handler = handler
        self._decode = decode
        self._commit = commit
        self._keeper = keeper
        self._patient = patient
        self._stop = stop or asyncio.Event()
        self._pause = pause or self._pause_until_stop

    async def run(self, *, poll_s: float, gather_s: float = 0.0) -> None:
        """Work until the stop; finishes the batch in hand, and publishes what the handler still held back.

        ``gather_s``: the next batch is asked for so long after one that was not full, so that records that come singly
        are handled together; handling one is part of that time.
        """
        while not self._stop.is_set():
            try:
                handled = await self.step(poll_s)
            except Stopped:
                return
            if gather_s and 0 < handled < BATCH:
                left_s = self._read_s + gather_s - asyncio.get_running_loop().time()
                if left_s > 0:
                    await self._pause(left_s)
        with suppress(Stopped):
            await self.publish()
            if self._keeper is not None:
                await self._keeper.keep(self, at_end=True)

    async def step(self, poll_s: float) -> int:
        """One batch, waited for up to ``poll_s``; how many records it had. Raises Stopped."""
        entries = await self.answered(lambda: self.reader.poll(timeout_s=poll_s, max_records=BATCH), "read")
        self._read_s = asyncio.get_running_loop().time()
        for gap in self.reader.take_gaps():
            _log.warning("records were no longer kept", topic=gap.topic, partition=gap.partition, lost=gap.lost)
            self._handler.missed(gap)
        keeper = self._keeper
        if keeper is not None:
            read = entries
            entries = await self.answered(lambda: keeper.sort_out(read), "say what state it has")
        self._take_in(entries)
        self.records += len(entries)
        await self.publish()
        if keeper is not None:
            await keeper.keep(self)
        elif entries and self._commit:
            positions = {entry.partition: entry.offset + 1 for entry in entries}
            await self.answered(lambda: self.reader.commit(positions), "commit")
        return len(entries)

    async def publish(self) -> None:
        """Append what the handler and the dead letters hold. Raises Stopped."""
        batches = self._handler.take()
        letters = self.dead.take()
        if not self._commit:
            return
        for batch in batches:
            await self.append(batch)
        if letters:
            await self.append(Batch(topic_name(self._log.prefix, DEAD), letters))

    def _take_in(self, entries: Sequence[Entry]) -> None:
        decode = self._decode
        read: list[Entry] = []
        values: list[T] = []
        for entry in entries:
            try:
                values.append(decode(entry.value or b""))
            except UnreadableRecord as error:
                self._add_letter(entry, error.reason, error.detail)
                continue
            read.append(entry)
        self._handler.handle_all(read, values, self._failed)

    def _failed(self, entry: Entry, error: Exception) -> None:
        # One record's fault must not end a worker that many calls depend on.
        self._add_letter(entry, HANDLER_ERROR, type(error).__name__)
        _log.error("record could not be handled", partition=entry.partition, offset=entry.offset, exc_info=error)

    def _add_letter(self, entry: Entry, reason: str, detail: str) -> None:
        if self._keeper is None or self._keeper.is_new(entry):
            self.dead.add(entry, reason, detail)

    async def append(self, batch: Batch) -> None:
        """Append to the log, and wait for it where it is away. What is too large for it is left out. Raises Stopped."""
        if not batch.records:
            return
        try:
            await self.answered(lambda: self._log.append(batch.topic, batch.records), "append")
            if self._keeper is not None:
                self._keeper.wrote(batch.topic, batch.records)
        except RecordTooLarge as error:
            await self._append_one_by_one(batch, error)

    async def _append_one_by_one(self, batch: Batch, error: RecordTooLarge) -> None:
        records = batch.records if error.unwritten is None else error.unwritten
        if len(batch.records) > 1:
            for record in records:
                await self.append(Batch(batch.topic, [record]))
            return
        (record,) = batch.records
        dead = topic_name(self._log.prefix, DEAD)
        if batch.topic == dead and b"payload_left_out" not in (record.value or b""):
            await self.append(Batch(dead, [without_payload(record)]))
            return
        _log.error(
            "record is too large for the log and is left out", topic=batch.topic, key=record.key, error=str(error)
        )

    async def answered(self, ask: Callable[[], Awaitable[T_answer]], what: str) -> T_answer:
        """Ask the log until it answers, with growing pauses. Raises Stopped, and RecordTooLarge as it comes."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                answer = await ask()
            except RecordTooLarge:
                raise
            except LogError as error:
                if not self._patient:
                    raise
                if not self.away:
                    hint = "waiting for it" if isinstance(error, LogUnavailable) else "it must be mended; trying on"
                    _log.warning(f"the log did not {what}: {hint}", error=str(error))
                self.away = True
                if self._stop.is_set():
                    raise Stopped from error
                await self._pause(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                continue
            if self.away:
                _log.info("the log answers again")
                self.away = False
            return answer

    async def _pause_until_stop(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return
