"""One call looked at as of a moment: its records, and what they change in the windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import structlog

from earwitness.consumers.at_hand import AtHand
from earwitness.consumers.held_call import Change, HeldCall, change_of
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.reading import Labels
from earwitness.monitor.measures.windows import Windows

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Judge:
    """Looks at calls, and keeps the windows by what it sees."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.windows: Final = Windows(
            labels=settings.label_keys,
            bounds=settings.bounds.id,
            max_label_values=settings.max_label_values,
            max_label_sets=settings.max_label_sets,
        )
        self.at_hand: Final = AtHand(settings.calls_at_hand)
        self.broken_calls = 0

    def judge(self, held: HeldCall, as_of_ns: int) -> list[Change]:
        """What changed of a call as of then; the windows have it already."""
        held.as_of_ns = max(held.as_of_ns, as_of_ns)
        # That it was left to wait makes nothing late that came in time.
        arrived_ns = held.as_of_ns if held.waits_ns is None else held.waits_ns
        held.waits_ns = held.presses_ns = None
        held.changed = True
        if held.broken or held.offset_ns is None:
            return []
        try:
            self.at_hand.wake(held)
            if held.since is not None:
                held.judged = held.packed_count + len(held.since)
                held.judged_at_ns = held.as_of_ns - held.offset_ns
            records = held.timeline.advance(held.as_of_ns - held.offset_ns)
        except Exception:
            self._broke(held)
            return []
        if not records:
            self.note_torn(held)
            return []
        held.number = self.windows.label_sets.number_of(records[-1])
        changes: list[Change] = []
        first: list[AnyRecord] = []
        timeline, part = held.timeline, held.partition
        for record in records:
            if not record.revision:
                first.append(record)
                changes.append(change_of((None, record)))
                continue
            old = timeline.replaced(record.id)
            if old is None or not timeline.counts_alike(record.id):
                self.windows.apply(old, record, arrived_ns=arrived_ns, part=part)
            changes.append(Change(old, record))
        self.windows.apply_first(first, arrived_ns=arrived_ns, part=part)
        self.note_torn(held)
        return changes

    def records_of(self, held: HeldCall) -> Sequence[AnyRecord]:
        """All records of a call, those that were taken back too; none of one that cannot be read."""
        try:
            return held.timeline.records(retracted=True)
        except Exception:
            self._broke(held)
            return ()

    def forget(self, held: HeldCall) -> None:
        """The call is held no more, or not by us."""
        self.at_hand.forget(held)
        self.windows.forget(held.call_id)

    def note_torn(self, held: HeldCall) -> None:
        """Let the windows know where events of a call are missing, and where they are missing no more."""
        timeline = held.timeline
        torn = timeline.torn() if isinstance(timeline, CallTimeline) else held.torn
        if torn or held.torn:
            held.torn = torn
            begun_ns = timeline.started_wall_ns or 0
            # Without its first event nobody knows whose numbers lack what the call has.
            number = held.number if all(one.first_seq for one in torn) else None
            spans = [(begun_ns + one.from_ns, begun_ns + one.to_ns) for one in torn]
            self.windows.note_torn(held.call_id, number, spans)

    def count_live(self, in_progress: Iterable[HeldCall]) -> None:
        """Let the windows know which calls are in progress, and lay aside those that cannot all be at hand."""
        found: dict[Labels, int] = {}
        sets = self.windows.label_sets
        for held in in_progress:
            if held.number is not None:
                labels = sets.labels_of(held.number)
                found[labels] = found.get(labels, 0) + 1
        self.windows.live = found
        self.at_hand.open_calls = max(sum(found.values()), 1)
        self.at_hand.lay_aside()

    def _broke(self, held: HeldCall) -> None:
        """A fault in one call's fold must leave the others their numbers."""
        if not held.broken:
            held.broken = True
            self.broken_calls += 1
            _log.exception("a call could not be folded and is left as it was", call_id=held.call_id)
