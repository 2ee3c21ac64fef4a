from __future__ import annotations

import re
from datetime import UTC
from typing import Any

import pytest

from earwitness.monitor.calls.sides import Sides
from earwitness.monitor.cli.views.call_view import call_view
from earwitness.monitor.contract.records import AgentTurn, AnyRecord, Call, DeadAir, Overlap, Record, ToolCall, Turn

S = 1_000_000_000
WALL_NS = 1_764_511_269 * S


def ns(seconds: float) -> int:
    return round(seconds * S)


def made(kind: type[Record], record_id: str, **fields: Any) -> Any:
    base = {"call_id": "c-7f3a", "event_wall_ns": WALL_NS, "agent": "clinic", "version": "42", "final": True}
    return kind(id=record_id, **{**base, **fields})


def a_call() -> list[AnyRecord]:
    parts = {"endpointing": ns(0.32), "llm": ns(1.88), "tts": ns(0.14), "output": ns(0.07)}
    return [
        made(AgentTurn, "a1", a_on_ns=ns(0.4), a_off_ns=ns(3.1), why="greeting", text="Good morning, the clinic."),
        made(Turn, "t1", u_on_ns=ns(4), u_off_ns=ns(8.2), answered_by="a2", a_on_ns=ns(9.08),
             response_latency_ns=ns(0.88), parts_ns={"endpointing": ns(0.4), "llm": ns(0.48)},
             text="I need an appointment on Tuesday."),
        made(AgentTurn, "a2", a_on_ns=ns(9.08), a_off_ns=ns(21.5), why="user_turn",
             text="On Monday we have nine, ten and eleven."),
        made(Overlap, "o1", u_on_ns=ns(18.4), u_off_ns=ns(20.1), agent_turn="a2", gave_way=False, talk_over_ns=ns(1.7),
             wanted="yes", cell="FN", decided_by="words", text="no wait I said Tuesday"),
        made(Turn, "t4", u_on_ns=ns(38.6), u_off_ns=ns(41.02), answered_by="a5", a_on_ns=ns(43.43),
             response_latency_ns=ns(2.41), parts_ns=parts, text="can you check the earliest one"),
        made(AgentTurn, "a5", a_on_ns=ns(43.43), a_off_ns=ns(44.6), why="user_turn", text="Let me look."),
        made(Overlap, "o2", u_on_ns=ns(44.1), u_off_ns=ns(44.4), agent_turn="a5", gave_way=False, wanted="no",
             want_class="backchannel", cell="TN", decided_by="backchannel", text="mhm"),
        made(ToolCall, "tool1", name="lookup_slot", called_ns=ns(44.7), ended_ns=ns(49.9), status="timed_out",
             duration_ns=ns(5.2)),
        made(Turn, "t5", u_on_ns=ns(62), u_off_ns=ns(66.1), text="Hello? Are you there?", unanswered=True,
             waited_ns=ns(25)),
        made(DeadAir, "d1", start_ns=ns(66.1), end_ns=ns(92), agent_ns=ns(20), tool_ns=ns(5.9)),
        made(Call, "call", started_wall_ns=WALL_NS, ended_ns=ns(92), end_cause="caller", outcome="abandoned",
             outcome_reason="left after 25.9 s without an answer", labels={"route": "ivr"}, events=412),
    ]  # fmt: skip


def view(records: list[AnyRecord], width: int = 100) -> list[str]:
    return call_view(records, width=width, zone=UTC)


def test_a_call_reads_from_top_to_bottom() -> None:
    lines = view(a_call())

    assert lines[:4] == [
        "c-7f3a  clinic v42 route=ivr  14:01:09  1m32s  ended: by caller  abandoned while waiting",
        "        reason: left after 25.9 s without an answer",
        "        response latency p50 1,645 ms (n 2) · worst 2,410 ms (turn 4) · 1 unanswered",
        "        2 overlaps: 1 missed barge-in, 1 backchannel talked through",
    ]
    caller = next(line for line in lines if line.startswith(" caller"))
    agent = next(line for line in lines if line.startswith(" agent"))
    assert len(caller) == len(agent) == 99
    assert "| dead air 25.9 s, agent |" in agent
    assert any("▲ missed barge-in" in line for line in lines)
    text = "\n".join(lines)
    assert 'overlap 1   0:18.40 caller "no wait I said Tuesday"' in text
    assert "response 2,410 ms = endpointing 320 + llm 1,880 + tts 140 + output 70" in text
    assert "dead air 25.9 s: owed by agent 20.0 s, tool 5.9 s" in text


def test_lanes_show_pauses_within_a_turn_where_it_is_known_who_was_audible_when() -> None:
    records = [
        made(Turn, "t1", u_on_ns=ns(1), u_off_ns=ns(8), answered_by="a1", a_on_ns=ns(9), text="on Monday, or Tuesday"),
        made(AgentTurn, "a1", a_on_ns=ns(9), a_off_ns=ns(15), why="user_turn", text="Monday. At ten."),
        made(Call, "call", started_wall_ns=WALL_NS, ended_ns=ns(18), end_cause="caller"),
    ]
    sides = Sides(ns(18), caller=((ns(1), ns(3)), (ns(6), ns(8))), agent=((ns(9), ns(11)), (ns(13), ns(15))))

    told = call_view(records, sides, width=100, zone=UTC)
    untold = call_view(records, width=100, zone=UTC)

    assert [_times(line) for line in told if line.startswith((" caller", " agent"))] == [
        [(1.0, 3.0), (6.0, 8.0)],
        [(9.0, 11.0), (13.0, 15.0)],
    ]
    assert [_times(line) for line in untold if line.startswith((" caller", " agent"))] == [[(1.0, 8.0)], [(9.0, 15.0)]]
    assert [line for line in told if "▂" not in line] == [line for line in untold if "▂" not in line]


def _times(line: str) -> list[tuple[float, float]]:
    """From and to, in seconds, of what a lane of 90 cells over 18 s shows as speech."""
    cells = line[9:]
    assert len(cells) == 90
    return [(found.start() / 5, found.end() / 5) for found in re.finditer("▂+", cells)]


def test_facts_stand_in_the_order_of_time() -> None:
    subjects = [line[1:11].strip() for line in view(a_call())[-14:] if line[1:5] in ("turn", "over")]

    assert subjects == ["turn 1", "overlap 1", "turn 4", "overlap 2", "turn 5"]


@pytest.mark.parametrize("width", [40, 60, 72, 100, 180])
def test_no_line_is_wider_than_the_screen_but_for_marks_that_have_no_room(width: int) -> None:
    body = view(a_call(), width)[4:]
    assert max(len(line) for line in body if "▲" not in line) <= max(width, 60)


def test_hostile_text_is_harmless() -> None:
    bad = "x\n\x1b[2J\x1b]0;owned\x07\u202eevil\r"
    records = [
        made(Turn, "t1", u_on_ns=0, u_off_ns=ns(1), text=bad),
        made(AgentTurn, "a1", a_on_ns=ns(1), a_off_ns=ns(2), why="user_turn", text=bad, unspoken=bad, interrupted=True),
        made(ToolCall, bad, name=bad, called_ns=ns(1), status="error", error=bad),
        made(Call, "call", started_wall_ns=WALL_NS, ended_ns=ns(3), labels={"route": bad}, outcome_reason=bad),
    ]
    text = "\n".join(call_view(records, zone=UTC))

    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\u202e" not in text


def test_an_absent_latency_says_why_in_two_words() -> None:
    records = [
        made(Turn, "t1", u_on_ns=None, u_off_ns=None, d_ns=ns(2), text="yes", reason="no_acoustic_anchor",
             at_least_ns=ns(0.68)),
        made(Call, "call", started_wall_ns=WALL_NS, ended_ns=ns(3)),
    ]  # fmt: skip
    text = "\n".join(view(records))

    assert "response latency – (no anchor)" in text
    assert "latency – (no anchor, at least 680 ms)" in text


def test_a_call_in_progress_and_one_of_which_little_is_known_are_shown_too() -> None:
    live = [made(Call, "call", started_wall_ns=WALL_NS), made(DeadAir, "d1", start_ns=ns(3), end_ns=None)]

    assert "in progress" in view(live)[0]
    assert "dead air, going on" in view(live)[-1]
    assert view([]) == ["no records", ""]
    assert "no call record yet" in view([made(Turn, "t1", u_on_ns=0, u_off_ns=ns(1))])[0]


def test_what_was_taken_back_is_not_shown() -> None:
    records = [*a_call(), made(Overlap, "o9", u_on_ns=ns(50), u_off_ns=ns(51), text="ghost", retracted=True)]

    assert "ghost" not in "\n".join(view(records))
