"""Integers by event time: a tier is a row of buckets of one length, a running window the sum of some of them.

A bucket is a flat mapping from ``series * STRIDE + slot`` to a count; closed ones are packed into arrays. All is
addition, so a late record goes into its bucket as long as that is kept, and arrival order changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from earwitness.monitor.measures.slots import STRIDE

Items = Iterable[tuple[int, int]]
_OPEN_STEPS: Final = 2
"""Steps behind the newest in which records usually still arrive; older buckets are packed."""


class Bucket:
    """Counts of one step of time."""

    __slots__ = ("_counts", "_keys", "open")

    def __init__(self) -> None:
        self.open: defaultdict[int, int] = defaultdict(int)
        self._keys: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._counts: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, items: Items) -> None:
        """Add the items; one that takes away is negative."""
        counts = self.open
        for key, amount in items:
            counts[key] += amount

    def items(self) -> Iterator[tuple[int, int]]:
        """Everything in it; a key may come twice, with parts of its count, or with 0."""
        yield from zip(self._keys.tolist(), self._counts.tolist(), strict=True)
        yield from self.open.items()

    def seal(self) -> None:
        """Pack what is in it."""
        if not self.open:
            return
        packed = dict(zip(self._keys.tolist(), self._counts.tolist(), strict=True))
        for key, amount in self.open.items():
            packed[key] = packed.get(key, 0) + amount
        kept = sorted(key for key, amount in packed.items() if amount)
        self._keys = np.array(kept, np.int64)
        self._counts = np.array([packed[key] for key in kept], np.int64)
        self.open = defaultdict(int)

    def series(self) -> set[int]:
        """The series that it has something of."""
        return {int(key) for key in np.unique(self._keys // STRIDE)} | {key // STRIDE for key in self.open}


class Tier:
    """Buckets of ``step_s`` seconds; the newest ``keep`` of them, counted in steps of time, are kept."""

    def __init__(self, step_s: int, keep: int) -> None:
        self.step_s = step_s
        self.step_ns = step_s * 1_000_000_000
        self.keep = keep
        self.buckets: dict[int, Bucket] = {}
        self.newest: int | None = None
        self._unsealed: set[int] = set()

    @property
    def oldest_kept(self) -> int | None:
        """The first step that is still kept; None before anything came."""
        return None if self.newest is None else self.newest - self.keep + 1

    def index_of(self, at_ns: int) -> int:
        """The step that a moment of wall time lies in."""
        return at_ns // self.step_ns

    def advance(self, index: int) -> list[int]:
        """Make a step the newest, if it is newer; the steps that thereby went."""
        if self.newest is not None and index <= self.newest:
            return []
        self.newest = index
        gone = [i for i in self.buckets if i <= index - self.keep]
        for i in gone:
            del self.buckets[i]
        for i in [i for i in self._unsealed if i < index - _OPEN_STEPS]:
            self._unsealed.discard(i)
            if i in self.buckets:
                self.buckets[i].seal()
        return gone

    def keeps(self, index: int) -> bool:
        """Whether a step is not older than what is kept."""
        return self.newest is None or index > self.newest - self.keep

    def bucket(self, index: int) -> Bucket:
        """The bucket of a step, to be added to."""
        self._unsealed.add(index)
        found = self.buckets.get(index)
        if found is None:
            found = self.buckets[index] = Bucket()
        return found


class RunningWindow:
    """The sum of the ``steps`` buckets of a tier up to some step, by series and slot.

    It follows wherever it is moved, forward or back, by adding the buckets that come in and subtracting those that
    leave: integers, so the sum is the one that adding afresh would give.
    """

    def __init__(self, tier: Tier, steps: int) -> None:
        self.tier = tier
        self.steps = steps
        self.end: int | None = None
        """The step after its last; None until it was read once, and nothing is kept for it until then."""
        self.counts: dict[int, dict[int, int]] = {}

    def holds(self, index: int) -> bool:
        """Whether a step is in the sum."""
        return self.end is not None and self.end - self.steps <= index < self.end

    def reset(self) -> None:
        """Forget the sum; the next move adds afresh. For when the tier dropped buckets that are in it."""
        self.end, self.counts = None, {}

    def move(self, end: int) -> None:
        """Make ``end`` the step after its last one."""
        if end == self.end:
            return
        buckets = self.tier.buckets
        now = range(end - self.steps, end)
        before = range(0) if self.end is None else range(self.end - self.steps, self.end)
        if self.end is None or not set(now) & set(before):
            self.counts, before = {}, range(0)
        for index in before:
            if index not in now and index in buckets:
                self.add(buckets[index].items(), -1)
        for index in now:
            if index not in before and index in buckets:
                self.add(buckets[index].items())
        self.end = end

    def add(self, items: Items, sign: int = 1) -> None:
        """Add items of a bucket that is in the sum, or take them away (``sign`` -1)."""
        counts = self.counts
        for key, amount in items:
            series = key // STRIDE
            slot = key - series * STRIDE
            slots = counts.get(series)
            if slots is None:
                slots = counts[series] = {}
            if total := slots.get(slot, 0) + amount * sign:
                slots[slot] = total
            else:
                slots.pop(slot, None)
                if not slots:
                    del counts[series]
