"""Values of the kinds that a model's fields take, for properties of whatever reads or writes one."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel

TEXT = st.text(max_size=12)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of one type, not all that it takes."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is Annotated:
        return st.integers(0, 2**63 - 1)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=3)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return fields_of(hint).map(lambda fields: hint(**fields))
    plain = {int: st.integers(), float: st.floats(), str: TEXT, bool: st.booleans()}
    return st.none() if hint is type(None) else plain[hint]


def fields_of(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Fields that a model takes, those that it can do without not always there."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, info in model.model_fields.items():
        if name not in ("v", "kind"):
            hint = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
            (required if info.is_required() else optional)[name] = values_of(hint)
    return st.fixed_dictionaries(required, optional=optional)
