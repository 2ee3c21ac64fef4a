"""What one revision of a record adds to the measures. Pure: windows add the new revision's and take the old one's.

The rules, one for each kind of record, stand in ``talk_rules`` and ``call_rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.measures import call_rules, slots, talk_rules
from earwitness.monitor.measures.catalogue import BY_NAME
from earwitness.monitor.measures.tally import Fields, Tallies, fields_of, parted


class What(IntEnum):
    """What a contribution's ``amount`` is: a duration in nanoseconds for the first three, else how many. Its number is
    the slot that it is counted in, for durations the first of their bins."""

    VALUE = slots.VALUES
    CENSORED = slots.CENSORED
    AT_LEAST = slots.AT_LEAST
    ELIGIBLE = slots.ELIGIBLE
    INVALID = slots.INVALID
    UNMEASURED = slots.UNMEASURED
    COUNT = slots.COUNT
    DENOMINATOR = slots.DENOMINATOR


class Contribution(NamedTuple):
    """One thing that a record adds to one class of one measure (``""``: the measure as a whole)."""

    measure: str
    klass: str
    what: What
    amount: int


RULES: Final[dict[str, Callable[[Fields], Tallies]]] = {
    "turn": talk_rules.turn,
    "agent_turn": talk_rules.agent_turn,
    "overlap": talk_rules.overlap,
    "agent_interruption": talk_rules.agent_interruption,
    "dead_air": talk_rules.dead_air,
    "tool_call": call_rules.tool_call,
    "stage_sample": call_rules.stage_sample,
    "call": call_rules.call,
}
"""What a record of a kind counts for, unless it was taken back."""
_WHAT: Final = {int(what): what for what in What}


def rules_for(measures: Collection[str] | None) -> Mapping[str, Callable[[Fields], Tallies]]:
    """The rules that tell of some measures (None: all), by kind of record. Raises KeyError for one that the catalogue
    does not have."""
    if measures is None:
        return RULES
    wanted = {BY_NAME[measure].view_of or measure for measure in measures}
    if wanted == {"response_latency"}:
        return {"turn": talk_rules.headline}

    def only(rule: Callable[[Fields], Tallies]) -> Callable[[Fields], Tallies]:
        return lambda fields: [tally for tally in rule(fields) if parted(tally[0])[0] in wanted]

    return {kind: only(rule) for kind, rule in RULES.items()}


def tallies(fields: Fields) -> Tallies:
    """All that a revision of a record counts for, in the shape that windows take; nothing where it was taken back."""
    return () if fields["retracted"] else RULES[fields["kind"]](fields)


def contributions(record: AnyRecord) -> tuple[Contribution, ...]:
    """All that a revision of a record counts for; nothing where it was taken back."""
    return tuple(Contribution(*parted(name), _WHAT[slot], amount) for name, slot, amount in tallies(fields_of(record)))
