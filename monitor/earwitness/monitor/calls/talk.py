"""Drafts of what a call's pass over onsets finds: caller turns, the agent's interruptions, who answers whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.facts import ToolLife
from earwitness.monitor.calls.overlaps import OverlapDraft
from earwitness.monitor.calls.scene import Utterance

Cause = Literal["overlap", "premature_endpoint", "resumed"]


@dataclass(slots=True, eq=False)
class TurnDraft:
    """A caller turn in the making."""

    utterances: list[Utterance]
    answer: Voice | None = None
    answer_ns: int | None = None
    sample: bool = True
    """False where audio answers the turn without giving a latency (a recording's agent onset inside the turn)."""
    premature: bool = False
    interrupted: bool = False
    """Agent audio began before the turn was over."""
    doubtful: bool = False
    """Opened by an overlap of which it is too early to say whether it is speech at all."""

    @property
    def start_ns(self) -> int:
        """Where the turn begins, or all that is known of it."""
        return self.utterances[0].at_ns

    @property
    def u_on_ns(self) -> int | None:
        """Onset of the turn's first speech."""
        return self.utterances[0].on_ns

    @property
    def u_off_ns(self) -> int | None:
        """End of the turn's last speech."""
        return self.utterances[-1].off_ns

    def end_ns(self, horizon_ns: int) -> int:
        """End of the turn's last speech, or the horizon while it goes on."""
        return self.utterances[-1].end_ns(horizon_ns)


@dataclass(frozen=True, slots=True)
class InterruptionDraft:
    """An onset of the agent while the caller's turn was not over."""

    at_ns: int
    cause: Cause
    turn: TurnDraft
    voice: Voice


@dataclass(slots=True)
class Talk:
    """What the pass found."""

    turns: list[TurnDraft] = field(default_factory=list[TurnDraft])
    overlaps: list[OverlapDraft] = field(default_factory=list[OverlapDraft])
    interruptions: list[InterruptionDraft] = field(default_factory=list[InterruptionDraft])
    owner: dict[str, TurnDraft] = field(default_factory=dict[str, TurnDraft])
    """Which turn each response belongs to, by response id."""


def turn_of_tool(talk: Talk, tool: ToolLife) -> TurnDraft | None:
    """The turn for which a tool was called."""
    if tool.run is not None:
        return talk.owner.get(tool.run)
    before = [t for t in talk.turns if t.start_ns <= tool.called_ns]
    return before[-1] if before else None
