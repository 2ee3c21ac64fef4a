"""What a rule may look at: the catalogue's measures, with the unit and the windows of each."""

from __future__ import annotations

from typing import cast

from earwitness.alerts.quantities import Unit
from earwitness.alerts.rules import Stat, Target
from earwitness.monitor.measures.catalogue import UnknownMeasure, resolve

WINDOWS_S = (60, 300, 1_800, 3_600, 7_200, 21_600, 86_400)
LONG_WINDOWS_S = (259_200, 604_800)
"""Kept for counts and the headline latency (definitions, "Records, windows, labels")."""


def find_target(name: str) -> Target:
    """The target of ``response_latency.p95``. Raises ValueError, which says what was meant."""
    try:
        named = resolve(name)
    except UnknownMeasure as error:
        raise ValueError(str(error)) from None
    measure, stat = named.measure, cast("Stat", named.stat)
    unit: Unit = "ratio" if stat in {"rate", "coverage"} else "count" if stat == "count" else "s"
    what = f"{measure.name}[{named.klass}]" if named.klass is not None else measure.name
    words = measure.name.replace("_", " ") + (f" ({named.klass})" if named.klass else "")
    title = words if stat in {"rate", "count"} or stat == measure.name else f"{words} {stat}"
    windows = (*WINDOWS_S, *LONG_WINDOWS_S) if measure.headline or measure.kind == "count" else WINDOWS_S
    return Target(what, stat, unit, title, windows)
