"""Calls as a bot would report them, on a log in memory whose clock the test owns."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import Outgoing

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S
"""A full hour of wall time at which the test's clock begins."""
EVENTS, RECORDS, DEAD = "earwitness.events", "earwitness.records", "earwitness.dead"


class Clock:
    """Wall time that moves when told."""

    def __init__(self) -> None:
        self.now_ns = NOON_NS

    def __call__(self) -> int:
        return self.now_ns

    def set(self, seconds: float) -> None:
        """So many seconds after noon; never back."""
        self.now_ns = max(self.now_ns, NOON_NS + round(seconds * S))


@dataclass
class Bot:
    """The events of one call that began at ``start_s`` after noon, in the order in which it reports them."""

    call_id: str
    start_s: float = 0.0
    agent: str = "clinic"
    version: str | None = "42"
    labels: dict[str, str] = field(default_factory=dict)
    wall_error_s: float = 0.0
    made: list[Any] = field(default_factory=list)

    def add(self, kind: type[Any], at_s: float, **fields: Any) -> None:
        self.made.append(
            kind(
                call_id=self.call_id,
                source="bot",
                seq=len(self.made),
                at_ns=round(at_s * S),
                wall_ns=NOON_NS + round((self.start_s + self.wall_error_s + at_s) * S),
                **fields,
            )
        )

    def start(self) -> Bot:
        edges: dict[str, Any] = {"caller_edges": ("vad",), "agent_edges": ("playout",)}
        common = {"agent": self.agent, "version": self.version, "labels": self.labels, "mode": "cascade"}
        self.add(ev.CallStarted, 0, recogniser=True, **common, **edges)
        self.add(ev.Connected, 0)
        return self

    def asks(self, at_s: float, *, answered_after_s: float | None = 0.8, for_s: float = 2.0) -> Bot:
        """The caller speaks from ``at_s`` for 1 s; the agent answers, or never does."""
        run, end_s = f"r{len(self.made)}", at_s + 1
        self.add(ev.SpeechStarted, at_s + 0.2, party="caller", evidence="vad", edge_ns=round(at_s * S))
        self.add(ev.SpeechEnded, end_s + 0.2, party="caller", evidence="vad", edge_ns=round(end_s * S), voiced_ns=S)
        self.add(ev.Transcript, end_s + 0.25, party="caller", text="where is my parcel now", final=True)
        self.add(ev.TurnEnded, end_s + 0.3)
        self.add(ev.Response, end_s + 0.31, response_id=run, phase="requested", why="user_turn", cause_turn=1)
        if answered_after_s is None:
            return self
        on_s = end_s + answered_after_s
        self.add(ev.Response, on_s - 0.2, response_id=run, phase="first_token")
        self.add(ev.Response, on_s - 0.1, response_id=run, phase="first_audio")
        self.add(ev.Playout, on_s, phase="first", edge_ns=round(on_s * S), response_id=run)
        off_s = on_s + for_s
        self.add(ev.Playout, off_s, phase="last", edge_ns=round(off_s * S), response_id=run, truncated=False)
        return self

    def ends(self, at_s: float, cause: str = "caller") -> Bot:
        self.add(ev.CallEnded, at_s, cause=cause, terminal="end")
        return self


@dataclass
class Site:
    """A log in memory, its clock, and what bots do to it."""

    log: MemoryLog
    clock: Clock

    async def report(self, bots: Sequence[Bot], *, delay_s: float = 0.1) -> None:
        """Append all events of these calls, in the order of their time, each when it happened."""
        events = sorted((event for bot in bots for event in bot.made), key=lambda e: (e.wall_ns, e.call_id, e.seq))
        starts = {bot.call_id: bot.start_s for bot in bots}
        for event in events:
            self.clock.set(starts[event.call_id] + event.at_ns / S + delay_s)
            await self.send(event)

    async def send(self, *events: Any) -> None:
        await self.log.append(EVENTS, [Outgoing(event.call_id, encode(event)) for event in events])

    async def send_bytes(self, *payloads: bytes, key: str = "k") -> None:
        await self.log.append(EVENTS, [Outgoing(key, payload) for payload in payloads])

    async def all(self, topic: str) -> list[Any]:
        reader = await self.log.reader(topic)
        found: list[Any] = []
        while batch := await reader.poll(timeout_s=0):
            found += batch
        await reader.close()
        return found


def some_calls(count: int = 12, *, seed: int = 3) -> list[Bot]:
    """Calls of two agents within ten minutes, some turns of which are never answered."""
    draw = random.Random(seed)
    bots: list[Bot] = []
    for i in range(count):
        bot = Bot(f"c{i}", start_s=draw.uniform(0, 500), agent=draw.choice(["clinic", "hotel"])).start()
        at_s = 2.0
        for _ in range(draw.randint(1, 4)):
            answered = None if draw.random() < 0.2 else round(draw.uniform(0.5, 2.0), 3)
            bot.asks(at_s, answered_after_s=answered)
            at_s += 14 if answered is None else 8
        bots.append(bot.ends(at_s + 1))
    return bots


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def site(clock: Clock) -> AsyncIterator[Site]:
    log = MemoryLog(partitions=3, clock_ns=clock)
    yield Site(log, clock)
    await log.close()


@pytest.fixture
def make_bot() -> type[Bot]:
    return Bot


@pytest.fixture
def calls() -> list[Bot]:
    return some_calls()


@pytest.fixture(name="some_calls")
def make_some_calls() -> Callable[..., list[Bot]]:
    return some_calls
