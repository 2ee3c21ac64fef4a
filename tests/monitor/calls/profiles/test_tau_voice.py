"""The benchmark's rules on calls small enough to be counted by hand; one character is a tick of 0.2 s."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.monitor.calls.heard import Expectation, HeardCall, HeardWords, events_of
from earwitness.monitor.calls.profiles.tau_voice import Effect, TauVoice, TickCall, tau_voice
from earwitness.monitor.calls.profiles.ticks import ticks_of
from earwitness.monitor.calls.sides import sides_of
from earwitness.monitor.calls.whole_call import fold

S = 1_000_000_000


def found(ticks: str, *effects: Effect, backchannels: tuple[int, ...] = ()) -> TauVoice:
    return tau_voice([TickCall(ticks, frozenset(backchannels), effects)])


@pytest.mark.parametrize(
    ("ticks", "rate", "mean_s", "turns"),
    [
        pytest.param("UU...AA", 1.0, 0.6, 1, id="from the end to the agent's start"),
        pytest.param("UU..UU.A", 0.5, 0.2, 2, id="the caller had to speak again"),
        pytest.param("UU..BB", 1.0, 0.4, 1, id="as the caller begins again is still an answer"),
        pytest.param("UUAA", None, None, 0, id="without any gap it is none, and no turn"),
        pytest.param("UUBB", None, None, 0, id="the agent speaks at the end"),
        pytest.param("UU....", None, None, 0, id="the last one may have been cut off"),
        pytest.param("UU.A.UU..", 1.0, 0.2, 1, id="the last one is left out, the others not"),
        pytest.param("UU...U", None, None, 0, id="one tick at the very end is the mark of the end"),
        pytest.param("UU...UU", 0.0, None, 1, id="two are speech"),
        pytest.param("", None, None, 0, id="nothing"),
    ],
)
def test_answers(ticks: str, rate: float | None, mean_s: float | None, turns: int) -> None:
    one = found(ticks)
    assert (one.response_rate, one.counts["response_total"]) == (rate, turns)
    assert one.response_latency_mean == (None if mean_s is None else pytest.approx(mean_s))


def test_a_backchannel_is_no_turn_and_no_next_turn() -> None:
    assert found("UU.U..A", backchannels=(3,)).response_latency_mean == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("ticks", "yielded", "took_s"),
    [
        pytest.param("AABBBU", True, 0.6, id="stops"),
        pytest.param("A" + "B" * 9 + "U", True, 1.8, id="within 2 s"),
        pytest.param("A" + "B" * 10 + "U", False, None, id="2 s are too long"),
        pytest.param("ABBB", False, None, id="nobody saw it stop"),
    ],
)
def test_yielding_to_a_real_interruption(ticks: str, yielded: bool, took_s: float | None) -> None:
    one = found(ticks)
    assert (one.yield_rate, one.counts["yield_total"]) == (float(yielded), 1)
    assert one.yield_latency_mean == (None if took_s is None else pytest.approx(took_s))


def test_the_mark_of_the_end_interrupts_nobody() -> None:
    assert found("AAAB").counts["yield_total"] == 0
    assert found("AABB").counts["yield_total"] == 1


def test_who_begins_in_the_same_tick_interrupts_each_other() -> None:
    one = found("..BBU.A.U..A")
    assert (one.counts["yield_total"], one.counts["agent_interrupts_count"]) == (1, 1)
    assert one.agent_interruption_rate == 0.5


def test_interruptions_are_counted_by_turn_and_may_exceed_one() -> None:
    assert found("UUBUBU.A").agent_interruption_rate == 2.0


@pytest.mark.parametrize(
    ("ticks", "right"),
    [
        pytest.param("ABBBBA", 1.0, id="talked through"),
        pytest.param("ABBBBBU", 1.0, id="stopped after 1 s"),
        pytest.param("ABBBBU", 0.0, id="stopped before"),
    ],
)
def test_backchannels(ticks: str, right: float) -> None:
    one = found(ticks, backchannels=(1,))
    assert (one.selectivity_backchannel, one.counts["backchannel_total"]) == (right, 1)
    assert one.counts["yield_total"] == 0


@pytest.mark.parametrize(
    ("ticks", "effect", "right"),
    [
        pytest.param("ABBBA", Effect("vocal_tic", 1, 2), 1.0, id="in a turn, over the agent, talked through"),
        pytest.param("ABBU", Effect("vocal_tic", 2, 3), 0.0, id="in a turn, over the agent, stopped"),
        pytest.param("UU" + "." * 11 + "A", Effect("vocal_tic", 0, 1), 1.0, id="in a turn, answered after 2.2 s"),
        pytest.param("UU" + "." * 10 + "A", Effect("vocal_tic", 0, 1), 0.0, id="in a turn, answered within 2 s"),
        pytest.param("AAAAAA.", Effect("vocal_tic", 1, 2, out_of_turn=True), 0.0, id="beside, stops after 1 s"),
        pytest.param("AAAAAAA.", Effect("vocal_tic", 1, 2, out_of_turn=True), None, id="beside, talked through"),
        pytest.param("." * 13 + "A", Effect("vocal_tic", 1, 2, out_of_turn=True), 1.0, id="into silence"),
        pytest.param("." * 12 + "A", Effect("vocal_tic", 1, 2, out_of_turn=True), 0.0, id="into silence, answered"),
        pytest.param("A", Effect("vocal_tic", 5, 6, out_of_turn=True), None, id="after the end"),
    ],
)
def test_vocal_tics(ticks: str, effect: Effect, right: float | None) -> None:
    assert found(ticks, effect).selectivity_vocal_tic == right
    other = Effect("non_directed", effect.first, effect.end, out_of_turn=effect.out_of_turn)
    assert found(ticks, other).selectivity_non_directed == right


def test_a_backchannel_goes_before_a_tic_and_a_tic_before_an_aside() -> None:
    both = (Effect("vocal_tic", 1, 2), Effect("non_directed", 1, 2))
    counts = found("ABBA", *both, backchannels=(1,)).counts
    assert (counts["backchannel_total"], counts["vocal_tic_total"], counts["non_directed_total"]) == (1, 0, 0)
    counts = found("ABBA", *both).counts
    assert (counts["vocal_tic_total"], counts["non_directed_total"]) == (1, 0)


def test_calls_are_counted_together() -> None:
    one = tau_voice([TickCall("UU.A"), TickCall("UU...A")])
    assert one.counts["n_simulations"] == 2
    assert one.response_latency_mean == pytest.approx(0.4)


def of_recording(**more: Any) -> TickCall:
    call = HeardCall("c", 10 * S, ((2 * S, 25 * S // 10), (6 * S, 7 * S)), ((0, 5 * S), (82 * S // 10, 9 * S)), **more)
    events = events_of(call)
    return ticks_of(sides_of(events), fold(events))


def test_a_recording_cut_into_ticks() -> None:
    call = of_recording()
    assert call.ticks == "A" * 10 + "BBB" + "A" * 12 + "....." + "UUUUU" + "......" + "AAAA" + "....."
    assert found(call.ticks).response_latency_mean == pytest.approx(1.2)
    assert (call.backchannels, call.effects) == (frozenset(), ())


def test_what_a_recording_says_of_its_overlaps_is_kept() -> None:
    assert of_recording(expectations=(Expectation(None, False),)).backchannels == {10}
    words = (HeardWords("caller", 2 * S, 25 * S // 10, "mhm"), HeardWords("caller", 6 * S, 7 * S, "tell me more"))
    assert of_recording(words=words).backchannels == {10}
    noise = (HeardWords("caller", 6 * S, 7 * S, "tell me more"),)
    assert of_recording(words=noise).effects == (Effect("vocal_tic", 10, 13),)
