"""``earwitness label CALL [OVERLAP wanted|not]``: a person's word on whether the caller wanted the floor."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from collections.abc import Sequence

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.labels import CLEARED, NOT_WANTED, Word, in_force, label_event
from earwitness.monitor.cli.composing import monitor_settings, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.cli.entry import FAULT_FOUND
from earwitness.monitor.cli.stored_calls import StoredCall, stored_call
from earwitness.monitor.cli.views.lanes import hundredths
from earwitness.monitor.cli.views.overlap_list import overlap_line, overlap_lines
from earwitness.monitor.contract.records import AnyRecord, Call, Overlap
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import Log, Outgoing
from earwitness.monitor.log.topics import EVENTS, topic_name
from earwitness.monitor.settings import Settings

LONGEST_NAME = 100


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    word = _word(arguments)

    async def work(stop: asyncio.Event) -> int:
        return await or_stopped(_label(settings, arguments.call_id, word), stop)

    return run_async(work)


def _word(arguments: argparse.Namespace) -> Word | None:
    """What is to be said; None: nothing, only the list. Raises BadInput."""
    overlap, want, clear = arguments.overlap, arguments.want, arguments.clear
    if overlap is None:
        if clear or arguments.want_class or arguments.author:
            raise BadInput("name the overlap too; `earwitness label CALL` alone lists them", where="label")
        return None
    if (want is None) is not clear:
        raise BadInput("say wanted or not, or --clear to take a label back", where=wording.printable(overlap))
    if arguments.want_class and want != NOT_WANTED:
        raise BadInput("only what did not want the floor has a class: leave it out, or say not", where="--class")
    author = arguments.author.strip() if arguments.author is not None else None
    if author is not None and not (0 < len(author) <= LONGEST_NAME and _is_text(author)):
        raise BadInput(f"write a name of 1 to {LONGEST_NAME} characters", where="--author")
    name = f"o{overlap}" if overlap.isdecimal() else overlap.lower()
    return Word(name, CLEARED if clear else want, arguments.want_class, author)


def _is_text(given: str) -> bool:
    """Whether it can be written: what a command line holds may be bytes of any kind."""
    return not any("\ud800" <= c <= "\udfff" for c in given)


async def _label(settings: Settings, asked: str, word: Word | None) -> int:
    monitoring = monitor_settings(settings)
    async with opened_log(settings, must_exist=True) as log:
        call = await stored_call(log, asked, monitoring.bounds)
        records = call.records()
        if word is None:
            print("\n".join(overlap_lines(_overlaps(records))))
        else:
            await _say(log, call, records, word, kept_s=monitoring.call_kept_s)
    return FAULT_FOUND if call.broken else 0


async def _say(log: Log, call: StoredCall, records: Sequence[AnyRecord], word: Word, *, kept_s: int) -> None:
    overlap = _find(records, word.overlap, call.call_id)
    standing = in_force(call.events, word.overlap)
    if standing == word or (standing is None and word.label == CLEARED):
        # The same command again, perhaps after a crash that hid its success: once is enough.
        print(f"{'has no label' if standing is None else 'is labelled so already'}; nothing was written")
        print(overlap_line(overlap))
        return
    event = label_event(
        word, call.call_id, call.events, u_on_ns=overlap.u_on_ns, wall_ns=time.time_ns(), token=secrets.token_hex(8)
    )
    await log.append(topic_name(log.prefix, EVENTS), [Outgoing(call.call_id, encode(event))])
    call.timeline.add(event)
    records = call.records()
    print(overlap_line(_find(records, word.overlap, call.call_id)))
    ended_ns = next((r.ended_ns for r in records if isinstance(r, Call)), None)
    if ended_ns is not None and call.now_ns() - ended_ns > kept_s * S:
        print(f"the call ended over {wording.span(kept_s)} ago: its record and reports change, windows no longer do")


def _overlaps(records: Sequence[AnyRecord]) -> list[Overlap]:
    return sorted((r for r in records if isinstance(r, Overlap) and not r.retracted), key=lambda o: o.u_on_ns)


def _find(records: Sequence[AnyRecord], name: str, call_id: str) -> Overlap:
    """The overlap of that name. Raises BadInput that lists those that there are."""
    overlaps = _overlaps(records)
    for overlap in overlaps:
        if overlap.id == name:
            return overlap
    listed = ", ".join(f"{o.id} at {hundredths(o.u_on_ns)}" for o in overlaps[:20]) or "none"
    more = f" and {len(overlaps) - 20} more" if len(overlaps) > 20 else ""
    raise BadInput(
        f'no overlap "{wording.printable(name, 40)}"; the call\'s overlaps: {listed}{more}',
        where=wording.printable(call_id, 60),
    )
