"""Writes what changed of a worker's partitions to the state topic, in the one order that is safe to be broken off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from earwitness.consumers.kept_part import Part
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.read_back import ReadBack
from earwitness.consumers.state_slots import Snapshot
from earwitness.consumers.state_topic import StateTopic
from earwitness.consumers.state_values import About, encoded
from earwitness.consumers.timeline import TimelineHandler
from earwitness.consumers.worker import Batch, Hands
from earwitness.monitor.contract.decoder import decode_record_fast
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.log.protocol import Entry, Log, Outgoing, Reader

Commit = Callable[[Hands, Mapping[int, int]], Awaitable[Collection[int]]]
"""Tells the group the positions of partitions; which of them it took."""


class StateWriting:
    """The way from a worker's partitions to the log. ``print_``: by which settings the state was made."""

    def __init__(
        self, log: Log, reader: Reader, handler: TimelineHandler, ledger: Ledger, topic: StateTopic, *, print_: str
    ) -> None:
        self._log = log
        self._reader = reader
        self._handler = handler
        self._fold = handler.fold
        self._ledger = ledger
        self._topic = topic
        self._fingerprint = print_

    def noted(self, entries: Sequence[Entry], read_back: ReadBack, goal: int) -> set[str]:
        """Note what was published, before the events ended at ``goal``; the calls of which that was news."""
        news: set[str] = set()
        read_back.goal = max(read_back.goal, goal)
        for entry in entries:
            try:
                record = decode_record_fast(entry.value or b"")
            except UnreadableRecord:
                continue  # written by another version: this one publishes its own anew
            read_back.note(record, entry.value or b"", entry.offset)
            if self._ledger.note(record, entry.value or b""):
                news.add(record.call_id)
        return news

    async def write(self, hands: Hands, ready: Mapping[int, Part], commit: Commit) -> None:
        """All that changed of these partitions: records first, then values, then manifests, then offsets."""
        topic = self._topic
        for partition in await hands.answered(lambda: topic.strangers(topic.state, ready), "say its ends"):
            ready[partition].all_anew = True
        await self._read_strangers(hands, ready)
        records_from = dict(topic.ends[topic.records])
        # From here to the snapshots nothing else runs: they are of one moment.
        batches = self._handler.take_waiting()
        offsets = {p: part.next_offset for p, part in ready.items()}
        snapshots = {p: self._snapshot(part, records_from[p]) for p, part in ready.items()}
        for batch in batches:
            await hands.append(batch)
        await self._append(hands, [record for snapshot in snapshots.values() for record in snapshot.data])
        sealed = await hands.answered(lambda: self._seal(snapshots), "append")
        for partition in snapshots.keys() - sealed:
            # Lost meanwhile: without its manifest what was written counts for nothing.
            ready[partition].all_anew = True
            del snapshots[partition], offsets[partition]
        await commit(hands, offsets)
        await self._append(hands, [record for snapshot in snapshots.values() for record in snapshot.after])
        for partition, snapshot in snapshots.items():
            ready[partition].slots.committed(snapshot)

    async def _seal(self, snapshots: Mapping[int, Snapshot]) -> Collection[int]:
        """Append the manifests of those partitions that are still ours at this moment; which these are."""
        ours = snapshots.keys() & self._reader.positions().keys()
        records = [record for partition in ours for record in snapshots[partition].manifest]
        if records:
            await self._log.append(self._topic.state, records)
            self._topic.note(self._topic.state, records)
        return ours

    async def _read_strangers(self, hands: Hands, ready: Mapping[int, Part]) -> None:
        """What somebody published of our calls who no longer has them: what he said last is said again, rightly."""
        topic = self._topic
        strangers = await hands.answered(lambda: topic.strangers(topic.records, ready), "say its ends")
        if strangers:
            entries = await hands.answered(lambda: topic.records_from(strangers), "read")
            ends = await hands.answered(lambda: self._log.end_positions(topic.events), "say its ends")
            for partition in strangers:
                own, part = [entry for entry in entries if entry.partition == partition], ready[partition]
                news = self.noted(own, part.read_back, ends[partition])
                part.state.ahead |= {entry.key for entry in own} & news
                self._handler.offer(news)

    def _snapshot(self, part: Part, records_from: int) -> Snapshot:
        state = part.state
        if part.read_back.records_from is not None:
            records_from = min(records_from, part.read_back.records_from)
        about = About(
            offset=part.next_offset,
            fingerprint=self._fingerprint,
            partitions=self._topic.partitions,
            records_from=records_from,
            clock_ns=self._fold.clocks_ns.get(state.partition),
            since_ns=part.since_ns,
            newest_ns=self._fold.windows.part(state.partition).newest_ns,
        )
        changes = state.changes(all_of_it=part.all_anew)
        part.all_anew = False
        return part.slots.snapshot(changes, offset=part.next_offset, about=encoded(about))

    async def _append(self, hands: Hands, records: Sequence[Outgoing]) -> None:
        if records:
            await hands.append(Batch(self._topic.state, records))
