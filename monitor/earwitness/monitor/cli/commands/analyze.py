"""``earwitness analyze FILE...``: recordings, intervals and event logs, offline, to the same numbers."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.report import report
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.agreeing import agreement_of, recordings_for
from earwitness.monitor.cli.call_files import CallFiles, Listening, notes_on, read_calls
from earwitness.monitor.cli.composing import bounds_of, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.cli.drawing import draw_one, one_of, picture_path
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.cli.event_files import named_lines
from earwitness.monitor.cli.tau_voice_files import read_tau_voice
from earwitness.monitor.cli.views.analyze_view import analyze_view
from earwitness.monitor.cli.views.tau_voice_view import tau_voice_view
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.errors import BadInput
from earwitness.monitor.settings import Settings

_CHANNELS = {"left": 0, "right": 1}


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    if arguments.log is not None:
        return _stored(arguments, settings)
    if not arguments.files:
        raise BadInput("name a file, or a log with --log", where="analyze")
    bounds = bounds_of(settings.bounds, settings.words)
    path = picture_path(arguments.svg) if arguments.svg is not None else None
    listening = listening_of(arguments)
    if arguments.profile is not None:
        return _profile(arguments, listening, bounds)
    files = read_calls(arguments.files, listening)
    if path is not None:
        one_of(files.calls, arguments.call)  # before the work, since it may be wrong
    live = files.calls.keys() - files.recordings.keys()
    recordings = recordings_for(live, arguments.recording, listening) if arguments.recording is not None else {}
    records: list[AnyRecord] = []
    for events in files.calls.values():
        records += fold(events, bounds=bounds)
    for read in (files, *recordings.values()):
        _say_broken(read)
    if path is not None:
        draw_one(path, files.calls, arguments.call, records, bounds)
    found = report(records, bounds=bounds.id, agreement=agreement_of(files, records, bounds, recordings))
    for call in found["calls"]:
        if (heard := files.recordings.get(call["call_id"])) is not None:
            call["notes"] = notes_on(heard)
    _print(found, files.told, as_json=arguments.json)
    return FAULT_FOUND if files.broken else DONE


def _stored(arguments: argparse.Namespace, settings: Settings) -> int:
    """The numbers of a log's published or rebuilt records, over whole calls."""
    for option in ("files", "svg", "recording", "call", "profile", "words", "expect"):
        if getattr(arguments, option):
            raise BadInput("reads records: it goes without files and what belongs to them", where="--log")

    from earwitness.consumers.replayed import stored_records  # noqa: PLC0415 - files need nothing of the service side

    async def read(stop: asyncio.Event) -> list[AnyRecord]:
        async def whole() -> list[AnyRecord]:
            async with opened_log(settings, must_exist=True) as log:
                return await stored_records(log)

        return await or_stopped(whole(), stop)

    records = run_async(read)
    if not records:
        raise BadInput(
            "no records on it: `earwitness run` publishes them, `earwitness replay` rebuilds them", where="--log"
        )
    found = report(records)
    told = [f"{wording.plural(len(found['calls']), 'call')} of {wording.printable(str(arguments.log))}"]
    _print(found, told, as_json=arguments.json)
    return DONE


def _print(found: dict[str, Any], told: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print("\n".join(analyze_view(found, told)))


def _profile(arguments: argparse.Namespace, listening: Listening, bounds: Bounds) -> int:
    """The tau-voice profile's numbers instead of ours."""
    for option in ("svg", "recording", "call"):
        if getattr(arguments, option) is not None:
            raise BadInput(f"does not go with --{option}", where="--profile")
    found, files = read_tau_voice(arguments.files, listening, bounds)
    _say_broken(files)
    if arguments.json:
        shown = {"v": 1, "profile": arguments.profile, **found.as_json()}
        print(json.dumps(shown, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print("\n".join(tau_voice_view(found, files.told)))
    return FAULT_FOUND if files.broken else DONE


def _say_broken(files: CallFiles) -> None:
    for said in (*named_lines(files.broken), *files.damaged):
        sys.stderr.write(f"earwitness: {wording.printable(said, 300)}\n")


def listening_of(arguments: argparse.Namespace) -> Listening:
    """How recordings are to be read. Raises BadInput for channels that are none."""
    caller = _channel(arguments.caller_channel, "--caller-channel")
    agent = None if arguments.agent_channel is None else _channel(arguments.agent_channel, "--agent-channel")
    if agent == caller:
        raise BadInput("names the channel of the caller too", where="--agent-channel")
    return Listening(
        caller_channel=caller,
        agent_channel=agent,
        voice_activity=arguments.voice_activity,
        caller=arguments.caller,
        agent=arguments.agent,
        words=arguments.words,
        expect=arguments.expect,
        language=arguments.language,
    )


def _channel(text: str, option: str) -> int:
    if text in _CHANNELS:
        return _CHANNELS[text]
    if text.isascii() and text.isdecimal() and len(text) <= 3:
        return int(text)
    raise BadInput(
        f'"{wording.printable(text, 20)}" is no channel; give left, right, or its number from 0', where=option
    )
