"""Alert rules: what a file says, checked to the last word, and what a reading means to a rule."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from earwitness.alerts.lifecycle import Side, Timing
from earwitness.alerts.quantities import Unit, amount, duration_s
from earwitness.monitor.measures.label_sets import FIXED_KEYS
from earwitness.monitor.measures.reading import Labels, Reading
from earwitness.monitor.strict_yaml import Document, did_you_mean, load, parse

T = TypeVar("T")
Stat = Literal["p50", "p90", "p95", "p99", "rate", "count", "coverage"]

DEFAULT_MIN_N: dict[str, int] = {"p50": 20, "p90": 30, "p95": 30, "p99": 100, "rate": 20, "coverage": 20, "count": 0}
"""Definitions, "Records, windows, labels": 20 for rates, 30 for p95, 100 for p99."""

SILENCE_MEMORY_S = 86_400
"""How long an agent that went silent is still expected by rules that look for too few of something."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a rule looks at: a statistic of a measure of the catalogue."""

    measure: str
    stat: Stat
    unit: Unit
    title: str
    """For people: ``response latency``."""
    windows_s: tuple[int, ...]
    """Windows that are kept for it."""


class FindTarget(Protocol):
    def __call__(self, name: str) -> Target:
        """The target of ``response_latency.p95``. Raises ValueError, which says what was meant."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A checked rule. Thresholds are in the unit of the target."""

    name: str
    target: Target
    window_s: int
    direction: Literal["above", "below"]
    threshold: float
    clear: float
    timing: Timing
    min_n: int
    by: tuple[str, ...]
    where: Labels
    severity: str

    @property
    def counts_absence(self) -> bool:
        """Whether nothing at all is what it looks for, so that a silent group must still be asked after."""
        return self.target.stat == "count" and self.direction == "below"


@dataclass(frozen=True, slots=True)
class Sample:
    """What a reading says to a rule: a value, a lower bound (``more_than``), or neither, and ``why``."""

    n: int
    value: float | None = None
    more_than: float | None = None
    coverage: float | None = None
    why: str | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, coerce_numbers_to_str=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    measure: str
    window: str
    above: str | int | float | None = None
    below: str | int | float | None = None
    clear: str | int | float | None = None
    for_: Annotated[str | int, Field(alias="for")] = 0
    keep_firing_for: str | int = 0
    hold: str | int = "1h"
    min_n: Annotated[int, Field(ge=0)] | None = None
    by: tuple[str, ...] = ("agent",)
    where: dict[str, str] = {}
    severity: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")] = "ticket"


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    rules: tuple[_Entry, ...]


def load_rules(path: Path | None, find: FindTarget, label_keys: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules of a file, or those that ship with Earwitness for None.

    ``label_keys`` are those that the settings declare. Raises BadInput with file, line and key.
    """
    document = load(path, _File) if path else parse(default_rules_text(), _File, name="default_rules.yaml")
    return _checked(document, find, label_keys)


def parse_rules(
    text: str, find: FindTarget, label_keys: Collection[str] = (), *, name: str = "rules"
) -> tuple[Rule, ...]:
    """The same from a text."""
    return _checked(parse(text, _File, name=name), find, label_keys)


def default_rules_text() -> str:
    """The shipped rules, to be copied and edited."""
    return (files("earwitness.alerts") / "default_rules.yaml").read_text(encoding="utf-8")


def sample_of(rule: Rule, reading: Reading) -> Sample:
    """The number that a rule looks at, or why there is none. Never 0 for "nothing measured" (D19)."""
    stat = rule.target.stat
    n = {"rate": reading.denominator, "coverage": reading.eligible}.get(stat) or 0
    n = n if stat in ("rate", "coverage") else reading.n
    if stat == "count":
        if rule.direction == "below" and not reading.complete:
            return Sample(n, coverage=reading.coverage, why="window not complete")
        return Sample(n, float(reading.count), coverage=reading.coverage)
    if n == 0:
        return Sample(n, coverage=reading.coverage, why="nothing measured")
    if n < rule.min_n:
        return Sample(n, coverage=reading.coverage, why=f"n {n} < {rule.min_n}")
    value: float | None
    more_than: float | None = None
    if stat == "rate":
        # Views show no rate of so few; a rule that asks for it by its min_n gets it.
        value = reading.count / n if reading.rate is None else reading.rate
    elif stat == "coverage":
        value = reading.coverage
    else:
        found = reading.quantiles.get(stat)
        value, more_than = (found.value_s, found.more_than_s) if found else (None, None)
    why = "nothing measured" if value is None and more_than is None else None
    return Sample(n, value, more_than, reading.coverage, why)


def side_of(rule: Rule, sample: Sample) -> Side:
    """Where a sample lies. A lower bound is above every threshold (definitions, "Latency")."""
    if sample.more_than is not None:
        return Side.OVER if rule.direction == "above" else Side.CLEAN
    if sample.value is None:
        return Side.UNKNOWN
    if rule.direction == "above":
        over, clean = sample.value > rule.threshold, sample.value <= rule.clear
    else:
        over, clean = sample.value < rule.threshold, sample.value >= rule.clear
    return Side.OVER if over else Side.CLEAN if clean else Side.BETWEEN


def _checked(document: Document[_File], find: FindTarget, label_keys: Collection[str]) -> tuple[Rule, ...]:
    names: set[str] = set()
    rules: list[Rule] = []
    for i, entry in enumerate(document.model.rules):
        if entry.name in names:
            raise document.bad("rules", i, "name", what=f'two rules are called "{entry.name}"; names must differ')
        names.add(entry.name)
        rules.append(_rule(document, i, entry, find, (*FIXED_KEYS, *label_keys)))
    return tuple(rules)


def _rule(document: Document[_File], i: int, entry: _Entry, find: FindTarget, keys: Collection[str]) -> Rule:
    def checked(key: str, make: Callable[[], T]) -> T:
        try:
            return make()
        except ValueError as error:
            raise document.bad("rules", i, key, what=str(error)) from None

    def known(key: str, where: tuple[str | int, ...]) -> None:
        if key not in keys:
            raise document.bad("rules", i, *where, what=f'unknown label "{key}".{did_you_mean(key, keys)}')

    target = checked("measure", lambda: find(entry.measure))
    window_s = round(checked("window", lambda: duration_s(entry.window)))
    if window_s not in target.windows_s:
        kept = ", ".join(_window_word(w) for w in target.windows_s)
        raise document.bad("rules", i, "window", what=f"no such window is kept for {target.measure}; kept: {kept}")
    if (entry.above is None) == (entry.below is None):
        raise document.bad("rules", i, "above", what="give either above or below, and one of them only")
    direction: Literal["above", "below"] = "below" if entry.above is None else "above"
    threshold = checked(direction, lambda: amount(entry.below if entry.above is None else entry.above, target.unit))
    clear = threshold if entry.clear is None else checked("clear", lambda: amount(entry.clear, target.unit))
    if (clear > threshold) if direction == "above" else (clear < threshold):
        raise document.bad(
            "rules", i, "clear", what=f"lies on the wrong side: a rule with {direction} clears before it"
        )
    for j, key in enumerate(entry.by):
        known(key, ("by", j))
    for key in entry.where:
        known(key, ("where", key))
    timing = Timing(
        for_ns=_ns(checked("for", lambda: duration_s(entry.for_))),
        keep_firing_ns=_ns(checked("keep_firing_for", lambda: duration_s(entry.keep_firing_for))),
        hold_ns=_ns(checked("hold", lambda: duration_s(entry.hold))),
    )
    min_n = DEFAULT_MIN_N[target.stat] if entry.min_n is None else entry.min_n
    return Rule(
        entry.name, target, window_s, direction, threshold, clear, timing, min_n,
        tuple(dict.fromkeys(entry.by)), tuple(sorted(entry.where.items())), entry.severity,
    )  # fmt: skip


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _window_word(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
