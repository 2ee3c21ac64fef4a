"""Simulated calls as ticks, run-length coded: ``{"tick_seconds", "simulations": [{"ticks", "events"}]}``.

``ticks`` has a character a tick (``.`` nobody, ``U`` caller, ``A`` agent, ``B`` both); ``events`` are
``[first, last, {"action", "in_turn_effect", "out_of_turn_effect"}]``, last inclusive. What else a file says is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.profiles.tau_voice import TICK_NS, Effect, EffectKind, TickCall
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.json_reading import as_list, as_text, kind_of, parsed

_KINDS: Final[dict[str, EffectKind]] = {
    "vocal_tic": "vocal_tic",
    "non_directed_phrase": "non_directed",
    "non_directed_speech": "non_directed",
    "non_directed": "non_directed",
}


@dataclass(frozen=True, slots=True)
class TickFile:
    """What a file held."""

    tick_ns: int
    calls: tuple[TickCall, ...]


def read_ticks(text: bytes, where: str) -> TickFile:
    """Raises BadInput naming the place of what is wrong."""
    given = _object(parsed(text, where), where)
    seconds = given.get("tick_seconds", TICK_NS / S)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.001 <= seconds <= 1:
        raise BadInput("a number of seconds from 0.001 to 1 was expected", where=f"{where}: tick_seconds")
    place = f"{where}: simulations"
    calls = tuple(_call(one, f"{place}[{n}]") for n, one in enumerate(as_list(given.get("simulations"), place)))
    if not calls:
        raise BadInput("holds no simulation", where=where)
    return TickFile(round(seconds * S), calls)


def _call(value: object, where: str) -> TickCall:
    given = _object(value, where)
    ticks = as_text(given.get("ticks"), f"{where}.ticks")
    wrong = next((n for n, tick in enumerate(ticks) if tick not in ".UAB"), None)
    if wrong is not None:
        raise BadInput(f"tick {wrong} is none of . U A B", where=f"{where}.ticks")
    backchannels: set[int] = set()
    effects: list[Effect] = []
    for n, event in enumerate(as_list(given.get("events", []), f"{where}.events")):
        place = f"{where}.events[{n}]"
        first, last, said = _event(event, len(ticks), place)
        if said.get("action") == "backchannel":
            backchannels.update(range(first, last + 1))
        for name in ("in_turn_effect", "out_of_turn_effect"):
            kind = _KINDS.get(str(said.get(name)))
            if kind is not None:
                effects.append(Effect(kind, first, last + 1, out_of_turn=name == "out_of_turn_effect"))
    return TickCall(ticks, frozenset(backchannels), tuple(effects))


def _event(value: object, length: int, where: str) -> tuple[int, int, dict[str, Any]]:
    parts = as_list(value, where)
    if len(parts) != 3:
        raise BadInput("an event is [first_tick, last_tick, {...}]", where=where)
    first, last = parts[0], parts[1]
    if type(first) is not int or type(last) is not int or not 0 <= first <= last < length:
        raise BadInput(f"its ticks must lie from 0 to {length - 1}, the first before the last", where=where)
    return first, last, _object(parts[2], where)


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"an object was expected, not {kind_of(value)}", where=where)
    return cast("dict[str, Any]", value)
