"""The classes of measures by number: where each stands among the slots of a label set."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Final

import numpy as np

from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.slots import CLASSES, STRIDE
from earwitness.monitor.measures.sums import Sums
from earwitness.monitor.measures.tally import parted

OTHER: Final = "other"


class Places(dict[str, int]):
    """Where classes are counted, by the name of the class, from the first slot of their label set."""

    def __init__(self, classes: Classes) -> None:
        super().__init__()
        self._classes = classes

    def __missing__(self, name: str) -> int:
        measure, klass = parted(name)
        place = self._classes.number(measure, klass) * STRIDE
        if self._classes.knows(measure, klass):
            self[name] = place
        return place


class Classes:
    """Classes get their numbers as they come. When all numbers are taken, what is new counts as ``other``."""

    def __init__(self) -> None:
        self.places = Places(self)
        self._numbers: dict[tuple[str, str], int] = {}
        self._of: dict[str, list[tuple[str, int]]] = {}
        self._is_long = np.zeros(CLASSES, np.bool_)

    def knows(self, measure: str, klass: str) -> bool:
        """Whether a class has a number of its own."""
        return (measure, klass) in self._numbers

    def number(self, measure: str, klass: str) -> int:
        """The number of a class. Raises KeyError for a measure that the catalogue does not have."""
        number = self._numbers.get((measure, klass))
        if number is None:
            if len(self._numbers) >= CLASSES - len(BY_NAME) and klass != OTHER:
                return self.number(measure, OTHER)
            is_long = kept_long(measure)
            number = self._numbers[measure, klass] = len(self._numbers)
            insort(self._of.setdefault(measure, []), (klass, number))
            self._is_long[number] = is_long
        return number

    def of(self, measure: str) -> Sequence[tuple[str, int]]:
        """The classes of a measure and their numbers, by name."""
        return self._of.get(measure, ())

    def all(self) -> dict[int, tuple[str, str]]:
        """Measure and class by number."""
        return {number: names for names, number in self._numbers.items()}

    def only_long(self, sums: Sums) -> Sums:
        """What the long windows hold."""
        kept = self._is_long[sums.keys // STRIDE % CLASSES]
        return sums if kept.all() else Sums(sums.keys[kept], sums.amounts[kept])


def kept_long(measure: str) -> bool:
    """Whether a measure is kept over 3 d and 7 d too."""
    found = BY_NAME[measure]
    return found.headline or found.kind in ("rate", "count")
