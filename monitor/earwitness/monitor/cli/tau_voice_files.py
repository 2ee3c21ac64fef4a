"""``analyze --profile tau-voice``: tick files as they are, everything else cut into ticks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.profiles.tau_voice import TICK_NS, TauVoice, TickCall, tau_voice
from earwitness.monitor.calls.profiles.ticks import ticks_of
from earwitness.monitor.calls.sides import sides_of
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.call_files import CallFiles, Listening, read_calls, whole
from earwitness.monitor.cli.file_kinds import kind_of
from earwitness.monitor.cli.opened_file import is_there, opened
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.json_reading import LONGEST_S
from earwitness.monitor.recordings.tick_file import read_ticks


def read_tau_voice(names: Sequence[str], listening: Listening, bounds: Bounds) -> tuple[TauVoice, CallFiles]:
    """The profile's numbers over all files, and what is to be said of them. Raises BadInput."""
    calls: list[TickCall] = []
    told: list[str] = []
    others: list[str] = []
    lengths: dict[int, str] = {}
    for name in dict.fromkeys(names):
        if name != "-" and not (is_there(name) and Path(name).is_file()):
            others.append(name)  # read_calls says what is wrong with it
            continue
        with opened(name) as given:
            if kind_of(given.head) == "ticks":
                found = read_ticks(whole(given), given.shown)
                calls += found.calls
                lengths[found.tick_ns] = given.shown
                simulations = wording.plural(len(found.calls), "simulation")
                ticks = wording.plural(sum(len(c.ticks) for c in found.calls), "tick")
                told.append(f"{wording.printable(given.shown)}  {simulations}  {ticks} of {found.tick_ns / 1e9:g} s")
                continue
            if name == "-":
                raise BadInput("give tick files on standard input, and others by name", where="standard input")
        others.append(name)
    files = read_calls(others, listening) if others else CallFiles()
    if files.calls:
        lengths.setdefault(TICK_NS, "what is no tick file")
    if len(lengths) > 1:
        different = ", ".join(f"{tick_ns / 1e9:g} s in {name}" for tick_ns, name in lengths.items())
        raise BadInput(f"ticks of different lengths cannot be counted together: {different}", where="--profile")
    for call_id, events in files.calls.items():
        sides = sides_of(events, bounds=bounds)
        if sides.length_ns > LONGEST_S * S:
            raise BadInput("lasts over two days: too long to be cut into ticks", where=wording.printable(call_id))
        calls.append(ticks_of(sides, fold(events, bounds=bounds)))
    files.told[:0] = told
    return tau_voice(calls, tick_ns=next(iter(lengths), TICK_NS)), files
