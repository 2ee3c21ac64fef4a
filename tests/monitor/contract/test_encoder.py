"""The bytes of an event as the bot writes them, against pydantic's: the same, or the same refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_values import fields_of
from pydantic import ValidationError

from earwitness.monitor.contract.encoder import WRITERS
from earwitness.monitor.contract.events import EVENT_TYPES, DroppedRange, Event, Health, Stage, Transcript

NAMES = [model.__name__ for model in EVENT_TYPES]
NOW = {"call_id": "c", "source": "bot", "seq": 0, "at_ns": 0, "wall_ns": 0}


class Word(str):
    """A string of a library's own kind, as enums of languages are."""


class Name(Enum):
    ONE = "one"


JUNK = st.sampled_from(
    [
        None, True, False, 0, -1, 1, 1.0, 1.5, 2**63 - 1, 2**63, 2**70, -(2**70), "", "1", "caller", "audio", "\ud800",
        b"bytes", [], [1], ["a"], (), (1,), ("a",), {}, {"a": 1}, {"a": True}, {"a": "b"}, {1: 1}, {"a": None},
        object(), math.nan, math.inf, Word("vad"), Name.ONE, {1},
        DroppedRange(first_seq=1, last_seq=2, reason="shutdown"),
    ]
)  # fmt: skip


def same(written: bytes) -> bytes:
    """1e+16 is 1e16."""
    return written.replace(b"e+", b"e")


def pydantic_says(model: type[Event], fields: Mapping[str, Any]) -> object:
    try:
        return same(model.model_validate(fields).model_dump_json(exclude_none=True).encode())
    except ValidationError as error:
        return error.errors()[0]["loc"]
    except Exception as error:
        return type(error)


def we_say(model: type[Event], fields: Mapping[str, Any]) -> object:
    try:
        return same(WRITERS[model](fields))
    except ValidationError as error:
        return error.errors()[0]["loc"]
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("model", EVENT_TYPES, ids=NAMES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_is_written_is_what_pydantic_writes(model: type[Event], data: st.DataObject) -> None:
    fields = data.draw(fields_of(model))

    assert we_say(model, fields) == pydantic_says(model, fields)


@pytest.mark.parametrize("model", EVENT_TYPES, ids=NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_refused_is_what_pydantic_refuses(model: type[Event], data: st.DataObject) -> None:
    fields = data.draw(fields_of(model))
    for name in data.draw(
        st.sets(st.sampled_from(sorted({*model.model_fields, "unheard_of"})), min_size=1, max_size=2)
    ):
        fields[name] = data.draw(JUNK)
    if data.draw(st.booleans()):
        fields.pop(data.draw(st.sampled_from(sorted(fields))))

    assert we_say(model, fields) == pydantic_says(model, fields)


def test_nothing_is_written_of_what_is_not_known_and_all_of_what_is_by_default() -> None:
    written = WRITERS[Transcript]({**NOW, "party": "caller", "text": "hello", "final": True, "language": None})

    assert b"language" not in written
    assert written.startswith(b'{"v":1,"call_id":"c",')
    assert b'"usage":{}' in WRITERS[Stage]({**NOW, "service": "llm", "metric": "ttfb"})


def test_events_that_hold_others_are_written_as_well() -> None:
    lost = (DroppedRange(first_seq=1, last_seq=2, reason="rate_capped"),)

    assert b'"dropped":[{"first_seq":1,"last_seq":2' in WRITERS[Health]({**NOW, "dropped": lost})
