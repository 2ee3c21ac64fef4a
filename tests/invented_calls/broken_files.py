"""Files of calls as they lie about: event logs, intervals, RTTM; whole, cut off, spoiled byte by byte, hostile."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from invented_calls.mutilated import HOSTILE_TEXTS, mutilate
from invented_calls.plausible import Teller

from earwitness.monitor.contract.wire import encode

NUMBERS = (
    b"NaN", b"Infinity", b"1e400", b"-0.0", b"1e-320", b"99999999999999999999999", b"null", b"true", b'"3"', b"[]",
    b"-5", b"9223372036854775807", b"18446744073709551616", b"1.5",
)  # fmt: skip
PIECES = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"}", b"]", b"[", b"{", b"\n", b"\r", b"\x1b[2J", b",", b"[" * 3000,
)  # fmt: skip
STRINGS = (b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m"', b"null", b"7", b'["x"]', *(
    json.dumps(text).encode() for text in HOSTILE_TEXTS
))  # fmt: skip


def event_log(chance: random.Random) -> bytes:
    """JSON lines of one call, plausible or not."""
    script = Teller(chance).tell(3)
    events = script.events() if chance.randrange(2) else mutilate(chance, script.raw())
    return b"".join(encode(event) + b"\n" for event in events)


def intervals(chance: random.Random) -> bytes:
    """Speech intervals that somebody found, some with words, expectations and a length."""
    caller, agent = spans(chance), spans(chance)
    told: dict[str, Any] = {"caller": caller, "agent": agent}
    if chance.randrange(2):
        texts = ("stop", "mhm", "hello?", *HOSTILE_TEXTS)
        told["words"] = [
            {"party": chance.choice(["caller", "agent"]), "start_s": on, "end_s": off, "text": chance.choice(texts)}
            for on, off in caller
        ]
    if chance.randrange(2):
        told["expect"] = [{"at_s": on, "wanted": chance.randrange(2) == 1} for on, _ in caller[:3]]
    if chance.randrange(2):
        told["duration_s"] = chance.choice([1, 60, 60.5, 0, -1, 1e9])
    return json.dumps(told).encode()


def rttm(chance: random.Random) -> bytes:
    """Segments of speakers, not always two."""
    lines = [
        f"SPEAKER c 1 {on} {round(off - on, 3)} <NA> <NA> {chance.choice(['agent', 'caller', 'agent', 'x'])} <NA> <NA>"
        for on, off in (*spans(chance), *spans(chance))
    ]
    return "\n".join(lines).encode()


def spans(chance: random.Random) -> list[list[float]]:
    """Stretches of speech in seconds, in order."""
    at, found = 0.0, list[list[float]]()
    for _ in range(chance.randrange(12)):
        at += chance.choice([0.0, 0.1, 0.5, 2.0, 5.0]) + chance.randrange(100) / 100
        lasts = chance.choice([0.05, 0.3, 1.0, 4.0])
        found.append([round(at, 3), round(at + lasts, 3)])
        at += lasts
    return found


def spoiled(chance: random.Random, data: bytes) -> bytes:
    """The same with up to four things wrong with it."""
    for _ in range(chance.randrange(5)):
        if not data:
            break
        at, other = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
        lines = data.split(b"\n")
        ways = (
            lambda d, a=at: d[:a],
            lambda d, a=at: d[:a] + bytes([chance.randrange(256)]) + d[a + 1 :],
            lambda d, a=at: d[:a] + chance.choice(PIECES) + d[a:],
            lambda d, a=at, b=other: d[:a] + d[b:],
            lambda d: replaced(chance, d, rb"-?\d+\.?\d*", NUMBERS),
            lambda d: replaced(chance, d, rb'"[^"]*"', STRINGS),
            lambda d, a=at: d + d[a : a + 200],
            lambda d: b"\xef\xbb\xbf" + d,
            lambda _, own=lines: b"\n".join(chance.sample(own, len(own))),
        )
        data = chance.choice(ways)(data)
    return data


def replaced(chance: random.Random, data: bytes, what: bytes, by: tuple[bytes, ...]) -> bytes:
    """One of the places that are like ``what`` with something else there."""
    places = list(re.finditer(what, data))
    if not places:
        return data
    place = chance.choice(places)
    return data[: place.start()] + chance.choice(by) + data[place.end() :]
