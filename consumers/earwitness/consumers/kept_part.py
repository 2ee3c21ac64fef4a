"""What a worker knows of a partition that it has the state of."""

from __future__ import annotations

from dataclasses import dataclass, field

from earwitness.consumers.held_call import Change
from earwitness.consumers.partition_state import PartitionState
from earwitness.consumers.read_back import ReadBack
from earwitness.consumers.state_slots import Slots


@dataclass(slots=True)
class Part:
    """A partition that this worker has the state of. ``next_offset``: the next event to be folded."""

    state: PartitionState
    slots: Slots
    next_offset: int
    published_to: int
    goal: int
    since_ns: int | None
    quiet: bool
    """What is folded was published by an earlier run."""
    saved_to: int = 0
    """The position that the group was last told, or may be told without any harm."""
    left: bool = False
    """It was handed over: nothing of it is folded or judged unless it comes back."""
    behind: bool = True
    """The past is still being read: of what changes only the last is published, when it is read."""
    misplaced: bool = True
    """The reader must be sent to ``next_offset``."""
    all_anew: bool = False
    """The next snapshot brings all values, whatever was saved before."""
    kept_ns: int = 0
    """When what changed was last written."""
    turn: int = 0
    """Who was written longer ago has less."""
    again: set[str] = field(default_factory=set[str])
    """Calls of which something was published that the state does not know of."""
    read_back: ReadBack = field(default_factory=ReadBack)
    """What was published of it by somebody else, until it is known whether it stands."""
    held_back: dict[tuple[str, str], Change] = field(default_factory=dict[tuple[str, str], Change])
    """The last change of each record while the past is read."""
