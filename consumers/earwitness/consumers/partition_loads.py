"""What is known of partitions when they are taken over: their saved state, or what the log says without any."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.saved_state import usable
from earwitness.consumers.state_slots import Doubt, Restored, Slots
from earwitness.consumers.state_topic import StateTopic
from earwitness.consumers.state_values import About, fingerprint
from earwitness.consumers.timeline import begin_of, replay_since_ns
from earwitness.monitor.log.protocol import Entry, Gap, Log

S: Final = 1_000_000_000

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is known of a partition when it is taken over.

    ``next_offset``: the next event to be folded. ``published_to``: up to where an earlier run published what it found;
    ``goal``: the end of the log, up to which this is the past.
    """

    partition: int
    slots: Slots
    restored: Restored | None
    about: About | None
    next_offset: int
    published_to: int
    goal: int
    since_ns: int | None
    partitions: int
    records_end: int = 0
    """The records before it are of events before ``goal``."""
    ledger: Sequence[Entry] = ()
    ledger_goal: int = 0
    """The end of the events when the last record of ``ledger`` was there."""
    records_gone: bool = False
    """The log has no record any more that was published before the state was saved."""


class PartitionLoads:
    """Reads what there is of partitions. ``missed`` is told of events that the log no longer has."""

    def __init__(
        self,
        log: Log,
        topic: StateTopic,
        settings: MonitorSettings,
        *,
        missed: Callable[[Gap], None],
        clock_ns: Callable[[], int],
    ) -> None:
        self.keeps = settings.keep_state
        """Whether state is kept: not so where the topic is not fit for it."""
        self.doubts: list[str] = []
        """Why saved state was not used, since the start."""
        self.refused: set[int] = set()
        """Partitions whose saved state made no sense."""
        self.fingerprint = fingerprint(settings)
        self._log = log
        self._topic = topic
        self._settings = settings
        self._missed = missed
        self._clock_ns = clock_ns

    async def load(self, partitions: frozenset[int]) -> list[Loaded]:
        """What is known of these partitions. Raises LogError."""
        if self.keeps and (why := await self._topic.unfit()) is not None:
            _log.warning("state is not kept; every start folds the past again", reason=why)
            self.keeps = False
        # Ends first, those of records before those of events: what is appended from now on is no past.
        published = await self._log.end_positions(self._topic.records)
        ends = await self._log.end_positions(self._topic.events)
        oldest = await self._log.start_positions(self._topic.events)
        entries = await self._topic.load(partitions) if self.keeps else {}
        loads: list[Loaded] = []
        anew: dict[int, Slots] = {}
        for partition in sorted(partitions):
            slots = Slots(partition, uuid.uuid4().hex[:12])
            found = self._read(slots, entries.get(partition, []), ends, oldest)
            if found is None:
                anew[partition] = slots
                continue
            restored, about = found
            at = restored.manifest.offset
            loads.append(Loaded(partition, slots, restored, about, at, at, ends[partition], about.since_ns, len(ends)))
        if anew:
            loads += await self._from_the_log(anew, ends, oldest)
        return await self._with_ledgers(loads, published)

    def _read(
        self, slots: Slots, entries: Sequence[Entry], ends: Mapping[int, int], oldest: Mapping[int, int]
    ) -> tuple[Restored, About] | None:
        """The snapshot of a partition, if there is one that can be gone on from."""
        try:
            found = usable(slots, entries, print_=self.fingerprint, ends=ends, oldest=oldest)
        except Doubt as doubt:
            slots.forget()
            self.doubt(slots.partition, doubt)
            return None
        if slots.partition in self.refused:
            slots.forget()
            return None
        return found

    def doubt(self, partition: int, doubt: Doubt) -> None:
        """Say once why a partition's saved state is not used."""
        self.doubts.append(str(doubt))
        _log.warning("saved state is not used; the past is folded again", partition=partition, reason=str(doubt))

    async def _from_the_log(
        self, anew: Mapping[int, Slots], ends: Mapping[int, int], oldest: Mapping[int, int]
    ) -> list[Loaded]:
        """As it is without any state: from the longest window and the longest call ago."""
        begin = await begin_of(self._log, self._settings, replay_since_ns(self._settings, self._clock_ns()))
        committed = await self._log.committed(self._settings.group, self._topic.events)
        never = oldest if committed else begin.positions
        loads: list[Loaded] = []
        for partition, slots in anew.items():
            # Not published again: what an earlier run handled. On the first run that is nothing; a partition that was
            # empty until the last one was never committed.
            handled = committed.get(partition, never[partition])
            if handled < oldest[partition]:
                self._missed(Gap(self._topic.events, partition, handled, oldest[partition]))
            to = max(handled, oldest[partition])
            at = min(begin.positions[partition], to)
            loads.append(
                Loaded(partition, slots, None, None, at, to, ends[partition], begin.complete_from_ns, len(ends))
            )
        return loads

    async def _with_ledgers(self, loads: Sequence[Loaded], published: Mapping[int, int]) -> list[Loaded]:
        """With what was published that the state does not know of: without any, of all calls that may be held."""
        back_s = self._settings.call_kept_s + self._settings.longest_call_s
        by_time = await self._log.positions_by_time(self._topic.records, self._clock_ns() - back_s * S)
        if not self.keeps:
            read = await self._topic.records_from(by_time)
            ends = await self._log.end_positions(self._topic.events)
            return [replace(one, ledger=read, ledger_goal=ends[one.partition]) for one in loads]
        read = await self._topic.records_from(
            {one.partition: by_time[one.partition] if one.about is None else one.about.records_from for one in loads}
        )
        ends = await self._log.end_positions(self._topic.events)
        oldest = await self._log.start_positions(self._topic.records)
        return [
            replace(
                one,
                records_end=published[one.partition],
                ledger=[entry for entry in read if entry.partition == one.partition],
                ledger_goal=ends[one.partition],
                records_gone=one.about is not None and 0 < one.about.records_from <= oldest[one.partition],
            )
            for one in loads
        ]
