"""What the newest events of a log tell of the bots that wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from earwitness.monitor.cli.bot_checks import Newest, findings
from earwitness.monitor.contract import events as ev

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


def events(call_id: str, *numbers: int, agent: str = "clinic", ended: bool = True) -> list[Any]:
    """Events of a call with these numbers, a second apart from noon on; the last one ends it."""
    found: list[Any] = []
    for seq in numbers:
        common: dict[str, Any] = {
            "call_id": call_id,
            "source": "bot",
            "seq": seq,
            "at_ns": seq * S,
            "wall_ns": NOON_NS + seq * S,
        }
        if seq == numbers[0] == 0:
            found.append(ev.CallStarted(**common, agent=agent))
        elif ended and seq == numbers[-1]:
            found.append(ev.CallEnded(**common, cause="caller"))
        else:
            found.append(ev.Connected(**common))
    return found


def health(call_id: str, seq: int, **fields: Any) -> ev.Health:
    return ev.Health(call_id=call_id, source="bot", seq=seq, at_ns=seq * S, wall_ns=NOON_NS + seq * S, **fields)


def seen(made: Sequence[Any], at_s: float = 600) -> dict[str, tuple[str, str]]:
    newest = Newest((event, event.wall_ns) for event in made)
    return {one.what: (one.level, one.says) for one in findings(newest, NOON_NS + round(at_s * S))}


def test_a_log_where_all_is_well_says_when_each_agent_was_heard() -> None:
    found = seen([*events("c1", 0, 1, 2), *events("c2", 0, 1, agent="hotel")], at_s=12)

    assert found["bots"] == ("ok", "the newest event came 10.0 s ago (clinic 10.0 s, hotel 11.0 s)")
    assert found["losses"] == ("ok", "none among the newest 5 events")
    assert "bots' spools" not in found


def test_a_call_that_went_silent_without_an_end_is_told() -> None:
    made = [*events("c1", 0, 1, ended=False), *events("c2", 0, 1)]

    assert seen(made, at_s=100)["bots"][0] == "ok"
    level, says = seen(made, at_s=152)["bots"]
    assert level == "note"
    assert "1 call went silent without an end" in says


def test_a_gap_that_nobody_reported_is_told_from_a_drop_that_was() -> None:
    dropped = (ev.DroppedRange(first_seq=2, last_seq=4, reason="spool_full"),)
    reported = [*events("c1", 0, 1, 5, ended=False), health("c1", 6, dropped=dropped)]
    silent = events("c2", 0, 1, 9)

    assert seen(reported)["losses"] == (
        "note",
        "among the newest 4 events: 3 events reported as dropped (spool_full 3)",
    )
    assert seen(silent)["losses"] == (
        "note",
        "among the newest 3 events: 7 events missing by their numbers and reported by nobody",
    )
    assert seen(silent, at_s=20)["losses"][0] == "ok", "so near to the end it may still come"


def test_where_a_sample_begins_nothing_is_missing_and_what_came_twice_counts_once() -> None:
    middle = events("c1", 7, 8, 9)
    assert seen([*middle, *middle])["losses"][0] == "ok"
    twice = health("c1", 10, dropped=(ev.DroppedRange(first_seq=0, last_seq=4, reason="buffer_full"),))
    assert "5 events reported" in seen([*middle, twice, twice])["losses"][1]


def test_events_that_wait_on_a_bots_disk_are_told_while_its_call_goes_on() -> None:
    waiting = [*events("c1", 0, 1, ended=False), health("c1", 2, spooled_events=40)]

    assert seen(waiting, at_s=5)["bots' spools"][1].startswith("up to 40 events of one bot wait")
    assert "bots' spools" not in seen([*waiting, health("c1", 3, spooled_events=0)], at_s=5)


def test_a_log_without_events_says_so() -> None:
    assert seen([])["bots"] == ("note", "none has reported anything")
