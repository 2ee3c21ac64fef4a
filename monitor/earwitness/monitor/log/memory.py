"""A log in memory, for tests and for one-off analyses: the whole protocol, nothing on disk, time as given.

Single event loop only. It passes the suite that the real logs pass.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from earwitness.monitor.log.keys import place_of
from earwitness.monitor.log.limits import check_sizes
from earwitness.monitor.log.protocol import (
    Entry,
    Gap,
    LogError,
    LogRefused,
    Outgoing,
    TopicInfo,
    TopicSpec,
)
from earwitness.monitor.log.topics import DEFAULT_PREFIX, topic_specs

_OFFSET = attrgetter("offset")
_APPEND_NS = attrgetter("append_ns")


@dataclass(slots=True)
class _Partition:
    entries: list[Entry] = field(default_factory=list[Entry])
    end: int = 0
    last_ns: int = 0

    @property
    def start(self) -> int:
        return self.entries[0].offset if self.entries else self.end

    def compact(self) -> None:
        latest = {entry.key: entry.offset for entry in self.entries}
        self.entries = [entry for entry in self.entries if latest[entry.key] == entry.offset]


@dataclass(slots=True)
class _Topic:
    spec: TopicSpec
    partitions: list[_Partition]


@dataclass(slots=True)
class _Group:
    members: list[MemoryReader] = field(default_factory=list["MemoryReader"])
    committed: dict[int, int] = field(default_factory=dict[int, int])

    def share(self) -> None:
        """Give partition p to member p modulo n, in the order of joining."""
        for rank, member in enumerate(self.members):
            member.own(set(range(rank, member.partition_count, len(self.members))), self.committed)


class MemoryReader:
    """A reader of a `MemoryLog`; made by `MemoryLog.reader`."""

    def __init__(
        self,
        log: MemoryLog,
        topic: str,
        partitions: list[_Partition],
        group: _Group | None,
        start: Mapping[int, int] | str,
    ) -> None:
        self._log = log
        self._topic = topic
        self._partitions = partitions
        self._group = group
        self._start = start
        self._positions: dict[int, int] = {}
        self._gaps: list[Gap] = []
        self._turn = 0
        self._changes = 0
        self._closed = False
        if group is None:
            self.own(set(range(len(partitions))), {})
        else:
            group.members.append(self)
            group.share()

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    def own(self, partitions: set[int], committed: Mapping[int, int]) -> None:
        """Take exactly these partitions; called by the group."""
        kept = {p: at for p, at in self._positions.items() if p in partitions}
        gained = {p: committed[p] if p in committed else self._first(p) for p in partitions - kept.keys()}
        self._changes += 1
        self._positions = dict(sorted({**kept, **gained}.items()))

    def _first(self, partition: int) -> int:
        if isinstance(self._start, str):
            part = self._partitions[partition]
            return part.end if self._start == "latest" else part.start
        return self._start.get(partition, self._partitions[partition].start)

    async def poll(self, *, timeout_s: float, max_records: int = 2_000) -> Sequence[Entry]:
        deadline = time.monotonic() + timeout_s
        while True:
            self._log.check(self._closed)
            news = self._log.news
            if found := self._take(max_records):
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                # Let others run: a caller that polls without waiting must not starve the loop.
                await asyncio.sleep(0)
                return []
            try:
                await asyncio.wait_for(news.wait(), left)
            except TimeoutError:
                return []

    def _take(self, limit: int) -> list[Entry]:
        found: list[Entry] = []
        owned = list(self._positions)
        self._turn += 1
        for i in range(len(owned)):
            number = owned[(self._turn + i) % len(owned)]
            part, at = self._partitions[number], self._positions[number]
            if at > part.end or (at < part.start and not self._log.is_compacted(self._topic)):
                self._gaps.append(Gap(self._topic, number, at, part.start))
                at = part.start
            low = bisect_left(part.entries, at, key=_OFFSET)
            taken = part.entries[low : low + limit - len(found)]
            found += taken
            self._positions[number] = taken[-1].offset + 1 if taken else at
            if len(found) == limit:
                break
        return found

    def take_gaps(self) -> Sequence[Gap]:
        gaps, self._gaps = self._gaps, []
        return gaps

    def positions(self) -> dict[int, int]:
        return dict(self._positions)

    @property
    def changes(self) -> int:
        return self._changes

    async def seek(self, positions: Mapping[int, int]) -> None:
        self._log.check(self._closed)
        self._positions.update({p: at for p, at in positions.items() if p in self._positions})

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        self._log.check(self._closed)
        if self._group is None:
            raise ValueError("a reader without a group has nothing to commit to")
        mine = {p: at for p, at in positions.items() if p in self._positions}
        self._group.committed.update(mine)
        return mine

    def hand_over(self, within_s: float) -> None:
        del within_s  # members share at once

    @property
    def leaving(self) -> frozenset[int]:
        return frozenset()

    async def let_go(self) -> None:
        return

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._positions = {}
        if self._group is not None:
            self._group.members.remove(self)
            self._group.share()


class MemoryLog:
    """A `Log` in memory. ``clock_ns`` dates the records; ``topics`` defaults to those of `topic_specs`.

    ``fault``: while set, every append raises it and keeps nothing, as a log that is away does.
    """

    def __init__(
        self,
        *,
        prefix: str = DEFAULT_PREFIX,
        partitions: int = 1,
        topics: Sequence[TopicSpec] | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.fault: LogError | None = None
        self.news = asyncio.Event()
        self._prefix = prefix
        self._clock_ns = clock_ns
        self._topics: dict[str, _Topic] = {}
        self._groups: dict[tuple[str, str], _Group] = {}
        self._closed = False
        self._create(topic_specs(prefix, partitions) if topics is None else topics)

    @property
    def url(self) -> str:
        return "memory:"

    @property
    def prefix(self) -> str:
        return self._prefix

    def check(self, closed: bool = False) -> None:
        """Raise LogRefused when this log, or the reader that asks, is closed."""
        if closed or self._closed:
            raise LogRefused("memory: closed, open it again")

    def is_compacted(self, topic: str) -> bool:
        return self._topic(topic).spec.compacted

    def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """What retention does elsewhere: forget a partition's records below ``offset``."""
        part = self._topic(topic).partitions[partition]
        part.entries = part.entries[bisect_left(part.entries, offset, key=_OFFSET) :]

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        self.check()
        if self.fault is not None:
            raise self.fault
        target = self._topic(topic)
        check_sizes(records, topic, "memory")
        now_ns = self._clock_ns()
        for record in records:
            number = place_of(record.key, record.partition, len(target.partitions))
            part = target.partitions[number]
            part.last_ns = max(part.last_ns, now_ns)
            part.entries.append(Entry(topic, number, part.end, record.key, record.value, part.last_ns))
            part.end += 1
        if target.spec.compacted:
            for part in target.partitions:
                part.compact()
        self.news.set()
        self.news = asyncio.Event()

    async def reader(
        self, topic: str, *, group: str | None = None, start: Mapping[int, int] | str = "earliest"
    ) -> MemoryReader:
        self.check()
        partitions = self._topic(topic).partitions
        members = None if group is None else self._groups.setdefault((group, topic), _Group())
        return MemoryReader(self, topic, partitions, members, start)

    async def positions_by_time(self, topic: str, append_ns: int) -> dict[int, int]:
        self.check()
        found: dict[int, int] = {}
        for number, part in enumerate(self._topic(topic).partitions):
            at = bisect_left(part.entries, append_ns, key=_APPEND_NS)
            found[number] = part.entries[at].offset if at < len(part.entries) else part.end
        return found

    async def end_positions(self, topic: str) -> dict[int, int]:
        self.check()
        return {number: part.end for number, part in enumerate(self._topic(topic).partitions)}

    async def start_positions(self, topic: str) -> dict[int, int]:
        self.check()
        return {number: part.start for number, part in enumerate(self._topic(topic).partitions)}

    async def committed(self, group: str, topic: str) -> dict[int, int]:
        self.check()
        self._topic(topic)
        known = self._groups.get((group, topic))
        return dict(known.committed) if known else {}

    async def topics(self) -> dict[str, TopicInfo]:
        self.check()
        return {
            name: TopicInfo(name, len(topic.partitions), topic.spec.compacted, True, topic.spec.retention_ms)
            for name, topic in self._topics.items()
        }

    async def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        self.check()
        return self._create(specs)

    def _create(self, specs: Sequence[TopicSpec]) -> list[str]:
        missing = [spec for spec in specs if spec.name not in self._topics]
        for spec in missing:
            self._topics[spec.name] = _Topic(spec, [_Partition() for _ in range(spec.partitions)])
        return [spec.name for spec in missing]

    def _topic(self, name: str) -> _Topic:
        try:
            return self._topics[name]
        except KeyError:
            raise LogRefused(f"memory: no topic {name}: create it first") from None

    async def close(self) -> None:
        self._closed = True
        self.news.set()
