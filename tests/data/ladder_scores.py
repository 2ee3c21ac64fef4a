"""How far heard spans lie from the truth of a call: errors of edges, segments and overlaps missed and false."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from data.ladder import Call, Spans


@dataclass
class Score:
    """Sums over calls. Errors in ms, late positive."""

    onsets: list[float] = field(default_factory=list[float])
    ends: list[float] = field(default_factory=list[float])
    segments: int = 0
    missed: int = 0
    false: int = 0
    overlaps: int = 0
    missed_overlaps: int = 0
    false_overlaps: int = 0
    agent_ends: list[float] = field(default_factory=list[float])
    agent_missed: int = 0
    agent_false: int = 0

    def add(self, made: Call, caller: Spans, agent: Spans) -> None:
        """Take in a call as it was heard. Spans that touch one true segment are taken together, as readers do."""
        on_errors, off_errors, missed, false = _match(made.caller_s, caller)
        self.onsets += on_errors
        self.ends += off_errors
        self.segments += len(made.caller_s)
        self.missed += missed
        self.false += false
        _, agent_ends, agent_missed, agent_false = _match(made.agent_s, agent)
        self.agent_ends += agent_ends
        self.agent_missed += agent_missed
        self.agent_false += agent_false
        true = made.overlaps_s
        heard = [(on, min(off, end)) for on, off in caller for start, end in agent if start <= on < end]
        self.overlaps += len(true)
        self.missed_overlaps += sum(not any(on < end and off > start for on, off in heard) for start, end in true)
        inside = (*true, *(span for span in made.caller_s if any(a <= span[0] < b for a, b in made.agent_s)))
        self.false_overlaps += sum(not any(on < end and off > start for start, end in inside) for on, off in heard)


def _match(true: Spans, heard: Spans) -> tuple[list[float], list[float], int, int]:
    onsets: list[float] = []
    ends: list[float] = []
    missed = 0
    claimed: set[tuple[float, float]] = set()
    for start, end in true:
        mine = [span for span in heard if span[0] < end and span[1] > start]
        claimed.update(mine)
        if mine:
            onsets.append((mine[0][0] - start) * 1e3)
            ends.append((mine[-1][1] - end) * 1e3)
        else:
            missed += 1
    return onsets, ends, missed, len(set(heard) - claimed)


def spread(errors_ms: list[float]) -> tuple[float, float]:
    """Median and 90th percentile of the absolute errors; NaN where there is none."""
    if not errors_ms:
        return float("nan"), float("nan")
    sizes = np.abs(errors_ms)
    return float(np.median(sizes)), float(np.percentile(sizes, 90))
