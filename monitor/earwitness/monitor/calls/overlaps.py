"""Rows of the 2×2 in the making: caller speech that begins while the agent is audible (definitions, "Interruptions").

What the caller wanted is said in ``wants``, what the agent did about it in ``stops``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from earwitness.monitor.calls.agent import Sound, Voice
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.contract.learnt_later import WantClass
from earwitness.monitor.contract.records import Cell, DecidedBy, Terminal, Wanted


@dataclass(frozen=True, slots=True)
class Stop:
    """What the agent did about an overlap, whatever the caller wanted. ``stopped_ns`` None: it did not fall silent."""

    u_on_ns: int
    stopped_ns: int | None
    cut: bool | None
    """An interruption or a truncated playback ended it; None on a recording, where nobody knows."""
    lasting: bool
    """The silence has lasted, or the call is over."""
    silent_for_ns: int | None
    """Until the agent spoke again or the call was over; None before that."""
    followed: bool
    """The agent has spoken again."""
    resumed_after_ns: int | None
    terminal: Terminal | None
    uncertain: bool
    seen_until_ns: int | None
    """Up to when it was watched; None: to the call's end."""
    on_at_most: bool = False
    """The caller began at ``u_on_ns`` or before."""

    def late(self, bounds: Bounds) -> bool:
        """Whether the agent went on beyond the longest window, so that what it did later has nothing to do with it."""
        return self.stopped_ns is None or self.stopped_ns - self.u_on_ns > bounds.yield_wanted_ns

    def in_time(self, wanted: Wanted | None, bounds: Bounds) -> tuple[bool | None, bool | None]:
        """``yielded_observed`` and ``yielded_caused``: silent within the window, and because of it; None: too early to
        say, or (caused) a recording."""
        if self.uncertain:
            return None, None
        recording = self.cut is None
        unwanted = bounds.yield_unwanted_recording_ns if recording else bounds.yield_unwanted_ns
        window = unwanted if wanted == "no" else bounds.yield_wanted_ns
        if self.stopped_ns is None or self.stopped_ns - self.u_on_ns > window:
            late = self.seen_until_ns is None or self.seen_until_ns > self.u_on_ns + window
            observed = False if late else None
        else:
            observed = True if self.lasting else None
        return observed, None if recording or observed is None else observed and self.cut


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
    stop: Stop | None = None
    """What the agent did about it, once that was asked (`stops.stop_of`)."""

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
