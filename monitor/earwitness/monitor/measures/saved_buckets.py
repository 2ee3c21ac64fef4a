"""Buckets as bytes and back. Numbers of label sets and classes are a process's own, so they are kept by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.slots import CLASSES, STRIDE
from earwitness.monitor.measures.sums import Sums, summed
from earwitness.monitor.measures.windows import Windows

_SET: Final = CLASSES * STRIDE
_INTEGER: Final = np.dtype("<i8")


class NotSaved(Exception):
    """It is no saved bucket."""


class SavedBucket(msgspec.Struct, array_like=True, frozen=True):
    """The sums of one bucket: ``keys`` and ``amounts`` are little-endian 64-bit integers, the keys as in ``slots`` but
    with the places in ``sets`` and ``classes`` for numbers."""

    sets: list[tuple[str, ...]]
    classes: list[tuple[str, str]]
    keys: bytes
    amounts: bytes


def saved(sums: Sums, windows: Windows) -> SavedBucket:
    """The sums of a bucket of these windows."""
    keys = sums.keys
    numbers, set_at = np.unique(keys // _SET, return_inverse=True)
    classes, class_at = np.unique(keys % _SET // STRIDE, return_inverse=True)
    names = windows.classes.all()
    local = set_at * _SET + class_at * STRIDE + keys % STRIDE
    return SavedBucket(
        [windows.label_sets.values_of(number) for number in numbers.tolist()],
        [names[number] for number in classes.tolist()],
        local.astype(_INTEGER).tobytes(),
        sums.amounts.astype(_INTEGER).tobytes(),
    )


def restored(bucket: SavedBucket, windows: Windows) -> Sums:
    """The sums again, under the numbers of these windows. Raises NotSaved."""
    if len(bucket.keys) % 8 or len(bucket.keys) != len(bucket.amounts):
        raise NotSaved("keys and amounts of a bucket do not match")
    keys = np.frombuffer(bucket.keys, _INTEGER).astype(np.int64)
    set_at, class_at = keys // _SET, keys % _SET // STRIDE
    if len(keys) and not (keys.min() >= 0 and set_at.max() < len(bucket.sets) and class_at.max() < len(bucket.classes)):
        raise NotSaved("a key of a bucket names no label set or class")
    width = len(windows.label_sets.keys)
    if any(len(values) != width for values in bucket.sets) or any(name not in BY_NAME for name, _ in bucket.classes):
        raise NotSaved("a bucket has label keys or measures that are not known here")
    sets = np.array([windows.label_sets.number_for(values) for values in bucket.sets], np.int64)
    classes = np.array([windows.classes.number(name, klass) for name, klass in bucket.classes], np.int64)
    amounts = np.frombuffer(bucket.amounts, _INTEGER).astype(np.int64)
    if not len(keys):
        return summed(keys, amounts)
    return summed(sets[set_at] * _SET + classes[class_at] * STRIDE + keys % STRIDE, amounts)


def put_back(windows: Windows, part: int, buckets: Mapping[tuple[int, int], Sums], newest_ns: int | None) -> None:
    """Put saved sums, by tier and step, in the place of all that windows have of a part of the log."""
    windows.drop(part)
    found = windows.part(part)
    if newest_ns is not None:
        found.put_back(newest_ns, buckets)
    for tier in found.tiers.values():
        tier.changed.clear()
