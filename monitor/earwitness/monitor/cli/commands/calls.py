"""``earwitness calls [ID]``: a list of calls, or one call's timeline."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from earwitness.consumers.timeline import LogFold
from earwitness.monitor import wording
from earwitness.monitor.calls.sides import sides_of
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.cli.composing import length_s, monitor_settings, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.cli.drawing import draw, picture_path
from earwitness.monitor.cli.entry import FAULT_FOUND
from earwitness.monitor.cli.live import plain_width
from earwitness.monitor.cli.views.call_view import call_view
from earwitness.monitor.cli.views.calls_list import HEADING, call_line
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import Entry, Log
from earwitness.monitor.log.topics import EVENTS, topic_name
from earwitness.monitor.settings import Settings

S = 1_000_000_000


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    since_s = length_s(arguments.since, "--since")
    if arguments.limit < 1:
        raise BadInput("choose 1 or more", where="--limit")

    path = picture_path(arguments.svg) if arguments.svg else None
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
        by_call = await _entries(log, asked)
    found = {asked: by_call[asked]} if asked in by_call else by_call
    if not found:
        raise BadInput(
            "no such call in this log; `earwitness calls` lists the recent ones", where=wording.printable(asked)
        )
    if len(found) > 1:
        some = ", ".join(wording.printable(call_id, 60) for call_id in sorted(found)[:4])
        raise BadInput(f"{len(found)} calls begin so: {some}; write more of it", where=wording.printable(asked))
    ((call_id, entries),) = found.items()
    timeline, broken = CallTimeline(call_id, bounds=bounds), 0
    events: list[Any] = []
    offset_ns: int | None = None
    for entry in entries:
        try:
            event = decode_event_fast(entry.value or b"")
        except UnreadableRecord as error:
            broken += 1
            where = f"partition {entry.partition} offset {entry.offset}"
            sys.stderr.write(f"earwitness: {where}: {error.reason}: {wording.printable(error.detail)}\n")
            continue
        timeline.add(event)
        events.append(event)
        own_ns = entry.append_ns - event.at_ns
        offset_ns = own_ns if offset_ns is None else min(offset_ns, own_ns)
    now_ns = time.time_ns() - (offset_ns or 0)
    timeline.advance(now_ns)
    if path is not None:
        draw(path, timeline.records(), sides_of(events, until_ns=None if timeline.ended else now_ns, bounds=bounds))
    print("\n".join(call_view(timeline.records(), width=plain_width())))
    return FAULT_FOUND if broken else 0


async def _entries(log: Log, prefix: str) -> dict[str, list[Entry]]:
    """The records of all calls whose id begins so. Keys are call ids, so nothing else is decoded."""
    topic = topic_name(log.prefix, EVENTS)
    ends = await log.end_positions(topic)
    reader = await log.reader(topic)
    found: dict[str, list[Entry]] = {}
    try:
        while any(at < ends.get(partition, 0) for partition, at in reader.positions().items()):
            for entry in await reader.poll(timeout_s=1.0):
                if entry.key.startswith(prefix):
                    found.setdefault(entry.key, []).append(entry)
    finally:
        await reader.close()
    return found
