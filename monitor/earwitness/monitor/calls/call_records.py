"""The records of a call that goes on: what each look at it publishes, changes and takes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.chapter import Chapter
from earwitness.monitor.calls.facts import Facts
from earwitness.monitor.calls.overlap_records import verdict
from earwitness.monitor.calls.page import Content, Draft
from earwitness.monitor.calls.published import Published
from earwitness.monitor.calls.wants import Basis
from earwitness.monitor.contract.records import AnyRecord


class CallRecords:
    """What stands of a call's records, and what of it a label can still change."""

    def __init__(self, call_id: str, bounds: Bounds) -> None:
        self.bounds = bounds
        self.published = Published()
        self.standing: set[str] = set()
        """Ids of the records that stood at the last look, those that were put away apart."""
        self.overlaps: dict[str, Basis] = {}
        """Overlaps of settled chapters: a label can still change them."""
        self._unknown: Content = {"call_id": call_id, "agent": "", "bounds": bounds.id}
        self._shared: Content = self._unknown
        """What all records of the call have in common."""
        self._started: Any = None

    def restore(self, published: Published, standing: set[str], overlaps: dict[str, Basis]) -> None:
        """Go on from what was dumped."""
        self.published, self.standing, self.overlaps = published, standing, overlaps

    def publish(self, settled: Sequence[Chapter], tail: Sequence[Draft], facts: Facts) -> list[AnyRecord]:
        """What is new or changed: the records of chapters that were settled since the last look, which are put away,
        and those of the rest of the call."""
        shared = self._shared_by(facts)
        changed: list[AnyRecord] = []
        standing: set[str] = set()
        put: set[str] = set()
        self.published.begin()
        for chapter in settled:
            if chapter.settled:
                drafts = chapter.settled
                if facts.labels or facts.judged:
                    drafts = [self._labelled(draft, facts) for draft in drafts]
                chapter.shelf, chapter.settled = self.published.put_for_good(drafts, shared, changed), []
                put.update([draft.id for draft in drafts])
        standing.update([draft.id for draft in tail])
        self.published.put(tail, shared, changed)
        if facts.labels or facts.judged:
            for record_id, basis in self.overlaps.items():
                if record_id not in put:
                    self.published.amend(record_id, verdict(basis, record_id, facts, self.bounds), shared, changed)
        for record_id in sorted(self.standing - standing - put):
            self.published.retract(record_id, changed)
        self.standing = standing
        return changed

    def settle(self, chapter: Chapter) -> None:
        """Note what a label can still change of a chapter that is settled now."""
        bases = {draft.id: draft.basis for draft in chapter.settled if draft.basis is not None}
        chapter.overlaps = tuple(bases)
        self.overlaps |= bases

    def take_back(self, chapter: Chapter) -> None:
        """Make the records of a chapter ones that can change again."""
        for record_id in chapter.overlaps:
            self.overlaps.pop(record_id, None)
        if chapter.shelf is not None:
            self.standing.update(self.published.take_down(chapter.shelf))

    def _shared_by(self, facts: Facts) -> Content:
        started = facts.started
        if started is not self._started:
            # Also where its beginning is not there any more: another process's clock may have moved it.
            self._started = started
            self._shared = self._unknown
            if started is not None:
                self._shared = self._unknown | {
                    "agent": started.agent,
                    "version": started.version,
                    "mode": started.mode,
                    "labels": dict(started.labels),
                }
        return self._shared

    def _labelled(self, draft: Draft, facts: Facts) -> Draft:
        """A settled record with what a person or a judge says of it."""
        if draft.basis is None:
            return draft
        return draft._replace(content=draft.content | verdict(draft.basis, draft.id, facts, self.bounds))
