"""All that a worker holds of one partition, as values by key: what changed since it was last saved, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from earwitness.consumers.calls_held import FORGOTTEN
from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.held_call import HeldCall
from earwitness.consumers.ledger import Ledger
from earwitness.consumers.revisions import Revisions
from earwitness.consumers.state_slots import Doubt
from earwitness.consumers.state_values import (
    About,
    SavedCall,
    SavedLabels,
    decoded,
    encoded,
    packed,
    unpacked,
)
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.saved import NotSaved, ResumedCall, restored, saved
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.log.keys import partition_of
from earwitness.monitor.measures import saved_buckets, saved_cases
from earwitness.monitor.measures.buckets import KEPT_STEPS
from earwitness.monitor.measures.saved_buckets import SavedBucket
from earwitness.monitor.measures.saved_cases import SavedCase
from earwitness.monitor.measures.sums import Sums

CALL, BUCKET, FORGOT, AHEAD, WORST = "call:", "bucket:", "forgotten:", "ahead:", "worst:"
WHOLE: Final = "whole:"
"""Under which a call was saved whole; `CALL` has what came since."""
SEGMENT: Final = 500
"""Ids of calls that are forgotten together."""

Values = dict[str, bytes | None]


@dataclass(slots=True)
class PartitionState:
    """What of a partition was saved, and the way from the fold to that and back."""

    partition: int
    partitions: int
    fold: TimelineFold
    ledger: Ledger
    bounds: Bounds
    ahead: set[str] = field(default_factory=set[str])
    """Calls of which somebody published something who was further than we are: we have none of their events yet."""
    _buckets: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    _worst: dict[tuple[int, int], tuple[int, bytes]] = field(default_factory=dict[tuple[int, int], tuple[int, bytes]])
    """Of each step of worst cases the edition that was looked at, and what was saved of it."""
    _calls: set[str] = field(default_factory=set[str])
    _forgotten: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def changes(self, *, all_of_it: bool = False) -> Values:
        """The values that changed since the last call of this, None for those that went; or all."""
        return self._bucket_changes(all_of_it) | self._call_changes(all_of_it) | self._others(all_of_it)

    def restore(self, values: dict[str, bytes], about: About) -> None:
        """Put saved values in the place of whatever the fold has of this partition. Raises Doubt, and then the fold has
        nothing of it."""
        buckets: dict[tuple[int, int], Sums] = {}
        calls: list[tuple[HeldCall, SavedCall]] = []
        ahead: dict[str, bytes] = {}
        worst: dict[tuple[int, int], list[SavedCase]] = {}
        try:
            for key, body in values.items():
                kind, _, name = key.partition(":")
                if kind + ":" == BUCKET:
                    step_s, _, index = name.partition(":")
                    sums = saved_buckets.restored(unpacked(body, SavedBucket), self.fold.windows)
                    buckets[int(step_s), int(index)] = sums
                elif kind + ":" == CALL:
                    calls.append(self._call(decoded(body, SavedCall), values.get(WHOLE + name)))
                elif kind + ":" == WORST:
                    step_s, _, index = name.partition(":")
                    worst[int(step_s), int(index)] = self._cases(body)
                    self._worst[int(step_s), int(index)] = -1, body
                elif kind + ":" == AHEAD:
                    ahead[name] = Revisions(unpacked(body, bytes)).saved()
                elif kind + ":" == FORGOT:
                    self._forgotten[int(name)] = unpacked(body, list[str])
        except (NotSaved, saved_buckets.NotSaved, ValueError) as error:
            raise Doubt(f"a value of it makes no sense: {error}") from error
        saved_buckets.put_back(self.fold.windows, self.partition, buckets, about.newest_ns)
        for held, was in calls:
            self._hold(held, was)
        for (length_s, _), cases in sorted(worst.items()):
            saved_cases.put_back(self.fold.windows, length_s, cases)
        for call_id, published in ahead.items():
            self.ledger.put_back(call_id, published)
            self.ahead.add(call_id)
        self.fold.calls.forgotten.update(
            (call_id, self.partition) for number in sorted(self._forgotten) for call_id in self._forgotten[number]
        )
        if about.clock_ns is not None:
            self.fold.clocks_ns[self.partition] = about.clock_ns
        self._buckets = set(buckets)

    def _bucket_changes(self, all_of_it: bool) -> Values:
        windows = self.fold.windows
        buckets = windows.part(self.partition)
        buckets.settle(max(KEPT_STEPS))
        changed: Values = {}
        gone, self._buckets = self._buckets, set()
        for step_s, tier in buckets.tiers.items():
            steps = tier.steps
            for index in steps if all_of_it else sorted(tier.changed):
                changed[f"{BUCKET}{step_s}:{index}"] = packed(saved_buckets.saved(tier.sums(index), windows))
            tier.changed.clear()
            self._buckets.update((step_s, index) for index in steps)
        return changed | {f"{BUCKET}{step_s}:{index}": None for step_s, index in gone - self._buckets}

    def _call_changes(self, all_of_it: bool) -> Values:
        changed: Values = {}
        gone, self._calls = self._calls, set()
        touched = self.ledger.touched
        for call_id, held in self.fold.held.items():
            if held.partition != self.partition:
                continue
            self._calls.add(call_id)
            gone.discard(call_id)
            if all_of_it or held.changed or call_id in touched:
                touched.discard(call_id)
                held.changed = False
                held.pack()
                if all_of_it or held.since is None:
                    changed[WHOLE + call_id] = self._whole(held)
                changed[CALL + call_id] = encoded(self._saved(held))
        return changed | dict.fromkeys(kind + call_id for call_id in gone for kind in (CALL, WHOLE))

    def _whole(self, held: HeldCall) -> bytes:
        held.saved_whole()
        try:
            return saved(held.timeline)
        except Exception:
            if not held.broken:
                raise
            return saved(CallTimeline(held.call_id, bounds=self.bounds))  # nobody will ask it anything

    def _saved(self, held: HeldCall) -> SavedCall:
        call_id, timeline = held.call_id, held.timeline
        return SavedCall(
            call_id,
            held.offset_ns,
            held.as_of_ns,
            held.waits_ns,
            held.presses_ns,
            held.broken,
            [SavedLabels(*pair) for pair in self.fold.windows.label_sets.of_call(call_id).items()],
            self._published(call_id),
            held.packed,
            held.judged,
            held.judged_at_ns,
            timeline.started_wall_ns,
            timeline.last_at_ns,
            timeline.ended,
            timeline.pressing,
            timeline.due_ns,
            timeline.final_due_ns,
            list(held.torn),
        )

    def _cases(self, body: bytes) -> list[SavedCase]:
        cases, width = unpacked(body, list[SavedCase]), len(self.fold.windows.label_sets.keys)
        if any(len(case.labels) != width for case in cases):
            raise NotSaved("a worst case has other label keys than are declared")
        return cases

    def _call(self, was: SavedCall, whole: bytes | None) -> tuple[HeldCall, SavedCall]:
        width = len(self.fold.windows.label_sets.keys)
        if any(len(labels.wanted) != width or len(labels.given) != width for labels in was.labels):
            raise NotSaved("a call has other label keys than are declared")
        if whole is None:
            raise NotSaved("a call is not there as a whole")
        Revisions(was.published)  # raises ValueError before anything is put back
        timeline = restored(whole, bounds=self.bounds)
        if was.since or was.judged_at_ns is not None:
            timeline = ResumedCall(timeline, was.since, judged=was.judged, judged_at_ns=was.judged_at_ns)
            timeline.started_wall_ns, timeline.last_at_ns = was.started_wall_ns, was.last_at_ns
            timeline.ended, timeline.pressing = was.ended, was.pressing
            timeline.due_ns, timeline.final_due_ns = was.due_ns, was.final_due_ns
        held = HeldCall(was.call_id, timeline, self.partition, offset_ns=was.offset_ns, as_of_ns=was.as_of_ns)
        held.waits_ns, held.presses_ns, held.broken = was.waits_ns, was.presses_ns, was.broken
        held.torn = list(was.torn)
        held.changed = False
        return held, was

    def _hold(self, held: HeldCall, was: SavedCall) -> None:
        call_id, sets = held.call_id, self.fold.windows.label_sets
        sets.put_back(call_id, {labels.wanted: labels.given for labels in was.labels})
        if was.labels:
            held.number = sets.number_for(was.labels[-1].given)
        self.ledger.put_back(call_id, was.published)
        self.fold.hold(held)
        self._calls.add(call_id)

    def _others(self, all_of_it: bool) -> Values:
        return self._forgotten_changes(all_of_it) | self._ahead_changes(all_of_it) | self._worst_changes(all_of_it)

    def is_ours(self, call_id: str) -> bool:
        """Whether a call is of this partition."""
        return partition_of(call_id, self.partitions) == self.partition

    def _worst_changes(self, all_of_it: bool) -> Values:
        changed: Values = {}
        before, self._worst = self._worst, {}
        for step_s, worst in self.fold.windows.worst_kept.items():
            for step, edition in worst.editions.items():
                known = before.pop((step_s, step), (-1, b""))
                body = known[1]
                if known[0] != edition:
                    cases = saved_cases.saved(self.fold.windows, step_s, step, self.is_ours)
                    body = packed(cases) if cases else b""
                if body != known[1] or (all_of_it and body):
                    changed[f"{WORST}{step_s}:{step}"] = body or None
                self._worst[step_s, step] = edition, body
        return changed | {f"{WORST}{step_s}:{step}": None for (step_s, step), (_, body) in before.items() if body}

    def _ahead_changes(self, all_of_it: bool) -> Values:
        changed: Values = {}
        for call_id in list(self.ahead):
            if call_id in self.fold.held or call_id in self.fold.calls.forgotten:
                self.ahead.discard(call_id)
                changed[AHEAD + call_id] = None
            elif all_of_it or call_id in self.ledger.touched:
                self.ledger.touched.discard(call_id)
                changed[AHEAD + call_id] = packed(self._published(call_id))
        return changed

    def _published(self, call_id: str) -> bytes:
        return self.ledger.of_call(call_id)

    def _forgotten_changes(self, all_of_it: bool) -> Values:
        fold, segments = self.fold, self._forgotten
        new = [call_id for call_id, partition in fold.calls.newly_forgotten if partition == self.partition]
        fold.calls.newly_forgotten = [one for one in fold.calls.newly_forgotten if one[1] != self.partition]
        changed: set[int] = set(segments) if all_of_it else set()
        for call_id in new:
            last = max(segments, default=-1)
            if last < 0 or len(segments[last]) >= SEGMENT:
                last += 1
                segments[last] = []
            segments[last].append(call_id)
            changed.add(last)
        found: Values = {f"{FORGOT}{number}": packed(segments[number]) for number in changed}
        while (
            sum(map(len, segments.values())) - len(segments[min(segments, default=0)] if segments else ()) >= FORGOTTEN
        ):
            oldest = min(segments)
            del segments[oldest]
            found[f"{FORGOT}{oldest}"] = None
        return found
