"""The two decoders are one contract: same values, same rejections, same reasons, for every kind."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from earwitness.monitor.contract.decoder import (
    UnsupportedContractError,
    decode_event_fast,
    decode_record_fast,
    struct_of,
)
from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.contract.records import RECORD_TYPES
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event, decode_record, encode

MODELS = [*EVENT_TYPES, *RECORD_TYPES]
NAMES = [model.__name__ for model in MODELS]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JUNK = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1,
        1.0,
        1.5,
        2**63,
        2**70,
        "",
        "1",
        "caller",
        "audio",
        [],
        [1],
        ["a"],
        {},
        {"a": 1},
        {"a": "b"},
    ]
)


def decoders(model: type[BaseModel]) -> tuple[Callable[[bytes], Any], Callable[[bytes], Any]]:
    return (decode_event, decode_event_fast) if model in EVENT_TYPES else (decode_record, decode_record_fast)


def json_of(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is Annotated:
        return st.integers(0, 2**62)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(json_of, arguments))
    if origin is tuple:
        return st.lists(json_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(TEXT, json_of(arguments[1]), max_size=3)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return documents(hint)
    plain = {int: st.integers(0, 2**62), float: st.floats(-1e12, 1e12), str: TEXT, bool: st.booleans()}
    return st.none() if hint is type(None) else plain[hint]


def documents(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, info in model.model_fields.items():
        if name == "v":
            continue
        if name == "kind":
            required[name] = st.just(info.default)
            continue
        hint = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        (required if info.is_required() else optional)[name] = json_of(hint)
    return st.fixed_dictionaries(required, optional=optional)


def outcome(decode: Callable[[bytes], Any], payload: bytes) -> Any:
    """The values that a decoder read, or the reason why it did not."""
    try:
        return msgspec.to_builtins(plain(decode(payload)))
    except UnreadableRecord as error:
        return error.reason


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, msgspec.Struct):
        names = [*value.__struct_fields__, *(["kind"] if hasattr(value, "kind") else [])]
        return {name: plain(getattr(value, name)) for name in names}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_both_decoders_read_the_same_values_of_every_kind(model: type[BaseModel], data: st.DataObject) -> None:
    payload = json.dumps(data.draw(documents(model))).encode()
    checked, fast = decoders(model)

    assert isinstance(outcome(checked, payload), dict)
    assert outcome(fast, payload) == outcome(checked, payload)
    assert outcome(fast, encode(checked(payload))) == outcome(checked, payload)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_both_decoders_refuse_the_same_values_for_the_same_reason(model: type[BaseModel], data: st.DataObject) -> None:
    document = data.draw(documents(model))
    field = data.draw(st.sampled_from(sorted({*model.model_fields, "unheard_of"})))
    document[field] = data.draw(JUNK)
    checked, fast = decoders(model)
    payload = json.dumps(document).encode()

    assert outcome(fast, payload) == outcome(checked, payload)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_both_decoders_miss_the_same_required_fields(model: type[BaseModel]) -> None:
    checked, fast = decoders(model)
    full = {name: "x" if name in ("call_id", "source", "id", "agent") else 1 for name in model.model_fields}
    for name, info in model.model_fields.items():
        if info.is_required():
            payload = json.dumps({k: v for k, v in full.items() if k != name and model.model_fields[k].is_required()})
            bare = json.dumps({**json.loads(payload), "kind": model.model_fields["kind"].default}).encode()
            assert outcome(fast, bare) == outcome(checked, bare) == "invalid"


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"kind":"connected"} trailing',
        b"\xef\xbb\xbf{}",
        b'{"kind":"stage","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"service":"llm","metric":"m","value_s":NaN}',
        b'{"kind":"stage","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"service":"llm","metric":"m","value_s":1e999}',
        b'{"kind":"stage","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"service":"llm","metric":"NaN","value_s":1e300}',
        b'{"kind":"stage","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"service":"llm","metric":"m","usage":{"a":1e999}}',
        b'{"kind":"connected","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"later_field":{"deep":[1,{}]}}',
        b'{"kind":"connected","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0,"later_field":"\xff"}',
        b'{"kind":"connected","call_id":"\\ud800","source":"s","seq":0,"at_ns":0,"wall_ns":0}',
        b'{"kind":"connected","call_id":"c","source":"s","seq":1e3,"at_ns":0,"wall_ns":0}',
        b'{"kind":"connected","call_id":"c","source":"s","seq":0,"seq":7,"at_ns":0,"wall_ns":0}',
        b'{"v":2,"kind":"connected","call_id":"c","source":"s","seq":0,"at_ns":0,"wall_ns":0}',
        b'{"v":2,"kind":"unheard_of"}',
        b'{"kind":"unheard_of"}',
        b'{"kind":7}',
        b"[" * 5000,
    ],
)
def test_both_decoders_agree_on_odd_bytes(payload: bytes) -> None:
    assert outcome(decode_event_fast, payload) == outcome(decode_event, payload)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


def test_a_model_that_the_fast_decoder_cannot_carry_is_refused_by_name() -> None:
    class Aliased(_Model):
        when: int = Field(alias="at")

    class Validated(_Model):
        when: int

        @field_validator("when")
        @classmethod
        def check(cls, value: int) -> int:
            return value

    class Bounded(_Model):
        when: Annotated[int, Field(lt=5)]

    class Odd(_Model):
        when: list[int]

    class Lax(BaseModel):
        when: int

    for model in (Aliased, Validated, Bounded, Odd, Lax):
        with pytest.raises(UnsupportedContractError, match=model.__name__):
            struct_of(model)
