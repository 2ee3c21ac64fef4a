"""Onsets of caller speech among a call's events: where a cut may be tried."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from earwitness.monitor.calls.facts import Entry


class Onset(NamedTuple):
    """An onset of caller speech: when it was noticed, and where it lies."""

    at_ns: int
    edge_ns: int
    over_agent: bool = False
    """The agent was audible, by what was told since the first onset that was asked for: hardly a place for a cut."""


def onsets(entries: Sequence[Entry], after_ns: int, upto_ns: int, *, edge_ns: int, match_ns: int) -> Iterator[Onset]:
    """Those noticed between two moments and behind ``edge_ns``; of several kinds of evidence of one onset the first."""
    audible = False
    for n in range(bisect_right(entries, after_ns, key=_moment), len(entries)):
        at, _, _, event = entries[n]
        if at > upto_ns:
            return
        kind = event.kind
        if kind == "playout":
            audible = event.phase == "first"
        if kind != "speech_started" or event.party != "caller":
            continue
        edge = event.edge_ns + at - event.at_ns
        if edge > edge_ns + match_ns:
            edge_ns = edge
            yield Onset(at, edge, audible)


def _moment(entry: Entry) -> int:
    return entry[0]
