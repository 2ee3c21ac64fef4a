"""Keys go where every other Kafka client puts them."""

from __future__ import annotations

import pytest

from earwitness.monitor.log.keys import murmur2, partition_of


@pytest.mark.parametrize(
    ("data", "signed"),
    # From Kafka's own tests of its hash.
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed & 0xFFFFFFFF


def test_calls_spread_over_partitions() -> None:
    counts = [0] * 4
    for i in range(4_000):
        counts[partition_of(f"call-{i}", 4)] += 1

    assert min(counts) > 850
