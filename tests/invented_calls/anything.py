"""Any events that the contract allows, kind by kind from its models: nothing about them is plausible."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from invented_calls.mutilated import HOSTILE_FLOATS, HOSTILE_NS, HOSTILE_TEXTS
from invented_calls.script import CALL_ID, WALL_NS, S
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from earwitness.monitor.contract.events import EVENT_TYPES

NEAR_NS = st.integers(0, 600).map(lambda tenths: tenths * S // 10)
NAMES = st.sampled_from(["r1", "r2", "x1", "p1", "o1", "a1", "bot", "", "outcome", "hold", "wanted"])
TEXTS = st.one_of(
    NAMES,
    st.sampled_from(["stop", "mhm", "yes", "I will transfer you", "one moment", *HOSTILE_TEXTS]),
    st.text(max_size=8),
)


def strategy_of(hint: Any, least: int | None = None) -> st.SearchStrategy[Any]:
    """Values of a field's type. Raises TypeError for a type that the contract has not had so far."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is bool:
        return st.booleans()
    if hint is int:
        moments = st.one_of(NEAR_NS, NEAR_NS, NEAR_NS, st.sampled_from(HOSTILE_NS))
        return moments if least == 0 else st.one_of(moments, moments.map(lambda n: -n))
    if hint is float:
        return st.one_of(st.floats(0, 5), st.sampled_from(HOSTILE_FLOATS))
    if hint is str:
        return TEXTS
    if hint is type(None):
        return st.none()
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is Annotated:
        return strategy_of(arguments[0], _least(arguments[1:]))
    if origin in (Union, types.UnionType):
        return st.one_of([strategy_of(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(strategy_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(strategy_of(arguments[0]), strategy_of(arguments[1]), max_size=3)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return model_strategy(hint)
    raise TypeError(f"no rule for {hint!r}")


def model_strategy(model: type[BaseModel], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a model; optional fields are often left out."""
    required: dict[str, st.SearchStrategy[Any]] = dict(given)
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, info in model.model_fields.items():
        if name in given or name in ("kind", "v"):
            continue
        field = strategy_of(info.annotation, _least(info.metadata))
        (required if info.is_required() else optional)[name] = field
    return st.fixed_dictionaries(required, optional=optional).map(model.model_validate)


def _least(metadata: Any) -> int | None:
    for one in metadata:
        if isinstance(one, FieldInfo):
            return _least(one.metadata)
        if isinstance(one, annotated_types.Ge):
            return int(one.ge)  # type: ignore[call-overload,no-any-return]
    return None


def any_event() -> st.SearchStrategy[Any]:
    """One event of any kind."""
    common: dict[str, st.SearchStrategy[Any]] = {
        "call_id": st.just(CALL_ID),
        "source": st.sampled_from(["bot", "taps", "app", "label", ""]),
        "seq": st.integers(0, 60),
        "wall_ns": st.just(WALL_NS),
    }
    return st.sampled_from(EVENT_TYPES).flatmap(lambda kind: model_strategy(kind, **common))


def any_events(most: int = 30) -> st.SearchStrategy[list[Any]]:
    """Events of one call in any order, related to each other by chance alone."""
    return st.lists(any_event(), max_size=most)
