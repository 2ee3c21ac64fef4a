"""The least that there is to say of one contribution to a measure: what every rule makes and every window counts.

Rules run for every record that changes. They read the record's fields, which costs a quarter of asking the model for
its attributes, and what they always say is made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import asdict

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.measure import S
from earwitness.monitor.measures.slots import COUNT, DENOMINATOR, ELIGIBLE, INVALID, VALUES

Fields = Mapping[str, Any]
"""A record's fields by name."""
Tally = tuple[str, int, int]
"""The class of a measure (``latency_part[llm]``), the slot that it is counted in (for durations the first of their
bins) and the amount: nanoseconds for durations, else how many."""
Tallies = Sequence[Tally]

LONGEST_CALL_NS: Final = 7_200 * S
"""No duration inside a call is longer; what claims to be is invalid (A08)."""
LEAST_NS: Final = {measure.name: measure.least_ns for measure in BY_NAME.values()}


def fields_of(record: AnyRecord) -> Fields:
    """The fields of a record, be it a model or the struct that the fast decoder makes of its bytes."""
    fields: Fields | None = getattr(record, "__dict__", None)
    if fields is not None:
        return fields
    read: dict[str, Any] = asdict(cast(Struct, record))
    read["kind"] = record.kind
    return read


def named(measure: str, klass: str) -> str:
    """The name of a class of a measure; ``""`` is the measure as a whole."""
    return f"{measure}[{klass}]" if klass else measure


def parted(name: str) -> tuple[str, str]:
    """The measure and the class that a name is made of."""
    measure, _, rest = name.partition("[")
    return measure, rest[:-1]


def valid(measure: str, value_ns: int, ended_ns: int | None = None) -> bool:
    """Whether a duration can be one (A08): not below its measure's least value, not longer than a call, nor than its
    own call was at ``ended_ns``."""
    longest_ns = LONGEST_CALL_NS if ended_ns is None or ended_ns > LONGEST_CALL_NS else ended_ns
    return LEAST_NS[measure] <= value_ns <= longest_ns


def count(measure: str, klass: str = "", amount: int = 1) -> Tally:
    """So many of them."""
    return named(measure, klass), COUNT, amount


def eligible(measure: str) -> Tally:
    """One that could have been measured."""
    return measure, ELIGIBLE, 1


def rate(measure: str, hit: bool, klass: str = "") -> Tallies:
    """One below the line of a rate, and above it where it is a hit."""
    name = named(measure, klass)
    return ((name, DENOMINATOR, 1), (name, COUNT, 1)) if hit else ((name, DENOMINATOR, 1),)


def duration(measure: str, value_ns: int) -> Tally:
    """A value, or the fact that it is none: counted, never clamped."""
    is_value = LEAST_NS[measure] <= value_ns <= LONGEST_CALL_NS
    return (measure, VALUES, value_ns) if is_value else (measure, INVALID, 1)


def wait(name: str, slot: int, wait_ns: int | None) -> Tally:
    """A wait in vain or a lower bound. Only its bin is kept, and over 10 min there is but one."""
    return name, slot, min(max(wait_ns or 0, 0), LONGEST_CALL_NS)
