"""Keeps a worker's state on the log, partition by partition, so that whoever has a partition next goes on from there.

A partition that is given to this worker is loaded from the state topic and read on from the offset that its state
goes with; where there is none, or any doubt about it, it is folded again from the log. What changed is written every
few seconds, and only then are offsets committed. When one is taken away in good order, what changed of it is written
before, so that its next owner has nothing to read again; then it is forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import structlog

from earwitness.consumers.held_call import Change, HeldCall
from earwitness.consumers.kept_part import Part
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_loads import Loaded, PartitionLoads
from earwitness.consumers.partition_state import PartitionState
from earwitness.consumers.read_back import ReadBack
from earwitness.consumers.state_slots import Doubt
from earwitness.consumers.state_topic import StateTopic
from earwitness.consumers.state_writing import StateWriting
from earwitness.consumers.timeline import TimelineHandler
from earwitness.consumers.worker import Hands
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.log.protocol import Entry, Log, Outgoing, Reader
from earwitness.monitor.measures import saved_cases

S: Final = 1_000_000_000
HAND_OVER_S: Final = 2.0
"""How long a rebalance is held up at most (and a third of a session at most) for what changed to be written."""

_partition: Final = attrgetter("partition")
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Keeper:
    """The state of all partitions of one worker. ``handler`` folds and publishes; ``reader`` shares partitions with the
    group's other members."""

    def __init__(
        self,
        log: Log,
        reader: Reader,
        handler: TimelineHandler,
        ledger: Ledger,
        settings: MonitorSettings,
        *,
        clock_ns: Callable[[], int],
    ) -> None:
        self.parts: dict[int, Part] = {}
        self.read_again = 0
        """Events that were read to come back to where the state was left, since the start."""
        self.commits_refused = 0
        """Positions that were not remembered, since their partition had moved on (D03, D04)."""
        self._reader = reader
        self._handler = handler
        self._fold = handler.fold
        self._ledger = ledger
        self._settings = settings
        self._clock_ns = clock_ns
        self._topic = StateTopic(log)
        self._loading = PartitionLoads(log, self._topic, settings, missed=handler.missed, clock_ns=clock_ns)
        self._writing = StateWriting(log, reader, handler, ledger, self._topic, print_=self._loading.fingerprint)
        self._seen_changes = 0
        self._loads: dict[asyncio.Task[list[Loaded]], frozenset[int]] = {}
        self._failed = False
        """The last load of a state failed."""
        self._was_settled = False
        self._turn = 0
        handler.part_of = self._part_of
        handler.complete_from = self._complete_from
        if settings.keep_state:
            reader.hand_over(HAND_OVER_S)

    @property
    def settled(self) -> bool:
        """Whether it is known which partitions are ours, and the past of all of them was read."""
        return (
            self._seen_changes > 0
            and self._seen_changes == self._reader.changes
            and self._reader.positions().keys() == self.parts.keys()
            and not any(part.behind for part in self.parts.values())
        )

    @property
    def doubts(self) -> Sequence[str]:
        """Why saved state was not used, since the start."""
        return self._loading.doubts

    def is_new(self, entry: Entry) -> bool:
        """Whether no earlier run handled an entry."""
        part = self.parts.get(entry.partition)
        return part is None or not part.quiet

    def wrote(self, topic: str, records: Sequence[Outgoing]) -> None:
        """The worker appended records of its own."""
        self._topic.note(topic, records)

    def _part_of(self, call_id: str) -> Part | None:
        held = self._fold.held.get(call_id)
        partition = self._fold.calls.forgotten.get(call_id) if held is None else held.partition
        return None if partition is None else self.parts.get(partition)

    def _complete_from(self, partition: int, at_ns: int) -> None:
        part = self.parts.get(partition)
        if part is not None:
            part.since_ns = max(part.since_ns or 0, at_ns)
            self._note_since()

    # --- reading --------------------------------------------------------------------------------------------------

    async def sort_out(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Of what was read, what is to be folded now: nothing of partitions whose state is not here yet, and nothing
        twice. Raises LogError; may then be called again with the same."""
        self._look_at_changes()
        await self._take_in_loads()
        misplaced = {p: part.next_offset for p, part in self.parts.items() if part.misplaced}
        if misplaced:
            await self._reader.seek(misplaced)
            for partition in misplaced:
                self.parts[partition].misplaced = False
        taken: list[Entry] = []
        for partition, together in groupby(entries, _partition):
            part = self.parts.get(partition)
            if part is None or part.left or partition in misplaced:
                continue
            # What comes behind that is read again when what comes before it is settled.
            end = part.published_to if part.quiet else None
            for entry in together:
                offset = entry.offset
                if offset >= part.next_offset and (end is None or offset < end):
                    part.next_offset = offset + 1
                    self.read_again += part.behind
                    taken.append(entry)
        return taken

    def _look_at_changes(self) -> None:
        """Let go of partitions that went, and load those that came."""
        changes, owned = self._reader.changes, self._reader.positions().keys()
        if changes != self._seen_changes:
            for partition in self.parts.keys() - owned:
                self._drop(partition)
            for part in self.parts.values():
                # What is held is right whoever had the partition meanwhile; what he wrote is seen when we write.
                part.misplaced = True
                if part.left:
                    part.left = False
                    self._fold.behind.discard(part.state.partition)
            self._seen_changes = changes
        busy = {partition for partitions in self._loads.values() for partition in partitions}
        missing = frozenset(owned - self.parts.keys() - busy)
        if missing:
            self._loads[asyncio.create_task(self._loading.load(missing), name="load state")] = missing

    async def _take_in_loads(self) -> None:
        """Raises LogError where one failed; the next call of this waits for it to be tried again."""
        if self._failed and self._loads:
            await asyncio.wait(self._loads)
        for task in [task for task in self._loads if task.done()]:
            del self._loads[task]
            self._failed = True
            found = task.result()
            self._failed = False
            for loaded in found:
                self._install(loaded)

    async def close(self) -> None:
        """End what is still being loaded."""
        for task in self._loads:
            task.cancel()
        if self._loads:
            await asyncio.wait(self._loads)

    def _drop(self, partition: int) -> None:
        """Forget a partition's state: another has it now."""
        saved_cases.drop(self._fold.windows, self.parts.pop(partition).state.is_ours)
        gone = self._fold.drop(partition)
        self._ledger.forget(gone)
        self._handler.drop(gone)
        self._handler.again.discard(partition)
        self._note_since()

    def _install(self, loaded: Loaded) -> None:
        """Take over a partition, if it is still ours."""
        partition = loaded.partition
        if partition not in self._reader.positions():
            return
        state = PartitionState(partition, loaded.partitions, self._fold, self._ledger, self._settings.bounds)
        if loaded.restored is not None and loaded.about is not None:
            try:
                state.restore(loaded.restored.values, loaded.about)
            except Doubt as doubt:
                # Loaded again at once, without what makes no sense.
                self._loading.refused.add(partition)
                self._loading.doubt(partition, doubt)
                return
        self._loading.refused.discard(partition)
        part = self.parts[partition] = Part(
            state,
            loaded.slots,
            loaded.next_offset,
            loaded.published_to,
            loaded.goal,
            loaded.since_ns,
            quiet=loaded.next_offset < loaded.published_to,
            saved_to=loaded.published_to,
            all_anew=loaded.restored is None,
        )
        self._fold.behind.add(partition)
        self._fold.lagging = True
        if part.quiet:
            self._handler.again.add(partition)
        if loaded.records_gone:
            part.again = {call_id for call_id, held in self._fold.held.items() if held.partition == partition}
            self._ledger.forget(part.again)
        part.again |= self._writing.noted(loaded.ledger, part.read_back, loaded.ledger_goal)
        # Whoever published these may have read on beyond the goal.
        state.ahead |= {entry.key for entry in loaded.ledger if entry.offset >= loaded.records_end}
        self._note_since()

    def _note_since(self) -> None:
        begins = [part.since_ns for part in self.parts.values() if part.since_ns is not None]
        self._fold.windows.since_ns = max(begins, default=None)

    # --- writing --------------------------------------------------------------------------------------------------

    async def keep(self, hands: Hands, *, at_end: bool = False) -> None:
        """Note who has caught up; write and commit when it is time, or at the end."""
        self._note_progress()
        self._take_back()
        if self._reader.leaving:
            await self._hand_over(hands)
        now_ns = self._clock_ns()
        # Until it is there for the first time, a worker has nothing to write that could not wait.
        self._was_settled = self._was_settled or self.settled
        if not at_end and not self._was_settled:
            return
        ready = {p: part for p, part in self.parts.items() if not part.behind and not part.left}
        if not at_end and self._loading.keeps:
            # One at a time, so that events do not wait for long.
            due = [p for p, part in ready.items() if now_ns - part.kept_ns >= self._settings.keep_every_s * S]
            ready = {p: ready[p] for p in sorted(due, key=lambda p: ready[p].turn)[:1]}
        if not ready:
            return
        self._turn += 1
        for part in ready.values():
            part.kept_ns, part.turn = now_ns, self._turn
        if self._loading.keeps:
            await self._writing.write(hands, ready, self._commit)
        else:
            offsets = {p: part.next_offset for p, part in ready.items()}
            await self._commit(hands, offsets)

    async def _hand_over(self, hands: Hands) -> None:
        """Write what changed of partitions that are about to be taken away, those first that waited longest, until the
        group waits no more. Of one that is lost already nothing is written: the group itself is asked."""
        leaving = {p: part for p, part in self.parts.items() if p in self._reader.leaving and not part.behind}
        if leaving and self._loading.keeps:
            ours = await self._commit(hands, {p: part.saved_to for p, part in leaving.items()})
            for partition, part in sorted(leaving.items(), key=lambda one: one[1].kept_ns):
                if partition in ours and partition in self._reader.leaving:
                    await self._writing.write(hands, {partition: part}, self._commit)
        elif leaving:
            await self._commit(hands, {p: part.next_offset for p, part in leaving.items()})
        for part in leaving.values():
            part.left = True
            self._fold.behind.add(part.state.partition)
        await self._reader.let_go()

    async def _commit(self, hands: Hands, offsets: Mapping[int, int]) -> Collection[int]:
        kept = await hands.answered(lambda: self._reader.commit(offsets), "commit")
        self.commits_refused += len(offsets) - len(kept)
        for partition in kept:
            self.parts[partition].saved_to = offsets[partition]
        return kept.keys()

    def _note_progress(self) -> None:
        positions = self._reader.positions()
        for partition, part in self.parts.items():
            if not part.behind or part.misplaced:
                continue
            # Where the reader stands beyond the last event there is nothing to be read in between.
            at = max(part.next_offset, positions.get(partition, 0))
            if part.quiet and at >= part.published_to:
                part.quiet, part.misplaced = False, True
                part.next_offset = max(part.next_offset, part.published_to)
                self._handler.again.discard(partition)
                part.again |= {c for c, held in self._fold.held.items() if held.partition == partition}
            elif not part.quiet and at >= part.goal:
                part.behind = False
                self._fold.behind.discard(partition)
                self._fold.lagging = bool(self._fold.behind)
                self._handler.queue(list(part.held_back.values()))
                self._handler.offer(part.again)
                part.held_back, part.again = {}, set()

    def _take_back(self) -> None:
        """Take back what somebody else published of our calls and what does not stand, once we have read as far."""
        positions = self._reader.positions()
        for partition, part in self.parts.items():
            read_back = part.read_back
            if read_back.records_from is None or part.behind or part.left or part.misplaced:
                continue
            if max(part.next_offset, positions.get(partition, 0)) < read_back.goal:
                continue
            part.read_back = ReadBack()
            for call_id in read_back.calls():
                held = self._fold.held.get(call_id)
                if held is None or held.partition != partition or not any(self._beside(read_back, held)):
                    continue
                # Whoever said it may have looked at the call later than we have.
                self._handler.queue(self._fold.look_at(held, self._clock_ns()))
                self._handler.queue([Change(None, record) for record in self._beside(read_back, held)])

    def _beside(self, read_back: ReadBack, held: HeldCall) -> Iterator[AnyRecord]:
        records = self._fold.records_of(held)
        return iter(()) if held.broken else read_back.beside(held.call_id, {record.id for record in records})
