"""A host for the relay's tests: an embedded log with events of several calls, and relays that may die at any step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.open import EMBEDDED_PARTITIONS
from earwitness.monitor.log.protocol import Entry, Log, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.log.url import SqliteUrl
from earwitness.processors.orphans import Orphans
from earwitness.processors.relay import Relay, RelayPace, relay_group
from earwitness.processors.relay_mark import RelayMark, UnderWay, mark_path
from earwitness.processors.spool import SpoolFolder

EVENTS = "earwitness.events"
TARGET = "memory:"
S = 1_000_000_000
QUICK = RelayPace(poll_s=0.02, gather_s=0.0, tick_s=0.02)


def app_event(call_id: str, seq: int, *, source: str = "bot", text: str = "x") -> Outgoing:
    """A small event of a call, numbered."""
    body = {
        "kind": "app", "call_id": call_id, "source": source, "seq": seq, "at_ns": seq * S, "wall_ns": seq * S,
        "name": "step", "value": text,
    }  # fmt: skip
    return Outgoing(call_id, json.dumps(body).encode())


class Killed(BaseException):
    """The end of a process, as far as one can play it within another."""


class Fate:
    """Counts steps and ends the story at one of them; 0: never."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise Killed


class FatedTarget(MemoryLog):
    """A log in memory that lets a relay die before, within and after an append: of a part, some partitions have it."""

    def __init__(self) -> None:
        super().__init__(topics=topic_specs("earwitness", 3))
        self.fate = Fate()

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        self.fate.step()
        keys = sorted({record.key for record in records})
        first = [record for record in records if record.key in keys[: len(keys) // 2]]
        await super().append(topic, first)
        self.fate.step()
        await super().append(topic, [record for record in records if record.key not in keys[: len(keys) // 2]])
        self.fate.step()

    async def close(self) -> None:
        """Stays open for the next relay."""

    async def entries(self) -> list[Entry]:
        reader = await self.reader(EVENTS)
        return list(await reader.poll(timeout_s=0, max_records=1_000_000))


class FatedMark(RelayMark):
    fate = Fate()

    def write(self, under_way: UnderWay) -> None:
        self.fate.step()
        super().write(under_way)
        self.fate.step()


class _FatedReader:
    def __init__(self, reader: Any, fate: Fate) -> None:
        self._reader = reader
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def commit(self, positions: Mapping[int, int]) -> Mapping[int, int]:
        self._fate.step()
        done = await self._reader.commit(positions)
        self._fate.step()
        return cast("Mapping[int, int]", done)


class _FatedSource:
    def __init__(self, source: EmbeddedLog, fate: Fate) -> None:
        self._source = source
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    async def reader(self, topic: str, **options: Any) -> Any:
        reader = await self._source.reader(topic, **options)
        return _FatedReader(reader, self._fate) if options.get("group") else reader

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        self._fate.step()
        await self._source.append(topic, records)
        self._fate.step()


class Host:
    """An embedded log, its spool folder, and one relay at a time."""

    def __init__(self, source: EmbeddedLog, target: MemoryLog, folder: Path) -> None:
        self.source = source
        self.target = target
        self.spool = SpoolFolder(folder / "spool", source.url, 10**7)
        self.relay: Relay | None = None

    @classmethod
    async def open(cls, folder: Path, target: MemoryLog) -> Host:
        url = SqliteUrl(folder / "log.db")
        return cls(await EmbeddedLog.open(url, topic_specs("earwitness", EMBEDDED_PARTITIONS)), target, folder)

    async def put(self, *events: Outgoing) -> None:
        await self.source.append(EVENTS, events)

    async def relays(
        self, *, until: Callable[[], Any] | None = None, fate: Fate | None = None, pace: RelayPace = QUICK
    ) -> bool:
        """Run a relay until all is shipped (or ``until``); False where it was killed before."""
        fate = fate or Fate()
        stop = asyncio.Event()
        mark = FatedMark.take(mark_path(self.source.path, TARGET))
        mark.fate = fate
        if isinstance(self.target, FatedTarget):
            self.target.fate = fate
        orphans = Orphans([self.spool], look_every_s=0.05)
        relay = self.relay = Relay(
            cast("EmbeddedLog", _FatedSource(self.source, fate)), self._open_target, target=TARGET, mark=mark,
            orphans=orphans, stop=stop, pace=pace,
        )  # fmt: skip
        running = asyncio.create_task(relay.run())
        try:
            async with asyncio.timeout(30):
                while not running.done() and not await self._done(until):  # noqa: ASYNC110 - another's file is watched
                    await asyncio.sleep(0.005)
            stop.set()
            await running
        except Killed:
            return False
        finally:
            stop.set()
            await asyncio.wait([running])
            mark.close()
        return True

    async def _open_target(self) -> Log:
        opening = getattr(self.target, "open", None)
        return cast("Log", await opening() if opening is not None else self.target)

    async def _done(self, until: Callable[[], Any] | None) -> bool:
        if until is not None:
            found = until()
            return bool(await found if asyncio.iscoroutine(found) else found)
        committed = await self.source.committed(relay_group(TARGET), EVENTS)
        ends = await self.source.end_positions(EVENTS)
        waiting = list((self.spool._folder).glob("*.spool"))
        return not waiting and all(committed.get(partition, 0) >= end for partition, end in ends.items())


def seqs(entries: Sequence[Entry], call_id: str, source: str = "bot") -> list[int]:
    """The numbers of a call's events in the order in which they lie on a log."""
    bodies = [json.loads(entry.value or b"") for entry in entries if entry.key == call_id]
    return [body["seq"] for body in bodies if body["source"] == source]
