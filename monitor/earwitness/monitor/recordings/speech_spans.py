"""Intervals of one party as somebody gave them, made into spans that are in order and do not touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.intervals import Span, union
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.json_reading import as_list, as_ns


@dataclass(frozen=True, slots=True)
class Spoken:
    """When a party spoke, and what had to be mended to say so."""

    spans: tuple[Span, ...]
    joined: int = 0
    """Intervals that overlapped or touched others: who speaks twice at once speaks."""
    empty: int = 0
    """Intervals without length, left out."""


def spoken(given: Sequence[Span]) -> Spoken:
    """Spans out of intervals in any order; overlapping ones become one."""
    real = [span for span in given if span[1] > span[0]]
    spans = union(real)
    return Spoken(tuple(spans), len(real) - len(spans), len(given) - len(real))


def spans_of(value: object, where: str) -> Spoken:
    """Spans out of ``[[start_s, end_s], ...]``. Raises BadInput naming the interval."""
    given: list[Span] = []
    for n, pair in enumerate(as_list(value, where)):
        place = f"{where}[{n}]"
        edges = as_list(pair, place)
        if len(edges) != 2:
            raise BadInput("an interval is [start_s, end_s]", where=place)
        start, end = (as_ns(edge, place) for edge in edges)
        given.append(in_order(start, end, place))
    return spoken(given)


def in_order(start_ns: int, end_ns: int, where: str) -> Span:
    """The interval, which must not end before it begins. Raises BadInput."""
    if end_ns < start_ns:
        raise BadInput(f"ends at {end_ns / S:g} s, before it begins at {start_ns / S:g} s", where=where)
    return start_ns, end_ns
