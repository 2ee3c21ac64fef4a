"""The state topic as a worker uses it: what lies on a partition, and whether anybody else wrote there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from earwitness.monitor.log.keys import place_of
from earwitness.monitor.log.protocol import Entry, Log, Outgoing, Reader
from earwitness.monitor.log.topics import EVENTS, RECORDS, STATE, topic_name

READ_S = 1.0


class StateTopic:
    """The topics of state and records, and their ends as far as this process has written them."""

    def __init__(self, log: Log) -> None:
        self.events = topic_name(log.prefix, EVENTS)
        self.records = topic_name(log.prefix, RECORDS)
        self.state = topic_name(log.prefix, STATE)
        self._log = log
        self.ends: dict[str, dict[int, int]] = {self.records: {}, self.state: {}}
        """Where, by topic and partition, the next record of ours should come to lie."""
        self.seen: dict[str, dict[int, int]] = {self.records: {}, self.state: {}}
        """Up to where, by topic and partition, it is known what lies there."""
        self.partitions = 0
        """Of each of the topics."""

    async def unfit(self) -> str | None:
        """Why state cannot be kept on this log; None where it can. Raises LogError."""
        found = await self._log.topics()
        self.partitions = found[self.events].partitions if self.events in found else 0
        events, records, state = (found.get(name) for name in (self.events, self.records, self.state))
        if state is None:
            return f"there is no topic {self.state}; make it with: earwitness topics create"
        if not state.compacted:
            return f"{self.state} is not compacted; set cleanup.policy=compact on it"
        for one in (state, records):
            if one is not None and events is not None and one.partitions != events.partitions:
                return f"{one.name} has {one.partitions} partitions and {self.events} has {events.partitions}"
        return None

    async def load(self, partitions: Collection[int]) -> dict[int, list[Entry]]:
        """All that lies on these partitions of the state topic. Raises LogError."""
        found: dict[int, list[Entry]] = {partition: [] for partition in partitions}
        starts = await self._log.start_positions(self.state)
        for entry in await self._read(self.state, {p: starts[p] for p in partitions}):
            found[entry.partition].append(entry)
        return found

    async def records_from(self, positions: Mapping[int, int]) -> list[Entry]:
        """What the records topic has from these positions on. Raises LogError."""
        return await self._read(self.records, positions)

    async def _read(self, topic: str, positions: Mapping[int, int]) -> list[Entry]:
        """What partitions of a topic have from these positions up to their present ends, which are then known."""
        ends = await self._log.end_positions(topic)
        found: list[Entry] = []
        if any(at < ends[p] for p, at in positions.items()):
            reader = await self._log.reader(topic, start=ends | dict(positions))
            try:
                while not _read_up_to(reader, positions, ends):
                    found += await reader.poll(timeout_s=READ_S)
            finally:
                await reader.close()
        for partition in positions:
            self.ends[topic][partition] = self.seen[topic][partition] = ends[partition]
        return [entry for entry in found if entry.partition in positions and entry.offset < ends[entry.partition]]

    def note(self, topic: str, records: Sequence[Outgoing]) -> None:
        """Records of ours were appended."""
        ends = self.ends.get(topic)
        if ends and self.partitions:
            for record in records:
                partition = place_of(record.key, record.partition, self.partitions)
                if partition in ends:
                    ends[partition] += 1

    async def strangers(self, topic: str, partitions: Collection[int]) -> dict[int, int]:
        """Partitions that have other records than ours, and from where on they may lie. Raises LogError."""
        ends = await self._log.end_positions(topic)
        known, seen = self.ends[topic], self.seen[topic]
        found = {p: seen[p] for p in partitions if ends[p] != known[p]}
        for partition in partitions:
            known[partition] = seen[partition] = ends[partition]
        return found


def _read_up_to(reader: Reader, wanted: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    positions = reader.positions()
    return all(positions.get(p, 0) >= ends[p] for p in wanted)
