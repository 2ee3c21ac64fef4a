"""Earwitness's own eyes on the demo's log: the live view, news of alerts, and in the end what was measured."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from types import TracebackType

from examples.demo.summary import PERCENTILES, Counts, Figures
from rich.text import Text

from earwitness.alerts.message import text
from earwitness.alerts.store import AlertStore
from earwitness.consumers.timeline import LogFold
from earwitness.monitor import wording
from earwitness.monitor.cli.live import Model
from earwitness.monitor.cli.views.top_view import top_view
from earwitness.monitor.contract.records import AnyRecord, Call, DeadAir, Overlap, Turn
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.measures.reading import Reading

WINDOW_S = 300
_WHOLE_RUN_S = 1_800
_TURN_EVERY = 6


class Watch:
    """Reads the log without writing to it, as ``earwitness top`` does. Use as an async context manager."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._frames = 0
        self._told: set[tuple[str, int, str]] = set()
        self.alerts: set[tuple[str, str, str]] = set()
        """(rule, agent, status) of every notice so far."""

    async def __aenter__(self) -> Watch:
        self._log: Log = await open_log(self._url)
        self._fold = await LogFold.open(self._log, keep_calls=True)
        self._store = AlertStore(self._log)
        self._model = Model(self._fold, self._store, self._url, WINDOW_S)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._store.close()
        await self._fold.close()
        await self._log.close()

    async def refresh(self) -> list[str]:
        """Take in what has come; messages of alerts that began or ended since. Raises LogError."""
        await self._model.refresh()
        news: list[str] = []
        for alert in (await self._store.refresh()).alerts.values():
            notice = alert.notice
            if notice is None or (mark := (notice.fingerprint, notice.since_ns, notice.status)) in self._told:
                continue
            self._told.add(mark)
            self.alerts.add((notice.rule, notice.labels.get("agent", ""), notice.status))
            news += text(notice).splitlines()
        return news

    def lines(self, width: int) -> list[Text]:
        """The live view of this moment; the agent that the lower half is about changes every few seconds."""
        now_ns = time.time_ns()
        frame = self._model.frame(now_ns)
        self._frames += 1
        if self._frames % _TURN_EVERY == 0:
            self._model.move(1 if frame.selected + 1 < len(frame.rows) else -frame.selected)
        everybody = [latency_words(self._latency(now_ns)), *self._other_words(now_ns)]
        return [
            *top_view(frame, width=width, keys=False),
            *(Text(f" all   {words}", style="bold") for words in everybody),
        ]

    def ended_calls(self) -> int:
        return sum(timeline.ended for timeline in self._fold.calls.values())

    def counts(self) -> Counts:
        """What the records of all calls say."""
        return counts_of(self._records(), self.alerts)

    def figures(self) -> Figures:
        """Response latency over the whole run."""
        reading = self._latency(time.time_ns(), _WHOLE_RUN_S)
        answered = reading.answered_only.get("p50")
        return Figures(
            n=reading.n,
            eligible=reading.eligible,
            percentiles={p: wording.quantile(reading.quantiles.get(f"p{p}")) for p in PERCENTILES},
            answered_p50_s=answered.value_s if answered else None,
        )

    def call_ids(self) -> dict[str, str]:
        """For each call id its agent, in the order of their beginnings."""
        calls = [record for record in self._records() if isinstance(record, Call)]
        return {call.call_id: call.agent for call in sorted(calls, key=lambda call: call.started_wall_ns)}

    def _latency(self, now_ns: int, window_s: int = WINDOW_S) -> Reading:
        return self._fold.windows.read("response_latency", window_s=window_s, as_of_ns=now_ns)

    def _other_words(self, now_ns: int) -> list[str]:
        names = ("overlaps", "dead_air", "containment", "escalation", "calls_in_progress")
        of = {name: self._fold.windows.read(name, window_s=WINDOW_S, as_of_ns=now_ns) for name in names}
        cells = of["overlaps"].by_class
        barge_in = f"barge-ins yielded {cells.get('TP', 0)}, missed {cells.get('FN', 0)}"
        small = f"backchannels talked through {cells.get('TN', 0)}, stopped for {cells.get('FP', 0)}"
        ended = of["containment"].denominator or 0
        return [
            f"{barge_in} · {small} · dead air {of['dead_air'].n}",
            f"in progress {of['calls_in_progress'].count} · contained {of['containment'].count} of {ended} · "
            f"escalated {of['escalation'].count} · the demo's rules: minimum counts far too low",
        ]

    def _records(self) -> Iterable[AnyRecord]:
        self._fold.advance(time.time_ns())
        for timeline in self._fold.calls.values():
            yield from timeline.records()


def counts_of(records: Iterable[AnyRecord], alerts: Iterable[tuple[str, str, str]]) -> Counts:
    """Records counted as the summary counts."""
    records = list(records)
    calls = [r for r in records if isinstance(r, Call)]
    turns = [r for r in records if isinstance(r, Turn) and r.turn_class == "eligible"]
    return Counts(
        calls=len(calls),
        cells=Counter(str(r.cell or r.terminal or r.wanted) for r in records if isinstance(r, Overlap)),
        outcomes=Counter(str(call.outcome) for call in calls),
        end_causes=Counter(str(call.end_cause) for call in calls),
        dead_air=sum(isinstance(r, DeadAir) for r in records),
        answered=sum(turn.response_latency_ns is not None for turn in turns),
        unanswered=sum(turn.unanswered for turn in turns),
        alerts=frozenset(alerts),
    )


def latency_words(reading: Reading) -> str:
    """p50 to p99 with n and coverage."""
    if not reading.n:
        return "response latency: no turn measured yet"
    found = "  ".join(f"p{p} {wording.quantile(reading.quantiles.get(f'p{p}'))}" for p in PERCENTILES)
    return f"response latency ms  {found}  n {reading.n} · coverage {wording.percent(reading.coverage)}"
