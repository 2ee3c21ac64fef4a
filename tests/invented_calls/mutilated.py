"""Calls as they arrive on a bad day: lost, doubled, mixed up, misnamed, with hostile values the contract allows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from invented_calls.plausible import Teller
from invented_calls.script import CALL_ID, WALL_NS, S

from earwitness.monitor.contract.events import EVENT_ADAPTER

Fields = dict[str, Any]
LONG = "ha " * 33_000
HOSTILE_TEXTS = (
    "", " ", "\x00", "\x1b[31mred\x1b[0m", "<script>alert(1)</script>", "]]>&amp;", "\u202eevil", "🦻" * 40, LONG,
    "NaN", "-1", "o1", "r1", "overlap@1e400",
)  # fmt: skip
HOSTILE_NS = (0, 1, S - 1, 10 * S, 10**4 * S, 10**15, 2**53, 2**62, 2**63 - 1)
HOSTILE_FLOATS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e300, 5e-324)


def lose(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """Any of them may be missing."""
    share = chance.choice([5, 30, 60, 90])
    return [one for one in told if chance.randrange(100) >= share]


def repeat(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """Some come again, later."""
    return told + [dict(chance.choice(told)) for _ in range(chance.randrange(10))] if told else told


def mix(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """In an order that nobody promised."""
    order = list(range(len(told)))
    for _ in range(chance.randrange(1, 20)):
        if order:
            order.insert(chance.randrange(len(order)), order.pop(chance.randrange(len(order))))
    return [told[n] for n in order]


def misname(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """Sources, responses and tools are taken for each other."""
    for one in told:
        if chance.randrange(6) == 0:
            one["source"] = chance.choice(["bot", "taps", "gateway", "", "\x00"])
        for name in ("response_id", "after", "tool_call_id", "participant", "utterance_id"):
            if name in one and chance.randrange(8) == 0:
                one[name] = chance.choice(["r1", "r2", "", "x1", "p1"])
    return told


def move_clocks(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """Another process's clock is far off, and it says so at some time."""
    offset = chance.choice([S, -S, 40 * S, -40 * S, 10**6 * S, -(10**6) * S])
    source = chance.choice(["bot", "taps", "gateway"])
    begun = {
        "kind": "call_started", "call_id": CALL_ID, "source": source, "seq": 10_000, "at_ns": chance.choice([0, 5 * S]),
        "wall_ns": WALL_NS, "agent": "other", "owns_clock": False, "clock_offset_ns": offset,
    }  # fmt: skip
    told.insert(chance.randrange(len(told) + 1), begun)
    return told


def poison(chance: random.Random, told: list[Fields]) -> list[Fields]:
    """Values of a few fields become the worst that their types allow."""
    for _ in range(chance.randrange(1, 8)):
        if not told:
            break
        one = chance.choice(told)
        name = chance.choice(sorted({*one, *UNTOLD.get(one["kind"], ())}))
        value = one.get(name, 0)
        if name in ("kind", "seq", "call_id"):
            continue
        if name == "clock_offset_ns":
            one[name] = chance.choice([1, -1]) * chance.choice(HOSTILE_NS)
        elif name.endswith("_ns") and isinstance(value, int):
            near = min(max(value + chance.choice([-1, 1, -S, S, -60 * S, 60 * S]), 0), HOSTILE_NS[-1])
            one[name] = chance.choice([near, *HOSTILE_NS])
        elif isinstance(value, float):
            one[name] = chance.choice(HOSTILE_FLOATS)
        elif isinstance(value, bool):
            one[name] = not value
        elif name in (
            "text",
            "intended",
            "spoken",
            "unspoken",
            "language",
            "agent",
            "value",
            "subject",
            "label",
            "name",
        ):
            one[name] = chance.choice(HOSTILE_TEXTS)
    return told


UNTOLD = {
    "tool": ("duration_ns",), "playout": ("written_ns",), "classifier": ("requested_ns",),
    "transcript": ("utterance_start_ns", "utterance_end_ns"), "speech_ended": ("voiced_ns",),
}  # fmt: skip
"""Moments and durations that a kind may tell and an invented call does not always."""

WAYS: tuple[Callable[[random.Random, list[Fields]], list[Fields]], ...] = (
    lose, repeat, mix, misname, move_clocks, poison,
)  # fmt: skip


def mutilate(chance: random.Random, told: list[Fields]) -> list[Any]:
    """The events of a call after one to four such accidents."""
    for _ in range(chance.randrange(1, 5)):
        told = chance.choice(WAYS)(chance, told)
    return [EVENT_ADAPTER.validate_python(fields) for fields in told]


def mutilated_calls(most_blocks: int = 6) -> st.SearchStrategy[list[Any]]:
    """Events of calls that something happened to, in the order of their arrival."""
    return st.randoms(use_true_random=False).map(
        lambda chance: mutilate(chance, Teller(chance).tell(most_blocks).raw())
    )
