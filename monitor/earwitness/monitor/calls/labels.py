"""What people say of a call's overlaps, as events of the call.

Labels are folded in the order of `at_ns`, source and `seq` like all else, so a later label is given a later moment: the
last one wins in whatever order they arrive. Each is a source of its own: people who label at once never collide, and a
label that is written twice is folded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from earwitness.monitor.contract.events import AnyEvent, HumanLabel
from earwitness.monitor.contract.learnt_later import WantClass

NOT_WANTED: Final = "not"
CLEARED: Final = "cleared"
SOURCE: Final = "label"


@dataclass(frozen=True, slots=True)
class Word:
    """What somebody says of an overlap. ``author`` None: no name was given."""

    overlap: str
    label: str
    want_class: WantClass | None = None
    author: str | None = None


def in_force(events: Iterable[AnyEvent], overlap: str) -> Word | None:
    """The label of an overlap that stands; None where there is none, or it was taken back."""
    last = max((e for e in _labels(events) if e.subject == overlap), key=_place, default=None)
    if last is None or last.label == CLEARED:
        return None
    return Word(overlap, last.label, last.want_class, last.author)


def label_event(
    word: Word, call_id: str, events: Iterable[AnyEvent], *, u_on_ns: int, wall_ns: int, token: str
) -> HumanLabel:
    """The event that says it, at the overlap's onset or just behind the labels that are there. ``events`` are the
    call's; ``token`` is drawn by lot for each label."""
    latest = max((e.at_ns for e in _labels(events)), default=-1)
    return HumanLabel(
        call_id=call_id,
        source=f"{SOURCE}:{token}",
        seq=0,
        at_ns=max(u_on_ns, latest + 1),
        wall_ns=wall_ns,
        subject=word.overlap,
        label=word.label,
        want_class=word.want_class,
        author=word.author,
    )


def _labels(events: Iterable[AnyEvent]) -> Iterable[HumanLabel]:
    return (e for e in events if e.kind == "human_label")


def _place(event: HumanLabel) -> tuple[int, str, int]:
    return event.at_ns, event.source, event.seq
