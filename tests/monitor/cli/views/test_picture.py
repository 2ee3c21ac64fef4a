"""A call's picture: what it shows, that it is safe and the same on every machine, and that no part hides another."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earwitness.monitor.calls.sides import Sides, sides_of
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.event_files import read_events
from earwitness.monitor.cli.views.picture import height_of, picture
from earwitness.monitor.cli.views.picture_marks import Mark, lines_of_marks
from earwitness.monitor.cli.views.picture_rows import LEFT, TRACK, rows_of
from earwitness.monitor.cli.views.picture_text import cut, width_of, wrapped
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Overlap,
    ToolCall,
    Turn,
)

S = 1_000_000_000
ROOT = Path(__file__).resolve().parents[4]
SVG = "{http://www.w3.org/2000/svg}"


def ns(seconds: float) -> int:
    return round(seconds * S)


def made(kind: Any, record_id: str, **fields: Any) -> AnyRecord:
    record: AnyRecord = kind(id=record_id, call_id="c-7f3a", agent="clinic", version="42", event_wall_ns=0, **fields)
    return record


def call_of(length_s: float, *more: AnyRecord) -> list[AnyRecord]:
    return [made(Call, "call", started_wall_ns=0, ended_ns=ns(length_s), end_cause="caller"), *more]


def sides(length_s: float, caller: list[tuple[float, float]], agent: list[tuple[float, float]]) -> Sides:
    spans = [tuple((ns(a), ns(b)) for a, b in side) for side in (caller, agent)]
    return Sides(ns(length_s), spans[0], spans[1])


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_in_the_docs_is_what_the_code_draws() -> None:
    """On failure: earwitness analyze tests/data/demo_call.jsonl --svg docs/demo-call.svg"""
    ((_, events),) = read_events(str(ROOT / "tests/data/demo_call.jsonl")).calls.items()

    drawn = picture(fold(events), sides_of(events))

    assert drawn == (ROOT / "docs/demo-call.svg").read_text(encoding="utf-8")


def test_every_kind_of_event_says_in_words_what_it_is() -> None:
    """Nothing rests on colour: a reader of the texts alone learns all of it."""
    cells = [
        made(Overlap, "o1", u_on_ns=ns(5), u_off_ns=ns(6), cell="FN", wanted="yes", talk_over_ns=ns(1)),
        made(Overlap, "o2", u_on_ns=ns(25), u_off_ns=ns(26), cell="TP", wanted="yes", stop_latency_ns=ns(0.4)),
        made(Overlap, "o3", u_on_ns=ns(45), u_off_ns=ns(46), cell="FP", wanted="no", want_class="backchannel"),
        made(Overlap, "o4", u_on_ns=ns(65), u_off_ns=ns(66), cell="TN", wanted="no", want_class="noise"),
        made(Overlap, "o5", u_on_ns=ns(85), u_off_ns=ns(86), gave_way=False),
    ]
    shown = texts(
        picture(
            call_of(
                110,
                *cells,
                made(AgentInterruption, "i1", at_ns=ns(95), cause="premature_endpoint"),
                made(Turn, "t1", u_on_ns=ns(10), u_off_ns=ns(11), a_on_ns=ns(11.9), response_latency_ns=ns(0.9)),
                made(Turn, "t2", u_on_ns=ns(100), u_off_ns=ns(101), unanswered=True, waited_ns=ns(9)),
                made(Turn, "t3", u_on_ns=ns(50), u_off_ns=ns(51), turn_class="no_transcript"),
                made(DeadAir, "d1", start_ns=ns(30), end_ns=ns(36.1), agent_ns=ns(0.9), tool_ns=ns(5.2)),
                made(ToolCall, "x", name="lookup", called_ns=ns(31), ended_ns=ns(36), status="timed_out",
                     duration_ns=ns(5)),
            ),
            sides(110, [(5, 6), (10, 11)], [(4, 8)]),
        )
    )  # fmt: skip

    for said in (
        "missed barge-in, both talked 1,000 ms",
        "barge-in, agent gave way after 400 ms",
        "false yield (backchannel)",
        "noise talked through",
        "overlap, want unknown, agent kept the floor",
        "agent interrupts (premature endpoint)",
        "900 ms",
        "unanswered 9,000 ms",
        "turn 3 not counted: no transcript",
        "dead air 6.1 s: owed by agent 0.9 s, tool 5.2 s",
        "lookup 5.0 s, timed out",
        "caller",
        "agent",
        "both talk",
    ):
        assert said in shown


def test_a_bracket_spans_the_wait_to_scale() -> None:
    records = call_of(20, made(Turn, "t1", u_on_ns=ns(2), u_off_ns=ns(4), a_on_ns=ns(6.5), response_latency_ns=ns(2.5)))

    svg = picture(records, sides(20, [(2, 4)], [(6.5, 9)]))

    found = re.search(r'd="M([\d.]+) [\d.]+ V[\d.]+ H([\d.]+) V', svg)
    assert found is not None
    start, end = (float(x) for x in found.groups())
    assert start == pytest.approx(LEFT + TRACK * 4 / 20, abs=0.1)
    assert end - start == pytest.approx(TRACK * 2.5 / 20, abs=0.2)


def test_a_wait_over_two_rows_is_drawn_in_both_and_said_once() -> None:
    records = call_of(40, made(Turn, "t1", u_on_ns=ns(15), u_off_ns=ns(17), a_on_ns=ns(24), response_latency_ns=ns(7)))

    svg = picture(records, sides(40, [(15, 17)], [(24, 30)]))

    assert texts(svg).count("7,000 ms") == 1
    assert svg.count("<title>turn 1: ") == 2


HOSTILE = "</text><script>alert(1)</script> & \" ' ]]> \x1b[2J\x00\x07\u202eevil\ufffe\ud800 <image href='http://x'/>"


def test_hostile_text_stays_text() -> None:
    records = [
        made(Turn, "t1", u_on_ns=ns(1), u_off_ns=ns(2), text=HOSTILE),
        made(AgentTurn, "a1", a_on_ns=ns(3), a_off_ns=ns(4), why="user_turn", text=HOSTILE),
        made(ToolCall, HOSTILE, name=HOSTILE, called_ns=ns(2), ended_ns=ns(3), status="error", error=HOSTILE),
        made(Call, "call", started_wall_ns=0, ended_ns=ns(5), labels={"route": HOSTILE}, outcome_reason=HOSTILE),
    ]

    svg = picture([r.model_copy(update={"call_id": HOSTILE}) for r in records], sides(5, [(1, 2)], [(3, 4)]))

    root = ET.fromstring(svg)
    allowed = {"svg", "title", "desc", "defs", "pattern", "path", "rect", "line", "text"}
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= allowed
    assert not any(name.startswith("on") or name.endswith("href") for e in root.iter() for name in e.attrib)
    assert svg.encode("utf-8")
    assert all(c.isprintable() or c == "\n" for c in svg)
    assert not re.search(r"url\((?!#)|@import|<!", svg)


def test_it_reads_without_eyes() -> None:
    root = ET.fromstring(picture(call_of(5, made(Turn, "t1", u_on_ns=0, u_off_ns=ns(1), text="hello")),
                                 sides(5, [(0, 1)], [])))  # fmt: skip

    assert root.get("role") == "img"
    title, description = root[0], root[1]
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert "c-7f3a" in (title.text or "")
    assert 'caller "hello"' in (description.text or "")


def test_a_long_call_wraps_and_half_a_second_is_still_wide() -> None:
    for minutes, rows, least in ((2, 6, 25), (10, 20, 17), (60, 60, 8)):
        cut_up = rows_of(minutes * 60 * S)
        assert len(cut_up) == rows
        assert cut_up[0].x(ns(0.5)) - LEFT >= least
    hour = picture(call_of(3600), sides(3600, [(k, k + 0.3) for k in range(3599)], []))
    bars = [float(w) for w in re.findall(r'width="([\d.]+)" height="18" rx', hour)]
    assert min(bars) >= 2
    assert height_of(hour) > 5_000


@given(st.integers(1, 5 * 3600 * 1000))
def test_rows_cover_a_call_of_any_length_once_and_at_one_scale(length_ms: int) -> None:
    rows = rows_of(length_ms * 1_000_000)

    assert rows[0].start_ns == 0
    assert rows[-1].end_ns == max(length_ms * 1_000_000, S)
    assert all(a.end_ns == b.start_ns for a, b in pairwise(rows))
    assert len({row.wide_ns for row in rows}) == 1
    assert len(rows) <= 180
    if len(rows) > 1 and length_ms <= 3 * 3600 * 1000:
        assert rows[-1].end_ns - rows[-1].start_ns > rows[-1].wide_ns / 3


@given(st.lists(st.tuples(st.integers(0, 19_999), st.text("abc ", min_size=1, max_size=40)), max_size=20))
def test_no_mark_is_written_over_another(given_marks: list[tuple[int, str]]) -> None:
    (row,) = rows_of(20 * S)
    marks = [Mark(at * 1_000_000, text, False) for at, text in sorted(given_marks)]

    lines, unseen = lines_of_marks(row, marks)
    assert sum(map(len, lines)) + unseen == len(marks)

    assert sorted(m.text for line in lines for m in line) == sorted(m.text for m in marks)
    for line in lines:
        reach = []
        for mark in line:
            x, wide = row.x(mark.at_ns), width_of(mark.text, 13) + 8
            reach.append((x - wide, x) if mark.leftwards(row) else (x, x + wide))
        reach.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(reach))


@settings(deadline=None)
@given(st.text(max_size=300), st.floats(20, 400), st.integers(1, 4))
def test_words_stay_within_their_room(text: str, room: float, lines: int) -> None:
    found = wrapped(text, room, 12, lines)

    assert len(found) <= lines
    assert all(width_of(line, 12) <= room or len(line) == 1 for line in found)


def test_what_has_no_room_is_cut_with_an_ellipsis() -> None:
    assert cut("response", 200, 12) == "response"
    assert cut("a long label that goes on", 60, 12).endswith("…")
    assert cut("wide", 1, 12) == ""


def test_a_call_of_which_little_is_known_has_a_picture_too() -> None:
    for records in (
        [],
        call_of(0),
        [made(Call, "call", started_wall_ns=0)],
        [made(DeadAir, "d", start_ns=0, end_ns=None)],
    ):
        assert ET.fromstring(picture(records, Sides(0))).tag.endswith("svg")


def test_what_was_taken_back_is_not_drawn() -> None:
    ghost = made(Overlap, "o1", u_on_ns=ns(1), u_off_ns=ns(2), cell="FN", retracted=True)

    assert not any("barge-in" in t for t in texts(picture(call_of(5, ghost), Sides(ns(5)))))


def test_what_a_row_has_no_room_for_is_counted() -> None:
    overlaps = [
        made(Overlap, f"o{n}", u_on_ns=ns(10) + n, u_off_ns=ns(11) + n, gave_way=False, cell="FN") for n in range(3_000)
    ]
    tools = [made(ToolCall, f"k{n}", name="find", called_ns=ns(12), ended_ns=ns(13)) for n in range(500)]

    svg = picture(call_of(20, *overlaps, *tools), sides(20, [(10, 11)], [(0, 15)]))

    assert height_of(svg) < 1_500
    (said,) = (text for text in texts(svg) if text.startswith("…"))
    counted = re.findall(r"([\d,]+) (tool call|mark)s", said)
    drawn = sum(text.startswith("missed barge-in") for text in texts(svg))
    assert {what: int(n.replace(",", "")) for n, what in counted}["mark"] == 3_000 - drawn
