from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from earwitness.monitor import wording
from earwitness.monitor.measures.reading import Quantile


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain words", "plain words"),
        ("two\nlines\tand tabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\u202eb\u2066c", "abc"),
        ("bell\x07\x00null", "bellnull"),
        ("Grüße, 你好, नमस्ते", "Grüße, 你好, नमस्ते"),
        ("e" + "\u0301" * 100 + "t\u0308e\u0301", "e" + "\u0301" * 4 + "t\u0308e\u0301"),
        ("x" * 300, "x" * 199 + "…"),
        ("\ud800", ""),
    ],
)
def test_text_from_outside_is_made_harmless(given: str, shown: str) -> None:
    assert wording.printable(given) == shown


def test_times_read_like_a_person_writes_them() -> None:
    assert [wording.short_time(s) for s in (None, 0.31, 2.41, 12.36, 180.0, 3900.0)] == [
        "–", "310 ms", "2,410 ms", "12.4 s", "3 min", "65 min",
    ]  # fmt: skip
    assert [wording.span(s) for s in (45, 60, 90, 300, 3600, 7500, 7 * 86400)] == [
        "45 s", "1 min", "90 s", "5 min", "1 h", "2 h 5 min", "7 d",
    ]  # fmt: skip
    assert [wording.compact_span(s) for s in (5, 130, 3900, 3 * 86400, -4)] == ["5s", "2m10s", "1h05m", "3d", "0s"]


def test_a_percentile_that_touches_the_unanswered_is_more_than() -> None:
    assert wording.quantile(Quantile(value_s=1.84)) == "1,840"
    assert wording.quantile(Quantile(more_than_s=10.0)) == "> 10 s"
    assert wording.quantile(Quantile()) == wording.quantile(None) == "–"


def test_shares_are_never_rounded_to_none_or_all() -> None:
    assert [wording.percent(r) for r in (None, 0.0, 0.004, 0.05, 0.61, 0.997, 1.0)] == [
        "–", "0 %", "0.4 %", "5 %", "61 %", "99.7 %", "100 %",
    ]  # fmt: skip


def test_a_moment_is_told_in_the_reader_s_zone() -> None:
    at_ns = 1_764_511_269_000_000_000

    assert wording.clock(at_ns, UTC, seconds=True) == "14:01:09"
    assert wording.clock_with_zone(at_ns, timezone(timedelta(hours=1), "CET")) == "15:01 CET"
    assert wording.utc_text(at_ns) == "2025-11-30T14:01:09Z"


def test_a_group_is_named_by_agent_version_and_the_rest() -> None:
    assert wording.group_name((("agent", "clinic"), ("route", "ivr"), ("version", "42"))) == "clinic v42 route=ivr"
    assert wording.group_name((("agent", "clinic"), ("version", "v3"))) == "clinic v3"
    assert wording.group_name((("agent", "a\nFIRING b"),)) == "a FIRING b"
    assert wording.group_name(()) == "all agents"


def test_a_label_key_from_outside_is_as_harmless_as_its_value() -> None:
    assert wording.group_name([("a\x1b[31m\u202eb", "c\x1b]0;d")]) == "a[31mb=c]0;d"


@pytest.mark.parametrize("wall_ns", [-(10**30), -1, 2**63 - 1, 2**64, 10**300])
def test_a_clock_that_claims_anything_is_shown(wall_ns: int) -> None:
    for zone in (UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12)), None):
        assert wording.clock(wall_ns, zone, seconds=True).count(":") == 2
    assert wording.utc_text(wall_ns).endswith("Z")
