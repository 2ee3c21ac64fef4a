"""A long call is folded in chapters, and nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invented_calls.effort import effort
from invented_calls.folded import Uncut

from earwitness.monitor.calls import call_chapters, chapters
from earwitness.monitor.calls.chapter import TRIES
from earwitness.monitor.calls.chapters import cut_here
from earwitness.monitor.calls.heard import HeardCall, events_of
from earwitness.monitor.calls.reckon import lay_out
from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract import events as ev

S = 1_000_000_000
Call = Callable[..., Any]
quiet = settings(effort(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def tell(call: Call, chance: random.Random, blocks: int) -> Any:
    """A plausible call: every block is a caller's turn and what an agent may make of it."""
    story = call(caller_edges=("vad", "audio"), agent_edges=("playout", "audio", "decision"))
    story.connected(0.1)
    if chance.random() < 0.7:
        story.bot(0.8, 2.5, "Welcome to the clinic.", why="greeting", name="g", cut=False)
    now = 3.0
    for n in range(blocks):
        now = _block(story, chance, n, now)
    if chance.random() < 0.8:
        story.end(now + chance.uniform(0.1, 14.0), chance.choice(["caller", "agent", "transport", "idle"]))
    return story


def _block(story: Any, chance: random.Random, n: int, now: float) -> float:
    on = now + chance.choice([0.2, 0.8, 1.5, 4.0])
    words = chance.choice(["yes", "mhm", "wait", "my order number", "four one five", "thank you goodbye", ""])
    for _ in range(chance.choice([1, 1, 1, 2])):
        off = on + chance.uniform(0.4, 3.0)
        story.user(on, off, words or None, final_at=off + chance.choice([0.3, 0.6, 1.2]))
        if chance.random() < 0.5:
            story.edge(True, on + 0.02, at=on + 0.1, evidence="audio", snr_db=chance.choice([30.0, 30.0, 9.0]))
            story.edge(False, off - 0.02, at=off + 0.3, evidence="audio", snr_db=30.0)
        on = off + chance.choice([0.2, 0.5, 1.0])
    story.turn_end(off + 0.4)
    kind = chance.random()
    if kind < 0.12:
        return float(off + chance.choice([4.0, 12.0]))
    if kind < 0.2:
        story.run(f"e{n}", "requested", off + 0.45, why="user_turn").run(f"e{n}", "empty", off + 0.9)
        return float(off + chance.choice([4.0, 12.0]))
    name, start, why, after = f"r{n}", off + 0.45, "user_turn", None
    if kind < 0.4:
        story.run(f"c{n}", "requested", start, why="user_turn").run(f"c{n}", "first_token", start + 0.2)
        story.run(f"c{n}", "tools_called", start + 0.2).tool(
            "lookup", "called", start + 0.2, tool_id=f"x{n}", response_id=f"c{n}"
        )
        start += chance.choice([0.5, 4.0])
        story.tool("lookup", chance.choice(["result", "result", "error"]), start, tool_id=f"x{n}")
        why, after = "tool_result", f"c{n}"
    a_on = start + chance.choice([0.5, 1.2])
    a_off = a_on + chance.uniform(1.0, 5.0)
    text = chance.choice(
        ["Your order is on its way.", "One moment please.", "Goodbye and take care.", "I will transfer you."]
    )
    cut = chance.choice([False, False, True, None])
    story.bot(a_on, a_off, text, why=why, asked=start, name=name, cut=cut, after=after)
    story.run(name, "first_token", start + 0.1).run(name, "first_text", start + 0.2).run(
        name, "first_audio", a_on - 0.05
    )
    story.run(name, "cancelled" if cut else "ended", a_off if cut else start + 0.4)
    story.edge(True, a_on, party="agent", evidence="decision").edge(
        False, a_off, at=a_off + 0.35, party="agent", evidence="decision"
    )
    if chance.random() < 0.4:
        at = chance.uniform(a_on + 0.1, a_off - 0.1)
        story.user(at, at + chance.uniform(0.2, 1.5), chance.choice([None, "mhm", "stop", "your order is on", "okay"]))
    if cut:
        story.interruption(a_off - 0.05)
    if chance.random() < 0.1:
        story.mute(a_off + 0.05, a_off + 0.15)
    return float(a_off)


def content(records: Iterable[Any]) -> dict[str, dict[str, Any]]:
    return {r.id: r.model_dump(exclude={"revision"}) for r in records if not r.retracted}


def live(events: Iterable[Any], moments: Iterable[float], kind: type[CallTimeline] = CallTimeline) -> CallTimeline:
    """Feed events in order of their moments, asking in between, and long after."""
    timeline, waiting = kind("c1"), list(events)
    for moment in sorted(moments):
        while waiting and waiting[0].at_ns <= moment * S:
            timeline.add(waiting.pop(0))
        timeline.advance(round(moment * S))
    for event in waiting:
        timeline.add(event)
    timeline.advance(5_000 * S)
    return timeline


@quiet
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_chapters_change_nothing(call: Call, seed: int, blocks: int) -> None:
    events = tell(call, random.Random(seed), blocks).events()
    whole = content(live(events, [], Uncut).records())
    assert content(live(events, []).records()) == whole


@quiet
@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from([0.0, 0.04]))
def test_asking_often_or_late_changes_nothing(call: Call, seed: int, blocks: int, loss: float) -> None:
    chance = random.Random(seed)
    events = [e for e in tell(call, chance, blocks).events() if chance.random() >= loss]
    once = content(live(events, []).records())
    often = [chance.uniform(0, 120) for _ in range(15)]
    assert content(live(events, often).records()) == once
    late = CallTimeline("c1")
    for event in sorted(events, key=lambda e: e.at_ns + chance.randrange(0, 29 * S)):
        late.add(event)
        if chance.random() < 0.15:
            late.advance(late.last_at_ns + chance.randrange(0, 5 * S))
    late.advance(5_000 * S)
    assert content(late.records()) == once


def plain(call: Call, turns: int) -> Any:
    story = call(caller_edges=("vad", "audio"), agent_edges=("playout", "audio"))
    for n in range(turns):
        at = 10.0 * n + 1
        story.user(at, at + 2, "my order number is four two one").turn_end(at + 2.3)
        story.bot(at + 3.0, at + 7.0, "It is on its way.", cut=False)
    return story


def test_a_long_call_keeps_only_the_events_that_can_still_matter(call: Call) -> None:
    events = plain(call, 60).events()
    timeline = live(events[:-1], [10.0 * n for n in range(60)])
    assert len(timeline.records()) > 120
    assert len(timeline._entries) < len(events) / 8


def test_an_event_that_comes_too_late_is_counted_and_not_folded(call: Call) -> None:
    events = plain(call, 12).events()
    straggler = next(e for e in events if e.kind == "transcript")
    timeline = CallTimeline("c1")
    for event in events:
        if event is not straggler:
            timeline.add(event)
    assert timeline.add(straggler) is False
    timeline.advance(5_000 * S)
    ended: Any = next(r for r in timeline.records() if r.kind == "call")
    assert ended.late_in_call == 1


@pytest.mark.parametrize("label", ["wanted", "not"])
def test_a_label_changes_an_overlap_that_is_long_settled(call: Call, label: str) -> None:
    story = plain(call, 20).user(4.5, 4.8, "mhm")
    timeline = live(story.events(), [10.0 * n for n in range(30)])
    before: Any = next(r for r in timeline.records() if r.kind == "overlap")
    assert (before.cell, before.decided_by) == ("TN", "backchannel")
    timeline.add(story.put(600.0, "human_label", source="label", subject="o1", label=label).events()[-1])
    changed: Any = next(r for r in timeline.advance(6_000 * S) if r.kind == "overlap")
    assert (changed.cell, changed.decided_by) == ("FN" if label == "wanted" else "TN", "human")
    assert changed.revision == before.revision + 1


def test_a_label_that_is_taken_back_gives_a_settled_overlap_its_own_want_again(call: Call) -> None:
    story = plain(call, 20).user(4.5, 4.8, "mhm")
    timeline = live(story.events(), [10.0 * n for n in range(30)])
    timeline.add(story.put(600.0, "human_label", source="label", subject="o1", label="wanted").events()[-1])
    timeline.advance(6_000 * S)
    timeline.add(story.put(601.0, "human_label", source="label", subject="o1", label="cleared").events()[-1])
    changed: Any = next(r for r in timeline.advance(6_010 * S) if r.kind == "overlap")
    assert (changed.cell, changed.decided_by) == ("TN", "backchannel")


def test_over_an_agent_that_never_falls_silent_no_cut_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        worked_out.append(named["as_of_ns"])
        return lay_out(*given, **named)

    monkeypatch.setattr(chapters, "lay_out", counted)
    spoken = tuple((n * 2 * S + S // 2, n * 2 * S + S) for n in range(200))
    heard = HeardCall("music on hold", 400 * S, caller=spoken, agent=((0, 400 * S),))

    records = fold(events_of(heard))

    assert sum(r.kind == "overlap" for r in records) == 200
    assert not worked_out


@pytest.mark.parametrize("behind_s", [8.0, 30.0])
def test_an_event_of_the_very_moment_at_which_a_cut_was_judged_undoes_it(call: Call, behind_s: float) -> None:
    story = plain(call, 2)
    late = next(e.at_ns for e in story.events() if e.kind == "speech_started" and e.at_ns > 11 * S)
    late += chapters.LOOK_AHEAD_NS
    events = story.put(late / S + behind_s, "health").events()
    words = plain(call, 2).final("and a loaf of bread", late / S, utterance_start_ns=S, utterance_end_ns=3 * S)
    straggler = next(e for e in words.events() if e.kind == "transcript" and e.at_ns == late)
    straggler = straggler.model_copy(update={"source": "app", "seq": 0})
    timeline = CallTimeline("c1")
    for event in events:
        timeline.add(event)
    timeline.advance(events[-1].at_ns)
    assert timeline.add(straggler)
    timeline.advance(5_000 * S)
    whole = Uncut("c1")
    for event in sorted([*events, straggler], key=lambda e: e.at_ns):
        whole.add(event)
    whole.advance(5_000 * S)
    assert content(timeline.records()) == content(whole.records())


@pytest.mark.parametrize(("first", "flagged"), [(1.0, {"zero_variance": 1}), (1.4, {})])
def test_a_latency_that_differs_in_an_early_chapter_is_a_variance(
    call: Call, first: float, flagged: dict[str, int]
) -> None:
    story = call(caller_edges=("vad",), agent_edges=("playout",))
    for n in range(24):
        at = 10.0 * n + 1
        story.user(at, at + 2, "my order number is four two one").turn_end(at + 2.3)
        story.bot(at + 2 + (first if n == 0 else 1.0), at + 7.0, "It is on its way.", cut=False)
    timeline = live(story.events(), [10.0 * n for n in range(30)])
    ended: Any = next(r for r in timeline.records() if r.kind == "call")
    assert {name: n for name, n in ended.facts.items() if name == "zero_variance"} == flagged


@pytest.mark.parametrize("asked", [(), (32.05, 40.0)])
def test_a_metric_that_is_told_between_an_onset_and_its_being_noticed_stands(
    call: Call, asked: tuple[float, ...]
) -> None:
    story = plain(call, 8)
    onset = next(e for e in story.events() if e.kind == "speech_started" and e.at_ns > 30 * S)
    assert onset.edge_ns < 31 * S + S // 20 < onset.at_ns
    events = story.put(31.05, "stage", service="tts", metric="ttfb", value_s=0.2).events()

    timeline = live(events, asked)

    assert content(timeline.records()) == content(live(events, [], Uncut).records())
    assert [r.value_ns for r in timeline.records() if r.kind == "stage_sample"] == [S // 5]
    assert len(timeline._chapters.kept) > 1 or timeline._chapters.kept[0].carry.cut_ns > 31 * S


def babble(stretches: int) -> list[Any]:
    """Two sides that each make short sounds all the time, and never heed each other."""
    draw, made = random.Random(1), list[tuple[int, Any, str]]()
    for party in ("caller", "agent"):
        at_ns = 0
        for _ in range(stretches):
            for kind in (ev.SpeechStarted, ev.SpeechEnded):
                at_ns += draw.randint(S // 10, 4 * S // 10)
                made.append((at_ns, kind, party))
    whole: list[Any] = [
        ev.CallStarted(
            call_id="c1", source="bot", seq=0, at_ns=0, wall_ns=S, agent="a", version="1", recogniser=False,
            caller_edges=("audio",), agent_edges=("audio",), measuring_point="recording",
        )
    ]  # fmt: skip
    for seq, (at_ns, kind, party) in enumerate(sorted(made, key=lambda one: one[0]), 1):
        base = {"call_id": "c1", "source": "bot", "seq": seq, "at_ns": at_ns, "wall_ns": S + at_ns}
        whole.append(kind(**base, party=party, evidence="audio", edge_ns=at_ns))
    return whole


def test_where_no_cut_is_found_tries_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = 0

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal tries
        tries += 1
        return cut_here(*given, **named)

    monkeypatch.setattr(call_chapters, "cut_here", counted)
    timeline = CallTimeline("c1")
    for event in babble(400):
        timeline.add(event)
    timeline.advance(timeline.last_at_ns)

    assert TRIES <= tries < 2 * TRIES
