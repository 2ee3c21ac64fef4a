"""Which partition a key belongs to: Kafka's murmur2, on every log, so that all writers and tools agree."""

from __future__ import annotations

from functools import lru_cache

_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's default partitioner (seed 0x9747b28c), unsigned."""
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def place_of(key: str, partition: int | None, partitions: int) -> int:
    """The partition of a record that may name its own. Raises ValueError where there is no such partition."""
    if partition is None:
        return partition_of(key, partitions)
    if not 0 <= partition < partitions:
        raise ValueError(f"no partition {partition}: there are {partitions}")
    return partition


@lru_cache(maxsize=16_384)
def partition_of(key: str, partitions: int) -> int:
    """The partition of a key in a topic of that many partitions. Cached, since a call sends thousands of records."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions
