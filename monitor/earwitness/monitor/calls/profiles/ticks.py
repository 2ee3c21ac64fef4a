"""A call of any kind cut into ticks, for profiles that count in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.calls.profiles.tau_voice import TICK_NS, Effect, EffectKind, TickCall
from earwitness.monitor.calls.sides import Sides
from earwitness.monitor.contract.records import AnyRecord

_EFFECTS: dict[str | None, EffectKind] = {"noise": "vocal_tic", "echo": "vocal_tic", "not_addressed": "non_directed"}


def ticks_of(sides: Sides, records: Iterable[AnyRecord], *, tick_ns: int = TICK_NS) -> TickCall:
    """Edges go to the nearest tick. What the fold takes for a false want is one here: a backchannel, or, where it is
    noise, echo or speech to somebody else, an effect in the caller's speech."""
    length = max(_nearest(sides.length_ns, tick_ns), 1)
    caller, agent = _filled(sides.caller, length, tick_ns), _filled(sides.agent, length, tick_ns)
    backchannels: set[int] = set()
    effects: list[Effect] = []
    for overlap in _false_wants(records):
        first = _nearest(overlap.u_on_ns, tick_ns)
        end = max(_nearest(overlap.u_off_ns if overlap.u_off_ns is not None else sides.length_ns, tick_ns), first + 1)
        kind = _EFFECTS.get(overlap.want_class)
        if kind is None:
            backchannels.add(first)
        else:
            effects.append(Effect(kind, first, end))
    lanes = zip(caller, agent, strict=True)
    return TickCall("".join(".UAB"[c + 2 * a] for c, a in lanes), frozenset(backchannels), tuple(effects))


def _false_wants(records: Iterable[AnyRecord]) -> list[Any]:
    return [r for r in records if r.kind == "overlap" and not r.retracted and r.wanted == "no"]


def _filled(spans: Sequence[Span], length: int, tick_ns: int) -> bytearray:
    lane = bytearray(length)
    for start, end in spans:
        first, last = min(_nearest(start, tick_ns), length), min(_nearest(end, tick_ns), length)
        lane[first:last] = b"\x01" * (last - first)
    return lane


def _nearest(moment_ns: int, tick_ns: int) -> int:
    return (2 * moment_ns + tick_ns) // (2 * tick_ns)
