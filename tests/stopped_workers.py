"""Timeline workers that are stopped before or after any single write, over a log in memory whose clock the test owns.

Everything happens in one event loop, step by step, as a seed has it: what bots send, ticks, stops, partitions that
move, owners that do not know yet that they lost theirs. In the end all that was published and all windows must be what
the log alone says.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from earwitness.consumers.dead_letters import DeadLetters
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.keeper import Keeper
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import LogFold, TimelineHandler
from earwitness.consumers.worker import Worker
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import decode_record, encode
from earwitness.monitor.log.memory import MemoryLog, MemoryReader
from earwitness.monitor.log.protocol import Entry, Log, Outgoing
from earwitness.monitor.log.topics import topic_name
from earwitness.monitor.measures.slots import CLASSES, RESTATED, STRIDE
from earwitness.monitor.measures.windows import Windows

EVENTS, STATE = "earwitness.events", "earwitness.state"
S = 1_000_000_000
SETTINGS = MonitorSettings(metrics=False, poll_s=0.0, gather_s=0.0, keep_every_s=0.0)


class Stop(BaseException):
    """Kill -9."""


class Clock:
    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


class StoppingLog(MemoryLog):
    """``left`` single writes are done before whoever writes is stopped; None: all of them."""

    left: int | None = None

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        for record in records:
            self.count()
            await super().append(topic, [record])
        self.count()

    def count(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Stop
            self.left -= 1

    async def send(self, event: Any) -> None:
        """What a bot reports; it is not the bot that is stopped."""
        await super().append(EVENTS, [Outgoing(event.call_id, encode(event))])


class GroupReader:
    """A member whose commits count as writes, and which may go on for a while after the group has given it up."""

    def __init__(self, reader: MemoryReader, log: StoppingLog) -> None:
        self._reader = reader
        self._log = log
        self.given_up = False
        self.leaving: frozenset[int] = frozenset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def poll(self, *, timeout_s: float, max_records: int = 2_000) -> Sequence[Entry]:
        return [] if self.leaving else await self._reader.poll(timeout_s=timeout_s, max_records=max_records)

    async def let_go(self) -> None:
        self.leaving = frozenset()

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        self._log.count()
        return {} if self.given_up else await self._reader.commit(positions)

    def give_up(self) -> None:
        """The group does not hear of it any more and shares its partitions; it does not know yet."""
        if not self.given_up:
            group = self._reader._group
            assert group is not None
            self.given_up = True
            group.members.remove(self._reader)
            group.share()

    async def leave(self) -> None:
        if self.given_up:
            self._reader._closed = True
        else:
            await self._reader.close()


@dataclass
class Life:
    """One worker from its start until it is stopped."""

    log: StoppingLog
    clock: Clock
    reader: GroupReader
    fold: TimelineFold
    handler: TimelineHandler
    keeper: Keeper
    worker: Worker[Any]

    @classmethod
    async def begin(cls, log: StoppingLog, clock: Clock, settings: MonitorSettings = SETTINGS) -> Life:
        fold = TimelineFold(settings)
        ledger = Ledger()
        handler = TimelineHandler(fold, prefix=log.prefix, ledger=ledger)
        reader = GroupReader(await log.reader(EVENTS, group=settings.group, start="latest"), log)
        keeper = Keeper(log, reader, handler, ledger, settings, clock_ns=clock)
        worker = Worker(log, reader, handler, decode=decode_event_fast, dead=DeadLetters(), keeper=keeper)
        return cls(log, clock, reader, fold, handler, keeper, worker)

    async def step(self, *, tick: bool) -> None:
        if tick:
            self.handler.queue(self.fold.advance(self.clock(), most=200))
        await self.worker.step(0.0)

    async def until_settled(self) -> None:
        async with asyncio.timeout(30):
            while not self.keeper.settled:
                await self.worker.step(0.0)

    async def end(self) -> None:
        await self.keeper.close()
        await self.reader.leave()


@dataclass
class Site:
    """A log, the bots' events in the order of their sending with the moment of each, and workers."""

    log: StoppingLog
    clock: Clock
    events: list[tuple[int, Any]]
    draw: random.Random
    settings: MonitorSettings = SETTINGS
    lives: list[Life] = field(default_factory=list)
    stops: int = 0
    handed_over: int = 0
    doubts: list[str] = field(default_factory=list)
    sent: int = 0

    async def send(self, count: int) -> None:
        for at_ns, event in self.events[self.sent : self.sent + count]:
            self.clock.now_ns = max(self.clock.now_ns, at_ns)
            await self.log.send(event)
        self.sent += count

    async def bury(self, life: Life) -> None:
        self.log.left = None
        self.doubts += life.keeper.doubts
        self.lives.remove(life)
        await life.end()

    async def take_away(self, life: Life, most_writes: int) -> None:
        """Tell a worker that the group takes back what it has, in good order: it may hand it over until it is stopped,
        or the group waits no more. One that the group has given up is told too late and may write no state."""
        life.reader.leaving = frozenset(life.reader.positions())
        before = await self.log.end_positions(STATE)
        self.log.left = self.draw.randrange(most_writes)
        try:
            await life.step(tick=False)
        except Stop:
            self.stops += 1
            await self.bury(life)
        else:
            self.handed_over += not life.reader.given_up
        finally:
            self.log.left, life.reader.leaving = None, frozenset()
        assert not life.reader.given_up or await self.log.end_positions(STATE) == before

    async def run(self, *, workers: int, most_writes: int, zombies: bool = False) -> None:
        """Until all events are sent and handled: any worker may be stopped at any write, and is begun again."""
        while self.sent < len(self.events):
            while len(self.lives) < workers:
                for life in list(self.lives):
                    if self.draw.random() < 0.7:
                        await self.take_away(life, 2 * most_writes)
                self.lives.append(await Life.begin(self.log, self.clock, self.settings))
            if self.draw.random() < 0.15:
                await self.send(self.draw.randint(1, 8))
            life = self.draw.choice(self.lives)
            if zombies and workers > 1 and self.draw.random() < 0.02:
                life.reader.give_up()
            if life.reader.given_up and self.draw.random() < 0.2:
                await self.bury(life)
                continue
            self.log.left = self.draw.randrange(most_writes)
            try:
                await life.step(tick=self.draw.random() < 0.3)
            except Stop:
                self.stops += 1
                await self.bury(life)
            self.log.left = None

    async def finish(self, as_of_ns: int) -> Windows:
        """Let one worker read to the end and judge as of a moment; its windows."""
        for life in list(self.lives):
            await self.bury(life)
        life = await Life.begin(self.log, self.clock, self.settings)
        self.lives.append(life)
        await life.until_settled()
        self.clock.now_ns = as_of_ns
        life.handler.queue(life.fold.advance(as_of_ns))
        await life.worker.step(0.0)
        await self.bury(life)
        return life.fold.windows


def buckets_of(windows: Windows) -> dict[tuple[int, int], dict[tuple[Any, ...], int]]:
    """All buckets by tier and step, by name, but for what is about their publication; parts are added."""
    names = windows.classes.all()
    found: dict[tuple[int, int], dict[tuple[Any, ...], int]] = {}
    for part in windows.parts.values():
        for step_s, index, (keys, amounts) in part.all_sums():
            bucket = found.setdefault((step_s, index), {})
            for key, amount in zip(np.asarray(keys).tolist(), np.asarray(amounts).tolist(), strict=True):
                series, slot = divmod(key, STRIDE)
                number, klass = divmod(series, CLASSES)
                if slot != RESTATED:
                    name = (windows.label_sets.labels_of(number), names[klass], slot)
                    bucket[name] = bucket.get(name, 0) + amount
    return {place: kept for place, bucket in found.items() if (kept := {k: n for k, n in bucket.items() if n})}


async def published(log: Log) -> dict[tuple[str, str], Any]:
    """The records topic as every reader folds it: the greatest revision of each record, whichever came first of it."""
    topic = topic_name(log.prefix, "records")
    ends = await log.end_positions(topic)
    reader = await log.reader(topic)
    latest: dict[tuple[str, str], Any] = {}
    while any(at < ends[p] for p, at in reader.positions().items()):
        for entry in await reader.poll(timeout_s=1.0):
            record = decode_record(entry.value or b"")
            known = latest.get((record.call_id, record.id))
            if known is None or record.revision > known.revision:
                latest[record.call_id, record.id] = record
    await reader.close()
    return contents(latest.values())


def contents(records: Any) -> dict[tuple[str, str], Any]:
    return {(r.call_id, r.id): r.model_dump(exclude={"revision"}) for r in records if not r.retracted}


async def what_the_log_says(log: Log, clock: Callable[[], int], settings: MonitorSettings) -> tuple[Any, Any]:
    """Records and buckets of a fold that nothing ever stopped."""
    fold = await LogFold.open(log, replace(settings), clock_ns=clock, since_ns=0)
    await fold.catch_up()
    records = [record for timeline in fold.calls.values() for record in timeline.records()]
    await fold.close()
    return contents(records), buckets_of(fold.windows)
