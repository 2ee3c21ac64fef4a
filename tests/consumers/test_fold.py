"""What the fold does with clocks, its own and others'."""

from __future__ import annotations

from typing import Any

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.monitor_settings import MonitorSettings
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


def test_a_log_whose_clock_is_behind_ours_does_not_turn_time_back(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    bot = make_bot("c1").start().asks(2, answered_after_s=None)
    give(fold, bot.made[:-1])
    fold.advance(NOON_NS + 15 * S)
    assert unanswered(fold, 15) == 1

    give(fold, bot.made[-1:])

    assert unanswered(fold, 15) == 1


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


def test_the_skew_of_a_bot_is_known_from_its_first_event(make_bot: Any) -> None:
    fold = TimelineFold(MonitorSettings())
    give(fold, make_bot("c1", agent="early", wall_error_s=30).start().made[:1], at_s=0)

    assert fold.skews.by_agent() == {"early": 30.0}
