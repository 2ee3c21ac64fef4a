"""Running windows: the sum of the buckets of a tier up to some step, which follows wherever it is read.

It moves, forward or back, by adding the buckets that come in and taking away those that leave: integers, so the sum
is the one that adding afresh would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from earwitness.monitor.measures.slots import CLASSES, RESTATED, STRIDE
from earwitness.monitor.measures.sums import Integers, Pile, Sums, summed

Slots = dict[int, int]
_SET: Final = CLASSES * STRIDE


class Row(Protocol):
    """A row of buckets of one length."""

    def sums(self, index: int) -> Sums:
        """The sums of a step of time."""
        ...


class RunningWindow:
    """The sum of the last ``steps`` buckets of some rows of the same length, by key."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.rows: list[Row] = []
        self._end: int | None = None
        """The step after its last; None until it was read once, and nothing is kept for it until then."""
        self._pile = Pile()

    def holds(self, index: int) -> bool:
        """Whether a step is in the sum."""
        return self._end is not None and self._end - self.steps <= index < self._end

    def take(self, part: Sums) -> None:
        """Add what came into a bucket that is in the sum."""
        self._pile.add(part)

    def reset(self) -> None:
        """Forget the sum; the next move adds afresh. For when buckets went that are in it."""
        self._end, self._pile = None, Pile()

    def move(self, end: int) -> None:
        """Make ``end`` the step after its last one. All buckets are settled."""
        if end == self._end:
            return
        now = range(end - self.steps, end)
        before = range(0) if self._end is None else range(self._end - self.steps, self._end)
        if not len(before) or end >= before.stop + self.steps or end <= before.start:
            self._pile, before = Pile(), range(0)
        for row in self.rows:
            for index in before:
                if index not in now:
                    self._pile.add(row.sums(index).negated())
            for index in now:
                if index not in before:
                    self._pile.add(row.sums(index))
        self._end = end

    def sums(self) -> Sums:
        """All of it."""
        return self._pile.whole()

    def sets(self) -> list[int]:
        """The numbers of the label sets that it has something of; what was taken back late leaves none."""
        return sets_in(self.sums().keys[self.sums().keys % STRIDE != RESTATED])

    def of_sets(self, numbers: Sequence[int], classes: Sequence[int]) -> dict[int, Slots]:
        """The sum over label sets, of some classes: by class, then by slot."""
        keys, amounts = self.sums()
        if len(numbers) == 1:
            first, last = np.searchsorted(keys, (numbers[0] * _SET, (numbers[0] + 1) * _SET)).tolist()
            return _by_class(keys[first:last] - numbers[0] * _SET, amounts[first:last], classes)
        begins = (np.asarray(numbers, np.int64)[:, None] * _SET + np.asarray(classes, np.int64) * STRIDE).ravel()
        firsts = np.searchsorted(keys, begins)
        lengths = np.searchsorted(keys, begins + STRIDE) - firsts
        # Where each of the found keys stands: the ranges one after the other.
        at = np.repeat(firsts - np.cumsum(lengths) + lengths, lengths)
        at += np.arange(len(at))
        return _by_class(*summed(keys[at] % _SET, amounts[at]), classes)


def sets_in(keys: Integers) -> list[int]:
    """The numbers of the label sets of some keys, in order."""
    numbers = keys // _SET
    return [] if not len(numbers) else numbers[np.flatnonzero(np.diff(numbers, prepend=-1))].tolist()


def _by_class(keys: Integers, amounts: Integers, classes: Sequence[int]) -> dict[int, Slots]:
    begins = np.asarray(classes, np.int64) * STRIDE
    firsts, lasts = (np.searchsorted(keys, bounds).tolist() for bounds in (begins, begins + STRIDE))
    found: dict[int, Slots] = {}
    for number, first, last in zip(classes, firsts, lasts, strict=True):
        if first < last:
            slots = (keys[first:last] - number * STRIDE).tolist()
            found[number] = dict(zip(slots, amounts[first:last].tolist(), strict=True))
    return found
