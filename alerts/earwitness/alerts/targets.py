"""What a rule may look at: the catalogue's measures, with the unit and the windows of each."""

from __future__ import annotations

from typing import cast

from earwitness.alerts.quantities import Unit
from earwitness.alerts.rules import Stat, Target
from earwitness.monitor.measures.catalogue import UnknownMeasure, resolve
from earwitness.monitor.measures.steps import LONG_STEP_S, STEP_OF


def find_target(name: str) -> Target:
    """The target of ``response_latency.p95``. Raises ValueError, which says what was meant."""
    try:
        named = resolve(name)
    except UnknownMeasure as error:
        raise ValueError(str(error)) from None
    measure, stat = named.measure, cast("Stat", named.stat)
    unit: Unit = "ratio" if stat in {"rate", "coverage"} else "count" if stat == "count" else "s"
    what = f"{measure.name}[{named.klass}]" if named.klass is not None else measure.name
    words = measure.name.replace("barge_in", "barge-in").replace("_", " ") + (
        f" ({named.klass})" if named.klass else ""
    )
    title = words if stat in {"rate", "count"} or stat == measure.name else f"{words} {stat}"
    kept_long = measure.headline or measure.kind in {"rate", "count"}
    windows = tuple(window_s for window_s, step_s in STEP_OF.items() if kept_long or step_s != LONG_STEP_S)
    return Target(what, stat, unit, title, windows)
