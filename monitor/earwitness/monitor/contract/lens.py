"""Records read through a lens: only the kinds and fields that a job needs are made, the rest is skipped over.

For jobs on ``earwitness.records`` that need a few numbers of a few kinds: what is not made costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, Union, cast

import msgspec

from earwitness.monitor.contract.decoder import UnsupportedContractError, decode_record_fast, struct_of
from earwitness.monitor.contract.records import RECORD_TYPES, AnyRecord
from earwitness.monitor.contract.wire import RECORD_VERSION

_VERSION: Final = b'{"v":%d,' % RECORD_VERSION
ALIKE: Final = 4
"""So many records of one kind in a row let the next be taken for another of it: a wrong guess costs two right ones."""
_HEAD: Final = 96
"""So many bytes at the least stand before a record's labels."""


def record_lens(
    kinds: Mapping[str, Collection[str]], *, bounds: str = "default-1"
) -> Callable[[bytes], AnyRecord | None]:
    """A decoder of records of these kinds with these fields (and ``v`` and ``kind``) alone; None for other kinds. Those
    under ``bounds`` it reads fastest.

    It raises UnreadableRecord as `decode_record_fast` does, for what it looks at: of what `encode` wrote as another
    kind, the kind alone. Raises UnsupportedContractError for a kind or a field that the contract does not have.
    """
    structs: list[type[msgspec.Struct]] = []
    decoders: dict[bytes, Callable[[bytes], Any]] = {}
    left = dict(kinds)
    for model in RECORD_TYPES:
        kind = str(model.model_fields["kind"].default)
        is_wanted = kind in left
        struct = _narrowed(struct_of(model), kind, left.pop(kind, ()))
        structs.append(struct)
        if is_wanted:
            # One kind alone is decoded in one go; of several, the kind is searched for first.
            decoders[kind.encode()] = msgspec.json.Decoder(_of_kind(struct, kind)).decode
    if left:
        raise UnsupportedContractError(f"no records of the kind {', '.join(left)}")
    # Labels end here, and the kind follows. In a text or a label no quotation mark stands without a backslash.
    before_kind = b'},"bounds":"%s","kind":"' % bounds.encode()
    decode_any: Callable[[bytes], Any] = msgspec.json.Decoder(Union[tuple(structs)]).decode  # noqa: UP007 - made at run time

    last: Callable[[bytes], Any] | None = None
    alike = 0

    def read(payload: bytes) -> AnyRecord | None:
        nonlocal last, alike
        if alike >= ALIKE and last is not None:
            # Where kinds were sorted before, the next is of the kind of the last, and what says so is not searched for.
            try:
                found: Any = last(payload)
                if found.v == RECORD_VERSION:
                    return found  # type: ignore[no-any-return]
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                pass  # said below
            alike = 0
        decode = decode_any
        before = payload.find(before_kind, _HEAD)
        if before > 0:
            # As `encode` writes it; what another hand wrote is read as it comes.
            begin = before + len(before_kind)
            told = decoders.get(payload[begin : payload.find(b'"', begin)])
            last, alike = told, alike + 1 if told is last else 1
            if told is None and payload.startswith(_VERSION):
                return None
            decode = told or decode_any
        try:
            record: Any = decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            record = decode_record_fast(payload)  # says what is wrong
        if record.v != RECORD_VERSION:
            record = decode_record_fast(payload)
        return cast(AnyRecord, record) if record.kind in kinds else None

    return read


def _narrowed(whole: type[msgspec.Struct], kind: str, wanted: Collection[str]) -> type[msgspec.Struct]:
    known = {field.name for field in msgspec.structs.fields(whole)}
    if missing := set(wanted) - known - {"kind"}:
        raise UnsupportedContractError(f"{kind} has no {', '.join(sorted(missing))}")
    return msgspec.defstruct(
        whole.__name__,
        [_again(field) for field in msgspec.structs.fields(whole) if field.name in {"v", *wanted}],
        tag_field="kind",
        tag=kind,
        namespace={"kind": kind},
        frozen=True,
        kw_only=True,
        gc=False,
    )


def _of_kind(struct: type[msgspec.Struct], kind: str) -> type[msgspec.Struct]:
    """The same for a record that may be of another kind, or of none, and is then refused: a tag may be missing."""
    kinds: Any = Literal[kind]
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        ("kind", kinds),
        *[_again(field) for field in msgspec.structs.fields(struct)],
    ]
    return msgspec.defstruct(struct.__name__, fields, frozen=True, kw_only=True, gc=False)


def _again(field: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    default: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = msgspec.field(default_factory=field.default_factory)
    return field.name, field.type, default
