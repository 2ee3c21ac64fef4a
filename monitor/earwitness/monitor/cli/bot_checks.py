"""What the newest events of a log tell of the bots that wrote them: pure rules from events to findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from earwitness.consumers.bot_health import SILENT_NS
from earwitness.monitor import wording
from earwitness.monitor.cli.checks import Finding, S
from earwitness.monitor.contract.events import AnyEvent

SETTLED_NS: Final = 30 * S
"""Events of a call may be out of order by so much: a gap nearer to the end says nothing yet."""
AGENTS_TOLD: Final = 6


@dataclass(slots=True)
class _Source:
    """Numbers of one source of one call that were seen, and those that it said will never come."""

    seen: set[int] = field(default_factory=set[int])
    dropped: set[int] = field(default_factory=set[int])

    def gaps(self) -> int:
        return max(self.seen) - min(self.seen) + 1 - len(self.seen | self._within()) if self.seen else 0

    def _within(self) -> set[int]:
        return {number for number in self.dropped if min(self.seen) < number < max(self.seen)}


@dataclass(slots=True)
class _Call:
    agent: str | None = None
    last_ns: int = 0
    """Arrival of its newest event."""
    ended: bool = False
    spooled: int = 0
    sources: dict[str, _Source] = field(default_factory=dict[str, _Source])


class Newest:
    """The newest events of a log, with their arrival, folded as far as the findings need them."""

    def __init__(self, events: Iterable[tuple[AnyEvent, int]]) -> None:
        self.clocks: list[tuple[int, int]] = []
        """Wall time and arrival of each event."""
        self.drops: Counter[str] = Counter()
        self._calls: dict[str, _Call] = {}
        for event, arrived_ns in events:
            self._add(event, arrived_ns)

    def _add(self, event: AnyEvent, arrived_ns: int) -> None:
        self.clocks.append((event.wall_ns, arrived_ns))
        call = self._calls.setdefault(event.call_id, _Call())
        call.last_ns = max(call.last_ns, arrived_ns)
        own = call.sources.setdefault(event.source, _Source())
        is_new = event.seq not in own.seen
        own.seen.add(event.seq)
        if event.kind == "call_started":
            call.agent = event.agent
        elif event.kind == "call_ended":
            call.ended = True
        elif event.kind == "health" and is_new:
            call.spooled = event.spooled_events or 0
            for gone in event.dropped:
                self.drops[gone.reason] += gone.last_seq - gone.first_seq + 1
                whose = call.sources.setdefault(gone.source or event.source, _Source())
                whose.dropped.update(range(gone.first_seq, min(gone.last_seq, gone.first_seq + 10_000) + 1))

    def silence(self, now_ns: int) -> Finding:
        """When each agent was last heard of, and calls whose bot went silent without an end."""
        if not self._calls:
            return Finding("note", "bots", "none has reported anything", "start a bot that reports")
        last: dict[str, int] = {}
        for call in self._calls.values():
            if call.agent is not None:
                last[call.agent] = max(last.get(call.agent, 0), call.last_ns)
        newest_ns = max(call.last_ns for call in self._calls.values())
        ages = sorted((now_ns - at, agent) for agent, at in last.items())
        told = [f"{wording.printable(agent, 40)} {_age(age)}" for age, agent in ages[:AGENTS_TOLD]]
        more = f", {len(ages) - AGENTS_TOLD} more" if len(ages) > AGENTS_TOLD else ""
        says = f"the newest event came {_age(now_ns - newest_ns)} ago" + (f" ({', '.join(told)}{more})" if told else "")
        silent = sum(not call.ended and now_ns - call.last_ns > SILENT_NS for call in self._calls.values())
        if silent:
            says += f"; {wording.plural(silent, 'call')} went silent without an end"
            return Finding("note", "bots", says, "did those bots die? a live call reports once a minute")
        return Finding("ok", "bots", says)

    def spool(self) -> Finding | None:
        """Events that wait on the disks of bots, as their open calls said last; None where none says so."""
        most = max((call.spooled for call in self._calls.values() if not call.ended), default=0)
        if not most:
            return None
        says = f"up to {wording.plural(most, 'event')} of one bot wait on its disk, as it said last"
        return Finding("note", "bots' spools", says, "the log was away or refuses them; run doctor on the bot's host")

    def losses(self, now_ns: int) -> Finding:
        """What was reported as dropped, and gaps in ``seq`` that nobody reported."""
        gaps = sum(
            source.gaps()
            for call in self._calls.values()
            if now_ns - call.last_ns > SETTLED_NS
            for source in call.sources.values()
        )
        parts: list[str] = []
        if self.drops:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.drops.most_common())
            parts.append(f"{wording.plural(sum(self.drops.values()), 'event')} reported as dropped ({reasons})")
        if gaps:
            parts.append(f"{wording.plural(gaps, 'event')} missing by their numbers and reported by nobody")
        seen = wording.plural(len(self.clocks), "event")
        if not parts:
            return Finding("ok", "losses", f"none among the newest {seen}")
        remedy = "`calls ID` shows which call; more room: EARWITNESS_BOT__SPOOL_BYTES, EARWITNESS_BOT__EVENTS_PER_S"
        return Finding("note", "losses", f"among the newest {seen}: {'; '.join(parts)}", remedy)


def findings(newest: Newest, now_ns: int) -> Sequence[Finding]:
    """All of them."""
    spool = newest.spool()
    return [newest.silence(now_ns), *([spool] if spool else []), newest.losses(now_ns)]


def _age(ns: int) -> str:
    return wording.short_time(max(0.0, ns / S))
