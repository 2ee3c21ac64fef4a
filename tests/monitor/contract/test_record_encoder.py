"""The bytes of a record as workers publish it, against pydantic's: the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_values import fields_of

from earwitness.monitor.contract.record_encoder import encode_record
from earwitness.monitor.contract.records import RECORD_TYPES, Call, LineQuality, StageSample, Turn
from earwitness.monitor.contract.wire import decode_record, encode

NAMES = [model.__name__ for model in RECORD_TYPES]
NOW: dict[str, Any] = {"call_id": "c", "id": "x1", "event_wall_ns": 5, "agent": "clinic"}


def same(written: bytes) -> bytes:
    """1e+16 is 1e16."""
    return written.replace(b"e+", b"e")


@pytest.mark.parametrize("model", RECORD_TYPES, ids=NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_written_is_what_pydantic_writes(model: type[Any], data: st.DataObject) -> None:
    record = model(**data.draw(fields_of(model)))

    assert same(encode_record(record)) == same(encode(record))


def test_a_number_that_json_does_not_have_is_null() -> None:
    sample = StageSample(**NOW, service="llm", metric="ttfb", value_ns=None)
    line = LineQuality(reports=1, loss_ratio_mean=math.nan, loss_ratio_worst=math.inf)

    assert b'"value_ns":null' in encode_record(sample)
    assert b'"loss_ratio_mean":null,"loss_ratio_worst":null' in encode_record(Call(**NOW, started_wall_ns=0, line=line))


def test_what_only_pydantic_takes_is_written_by_it() -> None:
    turn = Turn(**NOW, u_on_ns=1 << 70, u_off_ns=None)

    assert encode_record(turn) == encode(turn)
    assert decode_record(encode_record(turn)) == turn


def test_the_words_of_a_record_are_written_as_they_are() -> None:
    turn = Turn(**NOW, u_on_ns=1, u_off_ns=2, text='\x00\x1f\x7f "quoted" \\ </script> \u2028 caf\u00e9 \U0001f4de')

    assert encode_record(turn) == encode(turn)
    assert decode_record(encode_record(turn)) == turn
