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
PARTS: Final = 16
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

    __slots__ = ("_asked", "_parts")

    def __init__(self, table: bytes = b"") -> None:
        if len(table) % _ENTRY.size:
            raise ValueError("a table of revisions that ends in the middle of one")
        self._parts = [bytearray() for _ in range(PARTS)]
        """The entries by the first bits of their hash: each is searched from its beginning."""
        self._asked: tuple[str, bytes, int | None] | None = None
        """The record that was asked for last, and where it was found: nearly always the next to be put."""
        for at in range(0, len(table), _ENTRY.size):
            self._parts[table[at] % PARTS] += table[at : at + _ENTRY.size]

    def get(self, record_id: str) -> Published | None:
        """The last published revision of a record; None where none was."""
        name, at = self._looked_up(record_id)
        if at is None:
            return None
        _, digest, told = _ENTRY.unpack_from(self._parts[name[0] % PARTS], at)
        return Published(told >> 1, digest, bool(told & 1))

    def put(self, record_id: str, published: Published) -> None:
        """Remember it."""
        name, at = self._looked_up(record_id)
        self._asked = None
        part = self._parts[name[0] % PARTS]
        entry = _ENTRY.pack(name, published.digest, min(published.revision, MOST) << 1 | published.final)
        if at is None:
            part += entry
        else:
            part[at : at + _ENTRY.size] = entry

    def put_first(self, record_id: str, revision: int, digest: bytes, final: bool) -> bool:
        """Remember a record of which nothing was published yet; False, and nothing done, where something was."""
        name = _hash(record_id)
        part = self._parts[name[0] % PARTS]
        at = _place_in(part, name)
        if at is not None:
            self._asked = record_id, name, at
            return False
        self._asked = None
        part += _ENTRY.pack(name, digest, min(revision, MOST) << 1 | final)
        return True

    def saved(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)

    def _looked_up(self, record_id: str) -> tuple[bytes, int | None]:
        asked = self._asked
        if asked is None or asked[0] != record_id:
            name = _hash(record_id)
            self._asked = asked = record_id, name, _place_in(self._parts[name[0] % PARTS], name)
        return asked[1], asked[2]


def _place_in(part: bytearray, name: bytes) -> int | None:
    at = part.find(name)
    while at >= 0 and at % _ENTRY.size:
        at = part.find(name, at + 1)
    return None if at < 0 else at


def _hash(record_id: str) -> bytes:
    return blake2b(record_id.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()
