"""A call that nobody looks at loses nothing: until it is due, time alone changes no record."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from demo_calls import HOUR_NS, demo_call
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.folded import at_once, content
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, S

from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.decoder import decode_event_fast

CHANCE = st.randoms(use_true_random=False)
AS_TIME_GOES_BY = frozenset({"final"})
LAST_NS = 400 * S


def unlike(events: list[Any], as_of_ns: int, found: dict[str, Any]) -> dict[str, Any]:
    """What reads differently at a moment, apart from being final."""
    now = content(at_once(events, as_of_ns).records())
    return {
        name: (now.get(name), found.get(name))
        for name in now.keys() | found.keys()
        if _without_final(now.get(name)) != _without_final(found.get(name))
    }


def _without_final(record: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if record is None else {k: v for k, v in record.items() if k not in AS_TIME_GOES_BY}


def test_an_event_that_lies_far_ahead_keeps_no_call_from_ending_in_silence() -> None:
    """A clock that jumped: what it told of last week is to come, and nothing has come since."""
    events = [decode_event_fast(one.payload) for one in demo_call(1, HOUR_NS, 20, ended=False)]
    last: Any = events[-1]
    last_ns: int = last.at_ns
    ahead = msgspec.structs.replace(last, seq=last.seq + 1, at_ns=last_ns + 7 * 86_400 * S)
    timeline, over = CallTimeline(events[0].call_id), DEFAULT_BOUNDS.silent_call_ns
    for event in (*events, ahead):
        timeline.add(event)
    timeline.advance(last_ns + S)
    while timeline.due_ns <= last_ns + over + S:
        timeline.advance(timeline.due_ns)

    assert timeline.ended


@effort(25)
@given(plausible_calls(4), CHANCE)
def test_until_a_call_is_due_time_changes_nothing_but_what_is_final(events: list[Any], chance: random.Random) -> None:
    timeline, upto = CallTimeline(CALL_ID), chance.randrange(len(events)) + 1
    for event in events[:upto]:
        timeline.add(event)
    now = timeline.last_at_ns + chance.choice([0, S // 10, S])
    for _ in range(5):
        timeline.advance(now)
        found, due = content(timeline.records()), min(timeline.due_ns, now + LAST_NS)
        assert due > now
        for moment in {due - 1, chance.randrange(now, due), min(now + S, due - 1)}:
            assert unlike(events[:upto], moment, found) == {}
            if moment < timeline.final_due_ns:
                assert content(at_once(events[:upto], moment).records()) == found
        now = due
