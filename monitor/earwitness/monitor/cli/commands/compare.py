"""``earwitness compare A B``: two versions of an agent, two sets of calls, and what can be told apart."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from earwitness.monitor import wording
from earwitness.monitor.cli.call_sets import CallSet, selection_of, set_of_files, sets_of_log
from earwitness.monitor.cli.composing import length_s, monitor_settings, or_stopped, run_async, settings_of
from earwitness.monitor.cli.entry import DONE
from earwitness.monitor.cli.views.compare_view import compare_view
from earwitness.monitor.contract.comparison import (
    ComparedNumber,
    ComparedSet,
    ComparedSide,
    Comparison,
    Interval,
)
from earwitness.monitor.errors import BadInput
from earwitness.monitor.measures.call_sample import sample_of
from earwitness.monitor.measures.comparison import RESAMPLES, Difference, Side, compare
from earwitness.monitor.settings import Settings

MOST_BROKEN = 10


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    a, b = _sets(settings, arguments)
    broken = [*a.broken, *b.broken]
    for said in broken[:MOST_BROKEN]:
        sys.stderr.write(f"earwitness: {wording.printable(said, 300)}\n")
    if len(broken) > MOST_BROKEN:
        sys.stderr.write(f"earwitness: {len(broken) - MOST_BROKEN:,} more broken lines\n")
    differences = compare(*([sample_of(call_id, own) for call_id, own in s.calls.items()] for s in (a, b)))
    found = comparison_of(a, b, differences, bounds=monitor_settings(settings).bounds.id)
    if arguments.json:
        print(found.model_dump_json(indent=2))
    else:
        print("\n".join(compare_view(found, in_progress=a.in_progress + b.in_progress)))
    return DONE


def _sets(settings: Settings, arguments: argparse.Namespace) -> list[CallSet]:
    asked = [arguments.a, arguments.b]
    selections = [(name, selection) for name in asked if (selection := selection_of(name)) is not None]
    since_s = length_s(arguments.since, "--since")
    if arguments.agent and not selections:
        raise BadInput("chooses among the calls of a log; files are compared as they are", where="--agent")
    if asked == ["-", "-"]:
        raise BadInput("only one side can be standard input", where="-")
    on_log: list[CallSet] = []
    if selections:

        async def work(stop: asyncio.Event) -> list[CallSet]:
            return await or_stopped(sets_of_log(settings, selections, since_s=since_s, agent=arguments.agent), stop)

        on_log = run_async(work)
    bounds = monitor_settings(settings).bounds
    return [on_log.pop(0) if selection_of(name) is not None else set_of_files(name, bounds) for name in asked]


def comparison_of(a: CallSet, b: CallSet, differences: list[Difference], *, bounds: str) -> Comparison:
    """The comparison in its published shape, numbers rounded to 1e-6."""
    return Comparison(
        bounds=bounds,
        confidence=0.95,
        resamples=RESAMPLES,
        a=_set(a),
        b=_set(b),
        shared_calls=len(a.calls.keys() & b.calls.keys()),
        numbers=tuple(_number(d) for d in differences),
    )


def _set(calls: CallSet) -> ComparedSet:
    points: Any = tuple(sorted(calls.points))
    return ComparedSet(name=calls.asked, calls=len(calls.calls), measuring_points=points)


def _number(d: Difference) -> ComparedNumber:
    return ComparedNumber(
        name=d.number.name,
        unit=d.number.unit,
        better=d.number.better,
        a=_side(d.a),
        b=_side(d.b),
        difference=_round(d.value),
        difference_more_than=_round(d.more_than),
        difference_less_than=_round(d.less_than),
        interval=Interval(low=_round(d.low), high=_round(d.high)) if d.interval else None,
        verdict=d.verdict,
        reason=d.doubt,
    )


def _side(side: Side) -> ComparedSide:
    return ComparedSide(
        value=_round(side.value), more_than=_round(side.more_than), n=round(side.n, 6), calls=side.calls
    )


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
