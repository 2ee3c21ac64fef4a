"""Every measure once: its name, unit, labels, place in the definitions and how it is shown.

Alert rules, ``/metrics``, reports, views and the reference docs take their names from here. The measures themselves
stand in ``latency_measures``, ``talk_measures`` and ``call_measures``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from earwitness.monitor.measures.call_measures import CALLS
from earwitness.monitor.measures.latency_measures import LATENCY
from earwitness.monitor.measures.measure import Measure
from earwitness.monitor.measures.talk_measures import TALK

MEASURES: Final[tuple[Measure, ...]] = (*LATENCY, *TALK, *CALLS)

BY_NAME: Final = {measure.name: measure for measure in MEASURES}
_NAME = re.compile(r"(?P<name>[a-z_]+)(?:\[(?P<klass>[^\]]*)\])?(?:\.(?P<stat>[a-z0-9_]+))?")


class UnknownMeasure(KeyError):
    """A name that the catalogue does not have; the text suggests the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Named:
    """A measure as named by a rule or a view: ``latency_part[llm].p95``."""

    measure: Measure
    klass: str | None
    """One class of it; None: the measure as a whole."""
    stat: str | None


def parse(name: str) -> Named:
    """A measure's name, with one class in brackets or without, with or without ``.stat``. Raises UnknownMeasure."""
    found = _NAME.fullmatch(name)
    measure = BY_NAME.get(found["name"]) if found else None
    if found is None or measure is None:
        base = found["name"] if found else re.split(r"[.\[]", name)[0]
        raise UnknownMeasure(f'unknown measure "{base}".{_did_you_mean(base, BY_NAME)}')
    stat, klass = found["stat"], found["klass"]
    if stat is not None and stat not in measure.stats:
        hint = _did_you_mean(stat, measure.stats) or f" It has: {', '.join(measure.stats)}"
        raise UnknownMeasure(f'"{measure.name}" has no ".{stat}".{hint}')
    if klass is not None and measure.class_key is None:
        raise UnknownMeasure(f'"{measure.name}" has no classes; leave out "[{klass}]"')
    return Named(measure, klass, stat)


def resolve(name: str) -> Named:
    """What a rule watches: ``response_latency.p95``; a measure with a single stat may go without.

    Raises UnknownMeasure, with a suggestion, where measure or stat is not in the catalogue.
    """
    named = parse(name)
    if named.stat is not None:
        return named
    if len(named.measure.stats) == 1:
        return Named(named.measure, named.klass, named.measure.stats[0])
    options = ", ".join(f"{named.measure.name}.{stat}" for stat in named.measure.stats)
    raise UnknownMeasure(f'"{name}" says no number. Write one of: {options}')


def stat_names() -> Iterator[str]:
    """Every ``measure.stat``."""
    return (f"{measure.name}.{stat}" for measure in MEASURES for stat in measure.stats)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f' Did you mean "{near[0]}"?' if near else ""
