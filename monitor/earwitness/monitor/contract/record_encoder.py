"""Records to bytes at half the price of pydantic's serialiser, which a worker that is behind pays for each of them.

The fields are written as they lie in the model, in its order: the same bytes, but for the plus in 1e+16 (a test says
so). What msgspec does not take is left to pydantic.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import encode


def _fields_of(nested: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", vars(nested))


_encode: Final = msgspec.json.Encoder(enc_hook=_fields_of).encode


def encode_record(record: AnyRecord) -> bytes:
    """A record, a model and not the struct that a decoder makes, as UTF-8 JSON: what `wire.encode` writes."""
    try:
        return _encode(record.__dict__)
    except Exception:  # it knows fewer numbers and types than pydantic, which may still take it
        return encode(record)
