"""A set of calls as it is named on the command line: a file, a folder, a pattern, or a selection on the log."""

from __future__ import annotations

import glob
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from earwitness.consumers.timeline import LogFold
from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.call_files import read_calls
from earwitness.monitor.cli.composing import monitor_settings, opened_log
from earwitness.monitor.cli.opened_file import EMPTY, is_there
from earwitness.monitor.contract.records import AnyRecord, Call
from earwitness.monitor.errors import BadInput
from earwitness.monitor.settings import Settings

ENDINGS = (".jsonl", ".ndjson", ".intervals.json", ".rttm", ".wav", ".wave", ".flac")
"""Of a folder's files only these are read: a `.json` may be anything."""
_SELECTION = re.compile(r"[A-Za-z_][\w.-]*=[^,=]*(,[A-Za-z_][\w.-]*=[^,=]*)*")


@dataclass(slots=True)
class CallSet:
    """Calls with their latest records. ``asked``: as it was named."""

    asked: str
    calls: dict[str, list[AnyRecord]] = field(default_factory=dict[str, list[AnyRecord]])
    points: set[str] = field(default_factory=set[str])
    broken: list[str] = field(default_factory=list[str])
    in_progress: int = 0
    """Calls left out because they go on."""


def selection_of(asked: str) -> dict[str, str] | None:
    """``version=41,route=ivr`` as label to value; None where it names files."""
    if is_there(asked) or not _SELECTION.fullmatch(asked):
        return None
    return dict(part.split("=", 1) for part in asked.split(","))


def files_of(asked: str) -> list[str]:
    """The files that a file's name, a folder or a pattern stands for, in order. Raises BadInput."""
    path, shown = Path(asked), wording.printable(asked) or EMPTY
    if not asked:
        raise BadInput("is no name that a file can have", where=shown)
    if is_there(asked) and path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and p.name.lower().endswith(ENDINGS))
        if not found:
            raise BadInput(f"no file in it tells of calls ({', '.join(ENDINGS)})", where=shown)
        return [str(p) for p in found]
    if asked == "-" or is_there(asked):
        return [asked]
    if glob.has_magic(asked):
        matched = sorted(name for name in glob.glob(asked, recursive=True) if Path(name).is_file())  # noqa: PTH207
        if not matched:
            raise BadInput("no file matches", where=shown)
        return matched
    raise BadInput(
        "no such file, folder or pattern; calls on the log are named by a label, as in version=41", where=shown
    )


def set_of_files(asked: str, bounds: Bounds) -> CallSet:
    """The calls of files, folded one by one. Raises BadInput."""
    read = read_calls(files_of(asked))
    found = CallSet(asked, broken=[*map(str, read.broken), *read.damaged])
    for call_id, events in read.calls.items():
        if records := fold(events, bounds=bounds):
            found.calls[call_id] = records
            found.points.update(r.measuring_point for r in records if isinstance(r, Call))
    if not found.calls:
        raise BadInput("no call in it", where=wording.printable(asked))
    return found


async def sets_of_log(
    settings: Settings, asked: Sequence[tuple[str, Mapping[str, str]]], *, since_s: float, agent: str | None
) -> list[CallSet]:
    """The calls of the log that began within ``since_s`` and have ended, for each selection. Raises BadInput, LogError
    where a selection finds none."""
    begin_ns = time.time_ns() - round(since_s * S)
    found = [CallSet(name) for name, _ in asked]
    async with opened_log(settings, must_exist=True) as log:
        monitoring = monitor_settings(settings)
        reach_ns = max(0, begin_ns - monitoring.longest_call_s * S)
        log_fold = await LogFold.open(log, monitoring, since_ns=reach_ns, keep_calls=True)
        try:
            await log_fold.catch_up()
            for call_id, timeline in log_fold.calls.items():
                records = list(timeline.records())
                call = next((r for r in records if isinstance(r, Call)), None)
                if call is None or call.started_wall_ns < begin_ns:
                    continue
                for (_, selection), into in zip(asked, found, strict=True):
                    if not _selected(call, selection, agent):
                        continue
                    if call.ended_ns is None:
                        into.in_progress += 1
                        continue
                    into.calls[call_id] = records
                    into.points.add(call.measuring_point)
        finally:
            await log_fold.close()
    for into in found:
        if not into.calls:
            whose = f" of {wording.printable(agent)}" if agent else ""
            raise BadInput(
                f"no ended call{whose} within {wording.span(since_s)} is so labelled; --since 7d looks further back",
                where=wording.printable(into.asked),
            )
    return found


def _selected(call: Call, selection: Mapping[str, str], agent: str | None) -> bool:
    given = {"agent": call.agent, "version": call.version, "mode": call.mode, **call.labels}
    return agent in (None, call.agent) and all(given.get(key) == value for key, value in selection.items())
