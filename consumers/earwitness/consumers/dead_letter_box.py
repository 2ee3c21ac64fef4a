"""Reading the dead-letter topic, and putting back onto their topics those records that can be read by now.

What was put back is marked on the same topic, so that it is put back once. A crash between the two leaves the mark
out: then the record may come twice, with one identity, and readers fold it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from earwitness.consumers.timeline import caught_up
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event, decode_record
from earwitness.monitor.log.protocol import Entry, Log, Outgoing
from earwitness.monitor.log.topics import DEAD, EVENTS, RECORDS, topic_name

AT_ONCE: Final = 200
"""Records put back before they are marked."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that was set aside. ``id`` says where it lay: topic/partition/offset.

    ``payload``: None where the letter had to do without it, or the record had none. Times are wall times:
    ``arrived_ns`` of the record, ``set_aside_ns`` of the letter, ``replayed_ns`` None while it waits.
    """

    id: str
    topic: str
    partition: int
    offset: int
    key: str
    reason: str
    detail: str
    arrived_ns: int
    set_aside_ns: int
    payload: bytes | None
    left_out: bool = False
    replayed_ns: int | None = None

    @property
    def mark(self) -> str:
        """Tells it from another record at the same place of a log that was made anew."""
        return hashlib.sha256(self.payload or b"").hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Box:
    """The letters, oldest first, each once. ``broken``: what lies on the topic and is no letter."""

    letters: Sequence[Letter] = ()
    broken: int = 0

    @property
    def waiting(self) -> list[Letter]:
        """Those that were not put back."""
        return [letter for letter in self.letters if letter.replayed_ns is None]


@dataclass(slots=True)
class Replay:
    """What a replay did, or would do. ``stays``: letters with why they cannot be put back."""

    put_back: list[Letter] = field(default_factory=list[Letter])
    stays: list[tuple[Letter, str]] = field(default_factory=list[tuple[Letter, str]])


async def read_box(log: Log, *, since_ns: int | None = None) -> Box:
    """All letters, or those set aside since then. Raises LogError."""
    topic = topic_name(log.prefix, DEAD)
    ends = await log.end_positions(topic)
    start = await log.positions_by_time(topic, since_ns) if since_ns is not None else await log.start_positions(topic)
    letters: dict[tuple[str, str], Letter] = {}
    replayed: dict[tuple[str, str], int] = {}
    broken = 0
    reader = await log.reader(topic, start=start)
    try:
        while not caught_up(reader, ends):
            for entry in await reader.poll(timeout_s=1.0):
                found = _read(entry)
                if isinstance(found, Letter):
                    # A worker that crashed may have set the same record aside again.
                    letters.setdefault((found.id, found.mark), found)
                elif found is not None:
                    replayed[found] = entry.append_ns
                else:
                    broken += 1
    finally:
        await reader.close()
    return Box([replace(letter, replayed_ns=replayed.get(name)) for name, letter in letters.items()], broken)


async def replay(log: Log, letters: Sequence[Letter], *, dry_run: bool = False) -> Replay:
    """Put back those that can be read now, in the order of their arrival. Raises LogError; what was marked until then
    stays put back."""
    done = Replay()
    batch: list[tuple[Letter, bytes]] = []
    for letter in sorted(letters, key=lambda one: (one.arrived_ns, one.topic, one.partition, one.offset)):
        payload = await original(log, letter) if letter.left_out else letter.payload
        if payload is None:
            done.stays.append((letter, "its bytes are no longer kept" if letter.left_out else "it has no bytes"))
        elif (why := unreadable_now(log, letter, payload)) is not None:
            done.stays.append((letter, why))
        else:
            batch.append((letter, payload))
    for first in range(0, len(batch), AT_ONCE):
        part = batch[first : first + AT_ONCE]
        if not dry_run:
            for topic in dict.fromkeys(letter.topic for letter, _ in part):
                await log.append(topic, [Outgoing(one.key, payload) for one, payload in part if one.topic == topic])
            marks = [Outgoing(one.id, json.dumps({"v": 1, "replayed": one.mark}).encode()) for one, _ in part]
            await log.append(topic_name(log.prefix, DEAD), marks)
        done.put_back += [letter for letter, _ in part]
    return done


def unreadable_now(log: Log, letter: Letter, payload: bytes) -> str | None:
    """Why a record cannot be put back; None: it can be read by now."""
    decoders: dict[str, Callable[[bytes], object]] = {
        topic_name(log.prefix, EVENTS): decode_event,
        topic_name(log.prefix, RECORDS): decode_record,
    }
    decode = decoders.get(letter.topic)
    if decode is None:
        return f"nothing is put back onto {letter.topic}"
    try:
        decode(payload)
    except UnreadableRecord as error:
        return f"{error.reason}: {error.detail}"
    return None


async def original(log: Log, letter: Letter) -> bytes | None:
    """The record's bytes from where it lay, for a letter that had to do without them; None where they are gone."""
    ends = await log.end_positions(letter.topic)
    if letter.offset >= ends.get(letter.partition, 0):
        return None
    reader = await log.reader(letter.topic, start=ends | {letter.partition: letter.offset})
    try:
        for entry in await reader.poll(timeout_s=5.0, max_records=1):
            if (entry.partition, entry.offset, entry.key) == (letter.partition, letter.offset, letter.key):
                return entry.value
    finally:
        await reader.close()
    return None


def _read(entry: Entry) -> Letter | tuple[str, str] | None:
    """A letter, the mark of one that was put back, or None."""
    try:
        body: Any = json.loads(entry.value or b"")
        if "replayed" in body:
            return entry.key, str(body["replayed"])
        return Letter(
            id=f"{body['topic']}/{int(body['partition'])}/{int(body['offset'])}",
            topic=str(body["topic"]),
            partition=int(body["partition"]),
            offset=int(body["offset"]),
            key=str(body["key"]),
            reason=str(body["reason"]),
            detail=str(body["detail"]),
            arrived_ns=int(body["append_ns"]),
            set_aside_ns=entry.append_ns,
            payload=_payload(body),
            left_out=bool(body.get("payload_left_out", False)),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _payload(body: dict[str, Any]) -> bytes | None:
    if (text := body.get("payload")) is not None:
        return str(text).encode()
    encoded = body.get("payload_base64")
    return None if encoded is None else base64.b64decode(encoded)
