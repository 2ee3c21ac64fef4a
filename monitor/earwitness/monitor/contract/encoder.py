"""Facts to events to bytes, at the price that a live call can pay: msgspec structs made from the pydantic models.

They write what pydantic's checks and serialiser write, byte for byte but for the plus in 1e+16 (a test says so), at a
third of the cost. What they do not take is left to pydantic: its word on what is no event is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from earwitness.monitor.contract.decoder import field_type
from earwitness.monitor.contract.event import Event
from earwitness.monitor.contract.events import EVENT_TYPES

_encode: Final = msgspec.json.Encoder().encode
_convert: Final = msgspec.convert


def _struct_of(model: type[Event]) -> type[msgspec.Struct]:
    """The struct that writes what ``model`` writes without its empty fields, in the same order."""
    fields: list[tuple[str, Any, Any]] = []
    for name, info in model.model_fields.items():
        kind: Any = field_type(info, f"{model.__name__}.{name}")
        if info.is_required():
            default: Any = msgspec.NODEFAULT
        elif info.default_factory is not None:
            factory: Any = info.default_factory
            default = msgspec.field(default_factory=factory)
        elif info.default is None:
            kind, default = Union[kind, msgspec.UnsetType], msgspec.UNSET  # noqa: UP007 - made at run time
        else:
            default = info.default
        fields.append((name, kind, default))
    return msgspec.defstruct(model.__name__, fields, kw_only=True, gc=False)


def _holds_a_sequence(hint: Any) -> bool:
    return get_origin(hint) is tuple or any(map(_holds_a_sequence, get_args(hint)))


def _writer_of(model: type[Event]) -> Callable[[Mapping[str, Any]], bytes]:
    checked, serialised = model.__pydantic_validator__.validate_python, model.__pydantic_serializer__.to_json
    if any(_holds_a_sequence(info.annotation) for info in model.model_fields.values()):
        # msgspec takes a list for a tuple, pydantic does not; and these kinds are seldom written.
        return lambda fields: serialised(checked(fields), exclude_none=True)
    struct = _struct_of(model)

    may_lack = frozenset(name for name, info in model.model_fields.items() if info.default is None)

    def write(fields: Mapping[str, Any]) -> bytes:
        given = fields
        if None in fields.values():
            given = {name: value for name, value in fields.items() if value is not None or name not in may_lack}
        try:
            return _encode(_convert(given, struct))
        except Exception:  # it knows fewer types than pydantic, which may still take it
            return serialised(checked(fields), exclude_none=True)

    return write


WRITERS: Final = {model: _writer_of(model) for model in EVENT_TYPES}
"""By kind of event: the bytes of one, out of all of its fields by name, None for what is not known. Raises pydantic's
ValidationError for what is no such event."""
