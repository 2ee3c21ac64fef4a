"""Field cases A03 to A26 of what runs behind the turns: events told twice, services' numbers, tools, generations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def test_a03_an_event_that_arrives_twice_counts_once(call: Call) -> None:
    story = call().user(1.0, 2.3, "hi").bot(3.4, 5.0).put(6.0, "fault", fault_id="f1", message="no route").end(9.0)
    timeline = story.live()
    for event in story.events():
        assert timeline.add(event) is False
    records = timeline.advance(10_000_000_000)
    ended = next(r for r in records if r.kind == "call")
    assert (ended.duplicates, ended.faults) == (len(story.events()), 1)
    assert sum(r.kind == "agent_turn" for r in records) == 1


def test_a04_a_second_end_of_the_same_response_changes_nothing(call: Call) -> None:
    told = (
        call()
        .user(1.0, 2.5, "hi")
        .run("r", "requested", 3.0, why="user_turn")
        .run("r", "ended", 3.9)
        .play("r", 4.0, 6.0)
        .run("r", "ended", 6.2)
        .told()
    )
    assert [(s.metric, s.value_ns) for s in told.stages] == [("duration", 900_000_000)]
    assert [t.generations for t in told.turns] == [1]


def test_a04_an_end_without_an_open_start_changes_nothing(call: Call) -> None:
    told = call().user(1.0, 2.5, "hi").bot(3.3, 6.0, name="r").run("r", "ended", 3.9).run("ghost", "ended", 7.0).told()
    assert [(s.metric, s.value_ns) for s in told.stages] == [("duration", 650_000_000)]
    assert [t.generations for t in told.turns] == [1]
    assert told.unspoken == []


def test_a08_a_duration_the_size_of_the_epoch_is_invalid_not_a_value(call: Call) -> None:
    story = call()
    for n in range(100):
        value = 0.5 if n < 94 else 1747888559.8
        story.put(10.0 + n, "stage", service="stt", metric="ttfb", value_s=value)
    story.put(200.0, "stage", service="stt", metric="ttfb", value_s=float("nan"))
    told = story.told()
    assert [s.value_ns for s in told.stages if s.value_ns is not None] == [500_000_000] * 94
    assert told.facts["invalid"] == 7


def test_a10_the_frameworks_own_delay_is_no_measurement_of_ours(call: Call) -> None:
    story = call(caller_edges=(), agent_edges=("playout",))
    for n, true_delay in enumerate((0.6, 0.9, 1.4, 2.0, 2.4)):
        at = 20.0 * n + 10
        story.final("yes", at + 0.2).turn_end(at + true_delay).bot(at + true_delay + 0.8, at + 6, asked=at + true_delay)
        story.put(at + true_delay, "stage", service="turn", metric="end_of_turn_delay", value_s=0.5)
    told = story.told()
    assert [(t.endpoint_delay_ns, t.response_latency_ns, t.reason) for t in told.turns] == [
        (None, None, "no_acoustic_anchor")
    ] * 5
    shown = [(s.service, s.metric, s.value_ns) for s in told.stages if s.metric != "duration"]
    assert shown == [("turn", "end_of_turn_delay", 500_000_000)] * 5


def test_a10_a_latency_that_never_varies_is_flagged(call: Call) -> None:
    story = call()
    for n in range(20):
        story.user(10.0 * n + 1, 10.0 * n + 2, "yes please").bot(10.0 * n + 2.5, 10.0 * n + 4)
    assert story.told().facts["zero_variance"] == 1


def test_a11_a_first_byte_that_never_came_is_censored(call: Call) -> None:
    story = call()
    for n in range(20):
        at = 5.0 * n + 1
        story.run(f"r{n}", "requested", at, why="user_turn")
        if n < 16:
            story.run(f"r{n}", "first_token", at + 0.6)
        else:
            story.interruption(at + 0.1).run(f"r{n}", "cancelled", at + 0.1)
        story.put(at + 0.7, "stage", service="llm", metric="ttfb", value_s=0.6 if n < 16 else 0.1, response_id=f"r{n}")
    ttfb = [s for s in story.told().stages if s.metric == "ttfb"]
    values = [s.value_ns for s in ttfb if s.value_ns is not None]
    assert values == [600_000_000] * 16
    assert sum(s.censored for s in ttfb) == 4


def test_a12_zero_means_not_measured(call: Call) -> None:
    story = call()
    for n in range(20):
        story.put(2.0 + n, "stage", service="tts", metric="processing", value_s=1.2 if n < 9 else 0.0)
    values = [s.value_ns for s in story.told().stages]
    assert values.count(1_200_000_000) == 9
    assert values.count(None) == 11


def test_a16_a_cancelled_tool_stays_cancelled(call: Call) -> None:
    told = (
        call()
        .tool("lookup", "called", 5.0)
        .interruption(5.2)
        .tool("lookup", "cancelled", 5.201)
        .tool("lookup", "started", 5.202)
        .end(60.0)
        .told()
    )
    assert [(t.status, t.duration_ns, t.ended_ns) for t in told.tools] == [("cancelled", None, 5_201_000_000)]
    assert told.facts["tool_cancelled"] == 1


def test_a25_an_empty_completion_answers_nobody(call: Call) -> None:
    told = (
        call()
        .user(3.0, 4.6, "my order")
        .run("r", "requested", 5.0, why="user_turn")
        .run("r", "empty", 5.4)
        .user(14.0, 14.8, "hello?")
        .bot(15.6, 17.0)
        .told()
    )
    assert told.latencies == [None, 0.8]
    assert [t.unanswered for t in told.turns] == [True, False]
    assert told.turns[0].empty_completion == 1
    assert told.facts["empty_completion"] == 1
    assert told.dead_air[0] == (4.6, 14.0)


def test_a26_one_turn_many_generations(call: Call) -> None:
    sorry = "Sorry, I did not get that."
    told = (
        call()
        .user(8.0, 10.0, "I want a refund")
        .run("two", "requested", 11.2, why="user_turn")
        .bot(11.0, 13.0, sorry, asked=10.6, name="one")
        .bot(13.2, 15.2, sorry, asked=12.4, name="three")
        .told()
    )
    assert told.latencies == [1.0]
    assert (told.turns[0].duplicate_reply, told.turns[0].generations) == (1, 3)
    assert told.facts["duplicate_reply"] == 1
