from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.cli.views.lanes import Scale, hundredths, lane, marks, ruler, written_in

S = 1_000_000_000


def test_speech_fills_every_cell_that_it_touches() -> None:
    assert lane([(0, 1 * S), (4 * S, 6 * S)], Scale(10 * S, 10)) == "▂···▂▂····"
    assert lane([(5 * S, 5 * S + 1)], Scale(1000 * S, 10)) == "▂·········"


def test_the_ruler_has_round_steps() -> None:
    assert ruler(Scale(90 * S, 90)).split() == ["0:00", "0:15", "0:30", "0:45", "1:00", "1:15"]
    assert ruler(Scale(3 * S, 60)).split() == ["0:00", "0:01", "0:02"]


def test_a_text_is_written_over_silence_where_it_fits() -> None:
    scale = Scale(30 * S, 30)
    cells = lane([(0, 5 * S)], scale)

    assert written_in(cells, (5 * S, 30 * S), "dead air", scale) == "▂▂▂▂▂|        dead air       |"
    assert written_in(cells, (5 * S, 10 * S), "dead air", scale) == cells
    assert written_in(cells, (0, 30 * S), "dead air", scale).startswith("▂▂▂▂▂|")


def test_marks_share_lines_where_they_do_not_touch() -> None:
    scale = Scale(60 * S, 60)

    assert marks([(2 * S, "one"), (20 * S, "two")], scale) == ["  ▲ one             ▲ two"]
    assert len(marks([(2 * S, "one"), (4 * S, "two")], scale)) == 2
    assert marks([(59 * S, "at the end")], scale) == [" " * 48 + "at the end ▲"]


def test_moments_have_hundredths() -> None:
    assert [hundredths(at) for at in (None, 0, 18_400_000_000, 59_999_000_000, 3_600 * S)] == [
        "?", "0:00.00", "0:18.40", "1:00.00", "60:00.00",
    ]  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(-S, 10**13), st.integers(-S, 10**13)), max_size=20),
    st.integers(0, 10**12),
    st.integers(1, 200),
)
def test_a_lane_is_as_wide_as_it_should_be_whatever_the_spans(
    spans: list[tuple[int, int]], length_ns: int, width: int
) -> None:
    assert len(lane(spans, Scale(length_ns, width))) == width


def test_beyond_some_lines_marks_are_only_counted() -> None:
    lines = marks([(n, "missed") for n in range(1_000)], Scale(1_000, 60))

    assert len(lines) < 30
    shown = sum(line.count("missed") for line in lines)
    assert lines[-1] == f"… and {1_000 - shown} more: named below"


@pytest.mark.parametrize("duration_ns", [3 * 86_400 * S, 10**18, 2**63 - 1])
def test_the_ruler_of_an_impossible_call_has_a_few_marks(duration_ns: int) -> None:
    assert 2 <= len(ruler(Scale(duration_ns, 90)).split()) <= 7
