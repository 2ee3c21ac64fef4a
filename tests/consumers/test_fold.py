"""What the fold does with clocks, its own and others'."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.looks import LAGGING_NS, WAITING_NS
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Entry

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


def give(fold: TimelineFold, events: list[Any], *, at_s: float | None = None) -> None:
    """Events that arrived at ``at_s`` after noon, else 0.1 s after they were made."""
    for event in events:
        arrived_ns = event.wall_ns + S // 10 if at_s is None else NOON_NS + round(at_s * S)
        fold.add(Entry("earwitness.events", 0, 0, event.call_id, encode(event), arrived_ns), event)
    fold.settle()


def unanswered(fold: TimelineFold, at_s: float) -> int:
    return fold.windows.read("unanswered", window_s=300, as_of_ns=NOON_NS + round(at_s * S)).count


def test_what_a_worker_that_is_behind_left_to_wait_is_not_late(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    fold.lagging = True
    bot = make_bot("c1").start()
    for turn in range(30):
        bot.asks(6 * turn + 2)
    give(fold, bot.made)

    assert fold.windows.read("response_latency", window_s=300, as_of_ns=NOON_NS + 190 * S).n > 10
    assert fold.windows.late == 0

    give(fold, make_bot("c2").start().asks(3).ends(20).made, at_s=400)

    assert fold.windows.late > 0


def test_a_log_whose_clock_is_behind_ours_does_not_turn_time_back(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    bot = make_bot("c1").start().asks(2, answered_after_s=None)
    give(fold, bot.made[:-1])
    fold.advance(NOON_NS + 15 * S)
    assert unanswered(fold, 15) == 1

    give(fold, bot.made[-1:])

    assert unanswered(fold, 15) == 1


@pytest.mark.parametrize("ahead_until_s", [5.0, 40.0])
@pytest.mark.parametrize("ahead_s", [3_600, 86_400])
def test_a_log_whose_clock_was_ahead_and_is_set_back_lets_no_later_call_look_silent(
    make_bot: Any, ahead_s: int, ahead_until_s: float
) -> None:
    """A broker's clock was a while ahead: it was set back, or another broker leads the partition now."""
    fold, found = TimelineFold(MonitorSettings()), dict[str, list[Any]]()
    bots = [make_bot(f"c{n}", start_s=n * 9).start().asks(3).asks(12, answered_after_s=4).ends(20) for n in range(8)]
    events = sorted((e for bot in bots for e in bot.made), key=lambda e: (e.wall_ns, e.call_id, e.seq))
    for event in events:
        ahead_ns = ahead_s * S if event.wall_ns < NOON_NS + ahead_until_s * S else 0
        fold.add(Entry("earwitness.events", 0, 0, event.call_id, b"", event.wall_ns + S // 10 + ahead_ns), event)
        for change in (*fold.settle(), *fold.advance(event.wall_ns + S, most=100)):
            found.setdefault(change.new.call_id, []).append(change.new)

    assert fold.calls.stray == 0
    assert fold.clocks_ns == {0: events[-1].wall_ns + S // 10}
    for bot in bots:
        of_call = [record for record in found[bot.call_id] if record.id == "call"]
        assert {record.end_cause for record in of_call} == {None, "caller"}
        assert [record.final for record in of_call].count(True) == 1
        answered = [record for record in found[bot.call_id] if record.kind == "turn" and record.final]
        assert {(turn.turn_class, turn.answered_by is None) for turn in answered} == {("eligible", False)}


def test_what_waited_when_the_logs_clock_was_set_back_keeps_nobody_waiting(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    ahead, right = make_bot("c0").start().asks(2).made, make_bot("c1").start().asks(2).made
    for event in ahead:
        fold.add(Entry("earwitness.events", 0, 0, "c0", b"", event.wall_ns + 3_600 * S), event)
    # Never quiet between two looks: what waits, waits for its turn.
    for event in right:
        fold.add(Entry("earwitness.events", 0, 0, "c1", b"", event.wall_ns + S // 10), event)
        fold.settle()

    assert fold.held["c0"].waits_ns is None
    assert fold.held["c1"].presses_ns is None
    assert {record.id for record in fold.held["c1"].timeline.records()} >= {"t1", "a1"}


def test_judging_few_at_a_time_comes_round_to_all(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    for i in range(5):
        give(fold, make_bot(f"c{i}").start().asks(2, answered_after_s=None).made)
    seen = []
    for at_s in (15, 16, 17):
        fold.advance(NOON_NS + at_s * S, most=2)
        seen.append(unanswered(fold, 17))

    assert seen == [2, 4, 5]


def test_changes_name_the_revision_that_they_replace(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    bot = make_bot("c1").start().asks(2)
    give(fold, bot.made)
    bot.ends(9)
    fold.add(Entry("earwitness.events", 0, 0, "c1", b"", bot.made[-1].wall_ns), bot.made[-1])

    changes = fold.settle()

    assert changes
    for old, new in changes:
        assert old is None or (old.id, old.revision + 1) == (new.id, new.revision)


def test_of_a_call_that_ended_what_another_clock_puts_later_is_counted_when_its_moment_has_come(make_bot: Any) -> None:
    fold, bot = TimelineFold(MonitorSettings()), make_bot("c1").start().asks(2).ends(12)
    of_other: dict[str, Any] = {"call_id": "c1", "source": "gateway", "wall_ns": NOON_NS + 4 * S, "at_ns": 4 * S}
    begun: dict[str, Any] = {"agent": bot.made[0].agent, "owns_clock": False, "clock_offset_ns": 11 * S}
    others = [ev.CallStarted(**of_other, seq=0, **begun), ev.App(**of_other, seq=1, name="queue", value="long")]
    give(fold, sorted([*bot.made, *others], key=lambda e: e.wall_ns))

    told = [change.new for change in fold.advance(NOON_NS + 20 * S, most=100)]

    (call,) = [record for record in told if record.kind == "call"]
    assert call.events == len(bot.made) + len(others)
    assert fold.advance(NOON_NS + 60 * S, most=100) == []


def test_the_skew_of_a_bot_is_known_from_its_first_event(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    give(fold, make_bot("c1", agent="early", wall_error_s=30).start().made[:1], at_s=0)

    assert fold.skews.by_agent(NOON_NS) == {"early": 30.0}


def judged(fold: TimelineFold, event: Any) -> set[str]:
    """What one event, arriving 0.1 s after it was made, brings to light."""
    fold.add(Entry("earwitness.events", 0, 0, event.call_id, b"", event.wall_ns + S // 10), event)
    return {change.new.id for change in fold.settle()}


def test_an_answer_is_known_at_once_though_events_flow_on(make_bot: Any) -> None:
    fold, seen_ns = TimelineFold(MonitorSettings()), dict[str, int]()
    asked, others = make_bot("c1").start().asks(2).made, make_bot("c2").start()
    for n in range(60):
        others.add(ev.AgentText, 1 + n / 10, response_id="r9", spoken="word")
    for event in sorted([*asked, *others.made], key=lambda e: (e.wall_ns, e.call_id)):
        for record_id in judged(fold, event):
            seen_ns.setdefault(record_id, event.wall_ns)
    first_sound = next(e for e in asked if e.kind == "playout" and e.phase == "first")
    assert seen_ns["t1"] == first_sound.wall_ns


def test_a_fold_that_is_behind_looks_at_a_call_seldom(make_bot: Any) -> None:
    fold, looks = TimelineFold(MonitorSettings()), list[int]()
    fold.lagging = True
    bot = make_bot("c1").start()
    for turn in range(40):
        bot.asks(1 + 6 * turn)
    for event in bot.made:
        changed = judged(fold, event) or fold.advance(event.wall_ns + S // 10, most=200)
        if changed and event.kind != "call_started":
            looks.append(event.wall_ns)
    assert len(looks) > 2
    assert min(b - a for a, b in pairwise(looks)) >= LAGGING_NS


def test_what_nobody_waits_for_waits_no_longer_than_is_said(make_bot: Any) -> None:
    fold, bot = TimelineFold(MonitorSettings()), make_bot("c1").start()
    give(fold, bot.made)
    made = len(bot.made)
    for n in range(150):
        bot.add(ev.Stage, 1 + n / 10, service="llm", metric="ttfb", value_s=0.2)
    seen = [bool(judged(fold, event)) for event in bot.made[made:]]
    assert seen.index(True) == round(WAITING_NS / S * 10)


def test_all_is_judged_when_nothing_more_comes(make_bot: Any) -> None:
    fold, bot = TimelineFold(MonitorSettings()), make_bot("c1").start()
    give(fold, bot.made)
    bot.add(ev.Stage, 1, service="llm", metric="ttfb", value_s=0.2)
    assert judged(fold, bot.made[-1]) == set()
    assert len(fold.settle()) == 1
    assert fold.settle() == []
