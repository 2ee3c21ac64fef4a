"""Records read through a lens: only the kinds and fields that a job needs are made, the rest is skipped over.

For jobs on ``earwitness.records`` that need a few numbers of a few kinds: what is not made costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Union, cast

import msgspec

from earwitness.monitor.contract.decoder import UnsupportedContractError, decode_record_fast, struct_of
from earwitness.monitor.contract.records import RECORD_TYPES, AnyRecord
from earwitness.monitor.contract.wire import RECORD_VERSION


def record_lens(kinds: Mapping[str, Collection[str]]) -> Callable[[bytes], AnyRecord | None]:
    """A decoder of records of these kinds with these fields (and ``v`` and ``kind``) alone; None for other kinds.

    It raises UnreadableRecord as `decode_record_fast` does, for what it looks at. Raises UnsupportedContractError for a
    kind or a field that the contract does not have.
    """
    structs: list[type[msgspec.Struct]] = []
    left = dict(kinds)
    for model in RECORD_TYPES:
        kind = str(model.model_fields["kind"].default)
        structs.append(_narrowed(struct_of(model), kind, left.pop(kind, ())))
    if left:
        raise UnsupportedContractError(f"no records of the kind {', '.join(left)}")
    decode = msgspec.json.Decoder(Union[tuple(structs)]).decode  # noqa: UP007 - made at run time

    def read(payload: bytes) -> AnyRecord | None:
        try:
            record: Any = decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            record = decode_record_fast(payload)  # says what is wrong
        if record.v != RECORD_VERSION:
            record = decode_record_fast(payload)
        return cast(AnyRecord, record) if record.kind in kinds else None

    return read


def _narrowed(whole: type[msgspec.Struct], kind: str, wanted: Collection[str]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    missing = set(wanted) - {"v", "kind"}
    for field in msgspec.structs.fields(whole):
        if field.name == "v" or field.name in missing:
            default: Any = field.default
            if field.default_factory is not msgspec.NODEFAULT:
                default = msgspec.field(default_factory=field.default_factory)
            fields.append((field.name, field.type, default))
            missing.discard(field.name)
    if missing:
        raise UnsupportedContractError(f"{kind} has no {', '.join(sorted(missing))}")
    return msgspec.defstruct(
        whole.__name__,
        fields,
        tag_field="kind",
        tag=kind,
        namespace={"kind": kind},
        frozen=True,
        kw_only=True,
        gc=False,
    )
