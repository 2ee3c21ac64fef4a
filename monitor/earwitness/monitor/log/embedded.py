"""The embedded log: one SQLite file that several processes of a machine share. Nothing to install, nothing to run.

All work with the file happens in one thread of the log's own, so the event loop never waits for a disk or a lock.
News from other processes are noticed by ``PRAGMA data_version``, asked every few milliseconds while somebody waits;
what this log appends is noticed at once.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from earwitness.monitor.log import embedded_groups as groups
from earwitness.monitor.log import embedded_records as stored
from earwitness.monitor.log.embedded_file import Kept, LogFile
from earwitness.monitor.log.embedded_reader import EmbeddedReader
from earwitness.monitor.log.limits import check_sizes
from earwitness.monitor.log.protocol import LogRefused, Outgoing, TopicInfo, TopicSpec
from earwitness.monitor.log.topics import DEFAULT_PREFIX
from earwitness.monitor.log.url import SqliteUrl

T = TypeVar("T")
_CLOSE_WITHIN_S = 4.5
_FORGET_EVERY_NS = 1_000_000_000
_FORGET_EVERY_RECORDS = 2_000


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """``keep_s`` and ``keep_bytes``: what is kept, whichever bound comes first; None: what the file remembers, else 8
    days and 4 GiB. ``remember_kept``: have the file remember those given, for all who open it without. ``session_s``:
    how long a silent member of a group keeps its partitions. ``synchronous``: see `embedded_file`."""

    keep_s: float | None = None
    keep_bytes: int | None = None
    remember_kept: bool = False
    busy_timeout_s: float = 5.0
    session_s: float = 10.0
    heartbeat_s: float = 1.0
    look_every_s: float = 0.03
    synchronous: Literal["normal", "full"] = "normal"


class EmbeddedLog:
    """A `Log` in a SQLite file; made by `open`, which makes the topics that are asked for."""

    def __init__(
        self,
        url: SqliteUrl,
        *,
        prefix: str = DEFAULT_PREFIX,
        settings: EmbeddedSettings | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.settings = settings or EmbeddedSettings()
        self.monotonic_ns = monotonic_ns
        self.readers: set[EmbeddedReader] = set()
        self.news_count = 0
        self._url = url
        self._prefix = prefix
        self._clock_ns = clock_ns
        self._topics: Sequence[TopicSpec] = ()
        self._kept = Kept(self.settings.keep_s, self.settings.keep_bytes)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="earwitness-log")
        self._file: LogFile | None = None
        self._forgot_ns = 0
        self._appended = 0
        self._waiting = 0
        self._news = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: SqliteUrl,
        topics: Sequence[TopicSpec] = (),
        *,
        prefix: str = DEFAULT_PREFIX,
        settings: EmbeddedSettings | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> EmbeddedLog:
        """Open the file, making it and these topics where they are missing. Raises LogError."""
        log = cls(url, prefix=prefix, settings=settings, clock_ns=clock_ns, monotonic_ns=monotonic_ns)
        log._topics = topics
        try:
            await log.work(lambda _: None)
        except BaseException:
            await log.close()
            raise
        return log

    @property
    def url(self) -> str:
        return str(self._url)

    @property
    def path(self) -> Path:
        return self._url.path

    @property
    def prefix(self) -> str:
        return self._prefix

    async def work(self, task: Callable[[LogFile], T]) -> T:
        """Do something with the file in the log's own thread. Raises LogError."""
        if self._closed:
            raise LogRefused(f"embedded log {self.path}: closed, open it again")
        return await self._in_thread(partial(self._do, task))

    async def _in_thread(self, task: Callable[[], T]) -> T:
        try:
            doing = self._thread.submit(task)
        except RuntimeError:
            # The interpreter ends and starts no thread any more (3.12.0 and 3.12.1 already before they flush): with no
            # thread there is none to share the file with, and nobody that would have to wait for this loop.
            return task()
        return await asyncio.wrap_future(doing)

    def _do(self, task: Callable[[LogFile], T]) -> T:
        file = self._file
        if file is not None and not file.is_in_place():
            # Removed or replaced under us: begin anew rather than write where nobody reads.
            file.close()
            file = self._file = None
        if file is None:
            full_sync = self.settings.synchronous == "full"
            file = LogFile(self.path, busy_timeout_s=self.settings.busy_timeout_s, full_sync=full_sync)
            self._file = file
            with file.errors():
                if missing := [spec for spec in self._topics if spec.name not in file.topics()]:
                    file.create_topics(missing)
                if self.settings.remember_kept:
                    file.remember(self._kept)
        with file.errors():
            return task(file)

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        check_sizes(records, topic, f"embedded log {self.path}")
        await self.work(partial(self._append, topic, records))
        self._tell()

    def _append(self, topic: str, records: Sequence[Outgoing], file: LogFile) -> None:
        row = file.topic(topic)
        if not records:
            return
        now_ns = self._clock_ns()
        stored.append(file, row, records, now_ns)
        self._appended += len(records)
        if self._appended >= _FORGET_EVERY_RECORDS or not 0 <= now_ns - self._forgot_ns < _FORGET_EVERY_NS:
            limit = 500 + 2 * self._appended
            self._forgot_ns, self._appended = now_ns, 0
            # The records are safe; that the old ones stay a little longer is no failure of this append.
            with suppress(sqlite3.Error):
                # Asked each time: the monitor may be given another bound while a bot runs.
                keep_s, keep_bytes = file.kept(self._kept)
                stored.forget(file, now_ns, keep_ns=int(keep_s * 1e9), keep_bytes=keep_bytes, limit=limit)

    def _tell(self) -> None:
        self.news_count += 1
        self._news.set()
        self._news = asyncio.Event()

    async def wait_for_news(self, seen: int, patience_s: float) -> None:
        """Return when there may be news since ``news_count`` was ``seen``, or after ``patience_s``."""
        if self.news_count != seen:
            return
        self._waiting += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look_for_news(), name="earwitness-log-news")
        try:
            await asyncio.wait_for(self._news.wait(), patience_s)
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    async def _look_for_news(self) -> None:
        while self._waiting and not self._closed:
            if self._file is None or self._file.has_news():
                self._tell()
            await asyncio.sleep(self.settings.look_every_s)

    async def reader(
        self,
        topic: str,
        *,
        group: str | None = None,
        start: Mapping[int, int] | str = "earliest",
        member: str | None = None,
    ) -> EmbeddedReader:
        """As the protocol has it. ``member``: a name of one's own in the group, for who sees to it that nobody else
        bears it: it takes up at once what an earlier bearer, killed, still owns."""
        reader = EmbeddedReader(self, topic, group, start, member)
        await reader.join()
        self.readers.add(reader)
        return reader

    async def positions_by_time(self, topic: str, append_ns: int) -> dict[int, int]:
        return await self.work(lambda file: stored.positions_by_time(file, file.topic(topic), append_ns))

    async def end_positions(self, topic: str) -> dict[int, int]:
        return await self.work(lambda file: stored.ends_of(file, file.topic(topic)))

    async def start_positions(self, topic: str) -> dict[int, int]:
        return await self.work(lambda file: stored.starts_of(file, file.topic(topic)))

    async def committed(self, group: str, topic: str) -> dict[int, int]:
        return await self.work(lambda file: groups.committed(file, group, file.topic(topic).name))

    async def groups(self, topic: str) -> list[str]:
        """The groups that have committed something of a topic."""
        return await self.work(lambda file: groups.names(file, file.topic(topic).name))

    async def topics(self) -> dict[str, TopicInfo]:
        rows, (keep_s, _) = await self.work(lambda file: (file.topics(), file.kept(self._kept)))
        kept_ms = int(keep_s * 1000)
        return {
            row.name: TopicInfo(
                row.name,
                len(row.partition_ids),
                row.compacted,
                True,
                None if row.compacted else kept_ms if row.retention_ms is None else row.retention_ms,
            )
            for row in rows.values()
        }

    async def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        return await self.work(lambda file: file.create_topics(list(specs)))

    async def close(self) -> None:
        if self._closed:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WITHIN_S / 2):
                for reader in list(self.readers):
                    await reader.close()
        self._closed = True
        self._tell()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        file = self._file
        if file is not None:
            closing = asyncio.ensure_future(self._in_thread(file.close))
            done, _ = await asyncio.wait([closing], timeout=_CLOSE_WITHIN_S / 4)
            if not done:
                file.interrupt()
                await asyncio.wait([closing], timeout=_CLOSE_WITHIN_S / 4)
        self._thread.shutdown(wait=False)
