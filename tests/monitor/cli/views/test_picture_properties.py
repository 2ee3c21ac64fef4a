"""Whatever a call's events are (mutilated, mixed, impossible), it has a picture and its witnesses are held together."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from invented_calls.anything import any_events
from invented_calls.effort import effort
from invented_calls.mutilated import mutilated_calls
from invented_calls.plausible import plausible_calls

from earwitness.monitor.calls.agreement import agreements, pooled, witnesses
from earwitness.monitor.calls.sides import facts_of, sides_of
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.views.picture import picture
from earwitness.monitor.cli.views.picture_rows import WIDTH
from earwitness.monitor.measures.call_sample import sample_of
from earwitness.monitor.measures.comparison import compare


def drawn(events: list[Any]) -> str:
    svg = picture(fold(events), sides_of(events))
    ET.fromstring(svg)
    assert "nan" not in re.sub(r">[^<]*<", "><", svg)
    return svg


@effort(40)
@given(plausible_calls())
def test_bars_lie_within_the_picture(events: list[Any]) -> None:
    bars = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="18"', drawn(events))

    assert all(float(x) + float(wide) <= WIDTH for x, wide in bars)


@effort(25)
@given(st.one_of(mutilated_calls(), any_events()))
def test_every_call_has_a_picture(events: list[Any]) -> None:
    one = [e for e in events if e.call_id == events[0].call_id]
    svg = drawn(one)

    assert svg == drawn(random.Random(1).sample(one, len(one)))


@effort(60)
@given(mutilated_calls())
def test_every_call_has_its_agreement_and_its_part_in_a_comparison(events: list[Any]) -> None:
    facts, end_ns = facts_of(events)
    for row in pooled([agreements(witnesses(facts, horizon_ns=end_ns))]):
        assert row["n"] == 0 or row["p90_abs_s"] <= 1
        assert min(row["only"]) >= 0

    sample = sample_of("c", fold(events))
    assert all(number.a.n >= 0 for number in compare([sample], [sample]))
