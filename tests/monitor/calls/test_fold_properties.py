"""What holds of every call, however its events are mixed, doubled or lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_calls.effort import effort

from earwitness.monitor.calls.timeline import LEARNT_LATER, CallTimeline
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.wire import encode

S = 1_000_000_000
WORDS = ["yes", "mhm", "stop", "wait a moment", "my order number", "four two one", "", "goodbye", "hello there caller"]
ARRIVAL = {"duplicates", "late_in_call", "revision"}


def _ns(most_s: float = 60.0) -> st.SearchStrategy[int]:
    return st.integers(0, round(most_s * 100)).map(lambda n: n * S // 100)


@st.composite
def _event(draw: Any) -> dict[str, Any]:
    at = draw(_ns())
    run = draw(st.sampled_from(["r1", "r2", "r3", "r4"]))
    edge = max(at - draw(st.integers(0, 200)) * S // 100, 0)
    kind = draw(
        st.sampled_from(
            ["speech", "speech", "speech", "playout", "playout", "response", "response", "transcript", "transcript",
             "turn_ended", "interruption", "agent_text", "tool", "mute", "audio_gap", "call_ended", "stage",
             "classifier", "transfer", "connected", "app", "health", "fault", "human_label"]
        )
    )  # fmt: skip
    fields: dict[str, Any] = {"kind": kind, "at_ns": at}
    if kind == "speech":
        fields |= {
            "kind": draw(st.sampled_from(["speech_started", "speech_ended"])),
            "party": draw(st.sampled_from(["caller", "caller", "caller", "agent", "other"])),
            "evidence": draw(st.sampled_from(["vad", "audio", "server", "decision"])),
            "edge_ns": edge,
            "snr_db": draw(st.sampled_from([None, 8.0, 30.0])),
        }
    elif kind == "playout":
        fields |= {
            "phase": draw(st.sampled_from(["first", "last", "last", "drained"])),
            "edge_ns": edge,
            "response_id": draw(st.sampled_from([run, run, None])),
            "truncated": draw(st.sampled_from([None, True, False])),
            "uncertain": draw(st.booleans()),
            "written_ns": draw(st.sampled_from([None, 2 * S])),
        }
    elif kind == "response":
        phases = ["requested", "requested", "first_token", "first_text", "first_audio", "ended", "cancelled", "empty"]
        whys = ["user_turn", "user_turn", "greeting", "prompt", "tool_result", "resumed", "application", "eager", None]
        fields |= {
            "response_id": run,
            "phase": draw(st.sampled_from([*phases, "tools_called"])),
            "why": draw(st.sampled_from(whys)),
            "after": draw(st.sampled_from([None, "r1", "r2", "r3"])),
        }
    elif kind == "transcript":
        fields |= {"party": "caller", "text": draw(st.sampled_from(WORDS)), "final": draw(st.booleans())}
        if draw(st.booleans()):
            fields |= {"utterance_start_ns": edge, "utterance_end_ns": at}
    elif kind == "agent_text":
        fields |= {
            "response_id": run,
            draw(st.sampled_from(["intended", "spoken", "unspoken"])): draw(st.sampled_from(WORDS)),
        }
    elif kind == "tool":
        phases = ["called", "started", "result", "error", "cancelled", "timed_out"]
        fields |= {
            "tool_call_id": draw(st.sampled_from(["x", "y"])),
            "name": "lookup",
            "phase": draw(st.sampled_from(phases)),
        }
        fields["response_id"] = draw(st.sampled_from([None, run]))
    elif kind == "mute":
        fields["state"] = draw(st.sampled_from(["on", "off"]))
    elif kind == "audio_gap":
        fields |= {
            "party": draw(st.sampled_from(["caller", "agent"])),
            "state": draw(st.sampled_from(["stopped", "resumed"])),
        }
        fields["last_audio_ns"] = edge
    elif kind == "call_ended":
        fields["cause"] = draw(st.sampled_from(["caller", "agent", "transport", "error", "idle", "unknown"]))
    elif kind == "stage":
        fields |= {"service": "llm", "metric": "ttfb", "value_s": draw(st.floats(allow_nan=True, width=32))}
    elif kind == "classifier":
        fields |= {"answer": "interruption", "requested_ns": edge}
    elif kind == "transfer":
        fields["phase"] = draw(st.sampled_from(["requested", "completed", "failed"]))
    elif kind == "app":
        fields |= {
            "name": draw(st.sampled_from(["outcome", "hold"])),
            "value": draw(st.sampled_from(["declined", "on", "off"])),
        }
    elif kind == "fault":
        fields["fault_id"] = run
    elif kind == "human_label":
        fields |= {"subject": "o1", "label": draw(st.sampled_from(["wanted", "not", "x"]))}
    return fields


@st.composite
def _calls(draw: Any) -> list[Any]:
    """Events of a call in which anything may follow anything."""
    loose = draw(st.lists(_event(), max_size=40))
    loose.sort(key=lambda f: f["at_ns"])
    started = {
        "kind": "call_started",
        "at_ns": 0,
        "agent": "clinic",
        "mode": draw(st.sampled_from(["cascade", "realtime"])),
        "measuring_point": draw(st.sampled_from(["pipeline", "pipeline", "recording"])),
        "recogniser": draw(st.booleans()),
        "caller_edges": draw(st.sampled_from([("vad",), ("audio", "vad"), ()])),
        "agent_edges": draw(st.sampled_from([("playout",), ("audio",), ()])),
    }
    return [
        ev.EVENT_ADAPTER.validate_python({"call_id": "c", "source": "bot", "seq": n, "wall_ns": S + f["at_ns"], **f})
        for n, f in enumerate([started, *loose])
    ]


def _content(records: Iterable[Any]) -> dict[str, dict[str, Any]]:
    return {r.id: {k: v for k, v in r.model_dump().items() if k not in ARRIVAL} for r in records if not r.retracted}


def _check(records: list[Any]) -> None:
    """No negative, infinite or doubled thing; the parts add up."""
    assert len({r.id for r in records}) == len(records)
    ended = next(r.ended_ns for r in records if r.kind == "call")
    answers = [r.answered_by for r in records if r.kind == "turn" and r.answered_by is not None]
    assert len(answers) == len(set(answers))
    for r in records:
        for name, value in r.model_dump().items():
            if not name.endswith("_ns") or not isinstance(value, int):
                continue
            least = -3 * S // 10 if name == "response_latency_ns" else None if name == "endpoint_delay_ns" else 0
            assert least is None or value >= least, (r.kind, name, value)
            if name not in ("event_wall_ns", "started_wall_ns"):
                assert ended is None or value <= max(ended, 100 * S), (r.kind, name, value)
        if r.kind == "turn":
            assert not (r.unanswered and r.response_latency_ns is not None)
            if r.response_latency_ns is not None:
                assert sum(r.parts_ns.values()) == r.response_latency_ns
                assert r.response_latency_ns == r.a_on_ns - r.u_off_ns
                if r.endpoint_delay_ns is not None and r.agent_ttfa_ns is not None:
                    assert r.endpoint_delay_ns + r.agent_ttfa_ns == r.response_latency_ns
        if r.kind == "dead_air":
            assert r.agent_ns + r.tool_ns + r.hold_ns + r.caller_ns <= (r.end_ns or 100 * S) - r.start_ns
        if r.kind == "call" and r.talk_ns:
            assert sum(r.talk_ns.values()) == r.ended_ns - (r.connected_ns or 0)
            assert all(v >= 0 for v in r.talk_ns.values())
    turns = sorted((r for r in records if r.kind == "turn"), key=lambda r: int(r.id[1:]))
    starts = [t.u_on_ns for t in turns if t.u_on_ns is not None]
    assert starts == sorted(starts)


quiet = effort(60)


@quiet
@given(_calls())
def test_whatever_happens_no_number_is_impossible(events: list[Any]) -> None:
    records = fold(events)
    _check(records)
    assert [r.id for r in records if r.kind == "call"] == ["call"]


@quiet
@given(_calls(), st.randoms(use_true_random=False))
def test_order_of_arrival_and_duplicates_change_nothing(events: list[Any], chance: random.Random) -> None:
    mixed = events + chance.sample(events, k=len(events) // 2)
    # Within the bound of reordering: nobody is more than 30 s behind the newest.
    mixed.sort(key=lambda e: e.at_ns + chance.randrange(0, 29 * S))
    timeline = CallTimeline("c")
    for event in mixed:
        timeline.add(event)
    timeline.advance(1_000 * S)
    assert _content(timeline.records()) == _content(fold(events, as_of_ns=1_000 * S))


@quiet
@given(_calls(), st.lists(_ns(), max_size=6))
def test_how_often_it_is_asked_changes_nothing(events: list[Any], moments: list[int]) -> None:
    timeline = CallTimeline("c")
    published: dict[str, Any] = {}
    waiting = list(events)
    for moment in [*sorted(moments), 1_000 * S]:
        while waiting and waiting[0].at_ns <= moment:
            timeline.add(waiting.pop(0))
        for record in timeline.advance(moment):
            before = published.get(record.id)
            assert record.revision == (0 if before is None else before.revision + 1)
            published[record.id] = record
    assert _content(published.values()) == _content(fold(events, as_of_ns=1_000 * S))
    assert timeline.advance(1_000 * S) == []


@quiet
@given(_calls(), st.data())
def test_lost_events_never_break_a_call(events: list[Any], data: st.DataObject) -> None:
    kept = [e for e in events if data.draw(st.booleans())]
    records = fold(kept)
    assert bool(records) == any(e.kind not in LEARNT_LATER for e in kept)
    if records:
        _check(records)


def test_events_of_two_calls_are_refused(call: Callable[..., Any]) -> None:
    events = call().events()
    other = events[0].model_copy(update={"call_id": "c2"})
    with pytest.raises(ValueError, match="2 calls"):
        fold([*events, other])


def test_events_as_they_are_read_off_the_wire_give_the_same_records(call: Callable[..., Any]) -> None:
    story = call().connected(0.0).user(1.0, 2.3, "hello").turn_end(2.6).bot(3.3, 6.0, "Hi there.").user(4.0, 4.3, "mhm")
    events = story.tool("look_up", "called", 3.0).tool("look_up", "result", 3.2).end(9.0).events()
    assert fold([decode_event_fast(encode(event)) for event in events]) == fold(events)
