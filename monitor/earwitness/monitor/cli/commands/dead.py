"""``earwitness dead list|show|replay``: records that could not be read, and putting them back after a mend."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter

from earwitness.consumers.dead_letter_box import Box, Letter, original, read_box, replay, unreadable_now
from earwitness.consumers.dead_letters import REASONS
from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.cli.composing import length_s, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.cli.views.dead_view import letter_lines, list_lines
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.topics import EVENTS, topic_name

REASONS_TOLD = 20
"""Letters that stay and are named one by one."""


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    if arguments.action == "list" and arguments.limit < 0:
        raise BadInput("choose 0 or more", where="--limit")
    since = getattr(arguments, "since", None)
    since_ns = None if since is None else time.time_ns() - round(length_s(since, "--since") * S)
    if arguments.action == "replay":
        _see_choice(arguments)
    do = {"list": _list, "show": _show, "replay": _replay}[arguments.action]

    async def work(stop: asyncio.Event) -> int:
        async def whole() -> int:
            async with opened_log(settings, must_exist=True) as log:
                return await do(log, await read_box(log, since_ns=since_ns), arguments)

        return await or_stopped(whole(), stop)

    return run_async(work)


def _see_choice(arguments: argparse.Namespace) -> None:
    if arguments.reason is not None and arguments.ids:
        raise BadInput("name letters or a reason, not both", where="--reason")
    if arguments.reason is not None and arguments.reason not in REASONS:
        raise BadInput(f"no such reason; one of {', '.join(REASONS)}", where="--reason")


async def _list(log: Log, box: Box, arguments: argparse.Namespace) -> int:
    del log
    if not arguments.json:
        print("\n".join(list_lines(box, arguments.limit)))
        return DONE
    waiting = Counter(letter.reason for letter in box.waiting)
    everything = Counter(letter.reason for letter in box.letters)
    counts = {
        reason: {"waiting": waiting[reason], "replayed": count - waiting[reason]}
        for reason, count in sorted(everything.items())
    }
    newest = sorted(box.letters, key=lambda letter: letter.set_aside_ns, reverse=True)[: arguments.limit]
    print(json.dumps({"v": 1, "counts": counts, "broken": box.broken, "letters": [_json(one) for one in newest]}))
    return DONE


def _json(letter: Letter) -> dict[str, object]:
    """A letter without its payload, which is somebody's words."""
    return {
        "id": letter.id,
        "reason": letter.reason,
        "detail": letter.detail,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "key": letter.key,
        "arrived": wording.utc_text(letter.arrived_ns),
        "set_aside": wording.utc_text(letter.set_aside_ns),
        "replayed": None if letter.replayed_ns is None else wording.utc_text(letter.replayed_ns),
        "bytes": None if letter.payload is None else len(letter.payload),
    }


async def _show(log: Log, box: Box, arguments: argparse.Namespace) -> int:
    for number, letter in enumerate(_named(log, box, arguments.id)):
        if number:
            print()
        payload = await original(log, letter) if letter.left_out else letter.payload
        now = "its bytes are no longer kept" if payload is None else unreadable_now(log, letter, payload)
        print("\n".join(letter_lines(letter, now=now, payload=payload, show_payload=arguments.payload)))
    return DONE


async def _replay(log: Log, box: Box, arguments: argparse.Namespace) -> int:
    if arguments.ids:
        chosen = [letter for name in dict.fromkeys(arguments.ids) for letter in _named(log, box, name)]
    else:
        chosen = [letter for letter in box.letters if arguments.reason in (None, letter.reason)]
    waiting = [letter for letter in chosen if letter.replayed_ns is None]
    done = await replay(log, waiting, dry_run=arguments.dry_run)
    verb = "could be put back" if arguments.dry_run else "put back"
    before = len(chosen) - len(waiting)
    print(f"{wording.plural(len(done.put_back), 'letter')} {verb}" + (f"; {before:,} were before" if before else ""))
    for letter, why in done.stays[:REASONS_TOLD]:
        print(f"stays  {wording.printable(letter.id, 120)}  {wording.printable(why, 200)}")
    if len(done.stays) > REASONS_TOLD:
        print(f"{len(done.stays) - REASONS_TOLD:,} more stay")
    return FAULT_FOUND if done.stays else DONE


def _named(log: Log, box: Box, name: str) -> list[Letter]:
    """The letters of that id; ``3/42`` means partition and offset of the events. Raises BadInput."""
    full = f"{topic_name(log.prefix, EVENTS)}/{name}" if name.count("/") == 1 else name
    found = [letter for letter in box.letters if letter.id == full]
    if not found:
        raise BadInput(
            "no such dead letter; `earwitness dead list` shows their ids", where=wording.printable(name, 100)
        )
    return found
