"""The timeline fold over a log: reading only (`LogFold`), or publishing what it finds (`TimelineHandler`)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from earwitness.consumers.bot_health import BotHealth
from earwitness.consumers.dead_letters import DeadLetters
from earwitness.consumers.failed import Failed
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.held_call import Change, HeldCall, Timeline
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.runs import by_partition
from earwitness.consumers.saved_state import taken_up
from earwitness.consumers.totals import UNSHOWN, Totals
from earwitness.consumers.worker import BATCH, Batch, Worker
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.log.oldest import oldest_unread_ns
from earwitness.monitor.log.protocol import Entry, Gap, Log, Outgoing, Reader, outgoing_of
from earwitness.monitor.log.topics import EVENTS, RECORDS, topic_name
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
RATE_OVER_NS: Final = 10 * S
FOR_EVER_S: Final = 10**9
MOST_HELD_BACK: Final = 20_000
"""Records whose changes are held back at most while the past is read."""


@dataclass(frozen=True, slots=True)
class FoldStats:
    """How a fold fares. ``lag_s`` is 0 where everything that the log took was folded."""

    events: int = 0
    events_per_s: float = 0.0
    lag_s: float = 0.0
    lag_records: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict[str, int])
    set_aside: int = 0
    stray: int = 0
    late_facts: int = 0
    lost: int = 0
    """Events that retention removed before they were read."""


class Past(Protocol):
    """How far the past of a partition was read. ``behind``: not to its end; ``quiet``: an earlier run published it.
    ``held_back``: the last change of each record meanwhile."""

    behind: bool
    quiet: bool
    held_back: dict[tuple[str, str], Change]


def _no_past(_call_id: str) -> Past | None:
    return None


class TimelineHandler:
    """What the timeline worker does with events. With a ledger it publishes; without one it only folds."""

    def __init__(self, fold: TimelineFold, *, prefix: str, ledger: Ledger | None = None) -> None:
        self.fold = fold
        self.totals = Totals()
        self.health = BotHealth()
        self.lost = 0
        self.again: set[int] = set()
        """Partitions of which is read what an earlier run handled."""
        self.part_of: Callable[[str], Past | None] = _no_past
        """How far the past of a call's partition was read."""
        self.complete_from: Callable[[int, int], None] = self._complete_from
        """Told of a partition and of a wall time before which records of it were gone unread."""
        self._gaps_in: set[int] = set()
        """Partitions in which records were gone, until it is known when those behind them came."""
        self._topic = topic_name(prefix, RECORDS)
        self._ledger = ledger
        self._waiting: list[Change] = []

    def handle_all(self, entries: Sequence[Entry], values: Sequence[AnyEvent], failed: Failed) -> None:
        """Fold events."""
        for partition, where in by_partition(entries):
            again = partition in self.again
            own, events = entries[where], values[where]
            if partition in self._gaps_in:
                self._gaps_in.discard(partition)
                self.complete_from(partition, own[0].append_ns)
            counted = self.fold.events.copy() if again else None
            for entry, event in zip(own, events, strict=True):
                if event.kind == "health":
                    try:
                        self.health.note(event, again=again)
                    except Exception as error:  # the fold may still make something of it
                        failed(entry, error)
            self.fold.add_all(own, events, failed)
            if counted is not None:
                self.fold.events.clear()
                self.fold.events.update(counted)

    def missed(self, gap: Gap) -> None:
        """Count what was gone; windows that reach back to it are not complete (D02)."""
        self.lost += gap.lost
        if gap.lost:
            self._gaps_in.add(gap.partition)

    def queue(self, changes: Sequence[Change]) -> None:
        """Publish with the next batch what the passing of time changed."""
        if self._ledger is not None:
            self._waiting += changes

    def offer(self, call_ids: Iterable[str]) -> None:
        """Offer every record of these calls, where they are held: what the log has already is not repeated."""
        for held in [self.fold.held[call_id] for call_id in call_ids if call_id in self.fold.held]:
            self.queue([Change(None, record) for record in self.fold.records_of(held)])

    def drop(self, call_ids: set[str]) -> None:
        """Publish nothing more of these calls."""
        self._waiting = [change for change in self._waiting if change.new.call_id not in call_ids]

    def take(self) -> Sequence[Batch]:
        """Records that the log does not have yet, in the order in which they changed."""
        self._waiting += self.fold.settle()
        return self.take_waiting()

    def take_waiting(self) -> Sequence[Batch]:
        """The same, of what was judged already."""
        waiting, self._waiting = self._waiting, []
        if self._ledger is None:
            return ()
        outgoing: list[Outgoing] = []
        sets = self.fold.windows.label_sets
        for change in self._due(waiting):
            news = self._ledger.news(change.new)
            if news is None:
                continue
            record, payload, first_final = news
            if first_final and record.kind not in UNSHOWN:
                self.totals.add(sets.number_of(record), record)
            outgoing.append(outgoing_of((record.call_id, payload, None)))
        return [Batch(self._topic, outgoing)] if outgoing else ()

    def _complete_from(self, _partition: int, at_ns: int) -> None:
        windows = self.fold.windows
        windows.since_ns = max(windows.since_ns or 0, at_ns)

    def _due(self, changes: Iterable[Change]) -> Iterator[Change]:
        """What is to be published now: nothing that an earlier run published, and of the rest of the past the last."""
        asked: str | None = None
        past: Past | None = None
        for change in changes:
            call_id = change.new.call_id
            if call_id != asked:
                asked, past = call_id, self.part_of(call_id)
            if past is None or not past.behind:
                yield change
            elif not past.quiet:
                past.held_back[change.new.call_id, change.new.id] = change
                if len(past.held_back) > MOST_HELD_BACK:
                    yield from past.held_back.values()
                    past.held_back.clear()

    def tidy(self) -> None:
        """Drop what belongs to calls and label sets that were let go."""
        if self._ledger is not None:
            self._ledger.forget(self.fold.calls.let_go)
        self.health.tidy(self.fold)
        self.fold.calls.let_go.clear()
        self.totals.retain(self.fold.windows.label_sets.numbers())


class LogFold:
    """The fold of a log, without a group and without writing: for live views, lists of calls and tests.

    `open` it, `catch_up`, then `poll` as often as liked. Its numbers are a function of the log and of the moments
    given to `advance`.
    """

    def __init__(
        self, log: Log, worker: Worker[AnyEvent], handler: TimelineHandler, clock_ns: Callable[[], int]
    ) -> None:
        self.handler = handler
        self._log = log
        self._worker = worker
        self._clock_ns = clock_ns
        self._topic = topic_name(log.prefix, EVENTS)
        self._read: deque[tuple[int, int]] = deque()
        self._ends: Mapping[int, int] = {}

    @classmethod
    async def open(
        cls,
        log: Log,
        settings: MonitorSettings | None = None,
        *,
        since_ns: int | None = None,
        keep_calls: bool = False,
        clock_ns: Callable[[], int] = time.time_ns,
        new_call: Callable[[str], Timeline] | None = None,
        from_state: bool = False,
    ) -> LogFold:
        """Begin at what arrived from ``since_ns`` on (None: the settings' ``replay_s`` and the longest call ago).

        ``keep_calls``: calls stay after their end, however long ago. ``from_state``: go on from the state that workers
        of the same settings left on the log, where they did. Raises LogError.
        """
        settings = replace(settings or MonitorSettings(), calls_at_hand=None)
        if keep_calls:
            settings = replace(settings, call_kept_s=FOR_EVER_S)
        fold = TimelineFold(settings, new_call)
        since_ns = replay_since_ns(settings, clock_ns()) if since_ns is None else since_ns
        begin = await begin_of(log, settings, since_ns)
        state = await taken_up(log, fold, settings) if from_state else {}
        positions = dict(begin.positions) | {partition: about.offset for partition, about in state.items()}
        known = [state[p].since_ns if p in state else begin.complete_from_ns for p in positions]
        fold.windows.since_ns = max((at_ns for at_ns in known if at_ns is not None), default=None)
        handler = TimelineHandler(fold, prefix=log.prefix)
        reader = await log.reader(topic_name(log.prefix, EVENTS), start=positions)
        worker = Worker(
            log, reader, handler, decode=decode_event_fast, dead=DeadLetters(keep=False), commit=False, patient=False
        )
        return cls(log, worker, handler, clock_ns)

    @property
    def windows(self) -> Windows:
        """The readings of what was folded."""
        return self.handler.fold.windows

    @property
    def calls(self) -> dict[str, Timeline]:
        """The calls that are held, by id."""
        return {call_id: held.timeline for call_id, held in self.handler.fold.held.items()}

    @property
    def stats(self) -> FoldStats:
        """How it fares, as of the last poll."""
        return stats_of(self.handler, self._worker, self._read, self._ends, self._clock_ns())

    def in_progress(self, as_of_ns: int) -> list[HeldCall]:
        """The calls that go on at ``as_of_ns``, a wall time."""
        self.advance(as_of_ns)
        return list(self.handler.fold.calls.in_progress())

    def advance(self, as_of_ns: int) -> None:
        """Judge every open call as of a wall time."""
        self.handler.fold.advance(as_of_ns)

    async def poll(self, timeout_s: float = 0.0) -> int:
        """Fold what came, waiting up to ``timeout_s`` for it; how many events. Raises LogError."""
        handled = await self._worker.step(timeout_s)
        note_read(self._read, self._clock_ns(), self._worker.records)
        if handled < BATCH:
            now_ns = self._clock_ns()
            self._ends = await self._log.end_positions(self._topic)
            if caught_up(self._worker.reader, self._ends):
                self.windows.watermark_ns = now_ns
        return handled

    async def catch_up(self) -> None:
        """Fold everything that the log has now, and judge open calls as of now. Raises LogError."""
        self._ends = await self._log.end_positions(self._topic)
        self.handler.fold.lagging = True
        while not caught_up(self._worker.reader, self._ends):
            await self.poll(1.0)
        self.handler.fold.lagging = False
        now_ns = self._clock_ns()
        self.windows.watermark_ns = now_ns
        self.advance(now_ns)

    async def close(self) -> None:
        """Release the reader; the log stays open."""
        await self._worker.reader.close()


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a fold begins, and from which wall time on its windows miss nothing (None: from ever)."""

    positions: Mapping[int, int]
    complete_from_ns: int | None


def replay_since_ns(settings: MonitorSettings, now_ns: int) -> int:
    """From which append time on the log is read, so that all calls of the windows are read whole: the longest window
    to be filled, and the longest call before it."""
    return now_ns - (settings.replay_s + settings.longest_call_s) * S


async def begin_of(log: Log, settings: MonitorSettings, since_ns: int) -> Begin:
    """Where to begin to read what was appended from ``since_ns`` on. Raises LogError."""
    topic = topic_name(log.prefix, EVENTS)
    positions = await log.positions_by_time(topic, since_ns)
    # Where not even the first record ever written is left out, nothing can be missing.
    if not any(positions.values()):
        return Begin(positions, None)
    for partition, oldest in (await log.start_positions(topic)).items():
        if oldest > 0 and positions[partition] <= oldest:
            # Retention has come further than we would have read: what it took is missing in every window (D02).
            since_ns = max(since_ns, await oldest_unread_ns(log, topic, {partition: oldest}) or 0)
    return Begin(positions, since_ns + settings.longest_call_s * S)


def caught_up(reader: Reader, ends: Mapping[int, int]) -> bool:
    """Whether a reader has read up to these ends in all partitions that it owns; not while it owns none."""
    positions = reader.positions()
    return bool(positions) and all(position >= ends.get(partition, 0) for partition, position in positions.items())


def note_read(read: deque[tuple[int, int]], now_ns: int, records: int) -> None:
    """Remember how many records were read by when."""
    read.append((now_ns, records))
    while len(read) > 2 and read[1][0] <= now_ns - RATE_OVER_NS:
        read.popleft()


def stats_of(
    handler: TimelineHandler,
    worker: Worker[AnyEvent],
    read: deque[tuple[int, int]],
    ends: Mapping[int, int],
    now_ns: int,
) -> FoldStats:
    """How a fold fares at ``now_ns``."""
    positions = worker.reader.positions()
    behind = {p: ends[p] - at for p, at in positions.items() if at < ends.get(p, 0)}
    clocks = handler.fold.clocks_ns
    oldest_ns = min((clocks[p] for p in behind if p in clocks), default=now_ns)
    span_ns = read[-1][0] - read[0][0] if read else 0
    return FoldStats(
        events=sum(handler.fold.events.values()),
        events_per_s=(read[-1][1] - read[0][1]) / span_ns * S if span_ns > 0 else 0.0,
        lag_s=max(now_ns - oldest_ns, 0) / S if behind else 0.0,
        lag_records=sum(behind.values()),
        dead_letters=dict(worker.dead.by_reason),
        set_aside=handler.fold.set_aside,
        stray=handler.fold.calls.stray,
        late_facts=handler.fold.calls.late_facts,
        lost=handler.lost,
    )
