"""What the numbers of a speech-to-speech call say, with the taps and without, whatever the service tells of turns."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from pipecat_calls.fixtures import RunCall
from pipecat_calls.realtime import RealtimeService, Turns
from pipecat_calls.script import CallTool, Reply, Say, Script, Tool

from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.records import Overlap

pytestmark = pytest.mark.pipecat

CALL = Script(
    lines=(Say("where is my order please"), Say("thank you goodbye")),
    replies=(Reply("Hello."), CallTool("look_up"), Reply("It is on its way to you."), Reply("Goodbye.", ends=True)),
    tools={"look_up": Tool(takes_s=0.7)},
    mode="realtime",
    ends_s=30,
)
"""The caller hears 1.80 s, of which the tool took 0.7, and 0.80 s."""


def turns_of(run_call: RunCall, turns: Turns, *, taps: bool, script: Script = CALL) -> list[Any]:
    call = run_call(script, taps=taps, model=partial(RealtimeService, turns=turns))
    if script is CALL:
        waits = [call.truth.agent[n + 1][0] - off for n, (_, off) in enumerate(call.truth.caller)]
        assert waits == pytest.approx([1.8, 0.8], abs=0.011)
    return [record for record in fold(call.events) if record.kind == "turn"]


def split(turn: Any) -> dict[str, float]:
    return {name: round(part / 1e9, 3) for name, part in turn.parts_ns.items()}


def test_the_silence_that_the_service_waits_for_is_part_of_what_the_caller_heard(run_call: RunCall) -> None:
    turns = turns_of(run_call, "server_vad", taps=False)

    assert [turn.response_latency_ns / 1e9 for turn in turns] == pytest.approx([1.8, 0.8], abs=0.011)
    assert [turn.evidence["u_off"] for turn in turns] == ["server", "server"]
    assert [turn.endpoint_delay_ns for turn in turns] == [500_000_000, 500_000_000]
    assert split(turns[0]) == {"endpointing": 0.5, "model": 0.6, "tools": 0.7}
    assert split(turns[1]) == {"endpointing": 0.5, "model": 0.3}


@pytest.mark.parametrize("turns", ["semantic_vad", "unsaid"])
def test_where_nobody_knows_how_late_the_service_is_there_is_a_lower_bound_only(
    run_call: RunCall, turns: Turns
) -> None:
    found = turns_of(run_call, turns, taps=False)

    assert [(turn.response_latency_ns, turn.reason, turn.turn_class) for turn in found] == [
        (None, "no_acoustic_anchor", "eligible"),
        (None, "no_acoustic_anchor", "eligible"),
    ]
    assert [turn.at_least_ns / 1e9 for turn in found] == pytest.approx([1.3, 0.3], abs=0.011)
    assert [turn.unanswered for turn in found] == [False, False]


def test_without_a_word_of_the_callers_speech_late_words_are_placed_by_their_order(run_call: RunCall) -> None:
    found = turns_of(run_call, "no_frames", taps=False)

    assert [(turn.text, turn.answered_by, turn.unanswered) for turn in found] == [
        ("where is my order please", "a2", False),
        ("thank you goodbye", "a3", False),
    ]
    assert [(turn.response_latency_ns, turn.reason) for turn in found] == [(None, "no_acoustic_anchor")] * 2


@pytest.mark.parametrize("turns", ["server_vad", "semantic_vad", "unsaid", "no_frames"])
def test_with_the_taps_it_is_right_whatever_the_service_says(run_call: RunCall, turns: Turns) -> None:
    found = turns_of(run_call, turns, taps=True)

    assert [turn.response_latency_ns / 1e9 for turn in found] == pytest.approx([1.8, 0.8], abs=0.021)
    assert [turn.evidence["u_off"] for turn in found] == ["audio", "audio"]
    assert split(found[0])["tools"] == 0.7
    assert [turn.tool_ids for turn in found] == [("call_1",), ()]


@pytest.mark.parametrize("taps", [False, True])
def test_a_barge_in_on_a_service_has_a_stop_latency_only_where_the_taps_hear_its_onset(
    run_call: RunCall, taps: bool
) -> None:
    script = Script(
        lines=(Say("where is my order please"), Say("no wait a moment", into_s=1.0)),
        replies=(Reply("Hello."), Reply("It is on its way to you and will be there on Thursday."), Reply("Yes?")),
        mode="realtime",
        ends_s=20,
    )
    call = run_call(script, taps=taps, model=RealtimeService)
    (overlap,) = [record for record in fold(call.events) if isinstance(record, Overlap)]

    stopped = call.truth.agent[1][1] - call.truth.caller[1][0]
    assert overlap.cell == "TP"
    if taps:
        assert (overlap.stop_latency_ns or 0) / 1e9 == pytest.approx(stopped, abs=0.03)
    else:
        assert overlap.stop_latency_ns is None
        assert 0 < (overlap.stop_at_least_ns or 0) / 1e9 <= stopped + 0.011
