"""Files of any kind that tell of calls, read to one thing: the events of each call.

Recordings (audio, RTTM, intervals) are said in events too, so that one fold serves all (definitions, measuring point).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.heard import HeardCall, events_of
from earwitness.monitor.cli.event_files import BrokenLine, events_in
from earwitness.monitor.cli.file_kinds import FileKind, kind_of
from earwitness.monitor.cli.opened_file import OpenedFile, opened
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.intervals_file import read_intervals
from earwitness.monitor.recordings.json_reading import MOST_BYTES
from earwitness.monitor.recordings.rttm import read_rttm
from earwitness.monitor.recordings.words import lie_within, read_expectations, read_words

VoiceActivity = Literal["accurate", "fast"]


@dataclass(frozen=True, slots=True)
class Listening:
    """How recordings are to be read. ``words`` and ``expect`` name files that belong to the one recording."""

    caller_channel: int = 0
    agent_channel: int | None = None
    voice_activity: VoiceActivity = "accurate"
    caller: str | None = None
    agent: str | None = None
    words: str | None = None
    expect: str | None = None
    language: str | None = None


@dataclass(slots=True)
class CallFiles:
    """What the files told of. ``told``: a line on each file, unsafe text made safe."""

    calls: dict[str, list[AnyEvent]] = field(default_factory=dict[str, list[AnyEvent]])
    told: list[str] = field(default_factory=list[str])
    broken: list[BrokenLine] = field(default_factory=list[BrokenLine])
    recordings: dict[str, HeardCall] = field(default_factory=dict[str, HeardCall])
    """The recordings among the calls."""

    @property
    def damaged(self) -> list[str]:
        """A line on each recording whose file is cut off, or holds more than belongs to it."""
        found = ((call_id, heard.details.get("file")) for call_id, heard in self.recordings.items())
        return [f"{call_id}: {what}" for call_id, what in found if what is not None]


def read_calls(names: Sequence[str], listening: Listening | None = None) -> CallFiles:
    """Read all files (``-``: standard input), each once, by whichever name it is given. A recording is a call by its
    file's name, by its whole path where several have the same; events of one call id belong together, whichever files
    they stand in.

    Raises BadInput for what cannot be read, and for words or expectations that are not for exactly one recording.
    """
    listening = Listening() if listening is None else listening
    found = CallFiles()
    distinct = list({_place(name): name for name in reversed(names)}.values())[::-1]
    called = Counter(Path(name).name for name in distinct)
    for name in distinct:
        own = "standard input" if name == "-" else Path(name).name if called[Path(name).name] == 1 else name
        with opened(name) as given:
            _take(found, given, kind_of(given.head), own, listening)
    _for_one_recording(found, listening)
    for call_id, heard in found.recordings.items():
        language = listening.language or heard.details.get("language")
        found.calls[call_id] = events_of(_completed(heard, listening), language=language)
    return found


def _place(name: str) -> str:
    return name if name in ("", "-") else os.path.abspath(name)  # noqa: PTH100 - a link is a file of its own


def _take(found: CallFiles, given: OpenedFile, kind: FileKind, own: str, listening: Listening) -> None:
    if kind == "events":
        log = events_in(given)
        for call_id, events in log.calls.items():
            if call_id in found.recordings:
                raise BadInput(f"call {call_id} has the name of a recording", where=given.shown)
            found.calls.setdefault(call_id, []).extend(events)
        found.broken += log.broken
        found.told.append(f"{wording.printable(given.shown)}  {wording.plural(log.events, 'event')}")
        return
    if kind == "ticks":
        raise BadInput("holds ticks of who speaks; --profile tau-voice reads them", where=given.shown)
    for heard in _recordings(given, kind, own, listening):
        if heard.call_id in found.calls:
            raise BadInput(f"{heard.call_id} is the name of a call in another file", where=given.shown)
        found.recordings[heard.call_id] = heard
        found.calls[heard.call_id] = []
        found.told.append(described(heard))


def _recordings(given: OpenedFile, kind: FileKind, own: str, listening: Listening) -> list[HeardCall]:
    if kind == "audio":
        from earwitness.monitor.audio.recording import hear  # noqa: PLC0415 - loads what event logs do not need

        with given.on_disk() as path:
            return [
                hear(
                    path,
                    caller_channel=listening.caller_channel,
                    agent_channel=listening.agent_channel,
                    voice_activity=listening.voice_activity,
                    call_id=own,
                    shown=given.shown,
                )
            ]
    text = whole(given)
    if kind == "rttm":
        return read_rttm(text, given.shown, call_id=own, caller=listening.caller, agent=listening.agent)
    return [read_intervals(text, given.shown, call_id=own)]


def whole(given: OpenedFile) -> bytes:
    """All of a file that has to be read at once. Raises BadInput for one that is too large."""
    text = given.file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise BadInput(f"is larger than {MOST_BYTES // 1_000_000} MB", where=given.shown)
    return text


def _for_one_recording(found: CallFiles, listening: Listening) -> None:
    for option, name in (("--words", listening.words), ("--expect", listening.expect)):
        if name is not None and (len(found.recordings) != 1 or len(found.calls) != 1):
            there = wording.plural(len(found.calls), "call") if found.recordings else "no recording"
            raise BadInput(
                f"is for one recording; there {'are' if len(found.calls) > 1 else 'is'} {there}", where=option
            )


def _completed(heard: HeardCall, listening: Listening) -> HeardCall:
    """With the words and expectations of files of their own, which stand beside those that the recording had."""
    if listening.words is not None:
        with opened(listening.words) as given:
            words = read_words(whole(given), given.shown)
            lie_within(words, (), heard.duration_ns, (given.shown, ""))
            heard = replace(heard, words=heard.words + words)
    if listening.expect is not None:
        with opened(listening.expect) as given:
            expectations = read_expectations(whole(given), given.shown)
            lie_within((), expectations, heard.duration_ns, ("", given.shown))
            heard = replace(heard, expectations=heard.expectations + expectations)
    return heard


def described(heard: HeardCall) -> str:
    """A recording in a line, ``call.wav  16 kHz stereo  1m32s  caller left, agent right``, and what is to be said of it
    below; safe to print."""
    details = heard.details
    rate, channels = details.get("rate", ""), details.get("channels", "")
    bits = [heard.call_id, *_sound(rate, channels), wording.compact_span(heard.duration_ns / S)]
    if found := _CHANNELS.fullmatch(channels):
        count, caller, agent = found.groups()
        bits.append(_STEREO.get((count, caller, agent)) or f"caller channel {caller}, agent channel {agent}")
    if (activity := details.get("voice activity", "accurate")) != "accurate":
        bits.append(f"voice activity {activity}")
    bits += [details[name] for name in ("speakers", *_BRIEF) if name in details]
    return "\n".join(["  ".join(map(wording.printable, bits)), *(f"  {remark}" for remark in _remarks(heard))])


def notes_on(heard: HeardCall) -> list[str]:
    """What a reader of a recording's numbers should know of it, safe to print."""
    return [*(wording.printable(heard.details[name]) for name in _BRIEF if name in heard.details), *_remarks(heard)]


def _remarks(heard: HeardCall) -> list[str]:
    """``caller channel: clipped: 1.2% of its samples at full scale``."""
    return [wording.printable(f"{name}: {text}") for name, text in heard.details.items() if name not in _NO_REMARKS]


_BRIEF = ("joined", "empty")
_NO_REMARKS = {"rate", "channels", "coding", "language", "voice activity", "speakers", *_BRIEF}
_CHANNELS = re.compile(r"(\d+): caller (\d+), agent (\d+)")
_STEREO = {("2", "0", "1"): "caller left, agent right", ("2", "1", "0"): "caller right, agent left"}


def _sound(rate: str, channels: str) -> list[str]:
    """``16 kHz stereo``; nothing for what is no audio."""
    if not channels:
        return []
    count, hertz = channels.partition(":")[0], rate.removesuffix(" Hz")
    kilohertz = f"{int(hertz) / 1000:g} kHz " if hertz.isdecimal() else ""
    return [kilohertz + ("stereo" if count == "2" else f"{count} channels")]
