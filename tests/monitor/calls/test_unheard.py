"""Audio that reached nobody is named, and is never a slow answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.timeline import CallTimeline

Call = Callable[..., Any]
S = 1_000_000_000


def named(told: Any) -> list[tuple[str, str, str | None, float, float | None]]:
    return [
        (u.what, u.by, u.lost, u.at_ns / S, None if u.until_ns is None else u.until_ns / S) for u in told.call.unheard
    ]


def in_steps(story: Any) -> list[tuple[Any, ...]]:
    """What the fold says of a call that it follows second by second, chapter by chapter."""
    timeline, now = CallTimeline("c1"), 0
    for event in story.events():
        timeline.add(event)
        while now < event.at_ns:
            now += S
            timeline.advance(min(now, event.at_ns))
    timeline.advance(timeline.last_at_ns + 301 * S)
    (call,) = [r for r in timeline.records() if r.kind == "call"]
    return [(u.what, u.by, u.lost, u.at_ns / S, None if u.until_ns is None else u.until_ns / S) for u in call.unheard]


def made(story: Any, name: str, at: float, *, ended: float | None = None, why: str = "user_turn") -> Any:
    """A response whose speech was synthesised and never played."""
    story.run(name, "requested", at - 0.6, why=why).run(name, "first_text", at - 0.3).run(name, "first_audio", at)
    story.say(name, at - 0.3, intended="We are open until six.")
    return story.run(name, "ended", at + 0.5 if ended is None else ended)


# Dead but not failed


def dead(call: Call) -> Any:
    """Greeted, then the output dies: two turns get speech that nobody plays."""
    story = call().connected().bot(1.0, 3.0, "hello", why="greeting", cut=False).user(4.0, 5.0, "when are you open")
    made(story.turn_end(5.3), "r7", 6.2).user(14.0, 15.0, "hello I asked something")
    return made(story.turn_end(15.3), "r8", 16.2).end(30.0, "caller")


def test_speech_that_is_made_and_never_played_is_dead_but_not_failed(call: Call) -> None:
    told = dead(call).told()
    assert named(told) == [("dead_not_failed", "no_playout", "agent", 6.2, None)]
    assert told.call.unheard[0].responses == ("r7", "r8")
    assert told.facts["dead_not_failed"] == 1
    assert told.facts["not_audible"] == 2
    assert [(t.response_latency_ns, t.unanswered, t.reason) for t in told.turns] == [(None, True, "not_audible")] * 2
    assert told.call.outcome == "abandoned"
    assert in_steps(dead(call)) == named(told)


def test_it_ends_when_the_agent_is_audible_again(call: Call) -> None:
    story = call().connected().user(4.0, 5.0, "when are you open").turn_end(5.3)
    made(story, "r7", 6.2).user(14.0, 15.0, "hello I asked something").turn_end(15.3).bot(16.0, 18.0, cut=False)
    told = story.user(20.0, 21.0, "thanks").turn_end(21.2).bot(22.0, 23.0, cut=False).end(30.0)
    assert named(told.told()) == [("dead_not_failed", "no_playout", "agent", 6.2, 16.0)]
    assert in_steps(told) == named(told.told())


def test_it_is_known_while_the_call_goes_on(call: Call) -> None:
    story = dead(call)
    assert named(story.told(as_of=9.1)) == []
    assert named(story.told(as_of=9.3)) == [("dead_not_failed", "no_playout", "agent", 6.2, None)]


def test_speech_that_waits_behind_other_speech_is_not_dead(call: Call) -> None:
    story = call().user(4.0, 5.0, "tell me all").turn_end(5.3).bot(6.0, 20.0, cut=False, name="r1")
    told = made(story, "r2", 7.0, why="application").user(15.0, 15.8, "stop").end(30.0).told()
    assert named(told) == []


def test_speech_that_is_cancelled_at_once_is_not_dead(call: Call) -> None:
    story = call().user(4.0, 5.0, "when are you").turn_end(5.3)
    made(story, "r1", 6.2).run("r1", "cancelled", 6.5).user(6.4, 7.4, "open today").turn_end(7.6)
    told = story.bot(8.2, 9.0, cut=False).end(30.0).told()
    assert named(told) == []
    assert "not_audible" not in told.facts


def test_a_dead_answer_that_the_caller_cancels_by_asking_again_is_not_audible(call: Call) -> None:
    story = call().connected().user(4.0, 5.0, "when are you open").turn_end(5.3)
    made(story, "r1", 6.2).user(12.0, 12.6, "hello?").run("r1", "cancelled", 12.3).turn_end(12.9)
    told = made(story, "r2", 13.8).end(30.0).told()
    assert told.turns[0].reason == "not_audible"
    assert told.call.unheard[0].responses == ("r1", "r2")


def test_where_nobody_sees_the_agents_audio_nothing_is_said_of_it(call: Call) -> None:
    story = call(agent_edges=()).user(4.0, 5.0, "when are you open").turn_end(5.3)
    assert named(made(story, "r1", 6.2).end(30.0).told()) == []


# One-way audio


def one_way(call: Call, *asks: str, language: str | None = None) -> Any:
    """The agent greets and answers, audibly where we measure; the caller only asks whether anybody is there."""
    story = call(language=language).connected().bot(1.0, 4.0, "Good morning, the clinic.", why="greeting", cut=False)
    for n, ask in enumerate(asks):
        at = 6.0 + 6 * n
        story.user(at, at + 0.6, ask).turn_end(at + 0.8).bot(at + 1.4, at + 4.0, "Yes, how can I help?", cut=False)
    return story


@pytest.mark.parametrize(
    ("language", "asks"),
    [
        ("en", ["Hello?", "Hello? Can you hear me?"]), ("es", ["¿Hola?", "¿Me escucha?"]),
        ("zh", ["喂？", "喂，听得到吗？"]),
        ("hi", ["हैलो?", "आवाज़ आ रही है?"]), ("ar", ["ألو؟", "ألو، سامعني؟"]), ("fr", ["Allô ?", "Vous m’entendez ?"]),
        ("bn", ["হ্যালো?", "শুনতে পাচ্ছেন?"]), ("pt", ["Alô?", "Tá me ouvindo?"]), ("ru", ["Алло?", "Вы меня слышите?"]),
        ("id", ["Halo?", "Halo, bisa dengar saya?"]),
    ],
)  # fmt: skip
def test_a_caller_who_asks_into_audio_hears_none_of_it(call: Call, language: str, asks: list[str]) -> None:
    story = one_way(call, *asks, language=language).end(17.0, "caller")
    told = story.told()
    assert named(told) == [("one_way_audio", "caller_asks", "agent", 6.0, None)]
    assert told.call.unheard[0].moments_ns == (6 * S, 12 * S)
    assert told.facts["one_way_audio"] == 1
    assert [(t.response_latency_ns, t.unanswered, t.reason) for t in told.turns] == [(None, True, "not_audible")] * 2
    assert told.call.outcome == "abandoned"
    assert in_steps(story) == named(told)


def test_once_the_caller_reacts_the_line_is_whole(call: Call) -> None:
    story = one_way(call, "hello?", "hello, are you there?")
    story.user(18.0, 19.0, "ah now I hear you").turn_end(19.2).bot(20.0, 21.0, cut=False)
    story.user(23.0, 24.0, "I need an appointment").turn_end(24.2).bot(25.0, 26.0, cut=False).end(60.0, "agent")
    told = story.told()
    assert named(told) == [("one_way_audio", "caller_asks", "agent", 6.0, 12.0)]
    assert [t.reason for t in told.turns] == ["not_audible", None, None, None]
    assert in_steps(story) == named(told)


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param(["hello?"], id="once"),
        pytest.param(["hello?", "yes I need help"], id="a reaction"),
        pytest.param(["hello, I'd like to book", "a table for two"], id="a greeting with more to it"),
        pytest.param(["okay", "mhm"], id="backchannels"),
    ],
)
def test_what_is_no_sign_of_it(call: Call, asks: list[str]) -> None:
    assert named(one_way(call, *asks).end(40.0).told()) == []


def test_a_hello_before_the_agent_was_heard_is_a_greeting(call: Call) -> None:
    story = call().connected().user(1.0, 1.5, "hello?").turn_end(1.8).bot(2.3, 5.0, "Hi, the clinic.", cut=False)
    assert named(story.user(6.0, 6.5, "hello?").turn_end(6.8).bot(7.3, 9.0, cut=False).end(20.0).told()) == []


def test_asking_into_dead_air_is_not_one_way_audio(call: Call) -> None:
    story = call().connected().bot(1.0, 4.0, why="greeting", cut=False).user(5.0, 6.0, "my order").turn_end(6.2)
    told = story.user(14.0, 14.5, "hello?").user(19.0, 19.5, "hello? are you there?").end(25.0, "caller").told()
    assert named(told) == []
    assert told.dead_air


def test_the_transports_own_word_is_kept(call: Call) -> None:
    story = one_way(call, "my order please").put(9.0, "transport", event="one_way").end(40.0, "agent")
    told = story.told()
    assert named(told) == [("one_way_audio", "transport", None, 9.0, None)]
    assert told.latencies == [pytest.approx(0.8)]
    assert in_steps(story) == named(told)


def test_what_several_sources_tell_of_one_stretch_counts_once(call: Call) -> None:
    story = one_way(call, "hello?", "hello? can you hear me").put(7.0, "transport", event="one_way")
    told = story.end(17.0, "caller").told()
    assert len(named(told)) == 2
    assert told.facts["one_way_audio"] == 1


@pytest.mark.parametrize(
    ("back", "cause", "expected"),
    [
        pytest.param(21.0, "caller", [("one_way_audio", "audio_gap", "caller", 8.0, 21.0)], id="it comes back"),
        pytest.param(None, "idle", [("one_way_audio", "audio_gap", "caller", 8.0, None)], id="the agent gives up"),
        pytest.param(None, "caller", [], id="the line was lost"),
        pytest.param(15.0, "caller", [], id="too short"),
    ],
)
def test_nothing_arrives_from_the_caller_while_the_agent_talks(
    call: Call, back: float | None, cause: str, expected: list[Any]
) -> None:
    story = (
        call().connected().bot(1.0, 3.0, cut=False).user(4.0, 5.0, "my order").turn_end(5.2).bot(6.0, 7.5, cut=False)
    )
    story.gap(9.0, 8.0).bot(12.0, 14.0, "are you still there", why="prompt", cut=False)
    if back is not None:
        story.gap(back, 8.0, state="resumed")
    assert named(story.end(30.0, cause).told()) == expected


# The line


def test_loss_and_jitter_are_told_where_the_transport_tells_them(call: Call) -> None:
    story = call().put(10.0, "transport", event="quality", loss_ratio=0.01, jitter_ms=8.0)
    told = story.put(20.0, "transport", event="quality", loss_ratio=0.05, jitter_ms=12.0).end(30.0).told()
    line = told.call.line
    assert (line.reports, line.loss_ratio_mean, line.loss_ratio_worst) == (2, pytest.approx(0.03), 0.05)
    assert (line.jitter_ms_mean, line.jitter_ms_worst) == (10.0, 12.0)
    assert (line.round_trip_ms_mean, line.round_trip_ms_worst) == (None, None)
    assert told.call.line_reason is None


def test_a_line_that_nobody_tells_of_has_no_numbers_and_a_reason(call: Call) -> None:
    told = call().connected().end(30.0).told()
    assert (told.call.line, told.call.line_reason) == (None, "unobservable")


def test_impossible_numbers_of_the_line_are_counted_and_not_used(call: Call) -> None:
    told = call().put(10.0, "transport", event="quality", loss_ratio=1.5, jitter_ms=-1.0).end(30.0).told()
    assert (told.call.line, told.facts["invalid"]) == (None, 2)
