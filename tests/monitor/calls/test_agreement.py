"""How far witnesses of the same speech agree, and a recording of the call with the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.calls.agreement import Stretch, agreements, pooled, recorded, witnesses
from earwitness.monitor.calls.heard import HeardCall, events_of
from earwitness.monitor.calls.recording_agreement import LiveCall, offset_of, recording_agreement, recording_summary
from earwitness.monitor.calls.sides import facts_of
from earwitness.monitor.calls.whole_call import fold

S = 1_000_000_000
Call = Callable[..., Any]


def ns(seconds: float) -> int:
    return round(seconds * S)


def spans(*pairs: tuple[float, float]) -> tuple[tuple[int, int], ...]:
    return tuple((ns(a), ns(b)) for a, b in pairs)


def told(story: Any) -> list[Any]:
    facts, end_ns = facts_of(story.events())
    return agreements(witnesses(facts, horizon_ns=end_ns))


def row(rows: list[Any], party: str, edge: str, *kinds: str) -> tuple[list[Any], int, int]:
    """Differences in seconds, and what only one has."""
    found = next(r for r in rows if (r.party, r.edge, r.kinds) == (party, edge, kinds))
    return [d / S for d in found.differences_ns], found.only_first, found.only_second


def two_witnesses(call: Call) -> Any:
    story = call(caller_edges=("audio", "vad"))
    for on, off in ((1.0, 2.0), (5.0, 6.5)):
        story.edge(True, on, evidence="audio").edge(False, off, evidence="audio")
        story.edge(True, on + 0.12, evidence="vad").edge(False, off + 0.04, evidence="vad")
    return story


def test_edges_of_the_same_speech_are_held_against_each_other(call: Call) -> None:
    found = told(two_witnesses(call).end(10))

    assert row(found, "caller", "u_on", "audio", "vad") == ([pytest.approx(0.12)] * 2, 0, 0)
    assert row(found, "caller", "u_off", "audio", "vad") == ([pytest.approx(0.04)] * 2, 0, 0)


def test_what_only_one_heard_is_counted_and_not_paired(call: Call) -> None:
    story = two_witnesses(call)
    story.edge(True, 8.0, evidence="audio").edge(False, 8.2, evidence="audio")  # a cough that the VAD let pass

    found = told(story.end(10))

    assert row(found, "caller", "u_on", "audio", "vad")[1:] == (1, 0)
    assert len(row(found, "caller", "u_on", "audio", "vad")[0]) == 2


def test_a_pause_that_one_bridges_is_one_speech(call: Call) -> None:
    story = call(caller_edges=("audio", "vad"))
    for on, off in ((1.0, 1.6), (1.9, 2.5)):
        story.edge(True, on, evidence="audio").edge(False, off, evidence="audio")
    story.edge(True, 1.1, evidence="vad").edge(False, 2.6, evidence="vad")

    found = told(story.end(5))

    assert row(found, "caller", "u_on", "audio", "vad") == ([pytest.approx(0.1)], 0, 0)
    assert row(found, "caller", "u_off", "audio", "vad") == ([pytest.approx(0.1)], 0, 0)


def test_a_pause_that_both_heard_parts_two_speeches(call: Call) -> None:
    story = call(caller_edges=("audio", "vad"))
    for on, off in ((1.0, 1.5), (1.7, 2.2)):
        for evidence in ("audio", "vad"):
            story.edge(True, on, evidence=evidence).edge(False, off, evidence=evidence)

    found = told(story.end(5))

    assert row(found, "caller", "u_on", "audio", "vad") == ([0.0, 0.0], 0, 0)


def test_short_words_that_do_not_overlap_are_the_same_within_the_tolerance(call: Call) -> None:
    story = call(caller_edges=("audio", "vad"))
    story.edge(True, 1.0, evidence="audio").edge(False, 1.15, evidence="audio")
    story.edge(True, 1.2, evidence="vad").edge(False, 1.4, evidence="vad")
    story.edge(True, 4.0, evidence="audio").edge(False, 4.15, evidence="audio")
    story.edge(True, 4.6, evidence="vad").edge(False, 4.9, evidence="vad")

    found = told(story.end(8))

    assert row(found, "caller", "u_on", "audio", "vad") == ([pytest.approx(0.2)], 1, 1)


def test_edges_that_nobody_heard_and_noisy_taps_tell_nothing(call: Call) -> None:
    story = call(caller_edges=("audio", "vad"))
    story.edge(True, 1.0, evidence="audio").edge(False, 2.5, evidence="audio", inferred=True)
    story.edge(True, 1.1, evidence="vad").edge(False, 2.0, evidence="vad")
    story.edge(True, 5.0, evidence="audio", snr_db=9.0).edge(False, 6.0, evidence="audio", snr_db=9.0)
    story.edge(True, 5.4, evidence="vad").edge(False, 6.4, evidence="vad")

    found = told(story.end(8))

    assert row(found, "caller", "u_off", "audio", "vad") == ([], 0, 2)
    assert row(found, "caller", "u_on", "audio", "vad") == ([pytest.approx(0.1)], 0, 1)


def test_the_agent_is_witnessed_by_playout_and_tap(call: Call) -> None:
    story = call().bot(1.0, 3.0)
    story.edge(True, 1.02, party="agent", evidence="audio").edge(False, 2.9, party="agent", evidence="audio")

    found = told(story.end(5))

    assert row(found, "agent", "a_on", "playout", "audio") == ([pytest.approx(0.02)], 0, 0)
    assert row(found, "agent", "a_off", "playout", "audio") == ([pytest.approx(-0.1)], 0, 0)


def test_one_witness_alone_agrees_with_nobody(call: Call) -> None:
    assert told(call().user(1, 2, "hi").bot(3, 4).end(6)) == []


def test_calls_are_pooled_over_every_edge_and_not_over_their_medians(call: Call) -> None:
    one = told(two_witnesses(call).end(10))
    story = call(caller_edges=("audio", "vad"))
    story.edge(True, 1.0, evidence="audio").edge(False, 2.0, evidence="audio")
    story.edge(True, 1.6, evidence="vad").edge(False, 2.0, evidence="vad")

    found = next(r for r in pooled([one, told(story.end(5))]) if r["edge"] == "u_on")

    assert found == {
        "party": "caller", "edge": "u_on", "kinds": ["audio", "vad"], "n": 3, "median_s": 0.12,
        "p90_abs_s": pytest.approx(0.12 + 0.8 * 0.48), "only": [0, 0],
    }  # fmt: skip


EDGES = st.lists(st.tuples(st.integers(0, 60_000), st.integers(1, 4_000)), max_size=12)


@given(EDGES, EDGES)
def test_every_edge_is_counted_once(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    def stretches(given_edges: list[tuple[int, int]]) -> list[Stretch]:
        found: list[Stretch] = []
        for on, length in sorted(given_edges):
            if not found or on > (found[-1].off_ns or 0) // 1_000_000:
                found.append(Stretch(on * 1_000_000, (on + length) * 1_000_000))
        return found

    a, b = stretches(first), stretches(second)

    for one in agreements({("caller", "audio"): a, ("caller", "vad"): b}):
        assert len(one.differences_ns) + one.only_first <= len(a)
        assert len(one.differences_ns) + one.only_second <= len(b)
        assert all(abs(d) <= S for d in one.differences_ns)


def live_and_recorded(call: Call, *, shift_s: float = 0.0, lag_s: float = 0.05) -> Any:
    """A call of six turns, and a recording of it in which the agent is heard ``lag_s`` later."""
    story = call().connected(0.0)
    caller, agent = [], []
    gaps = (0.9, 1.3, 0.7, 1.1, 0.8, 1.6)
    at = 3.0
    for gap in gaps:
        story.user(at, at + 1.4, "tell me more").bot(at + 1.4 + gap, at + 4.2 + gap, cut=False)
        caller.append((at + shift_s, at + 1.4 + shift_s))
        agent.append((at + 1.4 + gap + lag_s + shift_s, at + 4.2 + gap + lag_s + shift_s))
        at += 5.3 + gap
    events = story.end(at + 1).events()
    facts, end_ns = facts_of(events)
    heard = HeardCall("call.wav", ns(at + 5 + shift_s), spans(*caller), spans(*agent))
    return LiveCall("c1", facts, end_ns, fold(events)), heard, fold(events_of(heard))


@pytest.mark.parametrize("shift_s", [0.0, 12.4, -2.2])
def test_a_recording_is_laid_on_the_calls_clock_and_every_turn_compared(call: Call, shift_s: float) -> None:
    live, heard, from_recording = live_and_recorded(call, shift_s=shift_s)

    found = recording_agreement(live, heard, from_recording)

    assert found.offset_ns == pytest.approx(-ns(shift_s), abs=ns(0.06))
    assert [d / S for d in found.latency_differences_ns] == [pytest.approx(0.05)] * 6
    on = next(r for r in found.edges if (r.party, r.edge) == ("agent", "a_on"))
    assert (on.kinds, on.only_first, on.only_second) == (("recording", "playout"), 0, 0)
    if not shift_s:
        assert [d / S for d in on.differences_ns] == [pytest.approx(-0.05)] * 6
    latency, (own,) = recording_summary([found])
    assert latency == {"n": 6, "median_s": 0.05, "p90_abs_s": 0.05, "only_live": 0, "only_recording": 0}
    assert own["turns"][0] == {
        "id": "t1", "recording_id": "t1", "response_latency_s": 0.9, "recording_latency_s": 0.95, "difference_s": 0.05,
    }  # fmt: skip


def test_a_turn_that_only_one_has_is_said(call: Call) -> None:
    live, heard, _ = live_and_recorded(call)
    deaf = HeardCall("call.wav", heard.duration_ns, heard.caller[1:], heard.agent)

    found = recording_agreement(live, deaf, fold(events_of(deaf)))

    assert recording_summary([found])[0]["only_live"] == 1
    on = next(r for r in found.edges if (r.party, r.edge) == ("caller", "u_on"))
    assert (on.only_first, on.only_second) == (0, 1)


def test_too_few_onsets_move_no_recording() -> None:
    own = {("agent", "playout"): [Stretch(ns(1), ns(2)), Stretch(ns(9), ns(10))]}
    theirs = {("agent", "recording"): [Stretch(ns(31), ns(32)), Stretch(ns(39), ns(40))]}

    assert offset_of(own, theirs) == 0


def test_echo_and_an_empty_channel_are_no_witnesses() -> None:
    heard = HeardCall(
        "call.wav", ns(10), spans((1, 2), (4, 5)), (), echo=spans((4.1, 5)), unobserved=("agent",),
        speaking_at_end=("caller",),
    )  # fmt: skip

    assert recorded(heard) == {("caller", "recording"): [Stretch(ns(1), None)]}
