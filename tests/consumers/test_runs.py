"""How what was read at once is parted."""

from __future__ import annotations

from typing import Any, NamedTuple

from earwitness.consumers.runs import by_call, by_partition, runs
from earwitness.monitor.log.protocol import Entry


class Told(NamedTuple):
    call_id: str
    kind: str = "stage"


def entry(partition: int) -> Entry:
    return Entry("events", partition, 0, "c", b"", 0)


def test_what_was_read_is_parted_by_partition_and_call_and_by_what_stands_alone() -> None:
    assert list(by_partition([entry(2), entry(2), entry(0)])) == [(2, slice(0, 2)), (0, slice(2, 3))]
    assert list(by_partition([])) == []
    assert by_call([Told("a"), Told("b"), Told("a")]) == {"a": [0, 2], "b": [1]}  # type: ignore[list-item]

    events: Any = [Told("a", kind) for kind in ("begin", "stage", "stage", "end", "begin", "stage")]
    assert runs(events, [0, 1, 2, 3, 4, 5], {"begin", "end"}) == [[0], [1, 2], [3], [4], [5]]
    assert runs(events, [1, 2, 5], {"begin", "end"}) == [[1, 2, 5]]
