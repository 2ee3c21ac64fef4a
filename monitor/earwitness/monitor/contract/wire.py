"""Events and records as bytes: JSON, written by pydantic's own serialiser, checked again when read.

Readers ignore fields that they do not know, so an older reader carries on when a field is added. What cannot be
read is an ``UnreadableRecord`` with a reason from a closed list, fit for a dead-letter topic and a metric label.
The consumers' hot path reads the same bytes with ``contract.decoder``; both agree, and a test says so.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, Literal, NoReturn, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from earwitness.monitor.contract.events import EVENT_ADAPTER, EVENT_TYPES, SCHEMA_VERSION, AnyEvent
from earwitness.monitor.contract.records import RECORD_ADAPTER, RECORD_TYPES, AnyRecord

RECORD_VERSION: Final = 1

UnreadableReason = Literal["not_json", "unknown_kind", "unknown_version", "invalid"]
"""Why bytes could not be read; bounded, so that it can label a metric."""


def _kinds(models: tuple[type[BaseModel], ...]) -> frozenset[str]:
    return frozenset(str(model.model_fields["kind"].default) for model in models)


EVENT_KINDS: Final = _kinds(EVENT_TYPES)
RECORD_KINDS: Final = _kinds(RECORD_TYPES)

_MAYBE_NOT_FINITE = re.compile(rb"NaN|Infinity|[eE]\+?[0-9]{3}")
"""Only such bytes can hold a number that JSON does not have (NaN) or a float cannot (1e999)."""

_T = TypeVar("_T", bound=BaseModel)


class UnreadableRecord(Exception):
    """Bytes outside the contract. ``reason`` is one of a closed list; ``detail`` says more, in one line, and carries
    no value of the payload, which may be somebody's words."""

    def __init__(self, reason: UnreadableReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: UnreadableReason = reason
        self.detail = detail


def encode(model: BaseModel) -> bytes:
    """One event or record as UTF-8 JSON. A float that is not finite becomes ``null``: JSON has no word for it."""
    return model.__pydantic_serializer__.to_json(model)


def decode_event(payload: bytes) -> AnyEvent:
    """The event that ``payload`` carries, checked by pydantic. Raises UnreadableRecord."""
    return _decode(payload, EVENT_ADAPTER, EVENT_KINDS, SCHEMA_VERSION)


def decode_record(payload: bytes) -> AnyRecord:
    """The record that ``payload`` carries, checked by pydantic. Raises UnreadableRecord."""
    return _decode(payload, RECORD_ADAPTER, RECORD_KINDS, RECORD_VERSION)


def _refuse(payload: bytes, kinds: frozenset[str], version: int, error: str) -> NoReturn:
    """Raise the UnreadableRecord that says why these bytes, which no decoder would take, cannot be read.

    The version is looked at before the kind: a newer contract may have kinds of its own.
    """
    try:
        value: Any = json.loads(payload)
    except ValueError as cause:
        # A JSON error's text holds positions only; a UnicodeDecodeError's would hold bytes of the payload.
        detail = "bytes that are not UTF-8" if isinstance(cause, UnicodeDecodeError) else str(cause)
        raise UnreadableRecord("not_json", detail) from None
    except RecursionError:
        raise UnreadableRecord("not_json", "nested too deeply") from None
    if not isinstance(value, dict):
        raise UnreadableRecord("invalid", f"an object was expected, not {type(value).__name__}")
    found = cast("dict[str, Any]", value)
    if type(found.get("v", version)) is int and found.get("v", version) != version:
        raise UnreadableRecord("unknown_version", f"version {found['v']} is not {version}; a newer reader is needed")
    kind = found.get("kind")
    if isinstance(kind, str) and kind not in kinds:
        raise UnreadableRecord("unknown_kind", f"kind {kind[:40]!r} is not in the contract")
    raise UnreadableRecord("invalid", error)


def _decode(payload: bytes, adapter: TypeAdapter[_T], kinds: frozenset[str], version: int) -> _T:
    try:
        model = adapter.validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        _refuse(payload, kinds, version, f"{where}: {first['msg']}" if where else first["msg"])
    if getattr(model, "v", version) != version:
        _refuse(payload, kinds, version, "")
    if _MAYBE_NOT_FINITE.search(payload):
        _check_finite(payload, model)
    return model


def _check_finite(payload: bytes, model: BaseModel) -> None:
    """pydantic reads NaN and 1e999; JSON and the contract know neither."""

    def no_constant(word: str) -> NoReturn:
        raise UnreadableRecord("not_json", f"{word} is not JSON")

    json.loads(payload, parse_constant=no_constant)
    if not all(map(_finite, model.__dict__.values())):
        raise UnreadableRecord("invalid", "a number that is not finite")


def _finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return True
