"""Where a call ended is told without a search where nothing ended it and no silence was long."""

from __future__ import annotations

from itertools import accumulate
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort

from earwitness.monitor.calls.end import end_by
from earwitness.monitor.calls.facts import Entry

SILENT_NS = 300


def entries_at(moments_ns: list[int], kind: str = "stage") -> list[Entry]:
    return [(at_ns, "bot", n, SimpleNamespace(kind=kind)) for n, at_ns in enumerate(moments_ns)]


@effort(200)
@given(st.lists(st.integers(0, SILENT_NS), max_size=8), st.booleans(), st.integers(0, 3_000))
def test_of_a_plain_call_it_is_told_as_a_search_tells_it(gaps_ns: list[int], goes_on: bool, as_of_ns: int) -> None:
    entries, last_ns = entries_at(list(accumulate(gaps_ns, initial=500))[1:]), 500 if goes_on else None

    told = end_by(entries, last_ns, as_of_ns, SILENT_NS, plain=True)

    assert told == end_by(entries, last_ns, as_of_ns, SILENT_NS, plain=False)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("moments_ns", "as_of_ns", "ended_ns"),
    [
        ([], 800, None),
        ([], 801, 500),
        ([700], 1_000, None),
        ([700], 1_001, 700),
        ([700, 900], 1_200, None),
        ([700, 900], 1_201, 900),
    ],
)
def test_a_call_ended_at_its_last_event_where_the_bound_of_silence_is_passed(
    moments_ns: list[int], plain: bool, as_of_ns: int, ended_ns: int | None
) -> None:
    assert end_by(entries_at(moments_ns), 500, as_of_ns, SILENT_NS, plain=plain) == (ended_ns, None, 0)


def test_an_event_of_after_the_moment_tells_nothing_yet() -> None:
    ended = entries_at([100, 200]) + entries_at([250], "call_ended")

    assert end_by(ended, None, 249, SILENT_NS, plain=False) == (None, None, 0)
    assert end_by(ended, None, 250, SILENT_NS, plain=False) == (250, None, 0)
