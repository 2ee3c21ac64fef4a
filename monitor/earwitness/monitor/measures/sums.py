"""Integers by key, as two arrays in the order of the keys: what buckets keep and windows add up.

All is addition, so neither order nor split nor replay changes a bit, and what was added can be taken out again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
_FEW: Final = 8
"""So many times fewer keys are looked up among the others instead of being sorted in."""


class Sums(NamedTuple):
    """Distinct keys in ascending order and their amounts, none of which is 0. The arrays are shared: nobody writes to
    them."""

    keys: Integers
    amounts: Integers

    def negated(self) -> Sums:
        """The same to be taken away."""
        return Sums(self.keys, -self.amounts)


NOTHING: Final = Sums(np.empty(0, np.int64), np.empty(0, np.int64))


def summed(keys: Integers, amounts: Integers) -> Sums:
    """The sum of amounts by key; a key may come as often as it likes, in any order."""
    if not len(keys):
        return NOTHING
    order = np.argsort(keys, kind="stable")
    keys, amounts = keys[order], amounts[order]
    is_first = np.empty(len(keys), np.bool_)
    is_first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    if len(first) < len(keys):
        keys, amounts = keys[first], np.add.reduceat(amounts, first)
    return _without_zeros(keys, amounts)


def added(parts: Sequence[Sums]) -> Sums:
    """The sum of all parts."""
    parts = [part for part in parts if len(part.keys)]
    if len(parts) > 1:
        parts.sort(key=lambda part: len(part.keys))
        greatest = parts.pop()
        others = added(parts)
        if len(others.keys) * _FEW < len(greatest.keys):
            return _looked_up(greatest, others)
        return summed(np.concatenate((greatest.keys, others.keys)), np.concatenate((greatest.amounts, others.amounts)))
    return parts[0] if parts else NOTHING


def _looked_up(many: Sums, few: Sums) -> Sums:
    """The sum of two, one of which is small: where its keys stand in the other is looked up."""
    if not len(few.keys):
        return many
    at = np.searchsorted(many.keys, few.keys)
    is_known = many.keys[np.minimum(at, len(many.keys) - 1)] == few.keys
    amounts = many.amounts.copy()
    amounts[at[is_known]] += few.amounts[is_known]
    keys = many.keys
    if not is_known.all():
        is_new = ~is_known
        at = at[is_new]
        keys, amounts = np.insert(keys, at, few.keys[is_new]), np.insert(amounts, at, few.amounts[is_new])
    return _without_zeros(keys, amounts)


def _without_zeros(keys: Integers, amounts: Integers) -> Sums:
    if amounts.all():
        return Sums(keys, amounts)
    kept = amounts != 0
    return Sums(keys[kept], amounts[kept])


def packed(sums: Sums) -> bytes:
    """Sums in few bytes, about a fifth: differences of the keys and amounts, byte by byte of the same place."""
    both = np.stack((np.diff(sums.keys, prepend=0), sums.amounts))
    return zlib.compress(both.view(np.uint8).reshape(2, -1, 8).transpose(0, 2, 1).tobytes(), 1)


def unpacked(data: bytes) -> Sums:
    """What `packed` packed."""
    planes = np.frombuffer(zlib.decompress(data), np.uint8).reshape(2, 8, -1)
    both = np.ascontiguousarray(planes.transpose(0, 2, 1)).view(np.int64)[:, :, 0]
    return Sums(np.cumsum(both[0]), both[1])


class Pile:
    """A sum that is added to often and read seldom: parts lie one on the other, each less than half of the one below
    it, and are put together when they are read. Adding costs the logarithm of the number of parts."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[Sums] = []

    def add(self, part: Sums) -> None:
        """Add to the sum."""
        parts = self._parts
        while parts and 2 * len(part.keys) >= len(parts[-1].keys):
            part = added((parts.pop(), part))
        if len(part.keys):
            parts.append(part)

    def whole(self) -> Sums:
        """The sum, put together for good."""
        if len(self._parts) > 1:
            whole = added(self._parts)
            self._parts = [whole] if len(whole.keys) else []
        return self._parts[0] if self._parts else NOTHING

    def parts(self) -> Sequence[Sums]:
        """What it is the sum of; a key may stand in several."""
        return self._parts
