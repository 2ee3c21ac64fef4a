"""Alerts at work: evaluates, keeps, and hands over, in that order, so that a crash repeats a message and loses none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from earwitness.alerts.delivery import Delivery as Deliverer
from earwitness.alerts.delivery import Sleep
from earwitness.alerts.evaluator import Alert, Delivery, Evaluator
from earwitness.alerts.notification import Notice
from earwitness.alerts.rules import Rule
from earwitness.alerts.sinks.protocol import Sink
from earwitness.alerts.store import AlertStore
from earwitness.monitor.log.protocol import Log, LogError
from earwitness.monitor.measures.reading import Readings


class AlertRunner:
    """Rules over a log's readings. Call `start` once, `tick` as often as liked, `close` at the end."""

    def __init__(
        self,
        log: Log,
        rules: Sequence[Rule],
        sinks: Sequence[Sink],
        *,
        every_s: float = 10.0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._store = AlertStore(log)
        self._rules = tuple(rules)
        self._every_ns = round(every_s * 1e9)
        self._evaluator = Evaluator(self._rules, step_ns=self._every_ns)
        self._delivery = Deliverer(sinks, self._told, sleep=sleep)
        self._last_ns: int | None = None
        self._unsaved: dict[str, Alert] = {}
        self._forgotten: set[str] = set()
        self._saving = asyncio.Lock()
        self._noting: asyncio.Task[None] | None = None
        self.unkept = 0
        """How often the log did not take what was found; it is written with the next."""

    @property
    def alerts(self) -> list[Alert]:
        """All that is not quiet, and what was resolved of late."""
        return self._evaluator.alerts

    @property
    def delivery(self) -> Deliverer:
        """For its counts."""
        return self._delivery

    async def start(self) -> None:
        """Take up what the last process left, its undelivered messages too. Raises LogError."""
        kept = await self._store.load()
        self._evaluator = Evaluator(self._rules, kept.alerts.values(), step_ns=self._every_ns)
        self._delivery.start()

    async def tick(self, readings: Readings, as_of_ns: int) -> bool:
        """Evaluate if the time has come; whether it had."""
        if self._last_ns is not None and 0 <= as_of_ns - self._last_ns < self._every_ns:
            return False
        self._last_ns = as_of_ns
        result = self._evaluator.evaluate(readings, as_of_ns)
        for alert in result.changed:
            self._unsaved[alert.fingerprint] = alert
        for notice in result.notices:
            self._post(notice, as_of_ns)
        self._forgotten |= set(result.forgotten)
        await self._save()
        await self._hand_over(as_of_ns)
        return True

    async def close(self, *, within_s: float = 3.0) -> None:
        """Deliver and keep what a bounded time allows."""
        await self._delivery.close(within_s=within_s)
        if self._noting is not None:
            await self._noting
        await self._save()
        await self._store.close()

    def _post(self, notice: Notice, now_ns: int) -> None:
        """Put a notice into its alert's outbox. The end of a firing that a silence kept back is told to nobody."""
        alert = self._alert(notice.fingerprint)
        if alert is None:
            return
        outbox, sinks = alert.outbox, set(self._delivery.sinks_for(notice))
        if notice.status == "resolved" and self._store.kept.is_silenced(notice.fingerprint, now_ns):
            held = {s for d in outbox for s in d.sinks if not self._delivery.is_waiting(d.notice, s)}
            outbox = tuple(d for d in (_without(d, held) for d in outbox) if d.sinks)
            sinks -= held
        if sinks:
            outbox = (*outbox, Delivery(notice=notice, sinks=tuple(sorted(sinks))))
        self._keep(alert.model_copy(update={"outbox": outbox}))

    async def _hand_over(self, now_ns: int) -> None:
        try:
            silences = await self._store.refresh()
        except LogError:
            silences = self._store.kept
        for alert in self._evaluator.alerts:
            silenced = silences.is_silenced(alert.fingerprint, now_ns)
            for item in alert.outbox:
                for sink in item.sinks:
                    if not self._delivery.knows(sink):
                        self._delivered(item.notice, sink, True)  # it was taken out of the settings
                    elif not (silenced and item.notice.status == "firing"):
                        self._delivery.put(item.notice, sink)

    def _told(self, notice: Notice, sink: str, has_it: bool) -> None:
        """Note at once what was delivered: what a crash finds still in the outbox is told twice."""
        self._delivered(notice, sink, has_it)
        if self._noting is None or self._noting.done():
            self._noting = asyncio.create_task(self._save(), name="alerts noted as told")

    def _delivered(self, notice: Notice, sink: str, has_it: bool) -> None:
        alert = self._alert(notice.fingerprint)
        if alert is None:
            return
        left = tuple(
            item
            if (item.notice.status, item.notice.since_ns) != (notice.status, notice.since_ns)
            else _without(item, {sink})
            for item in alert.outbox
        )
        lost = tuple(name for name in alert.undelivered if name != sink) + (() if has_it else (sink,))
        left = tuple(item for item in left if item.sinks)
        self._keep(alert.model_copy(update={"outbox": left, "undelivered": lost}))

    def _alert(self, fingerprint: str) -> Alert | None:
        return next((alert for alert in self._evaluator.alerts if alert.fingerprint == fingerprint), None)

    def _keep(self, alert: Alert) -> None:
        self._evaluator.keep(alert)
        self._unsaved[alert.fingerprint] = alert

    async def _save(self) -> None:
        async with self._saving:  # one after the other, so that the log's last word is the latest
            while (self._unsaved or self._forgotten) and await self._save_once():
                pass

    async def _save_once(self) -> bool:
        alerts, forgotten = dict(self._unsaved), set(self._forgotten)
        try:
            await self._store.save([a for mark, a in alerts.items() if mark not in forgotten], forgotten)
        except LogError as error:
            self.unkept += 1
            structlog.get_logger("earwitness.alerts").warning("alerts not kept yet", why=str(error))
            return False
        self._unsaved = {mark: a for mark, a in self._unsaved.items() if alerts.get(mark) != a}
        self._forgotten -= forgotten
        return True


def _without(item: Delivery, sinks: set[str]) -> Delivery:
    return item.model_copy(update={"sinks": tuple(sink for sink in item.sinks if sink not in sinks)})
