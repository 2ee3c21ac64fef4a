"""Tick files: what is read, and what is wrong with one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from earwitness.monitor.calls.profiles.tau_voice import Effect, TickCall
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.tick_file import read_ticks


def one(**simulation: Any) -> bytes:
    return json.dumps({"tick_seconds": 0.1, "legend": {}, "simulations": [{"ticks": "UU.A", **simulation}]}).encode()


def test_ticks_actions_and_effects() -> None:
    events = [
        [0, 1, {"action": "backchannel", "in_turn_effect": "vocal_tic"}],
        [3, 3, {"action": "wait", "out_of_turn_effect": "non_directed_phrase", "in_turn_effect": "burst_noise"}],
    ]
    found = read_ticks(one(events=events, task="7"), "t.json")
    effects = (Effect("vocal_tic", 0, 2), Effect("non_directed", 3, 4, out_of_turn=True))
    assert (found.tick_ns, found.calls) == (100_000_000, (TickCall("UU.A", frozenset({0, 1}), effects),))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(one(ticks="UUX"), "t.json: simulations[0].ticks: tick 2 is none of . U A B", id="a character"),
        pytest.param(one(events=[[0, 9, {}]]), "simulations[0].events[0]: its ticks must lie from 0 to 3", id="beyond"),
        pytest.param(one(events=[[2, 1, {}]]), "the first before the last", id="turned around"),
        pytest.param(one(events=[[0, 1]]), "an event is [first_tick, last_tick, {...}]", id="two parts"),
        pytest.param(b'{"simulations": []}', "t.json: holds no simulation", id="empty"),
        pytest.param(b'{"tick_seconds": 0, "simulations": []}', "t.json: tick_seconds: a number", id="no length"),
        pytest.param(b'{"tick_seconds": 0.2}', "t.json: simulations: a list was expected, not null", id="none"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: bytes, says: str) -> None:
    with pytest.raises(BadInput) as error:
        read_ticks(text, "t.json")
    assert says in str(error.value)
