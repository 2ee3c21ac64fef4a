"""The state that workers left on the log: whether a partition's can be gone on from, and all of it for who only reads.

Workers each have the state of their own partitions; a reader that takes up all of them adds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.partition_state import PartitionState
from earwitness.consumers.state_slots import Doubt, Restored, Slots
from earwitness.consumers.state_topic import StateTopic
from earwitness.consumers.state_values import About, decoded, fingerprint
from earwitness.monitor.log.protocol import Entry, Log, LogRefused

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def usable(
    slots: Slots, entries: Sequence[Entry], *, print_: str, ends: Mapping[int, int], oldest: Mapping[int, int]
) -> tuple[Restored, About] | None:
    """The snapshot of a partition among what lies there, None where there is none.

    ``print_``: the fingerprint that it must have; ``ends`` and ``oldest``: of the events. Raises Doubt where it cannot
    be gone on from.
    """
    restored = slots.read(entries)
    if restored is None:
        return None
    about, offset = decoded(restored.manifest.about, About), restored.manifest.offset
    if about.fingerprint != print_:
        raise Doubt("it was worked out under other settings or by another release")
    if about.partitions != len(ends):
        raise Doubt(f"there were {about.partitions} partitions then and are {len(ends)} now")
    if not oldest[slots.partition] <= offset <= ends[slots.partition]:
        raise Doubt(f"it goes on at event {offset}, which the log does not have")
    return restored, about


async def taken_up(log: Log, fold: TimelineFold, settings: MonitorSettings) -> dict[int, About]:
    """Put into a fold what the log has of the state of all partitions, to be read on from their ``offset``; those of
    which there is none, or any doubt, are absent. Raises LogError."""
    topic = StateTopic(log)
    try:
        if await topic.unfit() is not None:
            return {}
        ends = await log.end_positions(topic.events)
        oldest = await log.start_positions(topic.events)
        entries = await topic.load(ends)
    except LogRefused:
        return {}  # who only looks on may have no right to it
    found: dict[int, About] = {}
    for partition in ends:
        state = PartitionState(partition, len(ends), fold, Ledger(), settings.bounds)
        try:
            saved = usable(
                Slots(partition, ""), entries[partition], print_=fingerprint(settings), ends=ends, oldest=oldest
            )
            if saved is not None:
                restored, about = saved
                state.restore(restored.values, about)
                found[partition] = about
        except Doubt as doubt:
            _log.info("saved state is not used; the past is folded again", partition=partition, reason=str(doubt))
    return found
