"""How the bots fare, as far as their events tell: who was last heard of when, and what their hooks say of themselves.

By agent, under the label sets' own bound. What is no longer so disappears: an agent that nobody heard of for a day, a
report of a call that is over or that is older than three minutes (D16, D17).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.held_call import HeldCall
from earwitness.monitor.contract.events import Health

S: Final = 1_000_000_000
REPORT_NS: Final = 180 * S
"""A live bot reports every 60 s; two reports may be late."""
SILENT_NS: Final = 150 * S
FORGOTTEN_NS: Final = 86_400 * S
MOST_REPORTS: Final = 20_000
"""Calls whose last report is remembered."""


@dataclass(frozen=True, slots=True)
class Report:
    """The last ``health`` event of one call's bot."""

    at_ns: int
    spooled_events: int | None
    buffer_bytes: int | None
    loop_lag_ms: float | None


@dataclass(slots=True)
class Bots:
    """How the bots fare at one moment, by agent. The worst of an agent's bots, not a sum: calls of one process share
    one way out and each tells of it."""

    last_event_age_s: dict[str, float] = field(default_factory=dict[str, float])
    silent_calls: dict[str, int] = field(default_factory=dict[str, int])
    """Open calls of which nothing was heard for 150 s; agents that have open calls and no such one stand at 0."""
    spooled_events: dict[str, int] = field(default_factory=dict[str, int])
    buffer_bytes: dict[str, int] = field(default_factory=dict[str, int])
    loop_lag_s: dict[str, float] = field(default_factory=dict[str, float])


class BotHealth:
    """Takes in ``health`` events, and reads the rest off the fold when asked."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        """Events that bots reported as dropped, by reason, since this process began."""
        self._reports: dict[str, Report] = {}
        self._counted: dict[str, set[tuple[str, int]]] = {}
        self._last_ns: dict[str, int] = {}

    def note(self, event: Health, *, again: bool = False) -> None:
        """One report. ``again``: an earlier run of this process counted what it says was dropped."""
        call_id = event.call_id
        counted = self._counted.setdefault(call_id, set())
        if (event.source, event.seq) in counted:
            return  # a duplicate
        counted.add((event.source, event.seq))
        if not again:
            for gone in event.dropped:
                self.dropped[gone.reason] += max(gone.last_seq - gone.first_seq + 1, 0)
        known = self._reports.get(call_id)
        if known is not None and known.at_ns > event.at_ns:
            return
        if known is None and len(self._reports) >= MOST_REPORTS:
            self._forget(next(iter(self._reports)))
        self._reports[call_id] = Report(event.at_ns, event.spooled_events, event.buffer_bytes, event.loop_lag_ms)

    def now(self, fold: TimelineFold, now_ns: int) -> Bots:
        """How the bots fare at a wall time, by the log's clock."""
        bots = Bots()
        for held, agent, offset_ns in _known(fold):
            last_ns = offset_ns + held.timeline.last_at_ns
            if last_ns > self._last_ns.get(agent, 0):
                self._last_ns[agent] = last_ns
            if not held.open:
                continue
            silent = now_ns - last_ns > SILENT_NS
            bots.silent_calls[agent] = bots.silent_calls.get(agent, 0) + silent
            report = self._reports.get(held.call_id)
            if report is not None and now_ns - offset_ns - report.at_ns <= REPORT_NS:
                _worst(bots.spooled_events, agent, report.spooled_events)
                _worst(bots.buffer_bytes, agent, report.buffer_bytes)
                lag_ms = report.loop_lag_ms
                _worst(bots.loop_lag_s, agent, None if lag_ms is None else lag_ms / 1000)
        self._last_ns = {agent: at for agent, at in self._last_ns.items() if now_ns - at <= FORGOTTEN_NS}
        bots.last_event_age_s = {agent: max(0, now_ns - at) / S for agent, at in self._last_ns.items()}
        return bots

    def tidy(self, fold: TimelineFold) -> None:
        """Forget the reports of calls that are no longer held."""
        for call_id in self._reports.keys() - fold.held.keys():
            self._forget(call_id)

    def _forget(self, call_id: str) -> None:
        self._reports.pop(call_id, None)
        self._counted.pop(call_id, None)


def _known(fold: TimelineFold) -> Iterator[tuple[HeldCall, str, int]]:
    """Held calls with their agent and the wall time of their own 0."""
    sets = fold.windows.label_sets
    for held in fold.held.values():
        number = held.number
        if number is not None and held.offset_ns is not None:
            yield held, dict(sets.labels_of(number))["agent"], held.offset_ns


def _worst(found: dict[str, float] | dict[str, int], agent: str, value: float | None) -> None:
    if value is not None:
        found[agent] = max(found.get(agent, 0), value)  # type: ignore[assignment]
