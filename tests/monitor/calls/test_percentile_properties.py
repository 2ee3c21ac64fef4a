"""An agent that stops answering cannot look faster: exact percentiles, and those of the windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.folded import at_once
from invented_calls.plausible import plausible_calls
from invented_calls.script import CALL_ID, WALL_NS, S

from earwitness.monitor.calls.report import quantile, report
from earwitness.monitor.contract.records import RECORD_ADAPTER, Turn
from earwitness.monitor.contract.wire import decode_record, encode
from earwitness.monitor.measures.windows import Windows

PERCENTS = (50, 90, 95, 99)
latencies = st.lists(st.integers(-3 * S // 10, 60 * S), max_size=40)
waits = st.lists(st.integers(0, 100 * S), max_size=10)


def rank(shown: tuple[float | None, float | None]) -> tuple[int, float]:
    """A percentile's place: what is only known to be more than something is above every value."""
    value, more_than = shown
    if value is None and more_than is None:
        return -1, 0.0
    return (0, value) if value is not None else (1, more_than or 0.0)


@effort(100)
@given(latencies, waits, st.integers(0, 100 * S))
def test_one_more_that_waits_in_vain_lowers_no_percentile(values: list[int], in_vain: list[int], more: int) -> None:
    for percent in PERCENTS:
        assert rank(quantile(values, [*in_vain, more], percent)) >= rank(quantile(values, in_vain, percent))


@effort(100)
@given(latencies, waits)
def test_percentiles_rise(values: list[int], in_vain: list[int]) -> None:
    ranks = [rank(quantile(values, in_vain, percent)) for percent in PERCENTS]
    assert ranks == sorted(ranks)
    for percent in PERCENTS:
        value, more_than = quantile(values, in_vain, percent)
        assert more_than is None or (value is None and more_than >= max(10.0, *(w / S for w in in_vain)) - 1e-6)


@effort(100)
@given(st.lists(st.integers(-3 * S // 10, 60 * S), min_size=1, max_size=40))
def test_where_all_were_answered_percentiles_are_numpys(values: list[int]) -> None:
    for percent in PERCENTS:
        value, _ = quantile(values, (), percent)
        assert value == pytest.approx(float(np.percentile(values, percent)) / S, abs=1e-6)


@effort(25)
@given(plausible_calls(8), st.integers(1, 4))
def test_turns_that_wait_in_vain_lower_no_percentile_of_a_call_or_window(events: list[Any], more: int) -> None:
    records = list(at_once(events).records())
    turns = [
        Turn(
            call_id=CALL_ID, id=f"more{n}", event_wall_ns=WALL_NS + S, agent="clinic", u_on_ns=0, u_off_ns=S,
            unanswered=True, waited_ns=2 * S,
        )
        for n in range(more)
    ]  # fmt: skip
    before, after = (report(r)["summary"]["response_latency"] for r in (records, [*records, *turns]))
    assert after["n"] == before["n"] + more
    windows = Windows()
    for record in records:
        windows.apply(None, record)
    seen: dict[str, Any] = {"window_s": 3_600, "as_of_ns": WALL_NS + 600 * S}
    was = windows.read("response_latency", **seen)
    for turn in turns:
        windows.apply(None, turn)
    now = windows.read("response_latency", **seen)
    assert (now.n, now.censored) == (was.n + more, was.censored + more)
    for name in ("p50", "p90", "p95", "p99"):
        shown = [(told[f"{name}_s"], told["more_than_s"].get(name)) for told in (before, after)]
        assert rank(shown[1]) >= rank(shown[0])
        read = [(told.quantiles[name].value_s, told.quantiles[name].more_than_s) for told in (was, now)]
        assert rank(read[1]) >= rank(read[0])


@effort(25)
@given(plausible_calls(8))
def test_records_keep_to_their_contract_on_the_wire_and_off_it(events: list[Any]) -> None:
    for record in at_once(events).records():
        assert RECORD_ADAPTER.validate_python(record.model_dump()) == record
        assert decode_record(encode(record)) == record
