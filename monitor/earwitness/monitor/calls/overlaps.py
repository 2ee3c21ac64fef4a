"""Rows of the 2×2 in the making: caller speech that begins while the agent is audible (definitions, "Interruptions").

What the caller wanted is said in ``wants``, what the agent did about it in ``stops``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import Cell, DecidedBy, Wanted


@dataclass(slots=True, eq=False)
class OverlapDraft:
    """One row of the 2×2 in the making: caller speech that began while the agent was audible."""

    id: str
    utterances: list[Utterance]
    sound: Sound
    voice: Voice
    set_aside: DecidedBy | None = None
    wanted: Wanted | None = "unknown"
    want_class: WantClass | None = None
    decided_by: DecidedBy | None = None
    uncertain: bool = False
    pending: bool = False
    """Too early to say what the caller wanted."""
    words: tuple[str, ...] = field(default_factory=tuple)

    @property
    def u_on_ns(self) -> int:
        """Onset of the caller's speech."""
        return self.utterances[0].at_ns

    @property
    def u_off_ns(self) -> int | None:
        """End of the caller's speech, None while it goes on."""
        return self.utterances[-1].off_ns


def cell_of(wanted: Wanted | None, gave_way: bool | None) -> Cell | None:
    """The cell of the 2×2, where both sides are known."""
    if gave_way is None or wanted not in ("yes", "no"):
        return None
    if wanted == "yes":
        return "TP" if gave_way else "FN"
    return "FP" if gave_way else "TN"


def missed_because(scene: Scene, draft: OverlapDraft) -> str | None:
    """Why the pipeline did not give way, where its own settings or words tell (B13)."""
    thrown_away = any(f.thrown_away for u in draft.utterances for s in u.segments for f in s.finals)
    least = scene.facts.started.min_words if scene.facts.started is not None else None
    # The pipeline counts what stands between spaces, in every script.
    heard = sum(len((u.text or "").split()) for u in draft.utterances)
    if least is not None and draft.words and heard < least:
        return "min_words"
    if any(lo <= draft.u_on_ns < hi for lo, hi in scene.mutes):
        return "muted"
    return "min_words" if thrown_away and least is not None else None
