"""The same contract for the consumers' hot path: msgspec structs made from the pydantic models.

The models stay the only source: nothing is written twice, and what these structs could not carry faithfully (an
alias, a validator, a constraint, a type that is not known here) stops the import instead of reading differently.
A struct has the model's field names and values, and ``kind``; it is no instance of the model.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, NoReturn, Union, cast, get_args, get_origin

import annotated_types
import msgspec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from earwitness.monitor.contract.events import EVENT_TYPES, SCHEMA_VERSION, AnyEvent
from earwitness.monitor.contract.records import RECORD_TYPES, AnyRecord
from earwitness.monitor.contract.wire import RECORD_VERSION, UnreadableRecord, decode_event, decode_record
from earwitness.monitor.fewer_bytes import squeezed, unsqueezed

_PLAIN: frozenset[Any] = frozenset({int, float, str, bool, type(None)})
_STRUCTS: dict[type[BaseModel], type[msgspec.Struct]] = {}


class UnsupportedContractError(TypeError):
    """A model uses something that the derived decoder cannot carry; raised at import."""


def struct_of(model: type[BaseModel]) -> type[msgspec.Struct]:
    """The struct that reads what ``model`` reads. Raises UnsupportedContractError."""
    if model in _STRUCTS:
        return _STRUCTS[model]
    decorators = model.__pydantic_decorators__
    if (
        decorators.validators
        or decorators.field_validators
        or decorators.root_validators
        or decorators.model_validators
    ):
        raise UnsupportedContractError(f"{model.__name__} has validators")
    if not model.model_config.get("strict") or model.model_config.get("extra") != "ignore":
        raise UnsupportedContractError(f"{model.__name__} must be strict and ignore unknown fields")
    fields: list[tuple[str, Any, Any]] = []
    tag: str | None = None
    for name, info in model.model_fields.items():
        if name == "kind":
            tag = str(info.default)
            continue
        where = f"{model.__name__}.{name}"
        if info.alias or info.validation_alias:
            raise UnsupportedContractError(f"{where} has an alias")
        fields.append((name, field_type(info, where), _default(info)))
    struct = msgspec.defstruct(
        model.__name__,
        fields,
        tag_field="kind" if tag else None,
        tag=tag,
        namespace={"kind": tag} if tag else {},
        frozen=True,
        kw_only=True,
        omit_defaults=True,
        gc=False,  # holds scalars, strings and flat containers of them: no cycle can go through it
    )
    _STRUCTS[model] = struct
    return struct


def decode_event_fast(payload: bytes) -> AnyEvent:
    """What ``wire.decode_event`` returns, as a struct with the same fields. Raises UnreadableRecord alike."""
    try:
        event = _EVENTS.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        _explain(payload, decode_event)
    if event.v != SCHEMA_VERSION or not (payload.isascii() or _is_utf8(payload)):
        _explain(payload, decode_event)
    return cast(AnyEvent, event)


def decode_record_fast(payload: bytes) -> AnyRecord:
    """What ``wire.decode_record`` returns, as a struct with the same fields. Raises UnreadableRecord alike."""
    try:
        record = _RECORDS.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        _explain(payload, decode_record)
    if record.v != RECORD_VERSION or not (payload.isascii() or _is_utf8(payload)):
        _explain(payload, decode_record)
    return cast(AnyRecord, record)


def share_names(events: Iterable[Any], call_id: str) -> None:
    """Let decoded events of a call use the same names: each would keep copies of its own."""
    for event in events:
        named = _NAMED.get(event.__class__)
        if named is None:
            continue
        _set_field(event, "call_id", call_id)
        _set_field(event, "source", _shared(event.source))
        if named:
            response_id = event.response_id
            if response_id is not None:
                _set_field(event, "response_id", _shared(response_id))


def pack_events(events: Sequence[AnyEvent], squeeze: Callable[[bytes], bytes] = squeezed) -> bytes:
    """Events as few bytes, for this program alone. Raises TypeError for any that `decode_event_fast` did not make."""
    if not all(map(_NAMED.__contains__, map(type, events))):
        raise TypeError("only decoded events can be packed")
    return squeeze(_PACKER.encode(events))


def unpack_events(packed: bytes) -> list[AnyEvent]:
    """The events that were packed. Raises NotSqueezed or msgspec.MsgspecError."""
    return cast("list[AnyEvent]", _UNPACKER.decode(unsqueezed(packed)))


def _explain(payload: bytes, checked: Callable[[bytes], object]) -> NoReturn:
    """Let the checked decoder say what is wrong: one wording, one reason, and no value of the payload in it."""
    checked(payload)
    raise UnreadableRecord("invalid", "the two decoders disagree on it")


def _is_utf8(payload: bytes) -> bool:
    """msgspec skips unknown fields without looking at their encoding; pydantic looks."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _default(info: FieldInfo) -> Any:
    if info.is_required():
        return msgspec.NODEFAULT
    if info.default_factory is not None:
        return msgspec.field(default_factory=cast(Any, info.default_factory))
    return info.default


def field_type(info: FieldInfo, where: str) -> Any:
    """The type of a model's field as msgspec must be told it. Raises UnsupportedContractError."""
    return _with_constraints(_converted(info.annotation, where), info.metadata, where)


def _converted(hint: Any, where: str) -> Any:
    """A type as msgspec must be told it."""
    if hint in _PLAIN:
        return hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return hint
    if origin is Annotated:
        return _with_constraints(_converted(arguments[0], where), arguments[1:], where)
    if origin in (Union, types.UnionType):
        return Union[tuple(_converted(argument, where) for argument in arguments)]  # noqa: UP007 - made at run time
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple[_converted(arguments[0], where), ...]  # type: ignore[misc]
    if origin is dict:
        return dict[_converted(arguments[0], where), _converted(arguments[1], where)]  # type: ignore[misc]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return struct_of(hint)
    raise UnsupportedContractError(f"{where}: no rule for {hint!r}")


def _with_constraints(hint: Any, metadata: Iterable[Any], where: str) -> Any:
    for constraint in metadata:
        lowest, highest = (getattr(constraint, name, None) for name in ("ge", "le"))
        if isinstance(constraint, FieldInfo):
            hint = _with_constraints(hint, constraint.metadata, where)
        elif isinstance(constraint, annotated_types.Ge) and isinstance(lowest, int):
            hint = Annotated[hint, msgspec.Meta(ge=lowest)]
        elif isinstance(constraint, annotated_types.Le) and isinstance(highest, int):
            hint = Annotated[hint, msgspec.Meta(le=highest)]
        else:
            raise UnsupportedContractError(f"{where}: no rule for {constraint!r}")
    return hint


def _decoder(models: tuple[type[BaseModel], ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Union[tuple(struct_of(model) for model in models)])  # noqa: UP007 - made at run time


_EVENTS = _decoder(EVENT_TYPES)
_RECORDS = _decoder(RECORD_TYPES)
_PACKER = msgspec.msgpack.Encoder()
_UNPACKER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
    list[Union[tuple(struct_of(model) for model in EVENT_TYPES)]]  # type: ignore[misc]  # noqa: UP007 - made at run time
)
_NAMED: dict[type[Any], bool] = {struct_of(model): "response_id" in model.model_fields for model in EVENT_TYPES}
"""Whether a decoded event names a response."""
_set_field: Callable[[Any, str, Any], None] = msgspec.structs.force_setattr
_shared = sys.intern
