"""Reading a log that `replay` rebuilt: windows and calls from its records, as a fold of events would have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.replay import Manifest, manifest_on
from earwitness.consumers.timeline import FoldStats
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import UnreadableRecord, decode_record
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.topics import EVENTS, RECORDS, topic_name
from earwitness.monitor.measures.windows import Windows


@dataclass(slots=True)
class StoredRecords:
    """The records of one call; what the views take for a timeline."""

    found: dict[str, AnyRecord] = field(default_factory=dict[str, AnyRecord])

    def records(self, *, retracted: bool = False) -> Sequence[AnyRecord]:
        """The latest revision of each."""
        return [record for record in self.found.values() if retracted or not record.retracted]


class RecordsFold:
    """What the records of a log say, for those who look at it as at a fold of its events (`LogFold`)."""

    def __init__(self, manifest: Manifest, settings: MonitorSettings) -> None:
        self.manifest = manifest
        self.windows = Windows(
            labels=settings.label_keys,
            bounds=manifest.bounds,
            max_label_values=settings.max_label_values,
            max_label_sets=settings.max_label_sets,
        )
        self.windows.since_ns = manifest.complete_from_ns
        self.windows.watermark_ns = manifest.until_ns
        self.calls: dict[str, StoredRecords] = {}
        self.broken_calls = manifest.broken_calls
        self.stats = FoldStats(events=manifest.events, dead_letters=manifest.unreadable)

    async def load(self, log: Log) -> None:
        """Read all records. Raises LogError."""
        for record in await stored_records(log):
            self.windows.apply(None, record)
            self.calls.setdefault(record.call_id, StoredRecords()).found[record.id] = record

    def advance(self, as_of_ns: int) -> None:
        """Nothing passes here."""

    async def poll(self, timeout_s: float = 0.0) -> int:
        """Nothing comes."""
        del timeout_s
        return 0

    async def catch_up(self) -> None:
        """All was read when it was loaded."""

    async def close(self) -> None:
        """Nothing is held."""


async def stored_records(log: Log) -> list[AnyRecord]:
    """The latest revision of every record on a log, in the order of their first appearance. Raises LogError."""
    topic = topic_name(log.prefix, RECORDS)
    ends = await log.end_positions(topic)
    latest: dict[tuple[str, str], AnyRecord] = {}
    reader = await log.reader(topic)
    try:
        while any(at < ends.get(p, 0) for p, at in reader.positions().items()):
            for entry in await reader.poll(timeout_s=1.0):
                try:
                    record = decode_record(entry.value or b"")
                except UnreadableRecord:
                    continue  # of another version
                known = latest.get((record.call_id, record.id))
                if known is None or record.revision >= known.revision:
                    latest[record.call_id, record.id] = record
    finally:
        await reader.close()
    return list(latest.values())


async def rebuilt(log: Log, settings: MonitorSettings) -> RecordsFold | None:
    """What was rebuilt into a log; None where it is a log of events like any other. Raises LogError."""
    events = topic_name(log.prefix, EVENTS)
    starts, ends = await log.start_positions(events), await log.end_positions(events)
    if any(ends[p] > starts.get(p, 0) for p in ends):
        return None
    manifest = await manifest_on(log)
    if manifest is None:
        return None
    fold = RecordsFold(manifest, settings)
    await fold.load(log)
    return fold
