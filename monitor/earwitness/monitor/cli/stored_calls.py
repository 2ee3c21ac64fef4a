"""One call out of a log, found by the beginning of its id and folded anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.timeline import LEARNT_LATER, CallTimeline
from earwitness.monitor.cli.opened_file import EMPTY
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import Entry, Log
from earwitness.monitor.log.topics import EVENTS, topic_name


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call as the log holds it. ``broken``: how many of its records cannot be read."""

    call_id: str
    timeline: CallTimeline
    events: list[AnyEvent]
    offset_ns: int
    """What wall time the call's own 0 is, by the log's clock."""
    broken: int

    def now_ns(self) -> int:
        """This moment on the call's own clock."""
        return time.time_ns() - self.offset_ns

    def records(self) -> Sequence[AnyRecord]:
        """As of now."""
        self.timeline.advance(self.now_ns())
        return self.timeline.records()


async def stored_call(log: Log, asked: str, bounds: Bounds) -> StoredCall:
    """The call whose id is, or alone begins with, ``asked``. What cannot be read is named on standard error.

    Raises BadInput where there is none, or more than one.
    """
    asked = asked.removesuffix("…")
    by_call = await _entries(log, asked) if asked else {}
    found = {asked: by_call[asked]} if asked in by_call else by_call
    if not found:
        raise BadInput(
            "no such call in this log; `earwitness calls` lists the recent ones",
            where=wording.printable(asked) or EMPTY,
        )
    if len(found) > 1:
        some = ", ".join(wording.printable(call_id, 60) for call_id in sorted(found)[:4])
        raise BadInput(f"{len(found)} calls begin so: {some}; write more of it", where=wording.printable(asked))
    ((call_id, entries),) = found.items()
    return _folded(call_id, entries, bounds)


def _folded(call_id: str, entries: Sequence[Entry], bounds: Bounds) -> StoredCall:
    timeline, broken, events = CallTimeline(call_id, bounds=bounds), 0, list[AnyEvent]()
    offset_ns: int | None = None
    for entry in entries:
        try:
            event = decode_event_fast(entry.value or b"")
        except UnreadableRecord as error:
            broken += 1
            where = f"partition {entry.partition} offset {entry.offset}"
            sys.stderr.write(f"earwitness: {where}: {error.reason}: {wording.printable(error.detail)}\n")
            continue
        timeline.add(event)
        events.append(event)
        if event.kind not in LEARNT_LATER:
            own_ns = entry.append_ns - event.at_ns
            offset_ns = own_ns if offset_ns is None else min(offset_ns, own_ns)
    return StoredCall(call_id, timeline, events, offset_ns or 0, broken)


async def _entries(log: Log, prefix: str) -> dict[str, list[Entry]]:
    """The records of all calls whose id begins so. Keys are call ids, so nothing else is decoded."""
    topic = topic_name(log.prefix, EVENTS)
    ends = await log.end_positions(topic)
    reader = await log.reader(topic)
    found: dict[str, list[Entry]] = {}
    try:
        while any(at < ends.get(partition, 0) for partition, at in reader.positions().items()):
            for entry in await reader.poll(timeout_s=1.0):
                if entry.key.startswith(prefix):
                    found.setdefault(entry.key, []).append(entry)
    finally:
        await reader.close()
    return found
