"""What the tests of the way out share: a loop whose time is virtual, a log with moods, events by number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from courier_bot import Bot
from pipecat_calls.virtual_clock import VirtualLoop

from earwitness.monitor.contract.events import EVENT_ADAPTER, Health
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import LogError, Outgoing
from earwitness.processors.sink import Outbound

Event = Callable[..., Outbound]
Run = Callable[[Coroutine[Any, Any, Any]], None]


@pytest.fixture
def run() -> Run:
    """Runs a coroutine to its end on virtual time, and fails if it takes over an hour of that."""

    def to_end(story: Coroutine[Any, Any, Any]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(3_600):
                await story

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(bounded())

    return to_end


class MoodyLog(MemoryLog):
    """A log in memory whose ``mood`` is an error to raise, ``hang`` (takes nothing, answers nothing), ``deaf`` (takes
    all, answers nothing), a number (answers after so many seconds), or None."""

    def __init__(self, mood: LogError | str | float | None = None) -> None:
        super().__init__()
        self.mood = mood
        self.tries = 0
        self.opened = 0
        self.batches: list[int] = []

    async def open(self) -> MoodyLog:
        self.opened += 1
        return self

    async def close(self) -> None:
        """Stays open: the courier opens the same log again."""

    async def append(self, topic: str, records: Sequence[Outgoing]) -> None:
        self.tries += 1
        mood = self.mood
        if isinstance(mood, LogError):
            raise mood
        if mood == "hang":
            await asyncio.Event().wait()
        if isinstance(mood, float):
            await asyncio.sleep(mood)
        await super().append(topic, records)
        self.batches.append(len(records))
        if mood == "deaf":
            await asyncio.Event().wait()

    async def values(self) -> list[bytes]:
        """Everything appended, in order."""
        reader = await self.reader("earwitness.events")
        return [entry.value or b"" for entry in await reader.poll(timeout_s=0, max_records=1_000_000)]


class Arrived:
    """What lies on a log: ``seqs`` of the bot's events in the order of their first coming, ``repeats`` how many came
    again, ``dropped`` what the writer reported as lost, as seq to reason."""

    def __init__(self, values: Sequence[bytes], call_id: str = "call") -> None:
        seen: dict[tuple[str, int], None] = {}
        self.repeats = 0
        self.dropped: dict[int, str] = {}
        self.reports: list[Health] = []
        for value in values:
            data = json.loads(value)
            if data["call_id"] != call_id:
                continue
            identity = data["source"], data["seq"]
            if identity in seen:
                self.repeats += 1
                continue
            seen[identity] = None
            if data["source"].startswith("writer"):
                report = EVENT_ADAPTER.validate_json(value)
                assert isinstance(report, Health)
                self.reports.append(report)
                for lost in report.dropped:
                    assert lost.source == "bot"
                    for seq in range(lost.first_seq, lost.last_seq + 1):
                        assert seq not in self.dropped
                        self.dropped[seq] = lost.reason
        self.seqs = [seq for source, seq in seen if source == "bot"]


@pytest.fixture
def moody() -> type[MoodyLog]:
    return MoodyLog


@pytest.fixture
def arrived() -> Callable[..., Arrived]:
    return Arrived


@pytest.fixture
def event() -> Event:
    """``event(3)``: an event of the bot with seq 3, a transcript unless told otherwise."""

    def make(
        seq: int, *, call_id: str = "call", kind: str = "transcript", size: int = 200, droppable: int = 1
    ) -> Outbound:
        at_ns = seq * 20_000_000
        fields = {"kind": kind, "call_id": call_id, "source": "bot", "seq": seq, "at_ns": at_ns, "wall_ns": at_ns + 1}
        payload = json.dumps({**fields, "pad": "x" * max(0, size - 120)}).encode()
        return Outbound(call_id, "bot", seq, kind, at_ns, at_ns + 1, payload, droppable)

    return make


@pytest.fixture
def spool_folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "spool"


@pytest.fixture
def start(moody: Any, arrived: Any, spool_folder: Path) -> Callable[..., Bot]:
    """``start(mood, ...)``: a bot whose log has this mood."""

    def starting(mood: Any = None, *, folder: Path = spool_folder, **options: Any) -> Bot:
        return Bot(moody(mood), folder, arrived=arrived, **options)

    return starting
