"""Onsets of caller speech among a call's events: where a cut may be tried."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from earwitness.monitor.calls.facts import Entry

SPEECH: Final = frozenset({"speech_started", "speech_ended"})


class Onset(NamedTuple):
    """An onset of caller speech: when it was noticed, and where it lies."""

    at_ns: int
    edge_ns: int
    over_agent: bool = False
    """The agent was audible, by what was told since the first onset that was asked for: hardly a place for a cut."""
    agent_heard: bool = False
    """The agent was, since the onset before this: where it was not, a chapter that began there has no place for one."""


def onsets(entries: Sequence[Entry], after_ns: int, upto_ns: int, *, edge_ns: int, match_ns: int) -> Iterator[Onset]:
    """Those noticed between two moments and behind ``edge_ns``; of several kinds of evidence of one onset the first."""
    audible = heard = False
    for n in range(bisect_right(entries, after_ns, key=_moment), len(entries)):
        at, _, _, event = entries[n]
        if at > upto_ns:
            return
        kind = event.kind
        if kind == "playout":
            audible, heard = event.phase == "first", True
        elif kind in SPEECH and event.party == "agent":
            heard = True
        if kind != "speech_started" or event.party != "caller":
            continue
        edge = event.edge_ns + at - event.at_ns
        if edge > edge_ns + match_ns:
            edge_ns = edge
            yield Onset(at, edge, audible, heard)
            heard = False


def _moment(entry: Entry) -> int:
    return entry[0]
