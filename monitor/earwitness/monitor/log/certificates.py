"""Until when a certificate in a file holds, for words about a broker that does not take it."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_BEFORE_VALIDITY: Final = 3
"""Serial number, algorithm, issuer."""


def expires(certfile: Path) -> datetime | None:
    """When the first certificate of a PEM file expires; None where it cannot be told."""
    try:
        der = ssl.PEM_cert_to_DER_cert(_first(certfile.read_text()))
        at = _inside(der, _inside(der, 0))
        if der[at] == _VERSION:
            at = _after(der, at)
        for _ in range(_BEFORE_VALIDITY):
            at = _after(der, at)
        at = _after(der, _inside(der, at))
        text = der[_inside(der, at) : _after(der, at)].decode("ascii")
        # Years of two digits are those of 1950 to 2049 (RFC 5280).
        century = "" if der[at] != _UTC_TIME else "19" if text[:2] >= "50" else "20"
        return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (OSError, ValueError, IndexError):
        return None


def _first(text: str) -> str:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    return begin + text.split(begin)[1].split(end, maxsplit=1)[0] + end


def _length(der: bytes, at: int) -> tuple[int, int]:
    """Where the contents of the value at a place begin, and how long they are."""
    first = der[at + 1]
    if first < 0x80:
        return at + 2, first
    count = first & 0x7F
    return at + 2 + count, int.from_bytes(der[at + 2 : at + 2 + count], "big")


def _inside(der: bytes, at: int) -> int:
    return _length(der, at)[0]


def _after(der: bytes, at: int) -> int:
    begin, length = _length(der, at)
    return begin + length
