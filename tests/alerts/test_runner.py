from __future__ import annotations

import asyncio

import pytest
from reading_shelf import START_NS, Shelf

from earwitness.alerts.notification import Notice
from earwitness.alerts.rules import parse_rules
from earwitness.alerts.runner import AlertRunner
from earwitness.alerts.sinks.protocol import SinkFailed
from earwitness.alerts.store import AlertStore, Silence
from earwitness.alerts.targets import find_target
from earwitness.monitor.log.memory import MemoryLog
from earwitness.monitor.log.protocol import LogUnavailable, Outgoing
from earwitness.monitor.measures.reading import Labels

RULES = parse_rules(
    "rules:\n  - {name: slow, measure: response_latency.p95, window: 1m, above: 1.5s, min_n: 20, severity: page}\n",
    find_target,
)
CLINIC: Labels = (("agent", "clinic"),)
S = 1_000_000_000


class Inbox:
    """A sink in memory that fails as often as told."""

    def __init__(
        self,
        name: str = "inbox",
        failures: int = 0,
        *,
        again: bool = True,
        severity: str = "page",
        give_up_after_s: float = 100.0,
    ) -> None:
        self.name = name
        self.give_up_after_s = give_up_after_s
        self.got: list[Notice] = []
        self.failures = failures
        self.again = again
        self.severity = severity
        self.gate = asyncio.Event()
        self.gate.set()

    def wants(self, notice: Notice) -> bool:
        return notice.severity == self.severity

    async def send(self, notice: Notice) -> None:
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise SinkFailed("no", again=self.again)
        self.got.append(notice)

    async def close(self) -> None:
        return None

    @property
    def statuses(self) -> list[str]:
        return [notice.status for notice in self.got]


class Waits:
    """Stands in for sleep: notes how long, and goes on at once."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


async def started(log: MemoryLog, *sinks: Inbox, waits: Waits | None = None) -> AlertRunner:
    runner = AlertRunner(log, RULES, sinks, sleep=waits or Waits())
    await runner.start()
    return runner


async def test_an_alert_is_told_once_when_it_opens_and_once_when_it_ends(shelf: Shelf) -> None:
    inbox = Inbox()
    runner = await started(MemoryLog(), inbox)
    for second, value_s in enumerate([1.9, 1.9, 1.9, 1.0, 1.0]):
        shelf.p95(value_s, 40, CLINIC)
        await runner.tick(shelf, START_NS + second * 10 * S)
    await runner.close()

    assert inbox.statuses == ["firing", "resolved"]


async def test_a_tick_between_two_evaluations_does_nothing(shelf: Shelf) -> None:
    runner = await started(MemoryLog())

    assert await runner.tick(shelf, START_NS)
    assert not await runner.tick(shelf, START_NS + 9 * S)
    assert await runner.tick(shelf, START_NS + 10 * S)
    await runner.close()


async def test_a_restart_tells_nothing_twice(shelf: Shelf) -> None:
    log, first, second = MemoryLog(), Inbox(), Inbox()
    shelf.p95(1.9, 40, CLINIC)
    runner = await started(log, first)
    await runner.tick(shelf, START_NS)
    await runner.close()

    again = await started(log, second)
    await again.tick(shelf, START_NS + 10 * S)
    shelf.p95(1.0, 40, CLINIC)
    await again.tick(shelf, START_NS + 20 * S)
    await again.close()

    assert (first.statuses, second.statuses) == (["firing"], ["resolved"])
    assert second.got[0].since_ns == first.got[0].since_ns


async def test_what_was_not_delivered_before_a_crash_is_delivered_after_it(shelf: Shelf) -> None:
    log, stuck, free = MemoryLog(), Inbox(), Inbox()
    stuck.gate.clear()
    shelf.p95(1.9, 40, CLINIC)
    runner = await started(log, stuck)
    await runner.tick(shelf, START_NS)
    await runner.close(within_s=0)

    again = await started(log, free)
    await again.tick(shelf, START_NS + 10 * S)
    await again.close()

    assert (stuck.statuses, free.statuses) == ([], ["firing"])


async def test_a_failing_sink_is_tried_again_with_growing_waits_and_counted(shelf: Shelf) -> None:
    inbox, waits = Inbox(failures=3), Waits()
    runner = await started(MemoryLog(), inbox, waits=waits)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.close()

    assert inbox.statuses == ["firing"]
    assert waits.asked_s == [1.0, 2.0, 4.0]
    assert (runner.delivery.failures, runner.delivery.delivered) == ({"inbox": 3}, {"inbox": 1})


async def test_a_refusal_is_not_tried_again_and_giving_up_is_bounded(shelf: Shelf) -> None:
    refusing, dead = Inbox("refusing", 9, again=False), Inbox("dead", 1000, give_up_after_s=7)
    runner = await started(MemoryLog(), refusing, dead)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.close()

    assert runner.delivery.given_up == {"refusing": 1, "dead": 1}
    assert runner.delivery.failures == {"refusing": 1, "dead": 4}
    assert sorted(runner.alerts[0].undelivered) == ["dead", "refusing"]


async def test_a_slow_sink_delays_neither_evaluation_nor_the_others(shelf: Shelf) -> None:
    slow, quick = Inbox("slow"), Inbox("quick")
    slow.gate.clear()
    runner = await started(MemoryLog(), slow, quick)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    shelf.p95(1.0, 40, CLINIC)
    await runner.tick(shelf, START_NS + 10 * S)
    for _ in range(20):
        await asyncio.sleep(0)

    assert (slow.statuses, quick.statuses) == ([], ["firing", "resolved"])
    assert runner.delivery.waiting == {"slow": 2, "quick": 0}
    slow.gate.set()
    await runner.close()
    assert slow.statuses == ["firing", "resolved"]


async def test_each_sink_is_waited_for_as_long_as_is_set_for_it(shelf: Shelf) -> None:
    brief, patient = Inbox("brief", 4, give_up_after_s=2), Inbox("patient", 4, give_up_after_s=60)
    runner = await started(MemoryLog(), brief, patient)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.close()

    assert runner.delivery.given_up == {"brief": 1, "patient": 0}
    assert (brief.statuses, patient.statuses) == ([], ["firing"])


async def test_a_sink_gets_only_the_severities_that_it_wants(shelf: Shelf) -> None:
    tickets = Inbox(severity="ticket")
    runner = await started(MemoryLog(), tickets)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.close()

    assert tickets.got == []


async def test_a_log_that_is_away_delays_no_message(shelf: Shelf) -> None:
    log, inbox = MemoryLog(), Inbox()
    runner = await started(log, inbox)
    shelf.p95(1.9, 40, CLINIC)
    log.fault = LogUnavailable("away")
    await runner.tick(shelf, START_NS)
    log.fault = None
    await runner.tick(shelf, START_NS + 10 * S)
    await runner.close()

    assert inbox.statuses == ["firing"]
    assert runner.unkept == 1
    assert len((await AlertStore(log).load()).alerts) == 1


async def test_a_silenced_alert_is_told_when_the_silence_ends_and_it_still_fires(shelf: Shelf) -> None:
    log, inbox = MemoryLog(), Inbox()
    runner = await started(log, inbox)
    await AlertStore(log).silence(Silence(prefix="", until_ns=START_NS + 15 * S))
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.tick(shelf, START_NS + 10 * S)
    await runner.delivery.drain()
    assert inbox.got == []

    await runner.tick(shelf, START_NS + 20 * S)
    await runner.close()
    assert inbox.statuses == ["firing"]


async def test_a_silenced_alert_that_ends_meanwhile_is_never_told(shelf: Shelf) -> None:
    log, inbox = MemoryLog(), Inbox()
    runner = await started(log, inbox)
    await AlertStore(log).silence(Silence(prefix="", until_ns=START_NS + 90 * S))
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    shelf.p95(1.0, 40, CLINIC)
    await runner.tick(shelf, START_NS + 10 * S)
    await runner.tick(shelf, START_NS + 100 * S)
    await runner.close()

    assert inbox.got == []


async def test_the_end_of_an_alert_that_was_told_is_told_through_a_silence(shelf: Shelf) -> None:
    log, inbox = MemoryLog(), Inbox()
    runner = await started(log, inbox)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    await runner.delivery.drain()
    await AlertStore(log).silence(Silence(prefix="", until_ns=START_NS + 90 * S))
    shelf.p95(1.0, 40, CLINIC)
    await runner.tick(shelf, START_NS + 10 * S)
    await runner.close()

    assert inbox.statuses == ["firing", "resolved"]


async def test_a_sink_that_left_the_settings_holds_nothing_up(shelf: Shelf) -> None:
    log, old = MemoryLog(), Inbox("old")
    old.gate.clear()
    shelf.p95(1.9, 40, CLINIC)
    runner = await started(log, old)
    await runner.tick(shelf, START_NS)
    await runner.close(within_s=0)

    again = await started(log)
    await again.tick(shelf, START_NS + 10 * S)
    assert [alert.outbox for alert in again.alerts] == [()]
    await again.close()


async def test_an_unreadable_record_is_counted_and_stops_nothing() -> None:
    log = MemoryLog()
    await log.append("earwitness.alerts", [Outgoing("abc", b"{"), Outgoing("silence:x", b"[]"), Outgoing("d", b"{}")])
    store = AlertStore(log)

    assert (await store.load()).alerts == {}
    assert store.unreadable == 3


async def test_what_is_forgotten_leaves_the_log(shelf: Shelf) -> None:
    log = MemoryLog()
    runner = await started(log)
    shelf.p95(1.9, 40, CLINIC)
    await runner.tick(shelf, START_NS)
    shelf.p95(1.0, 40, CLINIC)
    await runner.tick(shelf, START_NS + 10 * S)
    assert len((await AlertStore(log).load()).alerts) == 1
    await runner.tick(shelf, START_NS + 3700 * S)
    await runner.close()

    store = AlertStore(log)
    assert (await store.load()).alerts == {}
    assert store.unreadable == 0


async def test_what_was_delivered_is_not_told_again_after_a_crash_before_the_next_evaluation(shelf: Shelf) -> None:
    log, first, second = MemoryLog(), Inbox(), Inbox()
    shelf.p95(1.9, 40, CLINIC)
    crashed = await started(log, first)
    await crashed.tick(shelf, START_NS)
    await crashed.delivery.drain()
    for _ in range(10):
        await asyncio.sleep(0)

    again = await started(log, second)
    await again.tick(shelf, START_NS + 10 * S)
    await again.close()

    assert (first.statuses, second.statuses) == (["firing"], [])
    await crashed.close()
