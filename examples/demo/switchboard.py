"""Places the calls at their times and keeps what really happened in each: the truth of the demo."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from examples.demo.callers import SCENARIOS, Booking, Say, Scenario
from examples.demo.processes import Child, ChildFailed

_HANGS_AFTER_S = 70.0
DEAD_AIR_S = 3.0


@dataclass(frozen=True, slots=True)
class Edge:
    """Somebody at the far end began or ceased to be heard, on the wall clock of this machine."""

    at_s: float
    party: str
    what: str
    text: str | None


@dataclass(slots=True)
class Placed:
    """One call: what it is about, and what the far end saw of it."""

    call: str
    agent: str
    scenario: Scenario
    started_s: float | None = None
    ended_s: float | None = None
    worst_lag_s: float = 0.0
    overran: bool = False
    edges: list[Edge] = field(default_factory=list)

    def waits_s(self) -> list[float]:
        """Response latencies by the caller's own stopwatch: last sound of a line to the agent's first sound after it.

        Left out, as the definitions leave them out: backchannels, which open no turn.
        """
        waits: list[float] = []
        asked_s: float | None = None
        text: str | None = None
        for edge in sorted(self.edges, key=lambda edge: edge.at_s):
            if edge.party == "caller" and edge.what == "on":
                asked_s, text = None, edge.text
            elif edge.party == "caller":
                asked_s = edge.at_s
            elif edge.what == "on" and asked_s is not None:
                if text not in self._backchannels():
                    waits.append(edge.at_s - asked_s)
                asked_s = None
        return waits

    def dead_air_s(self) -> list[float]:
        """Stretches of ``DEAD_AIR_S`` and more in which nobody was heard on the line."""
        heard_until_s, talking, stretches = self.started_s or 0.0, 0, []
        for edge in sorted(self.edges, key=lambda edge: edge.at_s):
            if edge.what == "on":
                if not talking:
                    stretches.append(edge.at_s - heard_until_s)
                talking += 1
            else:
                talking -= 1
                heard_until_s = max(heard_until_s, edge.at_s)
        if self.ended_s is not None and not talking:
            stretches.append(self.ended_s - heard_until_s)
        return [stretch for stretch in stretches if stretch >= DEAD_AIR_S]

    def _backchannels(self) -> frozenset[str | None]:
        if self.scenario.intent.overlap not in ("FP", "TN"):
            return frozenset()
        return frozenset(s.text for s in self.scenario.steps if isinstance(s, Say) and s.into_s is not None)


class Switchboard:
    """Hands bookings to the bots when they are due. ``told`` hears of every call's beginning and end."""

    def __init__(self, bots: Mapping[str, Child], told: Callable[[Placed], None]) -> None:
        self._bots = bots
        self._told = told
        self._over = asyncio.Event()
        self.placed: dict[str, Placed] = {}
        self.bookings = 0

    @property
    def in_progress(self) -> list[Placed]:
        return [call for call in self.placed.values() if call.started_s is not None and call.ended_s is None]

    async def run(self, bookings: Sequence[Booking]) -> None:
        """Place them all and wait until the last has ended. Raises ``ChildFailed``."""
        self.bookings = len(bookings)
        async with asyncio.TaskGroup() as group:
            listeners = [group.create_task(self._listen(bot)) for bot in self._bots.values()]
            began_s = time.monotonic()
            for number, booking in enumerate(sorted(bookings, key=lambda b: b.at_s), start=1):
                await asyncio.sleep(max(0.0, began_s + booking.at_s - time.monotonic()))
                call = f"c{number:02d}"
                self.placed[call] = Placed(call, booking.agent, SCENARIOS[booking.scenario])
                self._bots[booking.agent].order(call=call, scenario=booking.scenario)
            try:
                async with asyncio.timeout(_HANGS_AFTER_S):
                    await self._over.wait()
            except TimeoutError:
                open_calls = ", ".join(call.call for call in self.placed.values() if call.ended_s is None)
                raise ChildFailed(f"calls that never ended: {open_calls}") from None
            for listener in listeners:
                listener.cancel()

    async def _listen(self, bot: Child) -> None:
        async for fact in bot.facts():
            self.take(fact)
        raise ChildFailed(f"{bot.name} ended; see {bot.log}")

    def take(self, fact: Mapping[str, Any]) -> None:
        """One fact of a bot."""
        call = self.placed.get(str(fact.get("call")))
        if call is None:
            return
        match fact.get("fact"):
            case "started":
                call.started_s = fact["wall_s"]
                self._told(call)
            case "speech":
                call.edges.append(Edge(fact["wall_s"], fact["party"], fact["what"], fact["text"]))
            case "overran":
                call.overran = True
            case "ended":
                call.ended_s, call.worst_lag_s = fact["wall_s"], fact["worst_lag_s"]
                self._told(call)
                if len(self.placed) == self.bookings and all(c.ended_s is not None for c in self.placed.values()):
                    self._over.set()
