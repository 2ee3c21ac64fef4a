"""What is said of a partition on the state topic: the shapes of the values, as bytes and back.

Others may write to the topic, so everything is decoded into a type and nothing of it is ever run.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, TypeVar

import msgspec

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.state_slots import Doubt
from earwitness.monitor.calls.arrivals import Torn
from earwitness.monitor.fewer_bytes import NotSqueezed, squeezed_well, unsqueezed
from earwitness.monitor.release import release

T = TypeVar("T")

SHAPES: Final = 4
"""Of this module: what was written in others is not read."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifest says of the state beside its offset.

    ``offset``: the next event, as in the manifest. ``fingerprint``: of the settings and of the version under which it
    was worked out. ``partitions``: of the events. ``records_from``: from where on the records topic may hold what the
    state does not know of. ``clock_ns``: append time of the newest event. ``since_ns``: see `Windows`. ``newest_ns``:
    wall time of the newest bucket.
    """

    offset: int
    fingerprint: str
    partitions: int
    records_from: int
    clock_ns: int | None
    since_ns: int | None
    newest_ns: int | None


class SavedLabels(msgspec.Struct, array_like=True, frozen=True):
    """The label set that a call's records were first given, and what they asked for."""

    wanted: tuple[str, ...]
    given: tuple[str, ...]


class SavedCall(msgspec.Struct, array_like=True, frozen=True):
    """A held call beside what it was when it was saved whole (see ``monitor.calls.saved``): the events ``since``, of
    which ``judged`` were there when it was last looked at, as of ``judged_at_ns``, and what it shows now."""

    call_id: str
    offset_ns: int | None
    as_of_ns: int
    waits_ns: int | None
    presses_ns: int | None
    broken: bool
    labels: list[SavedLabels]
    published: bytes
    since: list[bytes]
    judged: int
    judged_at_ns: int | None
    started_wall_ns: int | None
    last_at_ns: int
    ended: bool
    pressing: bool
    due_ns: int
    final_due_ns: int
    torn: list[Torn] = []


def fingerprint(settings: MonitorSettings) -> str:
    """Of all that decides what a state means: under another one it is worked out again from the log."""
    labels = sorted((key, None if values is None else sorted(values)) for key, values in settings.label_keys.items())
    told = (
        SHAPES,
        release(),
        settings.bounds,
        labels,
        settings.max_label_values,
        settings.max_label_sets,
        settings.call_kept_s,
        settings.future_s,
    )
    return blake2b(repr(told).encode(), digest_size=12).hexdigest()


def packed(value: object) -> bytes:
    """A value as few bytes."""
    return squeezed_well(_ENCODE(value))


def unpacked(body: bytes, kind: type[T]) -> T:
    """The value again. Raises Doubt where it is not of that kind."""
    try:
        plain = unsqueezed(body)
    except NotSqueezed as error:
        raise Doubt(f"a value of it cannot be read as {kind.__name__}") from error
    return decoded(plain, kind)


def encoded(value: object) -> bytes:
    """A value whose parts are packed already."""
    return _ENCODE(value)


def decoded(body: bytes, kind: type[T]) -> T:
    """The value again. Raises Doubt where it is not of that kind."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise Doubt(f"a value of it cannot be read as {kind.__name__}") from error


_ENCODE: Final = msgspec.msgpack.Encoder().encode
