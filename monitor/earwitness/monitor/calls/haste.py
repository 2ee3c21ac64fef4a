"""Which events give a number that somebody waits for, and which can wait for the next look at the call.

A guess about haste and about nothing else: what waits is read by the next look, so no number depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from earwitness.monitor.calls.reckon import Reckoning
from earwitness.monitor.contract.events import AnyEvent

WAITING: Final = frozenset(
    {"stage", "agent_text", "response", "interruption", "turn_started", "turn_ended", "connected"}
)
"""Kinds that come with every turn and end no wait."""


@dataclass(slots=True)
class Floor:
    """Who has the floor, as of the last look and the events since."""

    agent_audible: bool = False
    playout: bool = False
    """The agent's sounds are told by what was written to the transport."""
    heard: set[str] = field(default_factory=set[str])
    """Kinds of evidence by which the caller speaks."""
    broke_in: bool = False
    """The agent began while the caller's speech was not told to be over by all of them."""
    wordless: bool = False
    """No words were heard of what the caller said last."""

    def is_pressing(self, event: AnyEvent) -> bool:
        """Whether the event ends somebody's wait, or tells that it has ended: the agent's first sound; behind that,
        the end of the caller's speech and its first words. So do the rare ones that may change anything."""
        kind = event.kind
        if kind in WAITING:
            return False
        e: Any = event
        if kind == "playout":
            return self._agent(first=e.phase == "first")
        if kind == "speech_started":
            if e.party == "agent":
                return not self.playout and self._agent(first=True)
            if e.party == "caller":
                self.heard.add(e.evidence)
                self.wordless = True
            return False
        if kind == "speech_ended":
            if e.party == "agent":
                return not self.playout and self._agent(first=False)
            told = self.broke_in
            self.heard.discard(e.evidence)
            self.broke_in = told and bool(self.heard)
            return told
        if kind == "transcript":
            told = self.wordless and self.agent_audible and (e.final or self.broke_in)
            self.wordless = False
            return told
        return True

    def _agent(self, *, first: bool) -> bool:
        self.agent_audible = first
        self.broke_in = self.broke_in or (first and bool(self.heard))
        return first

    def is_overlap(self, event: AnyEvent) -> bool:
        """Whether the caller begins to speak over the agent."""
        return self.agent_audible and event.kind == "speech_started" and event.party == "caller"


def floor_of(found: Reckoning) -> Floor:
    """Who has the floor by a reckoning."""
    scene = found.page.scene
    sounds, segments = scene.sounds()[-1:], scene.segments[-1:]
    audible = any(s.off_ns is None or (s.uncertain_until_ns or 0) > scene.horizon_ns for _, s, _ in sounds)
    speaks = {edges for (edges, _), own in scene.facts.caller_edges.items() if own and own[-1].start}
    wordless = any(not (s.finals or s.interim) for s in segments)
    return Floor(audible, "agent:playout" in scene.facts.had, speaks, audible and bool(speaks), wordless)
