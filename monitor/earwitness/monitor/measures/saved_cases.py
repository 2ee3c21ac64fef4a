"""Worst cases as plain values and back: those of one step that are of calls of one part of the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec

from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.exemplars import SHOWN_BY
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000


class SavedCase(msgspec.Struct, array_like=True, frozen=True):
    """One case and the label set that it is kept under."""

    labels: tuple[str, ...]
    measure: str
    censored: bool
    value_ns: int
    call_id: str
    subject: str
    at_ns: int
    wall_ns: int


def saved(windows: Windows, step_s: int, step: int, is_ours: Callable[[str], bool]) -> list[SavedCase]:
    """The cases of a step that are of our calls, in one order."""
    values_of = cache(windows.label_sets.values_of)
    found = [
        SavedCase(values_of(number), measure, *case)
        for number, measure, case in windows.worst_kept[step_s].cases(step)
        if is_ours(case[2])
    ]
    return sorted(found, key=lambda case: (case.labels, case.measure, case.value_ns, case.call_id, case.subject))


def put_back(windows: Windows, step_s: int, cases: list[SavedCase]) -> None:
    """Remember cases that were saved; those of measures that are not known here are left out."""
    worst = windows.worst_kept.get(step_s)
    if worst is None:
        return
    for case in cases:
        if case.measure in BY_NAME or case.measure in SHOWN_BY:
            number = windows.label_sets.number_for(case.labels)
            worst.remember(
                number,
                case.measure,
                (case.censored, case.value_ns, case.call_id, case.subject, case.at_ns, case.wall_ns),
            )


def drop(windows: Windows, is_gone: Callable[[str], bool]) -> None:
    """Forget the cases of calls that somebody else has now."""
    for worst in windows.worst_kept.values():
        worst.drop(is_gone)
