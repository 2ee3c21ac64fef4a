"""``earwitness analyze FILE...``: event logs, offline, to the same numbers."""

from __future__ import annotations

import argparse
import json
import sys

from earwitness.monitor import wording
from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.timeline import fold
from earwitness.monitor.cli.composing import bounds_of, settings_of
from earwitness.monitor.cli.drawing import draw_one, one_of, picture_path
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.cli.event_files import EventFile, named_lines, read_events
from earwitness.monitor.cli.views.analyze_view import analyze_view
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.records import AnyRecord


def execute(arguments: argparse.Namespace) -> int:
    arguments.log = None
    bounds = bounds_of(settings_of(arguments).bounds)
    path = picture_path(arguments.svg) if arguments.svg else None
    files = [read_events(name) for name in dict.fromkeys(arguments.files)]
    records: list[AnyRecord] = []
    calls = _calls(files)
    if path is not None:
        one_of(calls, arguments.call)  # before the work, since it may be wrong
    for events in calls.values():
        records += fold(events, bounds=bounds)
    broken = [line for file in files for line in file.broken]
    for said in named_lines(broken):
        sys.stderr.write(f"earwitness: {wording.printable(said, 300)}\n")
    if path is not None:
        draw_one(path, calls, arguments.call, records, bounds)
    found = report(records, bounds=bounds.id)
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        names = [f"{file.name}  {wording.plural(file.events, 'event')}" for file in files]
        print("\n".join(analyze_view(found, names)))
    return FAULT_FOUND if broken else DONE


def _calls(files: list[EventFile]) -> dict[str, list[AnyEvent]]:
    """Events by call, whichever files they stand in."""
    calls: dict[str, list[AnyEvent]] = {}
    for file in files:
        for call_id, events in file.calls.items():
            calls.setdefault(call_id, []).extend(events)
    return calls
