"""Events of all calls to records and windows. Pure: no I/O and no clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from earwitness.consumers.calls_held import CallsHeld
from earwitness.consumers.failed import Failed
from earwitness.consumers.held_call import Change, HeldCall, Timeline
from earwitness.consumers.judge import Judge
from earwitness.consumers.looks import LAGGING_NS, Looks
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.taking_in import TakingIn
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.log.protocol import Entry
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
SWEEP_NS: Final = 60 * S
REST_NS: Final = 5 * S
"""How long a busy worker leaves a call alone, once it was judged, if time alone gives reason to look again."""
FINAL_NS: Final = 10 * S
"""How long a record waits at most, on a busy worker, to be called final by the passing of time alone."""


class TimelineFold:
    """The state of one timeline worker."""

    def __init__(self, settings: MonitorSettings, new_call: Callable[[str], Timeline] | None = None) -> None:
        self._judge = Judge(settings)
        self.calls = CallsHeld(new_call or partial(CallTimeline, bounds=settings.bounds), settings.call_kept_s * S)
        self.held = self.calls.by_id
        self._looks = Looks()
        self._taking_in = TakingIn(self.calls, self._looks, self._judge, settings.future_s * S)
        self.clocks_ns = self._taking_in.clocks.ns
        """Append time of the newest record of each partition."""
        self.events = self._taking_in.events
        """Events folded, by kind."""
        self.skews = self._taking_in.skews
        self.lagging = False
        """Whether what is read is so old that nobody waits for it."""
        self.put_off = False
        """Whether there are numbers that somebody waits for and that it left for later since it was."""
        self.behind: set[int] = set()
        """Partitions whose past is still being read: what it says of now is not asked."""
        self._swept_ns = 0

    @property
    def windows(self) -> Windows:
        """What its calls count for."""
        return self._judge.windows

    @property
    def set_aside(self) -> int:
        """Events that claim to be further ahead of their arrival than is allowed."""
        return self._taking_in.set_aside

    @property
    def broken_calls(self) -> int:
        """Calls that could not be folded."""
        return self._judge.broken_calls

    def add(self, entry: Entry, event: AnyEvent) -> None:
        """Give one event to its call; ``settle`` says what that changed."""
        self._taking_in.add(entry, event)

    def add_all(self, entries: Sequence[Entry], events: Sequence[AnyEvent], failed: Failed) -> None:
        """`add` the events of one partition, in their order. ``failed`` is told what `add` would raise, and of which
        entry."""
        self._taking_in.add_all(entries, events, failed)

    def settle(self) -> list[Change]:
        """What events changed, each judged by the arrival of the newest: those that end a call or open one at once,
        those that give a number which somebody waits for too, others with them or within `WAITING_NS`, all of them
        within `LAGGING_NS` where the worker is behind; and all when nothing came since the last call of this. The
        windows have it already."""
        idle, changes = self._taking_in.since_last()
        for held in self._looks.due(self._taking_in.clocks.newest_ns, lagging=self.lagging, idle=idle):
            changes += self._judge.judge(held, self.clocks_ns[held.partition])
        self.put_off = self._looks.put_off
        self._sweep()
        self._judge.at_hand.lay_aside()
        return changes

    def advance(self, as_of_ns: int, *, most: int | None = None) -> list[Change]:
        """What the passing of time changed: answers overdue, silences, calls that never end; and what events changed
        that were not judged yet.

        ``most``: judge no more open calls than that, those first that were judged longest ago; what events changed is
        left to `settle`, a call that was judged is left alone for `REST_NS` (`LAGGING_NS` by a worker that is behind),
        and what merely becomes final may be late by `FINAL_NS`.
        """
        changes: list[Change] = []
        if most is None:
            for held in self.held.values():
                if held.waits_ns is not None:
                    changes += self._judge.judge(held, as_of_ns)
            self._looks.clear()
        rest_ns, within_ns = (0, 0) if most is None else (LAGGING_NS, 0) if self.lagging else (REST_NS, FINAL_NS)
        due = [
            held
            for held in self.held.values()
            if not held.broken and held.is_due(as_of_ns, rest_ns, within_ns) and held.partition not in self.behind
        ]
        if most is not None and len(due) > most:
            due = sorted(due, key=lambda held: held.as_of_ns)[:most]
        for held in due:
            changes += self._judge.judge(held, as_of_ns)
        self._judge.count_live(self.calls.in_progress())
        return changes

    def records_of(self, held: HeldCall) -> Sequence[AnyRecord]:
        """See `Judge.records_of`."""
        return self._judge.records_of(held)

    def look_at(self, held: HeldCall, as_of_ns: int) -> list[Change]:
        """What changed of one call as of then."""
        return self._judge.judge(held, as_of_ns)

    def hold(self, held: HeldCall) -> None:
        """Take in a call as it was left somewhere else."""
        self.held[held.call_id] = held
        self._looks.hold(held)
        if held.torn:
            self._judge.note_torn(held)

    def drop(self, partition: int) -> set[str]:
        """Forget all of a partition, which somebody else has now; the ids of its calls."""
        gone = self.calls.drop(partition)
        for held in gone.values():
            self._judge.forget(held)
            self._looks.drop(held)
        self._taking_in.drop(partition, gone)
        self.behind.discard(partition)
        self.windows.drop(partition)
        return set(gone)

    def _sweep(self) -> None:
        """Let go of calls that nothing may change any more, each by its own partition's clock."""
        newest_ns = self._taking_in.clocks.newest_ns
        self._swept_ns = min(self._swept_ns, newest_ns)  # the clock may have been set back
        if newest_ns - self._swept_ns < SWEEP_NS:
            return
        self._swept_ns = newest_ns
        self._judge.at_hand.lay_ended_aside()
        for held in self.calls.sweep(self.clocks_ns):
            self._judge.forget(held)
