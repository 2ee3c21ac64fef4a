"""Integers by event time: a tier is a row of buckets of one length, each the sums of one step of time.

What changes is noted in the finest tier that keeps its moment. A bucket hands what it took in up to the next tier
when it closes or when somebody reads there, so that most of what happens is added up once before it goes on. All is
addition, so a late record goes into its bucket as long as that is kept, and arrival order changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from earwitness.monitor.measures.histogram import Binning
from earwitness.monitor.measures.journal import Journal, worked_in
from earwitness.monitor.measures.running import RunningWindow
from earwitness.monitor.measures.sums import NOTHING, Pile, Sums, added, packed, unpacked

S: Final = 1_000_000_000
KEPT_STEPS: Final = {10: 60, 60: 180, 600: 160, 3_600: 174}
"""Lengths of buckets in seconds, and how many are kept: the longest window of the tier and room for what is late."""
OPEN_STEPS: Final = 2
"""Steps behind the newest in which records usually still arrive; older buckets are closed."""
WORTH_PACKING: Final = 64
"""Keys of a bucket from which on packing it saves something."""
MOST_NOTED: Final = 32_768
"""Contributions that are noted at most before they are worked into sums."""


class Bucket:
    """One step of time: the sums of what it took in, and what it has not worked in yet."""

    __slots__ = ("_packed", "_pile", "fresh", "journal")

    def __init__(self) -> None:
        self.fresh: list[Sums] = []
        self.journal: Journal | None = None
        self._pile = Pile()
        self._packed = b""
        """All of it, where it is closed."""

    def add(self, part: Sums) -> None:
        """Add to what was worked in."""
        if self._packed:
            self._pile.add(unpacked(self._packed))
            self._packed = b""
        self._pile.add(part)

    def sums(self) -> Sums:
        """What was worked in."""
        return unpacked(self._packed) if self._packed else self._pile.whole()

    def close(self) -> None:
        """Keep it in few bytes: hardly anything more will come."""
        if not self._packed and len(self._pile.whole().keys) > WORTH_PACKING:
            self._packed, self._pile = packed(self._pile.whole()), Pile()


class Tier:
    """Buckets of ``step_s`` seconds; the newest ``keep`` of them, counted in steps of time, are kept.

    ``only``: what this tier and those above it keep of what they are given. ``windows``: who sums its buckets.
    """

    def __init__(
        self,
        step_s: int,
        keep: int,
        binning: Binning,
        *,
        above: Tier | None = None,
        only: Callable[[Sums], Sums] | None = None,
        windows: Sequence[RunningWindow] = (),
    ) -> None:
        self.step_s = step_s
        self.step_ns = step_s * S
        self.keep = keep
        self.newest: int | None = None
        self.changed: set[int] = set()
        """Steps in which sums changed, until somebody clears it."""
        self._binning = binning
        self._above = above
        self._only = only
        self._windows = windows
        self._buckets: dict[int, Bucket] = {}
        self._unsettled: set[int] = set()
        self._open: set[int] = set()
        """Steps whose sums are not packed."""

    @property
    def steps(self) -> list[int]:
        """The steps that it has a bucket of, in order."""
        return sorted(self._buckets)

    def keeps(self, index: int) -> bool:
        """Whether a step is not older than what is kept."""
        return self.newest is None or index > self.newest - self.keep

    def journal(self, index: int) -> Journal:
        """Where to note what happened in a step that is kept."""
        bucket = self._bucket(index)
        if bucket.journal is None:
            bucket.journal = []
        return bucket.journal

    def take(self, index: int, part: Sums) -> None:
        """Add sums that a tier below hands up to a step, if it is kept."""
        if self.keeps(index):
            self._bucket(index).fresh.append(part)

    def put(self, index: int, part: Sums) -> None:
        """Add sums to a step of this tier alone, if it is kept: what was saved of it."""
        if self.keeps(index):
            bucket = self._buckets.setdefault(index, Bucket())
            self._grow(index, bucket, part)

    def settle(self) -> None:
        """Work in what was taken in, and hand it up."""
        for index in self._unsettled:
            self._settle_one(index)
        self._unsettled.clear()

    def advance(self, index: int) -> bool:
        """Make a step the newest, if it is newer; whether buckets thereby went."""
        if self.newest is not None and index <= self.newest:
            return False
        self.newest = index
        gone = [i for i in self._buckets if i <= index - self.keep]
        for i in gone:
            self._let_go(i)
        for i in [i for i in self._open if i < index - OPEN_STEPS]:
            self._open.discard(i)
            # Those of the finest tier go within minutes, and windows come back to them every few seconds.
            if i in self._buckets and i not in self._unsettled and self.step_s > min(KEPT_STEPS):
                self._buckets[i].close()
        for window in self._windows:
            if any(window.holds(i) for i in gone):
                window.reset()
        return bool(gone)

    def sums(self, index: int) -> Sums:
        """All that was worked into a step; `settle` comes first."""
        bucket = self._buckets.get(index)
        return NOTHING if bucket is None else bucket.sums()

    def _let_go(self, index: int) -> None:
        bucket = self._buckets.pop(index)
        self._unsettled.discard(index)
        self.changed.discard(index)
        if self._above is None:
            return
        over = index * self.step_s // self._above.step_s
        if bucket.journal is not None and self._above.keeps(over):
            # Nobody read it here: it goes on as it was noted.
            self._above.journal(over).extend(bucket.journal)
        for part in bucket.fresh:
            self._above.take(over, part)

    def _bucket(self, index: int) -> Bucket:
        self._unsettled.add(index)
        self._open.add(index)
        found = self._buckets.get(index)
        if found is None:
            found = self._buckets[index] = Bucket()
        return found

    def _settle_one(self, index: int) -> None:
        bucket = self._buckets[index]
        fresh, bucket.fresh = bucket.fresh, []
        if bucket.journal is not None:
            fresh.append(worked_in(bucket.journal, self._binning))
            bucket.journal = None
        part = added(fresh)
        if self._only is not None:
            part = self._only(part)
        self._grow(index, bucket, part)
        if self._above is not None:
            self._above.take(index * self.step_s // self._above.step_s, part)

    def _grow(self, index: int, bucket: Bucket, part: Sums) -> None:
        if not len(part.keys):
            return
        bucket.add(part)
        self._open.add(index)
        self.changed.add(index)
        for window in self._windows:
            if window.holds(index):
                window.take(part)


class Buckets:
    """The tiers of one part of a log, the finest first. Its newest moment alone says what is still kept.

    ``only``: what the longest tier keeps. ``windows`` are the running windows by the step of their tier.
    """

    def __init__(
        self,
        binning: Binning,
        *,
        only: Callable[[Sums], Sums] | None = None,
        windows: Mapping[int, Sequence[RunningWindow]] | None = None,
    ) -> None:
        self.tiers: dict[int, Tier] = {}
        above: Tier | None = None
        longest = max(KEPT_STEPS)
        for step_s, keep in sorted(KEPT_STEPS.items(), reverse=True):
            above = self.tiers[step_s] = Tier(
                step_s,
                keep,
                binning,
                above=above,
                only=only if step_s == longest else None,
                windows=(windows or {}).get(step_s, ()),
            )
        self.tiers = dict(reversed(self.tiers.items()))
        self._finest = self.tiers[min(KEPT_STEPS)]
        self.step_ns = self._finest.step_ns
        self._journals: dict[int, Journal] = {}
        """Those of the finest tier that are open."""
        self._newest = -1
        self._noted = 0
        self.lost_longest = False
        """Whether a bucket of the longest tier went since somebody asked."""

    def journal(self, wall_ns: int, count: int) -> Journal | None:
        """Where to note ``count`` contributions of a moment of wall time, at once; None where nothing of it is kept."""
        index = wall_ns // self.step_ns
        if index > self._newest:
            self._advance(wall_ns, index)
        if self._noted + count > MOST_NOTED:
            self.settle(max(KEPT_STEPS))
        self._noted += count
        return self._journals.get(index) or self._journal(wall_ns, index)

    def settle(self, step_s: int) -> None:
        """Work in all that was noted, up to the tier of ``step_s``."""
        self._journals.clear()
        self._noted = 0
        for tier in self.tiers.values():
            tier.settle()
            if tier.step_s == step_s:
                return

    @property
    def newest_ns(self) -> int | None:
        """Wall time of the newest step; None before anything came."""
        return None if self._newest < 0 else self._newest * self.step_ns

    def put_back(self, newest_ns: int, sums: Mapping[tuple[int, int], Sums]) -> None:
        """Take in what `all_sums` gave, by tier and step, as it was when ``newest_ns`` was so."""
        if newest_ns // self.step_ns > self._newest:
            self._advance(newest_ns, newest_ns // self.step_ns)
        for (step_s, index), part in sums.items():
            if step_s in self.tiers:
                self.tiers[step_s].put(index, part)

    def all_sums(self) -> Iterator[tuple[int, int, Sums]]:
        """Tier, step and sums of every bucket that is kept."""
        self.settle(max(KEPT_STEPS))
        for tier in self.tiers.values():
            for index in tier.steps:
                yield tier.step_s, index, tier.sums(index)

    def _advance(self, wall_ns: int, index: int) -> None:
        self._newest = index
        self._journals.clear()
        for tier in self.tiers.values():
            gone = tier.advance(wall_ns // tier.step_ns)
            self.lost_longest |= gone and tier.step_s == max(KEPT_STEPS)

    def _journal(self, wall_ns: int, index: int) -> Journal | None:
        """Where to note at a moment: in the finest tier that keeps it; None where none does."""
        if self._finest.keeps(index):
            journal = self._journals[index] = self._finest.journal(index)
            return journal
        for tier in self.tiers.values():
            if tier.keeps(wall_ns // tier.step_ns):
                return tier.journal(wall_ns // tier.step_ns)
        return None
