"""Several cuts of a call's past made as one: what a worker that is behind reads at once, it need not cut turn by turn.

A cut freezes what lies before it: of several that could be made, all but the last are as if they were never made, as
long as nothing that was told after one of them was judged speaks of what lay before it. What does so late (words of a
slow recogniser, a tap that was away) would be heard by one worker and not by another, which had cut before it came:
then every cut is made by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.chapter import TRIES, Chapter
from earwitness.monitor.calls.chapters import LOOK_AHEAD_NS
from earwitness.monitor.calls.facts import Edge, Entry, Facts, Run
from earwitness.monitor.calls.onsets import Onset, onsets
from earwitness.monitor.calls.page import NEVER

STRIDE: Final = 400
"""Events at most that are cut off at once."""
NEAR_NS: Final = LOOK_AHEAD_NS - S
"""What speaks of a moment no further back reaches over no onset that was judged."""


def ahead_of(entries: Sequence[Entry], chapter: Chapter, onset: Onset, upto_ns: int, bounds: Bounds) -> list[Onset]:
    """The onset that a chapter looks at, and those behind it up to the last that may be cut at in its stead. Empty
    where each is to be tried, since so many were no place for a cut that tries get rare."""
    if chapter.patience:
        return []
    last = entries[min(bisect_right(entries, onset.at_ns, key=_moment) + STRIDE, len(entries)) - 1][0]
    behind = onsets(entries, onset.at_ns, min(upto_ns, last), edge_ns=onset.edge_ns, match_ns=bounds.match_ns)
    ahead = [onset, *behind]
    while len(ahead) > 1 and (ahead[-1].over_agent or not ahead[-1].agent_heard):
        ahead.pop()
    is_odd = any(one.edge_ns > one.at_ns for one in ahead)
    return [] if len(ahead) == 1 or chapter.failed + len(ahead) > TRIES or is_odd else ahead


def bearings(facts: Facts) -> tuple[object, ...]:
    """What a chapter knows that bears on how all of it reads."""
    return (
        frozenset(facts.had),
        facts.started,
        facts.connected_ns,
        facts.caller_participant,
        frozenset(facts.other_participants),
        tuple(facts.expected),
        facts.counts.get("no_frames_seen"),
    )


def learnt_of_all(facts: Facts, before: tuple[object, ...]) -> bool:
    """Whether something was learnt, since the chapter's bearings were those ``before``, that changes how all of it
    reads."""
    return bearings(facts) != before or any(facts.gaps.values())


def reaches_back(facts: Facts, ahead: Sequence[Onset], bounds: Bounds) -> bool:
    """Whether anything told after one of the onsets was judged speaks of what lay before that onset; ``facts``: what a
    chapter's events say up to the moment at which the last of them is judged, ``ahead``: those before that one."""
    reach = _Reach(ahead, bounds)
    edges = chain(*facts.caller_edges.values(), *facts.agent_edges.values())
    if any(e.at_ns - e.edge_ns > NEAR_NS and reach.crosses(e.edge_ns, e.at_ns) for e in edges):
        return True
    if reach.falls_between(facts.agent_edges.get("decision", ()), facts.runs.values()):
        return True
    runs = facts.runs
    for run in runs.values():
        if run.last_ns - run.first_ns > NEAR_NS and reach.crosses_silence(run):
            return True
        if run.after in runs and reach.crosses(runs[run.after].last_ns, run.first_ns):
            return True
    for tool in facts.tools.values():
        if tool.run in runs and reach.crosses(runs[tool.run].last_ns, tool.called_ns):
            return True
        # Until it ended no cut was made.
        if tool.ended_ns is not None and reach.crosses(tool.called_ns, tool.last_ns, known_ns=tool.ended_ns):
            return True
    heard: dict[str | None, int] = {}
    for one in chain(facts.said, facts.said_by_others, facts.agent_said):
        since = min([n for n in (one.start_ns, one.end_ns) if n is not None], default=one.at_ns)
        if one.utterance is not None:
            since = min(since, heard.setdefault(one.utterance, one.at_ns))
        if reach.crosses(since, one.at_ns):
            return True
    for end in facts.turn_ends:
        asked = (*end.incomplete_ns, end.at_ns if end.complete_ns is None else end.complete_ns)
        if reach.crosses(min(asked), end.at_ns):
            return True
    if any(v.overlap_id is not None or (v.requested_ns or v.at_ns) < v.at_ns - NEAR_NS for v in facts.classifier):
        return True
    told = ((at, runs.get(e.response_id)) for at, _, _, e in facts.stages) if facts.cancelled else ()
    return any(run is not None and reach.crosses(run.last_ns, at) for at, run in told)


class _Reach:
    """Asks whether what is told at one moment reaches back over an onset that was judged by then."""

    def __init__(self, ahead: Sequence[Onset], bounds: Bounds) -> None:
        self.match_ns = bounds.match_ns
        self.ahead = [(max(at, edge) + bounds.match_ns, at + LOOK_AHEAD_NS, edge) for at, edge, _, _ in ahead]

    def crosses(self, since_ns: int, told_ns: int, *, known_ns: int = -1) -> bool:
        """``known_ns``: before that nothing was judged."""
        if told_ns - since_ns <= NEAR_NS:
            return False
        return any(since_ns < behind and known_ns <= judged < told_ns for behind, judged, _ in self.ahead)

    def crosses_silence(self, run: Run) -> bool:
        """The same of all that is told of a response; while it is audible no cut is made."""
        return any(
            run.first_ns < behind and judged < run.last_ns and not self._audible(run, edge)
            for behind, judged, edge in self.ahead
        )

    def falls_between(self, own: Sequence[Edge], runs: Collection[Run]) -> bool:
        """Whether an onset falls between two edges that belong together, or between an edge and its being told: of the
        pipeline's own word on the agent, which keeps no cut from being made where others tell better."""
        for n, edge in enumerate(own):
            until = own[n + 1].at_ns if edge.start and n + 1 < len(own) else NEVER if edge.start else edge.at_ns
            for behind, judged, onset_ns in self.ahead:
                at = judged - LOOK_AHEAD_NS
                is_between = edge.edge_ns < behind and at - self.match_ns <= until
                if is_between and not any(self._audible(run, onset_ns) for run in runs):
                    return True
        return False

    def _audible(self, run: Run, edge_ns: int) -> bool:
        near = self.match_ns
        return any(
            p.first_ns is not None
            and p.first_ns + near <= edge_ns
            and (p.last_ns is None or p.last_ns - near > edge_ns)
            for p in run.plays
        )


def _moment(entry: Entry) -> int:
    return entry[0]
