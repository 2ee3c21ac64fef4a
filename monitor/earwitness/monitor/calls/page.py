"""A call's records being written: their contents, where each lies in time, and what is counted beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.facts import Run
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.calls.talk import Talk, TurnDraft
from earwitness.monitor.calls.wants import Basis
from earwitness.monitor.contract.records import EndCause, Record, Unheard

Content = dict[str, Any]
NEVER: Final = 1 << 62
"""A moment that does not come."""


class Draft(NamedTuple):
    """A record's class, id and fields, without those that every record of the call shares; ``place_ns`` is where the
    thing itself begins."""

    kind: type[Record]
    id: str
    place_ns: int
    content: Content
    basis: Basis | None = None
    """Of an overlap: what a label or a verdict is judged with."""


@dataclass(slots=True)
class Page:
    """The records of one stretch of a call being written."""

    scene: Scene
    talk: Talk
    carry: Carry
    wall_ns: int
    cause: EndCause | None
    """How the call ended; None while it goes on."""
    unheard: tuple[Unheard, ...] = ()
    """Stretches of the call so far in which audio reached nobody."""
    before_ns: int = NEVER
    """What begins from then on need not be written."""
    told_before_ns: int = NEVER
    """Nor service metrics that were told from then on."""
    drafts: list[Draft] = field(default_factory=list[Draft])
    counted: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    """Counted facts: where, which, how many."""
    latencies: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Where a turn begins and its response latency."""
    final_at_ns: int = NEVER
    """When the first of the records that only wait to be settled becomes final."""
    audible: set[int] = field(default_factory=set[int])
    """``id`` of every response of which something was heard."""
    _owned: dict[int, list[Run]] = field(default_factory=dict[int, list[Run]])
    _turn_ids: dict[int, str] = field(default_factory=dict[int, str])
    _voice_ids: dict[int, str] = field(default_factory=dict[int, str])

    def __post_init__(self) -> None:
        numbers = self.carry.numbers
        self._voice_ids = {id(v): f"a{numbers['a'] + n}" for n, v in enumerate(self.scene.voices, 1)}
        self._turn_ids = {id(t): f"t{numbers['t'] + n}" for n, t in enumerate(self.talk.turns, 1)}
        self.audible = {id(v.run) for v in self.scene.voices}
        owner, owned = self.talk.owner, self._owned
        for run in self.scene.facts.runs.values():
            turn = owner.get(run.id)
            if turn is not None:
                owned.setdefault(id(turn), []).append(run)

    def runs_of(self, turn: TurnDraft) -> Sequence[Run]:
        """The responses that belong to a turn."""
        return self._owned.get(id(turn), ())

    def turn_id(self, turn: TurnDraft | None) -> str | None:
        """The id of a turn's record."""
        return None if turn is None else self._turn_ids.get(id(turn))

    def voice_id(self, voice: Voice | None) -> str | None:
        """The id of an agent turn's record."""
        return None if voice is None else self._voice_ids.get(id(voice))

    def add(
        self,
        kind: type[Record],
        record_id: str,
        at_ns: int,
        content: Content,
        *,
        final: bool,
        place_ns: int | None = None,
        basis: Basis | None = None,
    ) -> None:
        """Write a record that counts at ``at_ns``."""
        content["event_wall_ns"], content["final"] = self.wall_ns + at_ns, final
        self.drafts.append(Draft(kind, record_id, at_ns if place_ns is None else place_ns, content, basis))

    def count(self, name: str, at_ns: int, by: int = 1) -> None:
        """Add to a counted fact."""
        if by:
            self.counted.append((at_ns, name, by))

    def settled(self, at_ns: int) -> bool:
        """Whether the stated time has passed since, or the call is over."""
        scene = self.scene
        if scene.over:
            return True
        settles_ns = at_ns + scene.bounds.settle_ns
        if scene.horizon_ns >= settles_ns:
            return True
        self.final_at_ns = min(self.final_at_ns, settles_ns)
        return False
