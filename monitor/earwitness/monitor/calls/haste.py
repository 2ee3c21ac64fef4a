"""Which events can change a record that somebody looks at now, and which can wait for the next look at the call.

A guess about haste and about nothing else: what waits is read by the next look, so no number depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from earwitness.monitor.calls.reckon import Reckoning
from earwitness.monitor.contract.events import AnyEvent

WAITING: Final = frozenset({"stage", "agent_text", "turn_started", "turn_ended"})
"""Kinds that add to a record without being what anybody waits for, or that change none by themselves."""
PRESSING_PHASES: Final = frozenset({"cancelled", "empty"})


@dataclass(slots=True)
class Floor:
    """Who has the floor, as of the last look."""

    agent_audible: bool = False
    unsettled: bool = False
    """There is an overlap that is not final."""
    awaiting: bool = False
    """The last turn has no answer."""
    quiet_since_ns: int | None = None
    playout: bool = False
    """The agent's sounds are told by what was written to the transport."""
    spoke: bool = False
    """The caller has spoken since."""
    overlap_ns: int | None = None
    """When the caller began to speak over the agent, or something to cut it off, if that was after the last look."""

    def is_pressing(self, event: AnyEvent, at_ns: int, dead_air_ns: int) -> bool:
        """Whether an event that came after the last look can change a record at once; ``at_ns``: where it lies."""
        kind = event.kind
        if kind in WAITING:
            return False
        e: Any = event
        if kind == "response":
            return e.phase in PRESSING_PHASES
        if kind == "transcript":
            if not e.final:
                return False
            return self.agent_audible or self.unsettled or not (self.awaiting or self.spoke)
        if kind == "playout":
            if e.phase == "first" or self.unsettled or self.spoke:
                return True
            self.agent_audible, self.quiet_since_ns = False, at_ns
            return False
        if kind == "interruption":
            if self.agent_audible and not self.spoke:
                self.overlap_ns = at_ns
            return self.unsettled
        if kind in ("speech_started", "speech_ended"):
            if e.party == "agent":
                return not self.playout
            if e.party == "other":
                return True
            if kind == "speech_ended":
                return self.agent_audible or self.unsettled or not (self.awaiting or self.spoke)
            first, self.spoke = not self.spoke, True
            if self.agent_audible:
                # Over the agent's words, what the agent does about it comes first: `overlap_ns`.
                if first:
                    self.overlap_ns = at_ns
                return self.unsettled
            quiet_since = self.quiet_since_ns
            if quiet_since is None:
                return False
            # Before the agent's end it began an overlap, long after it ended dead air.
            return e.edge_ns + at_ns - e.at_ns < quiet_since or at_ns - quiet_since >= dead_air_ns
        return True


def floor_of(found: Reckoning) -> Floor:
    """Who has the floor by a reckoning."""
    scene, turns = found.page.scene, found.page.talk.turns
    horizon = scene.horizon_ns
    last = scene.sounds()[-1:]
    audible = any(s.off_ns is None or (s.uncertain_until_ns or 0) > horizon for _, s, _ in last)
    ends = [s.end_ns(horizon) for _, s, _ in last] + [s.end_ns(horizon) for s in scene.segments[-1:]]
    return Floor(
        agent_audible=audible,
        unsettled=found.page.unsettled,
        awaiting=bool(turns) and turns[-1].answer is None,
        quiet_since_ns=max(ends, default=None),
        playout="agent:playout" in scene.facts.had,
    )
