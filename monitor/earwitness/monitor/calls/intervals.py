"""Arithmetic of half-open spans of time: sorted, disjoint, never negative."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def union(spans: Iterable[Span], *, closer_than: int = 0) -> list[Span]:
    """Sorted disjoint spans that cover the same time; gaps shorter than ``closer_than`` are filled."""
    merged: list[Span] = []
    ordered = sorted(spans)
    if not ordered:
        return merged
    for start, end in ordered:
        if end <= start:
            continue
        if merged and start - merged[-1][1] < max(closer_than, 1):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def clip(spans: Iterable[Span], lo: int, hi: int) -> list[Span]:
    """What of the spans lies between ``lo`` and ``hi``."""
    return [(max(s, lo), min(e, hi)) for s, e in spans if min(e, hi) > max(s, lo)]


def intersect(a: Sequence[Span], b: Sequence[Span]) -> list[Span]:
    """The time that lies in both; both sorted and disjoint."""
    out: list[Span] = []
    i = j = 0
    while i < len(a) and j < len(b):
        lo, hi = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if lo < hi:
            out.append((lo, hi))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def subtract(a: Sequence[Span], b: Sequence[Span]) -> list[Span]:
    """What of ``a`` lies outside ``b``; both sorted and disjoint."""
    out: list[Span] = []
    for start, end in a:
        lo = start
        for s, e in b:
            if e <= lo:
                continue
            if s >= end:
                break
            if s > lo:
                out.append((lo, s))
            lo = max(lo, e)
        if lo < end:
            out.append((lo, end))
    return out


def total(spans: Iterable[Span]) -> int:
    """Sum of the lengths."""
    return sum(e - s for s, e in spans)
