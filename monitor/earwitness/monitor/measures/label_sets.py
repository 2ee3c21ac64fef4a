"""The label sets that measures are kept under: bounded, whatever the bots send (D15).

Keys are ``agent``, ``version``, ``mode`` and those that the settings declare. A key takes declared values only, or
open ones up to a bound; the rest is ``other``. Past the greatest number of sets everything is ``~other``. Both are
counted, and sums over a key are right either way (definitions, "Records, windows, labels").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.reading import Labels
from earwitness.monitor.measures.tally import Fields, fields_of

OTHER: Final = "other"
OVERFLOW: Final = "~other"
FIXED_KEYS: Final = ("agent", "version", "mode")

LabelKeys = Mapping[str, Sequence[str] | None]
"""Declared keys to their values; none: whatever comes, up to the bound."""


class LabelSets:
    """Label sets by number. A call's records keep the set that they were first given, so that what one revision
    added the next can take away; ``forget`` ends that."""

    def __init__(self, declared: LabelKeys | None = None, *, max_values: int = 50, max_sets: int = 2_000) -> None:
        declared = declared or {}
        self.keys: tuple[str, ...] = (*FIXED_KEYS, *(key for key in declared if key not in FIXED_KEYS))
        self._open = [not declared.get(key) for key in self.keys]
        self._values: list[set[str]] = [set(declared.get(key) or ()) for key in self.keys]
        self._max_values = max_values
        self._max_sets = max_sets
        self._numbers: dict[tuple[str, ...], int] = {}
        self._labels: dict[int, Labels] = {}
        self._of_call: dict[str, dict[tuple[str, ...], int]] = {}
        self._latest: dict[str, tuple[tuple[object, ...], int]] = {}
        """What each call's latest record asked for, and its set."""
        self._with: dict[tuple[str, str], set[int]] = {}
        self._matching: dict[Labels, list[int]] = {}
        self._next = 0
        self.refused_values: dict[str, int] = dict.fromkeys(self.keys, 0)
        """Calls whose value of a key became ``other``."""
        self.refused_sets = 0
        """Calls that went to ``~other``."""

    def __len__(self) -> int:
        return len(self._labels)

    def number_of(self, record: AnyRecord) -> int:
        """The set that a record counts under."""
        return self.number_by(fields_of(record))

    def number_by(self, fields: Fields) -> int:
        """The set that a record with these fields counts under."""
        call_id, asked = fields["call_id"], (fields["agent"], fields["version"], fields["mode"], fields["labels"])
        known = self._latest.get(call_id)
        if known is not None and known[0] == asked:
            return known[1]
        agent, version, mode, labels = asked
        wanted = (agent, version or "", mode, *[labels.get(key, "") for key in self.keys[3:]])
        of_call = self._of_call.get(call_id)
        if of_call is None:
            of_call = self._of_call[call_id] = {}
        number = of_call.get(wanted)
        if number is None:
            number = of_call[wanted] = self._admit(wanted)
        self._latest[call_id] = (asked, number)
        return number

    def number_once(self, record: AnyRecord) -> int:
        """The set that a record counts under of which nothing will ever be taken away again: its call is not
        remembered, and what is refused is counted for each such record."""
        wanted: tuple[str, ...] = (record.agent, record.version or "", record.mode)
        if len(self.keys) > len(FIXED_KEYS):
            labels = record.labels
            wanted += tuple([labels.get(key, "") for key in self.keys[3:]])
        number = self._numbers.get(wanted)
        return self._admit(wanted) if number is None else number

    @property
    def known(self) -> Mapping[tuple[str | None, ...], int]:
        """The sets that were admitted as they are, by their values in the order of ``keys``."""
        return cast("Mapping[tuple[str | None, ...], int]", self._numbers)

    def labels_of(self, number: int) -> Labels:
        """The sorted pairs of a set."""
        return self._labels[number]

    def values_of(self, number: int) -> tuple[str, ...]:
        """The values of a set, in the order of ``keys``."""
        found = dict(self._labels[number])
        return tuple(found[key] for key in self.keys)

    def number_for(self, values: tuple[str, ...]) -> int:
        """The set of these values, which was admitted before: no bound is asked."""
        number = self._numbers.get(values)
        if number is None:
            number = self._new(values)
            for i, value in enumerate(values):
                if self._open[i] and value not in ("", OTHER, OVERFLOW):
                    self._values[i].add(value)
        return number

    def of_call(self, call_id: str) -> dict[tuple[str, ...], tuple[str, ...]]:
        """The values that a call's records ask for and those that they count under."""
        return {wanted: self.values_of(number) for wanted, number in self._of_call.get(call_id, {}).items()}

    def put_back(self, call_id: str, of_call: dict[tuple[str, ...], tuple[str, ...]]) -> None:
        """What `of_call` gave."""
        self._of_call[call_id] = {wanted: self.number_for(values) for wanted, values in of_call.items()}

    def numbers(self) -> Sequence[int]:
        """All sets."""
        return list(self._labels)

    def matching(self, where: Labels) -> Sequence[int]:
        """The sets that agree with all pairs of ``where``."""
        if not where:
            return list(self._labels)
        found = self._matching.get(where)
        if found is None:
            agreeing = set(self._with.get(where[0], ()))
            for pair in where[1:]:
                agreeing &= self._with.get(pair, set[int]())
            found = self._matching[where] = sorted(agreeing)
        return found

    def forget(self, call_id: str) -> None:
        """A call is over for good: none of its records will change any more."""
        self._of_call.pop(call_id, None)
        self._latest.pop(call_id, None)

    def retain(self, numbers: set[int]) -> None:
        """Drop the sets that no bucket and no remembered call uses, and make room for new values."""
        held = numbers | {number for sets in self._of_call.values() for number in sets.values()}
        if held >= self._labels.keys():
            return
        for values in [values for values, number in self._numbers.items() if number not in held]:
            del self._numbers[values]  # in place: who counts many goes by this very table
        self._labels = {number: labels for number, labels in self._labels.items() if number in held}
        self._with = {pair: kept for pair, numbers_ in self._with.items() if (kept := numbers_ & held)}
        self._matching.clear()
        for i, is_open in enumerate(self._open):
            if is_open:
                self._values[i] = {values[i] for values in self._numbers} - {"", OTHER, OVERFLOW}

    def _admit(self, wanted: tuple[str, ...]) -> int:
        known = self._numbers.get(wanted)
        if known is not None:
            return known
        values = tuple(self._value(i, value) for i, value in enumerate(wanted))
        if values not in self._numbers and len(self._numbers) >= self._max_sets:
            self.refused_sets += 1
            values = (OVERFLOW,) * len(self.keys)
        number = self._numbers.get(values)
        return self._new(values) if number is None else number

    def _new(self, values: tuple[str, ...]) -> int:
        number = self._numbers[values] = self._next
        self._next += 1
        labels = self._labels[number] = tuple(sorted(zip(self.keys, values, strict=True)))
        for pair in labels:
            self._with.setdefault(pair, set()).add(number)
        self._matching.clear()
        return number

    def _value(self, i: int, value: str) -> str:
        known = self._values[i]
        if value in known or not value:
            return value
        if self._open[i] and len(known) < self._max_values:
            known.add(value)
            return value
        self.refused_values[self.keys[i]] += 1
        return OTHER
