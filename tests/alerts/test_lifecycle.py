from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.alerts.lifecycle import (
    Closed,
    Firing,
    Insufficient,
    Opened,
    Pending,
    Quiet,
    Side,
    State,
    Timing,
    aligned,
    fingerprint,
    step,
)

MINUTE_NS = 60_000_000_000
SIDES = {"+": Side.OVER, "=": Side.BETWEEN, "-": Side.CLEAN, "?": Side.UNKNOWN}


def life(story: str, timing: Timing, state: State = Insufficient()) -> tuple[list[str], State]:  # noqa: B008
    """One reading a minute from minute 0 on; what opened and closed, and when."""
    said: list[str] = []
    for minute, word in enumerate(story.replace(" ", "")):
        state, change = step(state, SIDES[word], minute * MINUTE_NS, timing)
        match change:
            case Opened(since_ns=since):
                said.append(f"opened@{minute} since {since // MINUTE_NS}")
            case Closed(since_ns=since, why=why):
                said.append(f"closed@{minute} since {since // MINUTE_NS} {why}")
            case None:
                pass
    return said, state


def timing(for_m: int = 0, keep_m: int = 0, hold_m: int = 60) -> Timing:
    return Timing(for_m * MINUTE_NS, keep_m * MINUTE_NS, hold_m * MINUTE_NS)


@pytest.mark.parametrize(
    ("story", "given_timing", "said"),
    [
        pytest.param("+", timing(), ["opened@0 since 0"], id="without a for it fires at once"),
        pytest.param("++", timing(for_m=2), [], id="not long enough"),
        pytest.param("+++", timing(for_m=2), ["opened@2 since 0"], id="long enough: since its first reading"),
        pytest.param("+-+++", timing(for_m=2), ["opened@4 since 2"], id="a good reading starts the wait anew"),
        pytest.param("+=+++", timing(for_m=2), ["opened@4 since 2"], id="so does one between the thresholds"),
        pytest.param("+?+", timing(for_m=2), ["opened@2 since 0"], id="no data does not"),
        pytest.param("+??", timing(for_m=2), [], id="it never fires on no data"),
        pytest.param("++==+", timing(), ["opened@0 since 0"], id="between the thresholds it stays open"),
        pytest.param("+-", timing(), ["opened@0 since 0", "closed@1 since 0 clear"], id="clean closes it"),
        pytest.param(
            "+--+--", timing(keep_m=2), ["opened@0 since 0"], id="each bad reading starts the clean time anew"
        ),
        pytest.param("+-?-", timing(keep_m=2), ["opened@0 since 0", "closed@3 since 0 clear"], id="no data leaves it"),
        pytest.param("+-??", timing(keep_m=2), ["opened@0 since 0"], id="no data never closes as clean"),
        pytest.param(
            "+???", timing(hold_m=2), ["opened@0 since 0", "closed@3 since 0 no_data"], id="no data for long: said so"
        ),
        pytest.param("+??+??", timing(hold_m=2), ["opened@0 since 0"], id="any reading starts that time anew"),
        pytest.param(
            "+-+-",
            timing(),
            ["opened@0 since 0", "closed@1 since 0 clear", "opened@2 since 2", "closed@3 since 2 clear"],
            id="a second time is another firing",
        ),
    ],
)
def test_a_life(story: str, given_timing: Timing, said: list[str]) -> None:
    assert life(story, given_timing)[0] == said


def test_not_enough_data_is_a_state_of_its_own() -> None:
    assert life("?", timing())[1] == Insufficient()
    assert life("-?", timing())[1] == Insufficient()
    assert life("-", timing())[1] == Quiet()
    assert life("+?????", timing(for_m=9, hold_m=3))[1] == Insufficient()
    assert isinstance(life("+?", timing(for_m=9))[1], Pending)


def test_a_restart_with_the_kept_state_goes_on_where_it_was() -> None:
    state: State = Pending(0)
    assert life("+", timing(for_m=0), state)[0] == ["opened@0 since 0"]
    assert life("+", timing(), Firing(0))[0] == []


def test_a_fingerprint_depends_on_the_rule_and_the_labels_only() -> None:
    one = fingerprint("slow", (("agent", "a"), ("version", "1")))

    assert one == fingerprint("slow", (("version", "1"), ("agent", "a")))
    assert len(one) == 16
    assert one != fingerprint("slow", (("agent", "a"), ("version", "2")))
    assert one != fingerprint("slowagent", (("", "a"), ("version", "1")))
    assert one == "186fdfb7aadbc7d6"


def test_evaluations_of_one_step_agree_on_its_beginning() -> None:
    assert aligned(123_456, 1_000) == aligned(123_999, 1_000) == 123_000


@given(st.text("+=-?", max_size=60), st.integers(0, 3), st.integers(0, 3), st.integers(1, 4))
def test_openings_and_closings_alternate(story: str, for_m: int, keep_m: int, hold_m: int) -> None:
    said, state = life(story, timing(for_m, keep_m, hold_m))

    assert [line.startswith("opened") for line in said] == [i % 2 == 0 for i in range(len(said))]
    assert isinstance(state, Firing) == (len(said) % 2 == 1)
