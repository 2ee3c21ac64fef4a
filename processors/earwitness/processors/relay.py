"""The relay: ships a host's embedded log to Kafka, so that the bots of the host never open a connection.

What is promised. Every event that the embedded log holds is on the target before its position is committed: nothing
is lost. The order within a call is kept, key and bytes are the same. Where an acknowledgement is missing, because the
target failed or the relay was killed, the relay first looks which events have arrived and sends only the others: each
arrives once. It can arrive twice only where the target took it after the relay looked, where the relay may not read
there, where the clocks of host and target differ by over a minute, or where more than `arrived.MOST_LOOKED_AT` events
of others came between; such a copy has the identity of the first, and readers fold it away.

The target dates events by their arrival there. One that waited is late, never "in the future".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.oldest import oldest_unread_ns
from earwitness.monitor.log.protocol import Entry, Log, LogError, LogRefused, Outgoing, Reader
from earwitness.monitor.log.topics import EVENTS, topic_name
from earwitness.monitor.log.url import KafkaUrl
from earwitness.processors.arrived import arrived
from earwitness.processors.log_client import LEAVE_S, append_what_fits
from earwitness.processors.log_health import LogHealth
from earwitness.processors.orphans import Orphans
from earwitness.processors.relay_losses import LossesAhead, too_large
from earwitness.processors.relay_mark import RelayMark, UnderWay
from earwitness.processors.relay_stats import RelayStats

T = TypeVar("T")

GROUP_PREFIX: Final = "relay to "
MEMBER: Final = "relay"
BATCH: Final = 1_000
MARK_EVERY_S: Final = 5.0
"""How old the target's ends may be that a batch is marked with: what has to be searched again after a kill."""
STOP_GRACE_S: Final = 2.0
"""How long a batch under way is waited for when the stop comes."""

log = logging.getLogger("earwitness.relay")


def target_name(url: KafkaUrl) -> str:
    """Which target a URL means: its brokers and its topics' prefix, whatever its options."""
    return str(KafkaUrl(url.servers, url.prefix))


def relay_group(target: str) -> str:
    """The consumer group, on the embedded log, of the relay to a target."""
    return f"{GROUP_PREFIX}{target}"


@dataclass(frozen=True, slots=True)
class RelayPace:
    """``gather_s``: pause after a batch that was not full, so that events that come singly travel together."""

    poll_s: float = 1.0
    gather_s: float = 0.1
    tick_s: float = 1.0


class _Stopped(Exception):
    """The stop came; what is in hand is not committed, and the next relay goes on with it."""


class Relay:
    """One relay. ``open_target`` is awaited when the target is first needed, and again after it hung.

    ``target``: the target's name, as in the group. ``mark`` stays the caller's to close.
    """

    def __init__(
        self,
        source: EmbeddedLog,
        open_target: Callable[[], Awaitable[Log]],
        *,
        target: str,
        mark: RelayMark,
        orphans: Orphans,
        stop: asyncio.Event,
        pace: RelayPace | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.stats = RelayStats()
        self._source = source
        self._topic = topic_name(source.prefix, EVENTS)
        self._open_target = open_target
        self._group = relay_group(target)
        self._mark = mark
        self._orphans = orphans
        self._stop = stop
        self._pace = pace or RelayPace()
        self._clock_ns = clock_ns
        self._target: Log | None = None
        self._health = LogHealth("the embedded log keeps them")
        self._trouble = LogHealth("trying on")
        self._ahead = LossesAhead(source, self._topic)
        self._reader: Reader | None = None
        self._committed: dict[int, int] = {}
        self._ends: tuple[float, Mapping[int, int]] | None = None
        self._reports: list[Outgoing] = []

    async def run(self) -> None:
        """Ship until the stop. Raises BadInput where the target cannot be opened for a reason that stays."""
        ticks = asyncio.create_task(self._ticks(), name="relay-ticks")
        try:
            self._reader = reader = await self._source_answers(
                lambda: self._source.reader(self._topic, group=self._group, member=MEMBER)
            )
            self._committed = await self._source_answers(lambda: self._source.committed(self._group, self._topic))
            self._settle()
            self.stats.ready = True
            while not self._stop.is_set():
                await self._source_answers(self._adopt)
                await self._turn(reader)
        except _Stopped:
            log.info("stopped with events under way; the next start goes on with them")
        finally:
            ticks.cancel()
            self._orphans.close()
            if self._reader is not None:
                await self._reader.close()
            if self._target is not None:
                await _close(self._target)

    async def _turn(self, reader: Reader) -> None:
        entries = await self._source_answers(lambda: reader.poll(timeout_s=self._pace.poll_s, max_records=BATCH))
        for gap in reader.take_gaps():
            self.stats.lost["retention"] += gap.lost
            self._ahead.gone(gap.partition, gap.resumed)
            log.error(
                "%d events of partition %d were deleted by the embedded log's retention before they could be shipped; "
                "raise retention.bytes or retention.days", gap.lost, gap.partition,
            )  # fmt: skip
        self._ahead.read(reader.positions())
        if not entries:
            return
        upto = {entry.partition: entry.offset + 1 for entry in entries}
        await self._ship(entries, upto)
        self._committed |= await self._source_answers(lambda: reader.commit(upto))
        self._settle()
        if len(entries) < BATCH:
            await self._pause(self._pace.gather_s)

    def _settle(self) -> None:
        """See whether all that was under way is committed."""
        under_way = self._mark.under_way
        if under_way is not None and all(self._committed.get(p, 0) >= end for p, end in under_way.upto.items()):
            self._mark.settle()

    async def _ship(self, entries: Sequence[Entry], upto: Mapping[int, int]) -> None:
        """Bring a batch to the target, however long that takes. Raises _Stopped."""
        left = [Outgoing(entry.key, entry.value) for entry in entries]
        before = self._mark.under_way
        in_doubt = before is not None and any(entry.offset < before.upto.get(entry.partition, 0) for entry in entries)
        while True:
            try:
                target = await self._until_stop(self._opened())
                topic = topic_name(target.prefix, EVENTS)
                if in_doubt:
                    left = await self._until_stop(self._not_arrived(target, topic, left))
                    in_doubt = False
                await self._until_stop(self._note_sending(target, topic, upto))
                in_doubt = True
                await self._until_stop(self._send(target, topic, left))
            except _Stopped:
                raise
            except Exception as error:
                await self._wait(error)
                continue
            if self.stats.log_away:
                log.info("the target takes events again")
            self.stats.log_away = False
            self._health.answered()
            self.stats.shipped += len(entries)
            return

    async def _send(self, target: Log, topic: str, records: list[Outgoing]) -> None:
        """Send them all, and the reports of what cannot be sent; what is acknowledged is taken out of ``records``."""
        if records:
            refused = await append_what_fits(target, topic, records, lambda record: record)
            records.clear()
            self.stats.lost["too_large"] += len(refused)
            self._reports += [report for record in refused if (report := too_large(record)) is not None]
        if reports := [*self._reports, *self._ahead.reports()]:
            await target.append(topic, reports)
            self._reports.clear()
            self._ahead.reported()

    async def _opened(self) -> Log:
        if self._target is None:
            self._target = await self._open_target()
        return self._target

    async def _not_arrived(self, target: Log, topic: str, records: Sequence[Outgoing]) -> list[Outgoing]:
        under_way = self._mark.under_way
        if under_way is None:
            return list(records)
        try:
            there = await arrived(target, topic, records, start=under_way.ends, until_ns=under_way.until_ns)
        except LogRefused as error:
            log.warning("may not look what has arrived, so some events are sent twice, and folded: %s", error)
            return list(records)
        left = [record for record in records if record not in there]
        self.stats.found_there += len(records) - len(left)
        return left

    async def _note_sending(self, target: Log, topic: str, upto: Mapping[int, int]) -> None:
        """Write down where to look for this batch. What was under way before keeps its older beginning."""
        before = self._mark.under_way
        if before is None:
            now_s = asyncio.get_running_loop().time()
            if self._ends is None or now_s - self._ends[0] > MARK_EVERY_S:
                self._ends = now_s, await target.end_positions(topic)
            before = UnderWay(self._ends[1], {}, 0)
        # A batch after a restart may be cut elsewhere: what was under way stays so until it is committed.
        furthest = {p: max(before.upto.get(p, 0), upto.get(p, 0)) for p in before.upto.keys() | upto.keys()}
        self._mark.write(UnderWay(before.ends, furthest, self._clock_ns()))

    async def _wait(self, error: BaseException) -> None:
        self.stats.retries += 1
        self.stats.log_away = True
        if isinstance(error, BadInput) and self._target is None:
            raise error  # settings that cannot be right do not mend themselves
        wait_s = self._health.failed(error, asyncio.get_running_loop().time())
        self._ends = None
        if self._health.suspect(error) and self._target is not None:
            hung, self._target = self._target, None
            await _close(hung)
        await self._pause(wait_s)

    async def _adopt(self) -> None:
        self.stats.adopted += await self._orphans.adopt(self._source, self._topic)

    # Waiting.

    async def _source_answers(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the embedded log until it answers. Raises _Stopped."""
        while True:
            try:
                answer = await ask()
            except LogError as error:
                await self._pause(self._trouble.failed(error, asyncio.get_running_loop().time()))
                continue
            self._trouble.answered()
            return answer

    async def _until_stop(self, work: Awaitable[T]) -> T:
        """``work``, given up a little after the stop. Raises _Stopped."""
        task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=STOP_GRACE_S)
            if not task.done():
                raise _Stopped
            return task.result()
        finally:
            stopped.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=STOP_GRACE_S)

    async def _pause(self, seconds: float) -> None:
        """Raises _Stopped at the stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
        if self._stop.is_set():
            raise _Stopped

    async def _ticks(self) -> None:
        """Say how far behind the relay is, and note what retention takes while the target is away."""
        while True:
            try:
                await self._look()
            except LogError:
                pass  # the loop says so
            except Exception:
                log.exception("the relay could not look at its own state")
            self.stats.ticked_ns = self._clock_ns()
            await asyncio.sleep(self._pace.tick_s)

    async def _look(self) -> None:
        if not self.stats.ready:
            return
        ends = await self._source.end_positions(self._topic)
        starts = await self._source.start_positions(self._topic)
        at = {p: max(self._committed.get(p, 0), starts[p]) for p in ends}
        behind = {p: position for p, position in at.items() if position < ends[p]}
        self.stats.lag_records = sum(ends[p] - position for p, position in behind.items())
        oldest_ns = await oldest_unread_ns(self._source, self._topic, behind)
        self.stats.lag_s = 0.0 if oldest_ns is None else max(0.0, (self._clock_ns() - oldest_ns) / 1e9)
        if self.stats.log_away and self._reader is not None:
            await self._ahead.look(self._reader.positions(), starts)


async def _close(target: Log) -> None:
    with suppress(Exception):
        await asyncio.wait_for(target.close(), LEAVE_S)
