"""``earwitness calls [ID]``: a list of calls, or one call's timeline."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from earwitness.consumers.replayed import RecordsFold, rebuilt
from earwitness.consumers.timeline import LogFold
from earwitness.monitor import wording
from earwitness.monitor.calls.sides import sides_of
from earwitness.monitor.cli.composing import length_s, monitor_settings, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.cli.drawing import draw, picture_path
from earwitness.monitor.cli.entry import FAULT_FOUND
from earwitness.monitor.cli.live import plain_width, rebuilt_note
from earwitness.monitor.cli.stored_calls import stored_call
from earwitness.monitor.cli.views.call_view import call_view
from earwitness.monitor.cli.views.calls_list import HEADING, call_line
from earwitness.monitor.errors import BadInput
from earwitness.monitor.settings import Settings

S = 1_000_000_000


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    since_s = length_s(arguments.since, "--since")
    if arguments.limit < 1:
        raise BadInput("choose 1 or more", where="--limit")

    path = picture_path(arguments.svg) if arguments.svg is not None else None
    if path is not None and not arguments.call_id:
        raise BadInput("a picture shows one call: say which, as in `earwitness calls ID --svg FILE`", where="--svg")

    async def work(stop: asyncio.Event) -> int:
        if arguments.call_id:
            return await or_stopped(_one(settings, arguments.call_id.removesuffix("…"), path), stop)
        return await or_stopped(_list(settings, since_s, arguments.limit, arguments.agent), stop)

    return run_async(work)


async def _list(settings: Settings, since_s: float, limit: int, agent: str | None) -> int:
    now_ns = time.time_ns()
    begin_ns = now_ns - round(since_s * S)
    async with opened_log(settings, must_exist=True) as log:
        monitoring = monitor_settings(settings)
        reach_ns = max(0, begin_ns - monitoring.longest_call_s * S)
        fold: LogFold | RecordsFold | None = await rebuilt(log, monitoring)
        if isinstance(fold, RecordsFold):
            print(rebuilt_note(fold))
        else:
            fold = await LogFold.open(log, monitoring, since_ns=reach_ns, keep_calls=True)
        try:
            await fold.catch_up()
            found = [line for timeline in fold.calls.values() if (line := call_line(timeline.records())) is not None]
        finally:
            await fold.close()
    wanted = [line for line in found if line.started_wall_ns >= begin_ns and agent in (None, line.agent)]
    wanted.sort(key=lambda line: -line.started_wall_ns)
    if not wanted:
        whose = f" of {wording.printable(agent)}" if agent else ""
        print(f"no calls{whose} in the last {wording.span(since_s)}; --since 24h looks further back")
        return 0
    print(HEADING)
    for line in wanted[:limit]:
        print(line.text)
    if len(wanted) > limit:
        print(f"{len(wanted) - limit:,} more: --limit {len(wanted)} shows them")
    return 0


async def _one(settings: Settings, asked: str, path: Path | None) -> int:
    bounds = monitor_settings(settings).bounds
    async with opened_log(settings, must_exist=True) as log:
        fold = await rebuilt(log, monitor_settings(settings))
        if fold is not None:
            return _rebuilt_one(fold, asked, path)
        call = await stored_call(log, asked, bounds)
    records = call.records()
    sides = sides_of(call.events, until_ns=None if call.timeline.ended else call.now_ns(), bounds=bounds)
    if path is not None:
        draw(path, records, sides)
    print("\n".join(call_view(records, sides, width=plain_width())))
    return FAULT_FOUND if call.broken else 0


def _rebuilt_one(fold: RecordsFold, asked: str, path: Path | None) -> int:
    """One call of a rebuilt log, which has its records and not its events."""
    if path is not None:
        raise BadInput("a rebuilt log has no events to draw; take the log that it was rebuilt from", where="--svg")
    found = [asked] if asked in fold.calls else [call_id for call_id in fold.calls if call_id.startswith(asked)]
    if len(found) != 1:
        says = "no such call in what was rebuilt" if not found else f"{len(found)} calls begin so; write more of it"
        raise BadInput(says, where=wording.printable(asked))
    print(rebuilt_note(fold))
    print("\n".join(call_view(fold.calls[found[0]].records(), width=plain_width())))
    return 0
