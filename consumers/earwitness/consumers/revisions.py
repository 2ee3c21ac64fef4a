"""What was published of one call's records, in twenty bytes a record: a call has thousands of them in an hour.

Records are known by a hash of their id, 64 bits long: that two of one call's ten thousand share it happens once in some
hundred billion calls.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

AMBIGUOUS: Final = bytes(8)
"""The digest of a revision that was published with different contents: no record has it."""
MOST: Final = (1 << 31) - 1
"""The greatest revision; nothing that counts as it should comes near."""
_ENTRY: Final = Struct("<8s8sI")
_HASH_BYTES: Final = 8


class Published(NamedTuple):
    """The last published revision of a record. ``digest``: eight bytes."""

    revision: int
    digest: bytes
    final: bool


class Revisions:
    """The last published revision of each record of a call. ``table``: as `saved` gave it. Raises ValueError for what
    is no such thing."""

    __slots__ = ("_asked", "_table")

    def __init__(self, table: bytes = b"") -> None:
        if len(table) % _ENTRY.size:
            raise ValueError("a table of revisions that ends in the middle of one")
        self._table = bytearray(table)
        self._asked: tuple[str, bytes, int | None] | None = None
        """The record that was asked for last, and where it was found: nearly always the next to be put."""

    def get(self, record_id: str) -> Published | None:
        """The last published revision of a record; None where none was."""
        name = _hash(record_id)
        at = self._find(name)
        self._asked = record_id, name, at
        if at is None:
            return None
        _, digest, told = _ENTRY.unpack_from(self._table, at)
        return Published(told >> 1, digest, bool(told & 1))

    def put(self, record_id: str, published: Published) -> None:
        """Remember it."""
        asked, self._asked = self._asked, None
        if asked is not None and asked[0] == record_id:
            _, name, at = asked
        else:
            name = _hash(record_id)
            at = self._find(name)
        entry = _ENTRY.pack(name, published.digest, min(published.revision, MOST) << 1 | published.final)
        if at is None:
            self._table += entry
        else:
            self._table[at : at + _ENTRY.size] = entry

    def saved(self) -> bytes:
        """All of it."""
        return bytes(self._table)

    def _find(self, name: bytes) -> int | None:
        at = self._table.find(name)
        while at >= 0 and at % _ENTRY.size:
            at = self._table.find(name, at + 1)
        return None if at < 0 else at


def _hash(record_id: str) -> bytes:
    return blake2b(record_id.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()
