"""Intervals that somebody else found, as JSON; every mistake is one line that names the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from earwitness.monitor.calls.heard import Expectation, HeardWords
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.intervals_file import read_intervals
from earwitness.monitor.recordings.words import read_expectations, read_words

S = 1_000_000_000
BOTH: dict[str, Any] = {"caller": [[2.0, 3.0]], "agent": [[0.5, 1.5]]}


def read(given: object) -> Any:
    text = given if isinstance(given, str) else json.dumps(given)
    return read_intervals(text.encode(), "x.json", call_id="x.json")


def complaint(given: object) -> str:
    with pytest.raises(BadInput) as error:
        read(given)
    return str(error.value)


def test_all_that_a_file_may_say() -> None:
    call = read(
        BOTH
        | {
            "others": [[5, 6.5]],
            "words": [{"party": "caller", "start_s": 2.0, "end_s": 3.0, "text": "hello"}],
            "expect": [{"at_s": 2.1, "wanted": True}, {"wanted": False}],
            "duration_s": 12,
            "language": "de",
        }
    )
    assert (call.call_id, call.duration_ns) == ("x.json", 12 * S)
    assert (call.caller, call.agent, call.others) == (
        ((2 * S, 3 * S),), ((S // 2, 3 * S // 2),), ((5 * S, 13 * S // 2),),
    )  # fmt: skip
    assert call.words == (HeardWords("caller", 2 * S, 3 * S, "hello"),)
    assert call.expectations == (Expectation(21 * S // 10, True), Expectation(None, False))
    assert call.details == {"language": "de"}


def test_without_a_length_the_call_ends_with_its_last_sound_or_word() -> None:
    assert read(BOTH).duration_ns == 3 * S
    word = {"party": "agent", "start_s": 8, "end_s": 9, "text": "bye"}
    assert read(BOTH | {"words": [word]}).duration_ns == 9 * S


def test_intervals_in_any_order_that_overlap_or_touch_are_one_and_said_so() -> None:
    call = read({"caller": [[4, 5], [1, 2.5], [2, 3], [3, 3.5], [7, 7]], "agent": []})
    assert call.caller == ((S, 7 * S // 2), (4 * S, 5 * S))
    assert call.details == {
        "joined": "2 intervals joined to others of the same party",
        "empty": "1 interval without length left out",
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param(
            {"caller": [[-0.5, 1]], "agent": []},
            "x.json: caller[0]: -0.5 s is before the recording began; times count from its beginning",
            id="negative",
        ),
        pytest.param(
            '{"caller": [[NaN, 1]], "agent": []}',
            "x.json: NaN is no number; leave out what was not measured",
            id="not a number",
        ),
        pytest.param('{"caller": [[0, 1e999]], "agent": []}', "two days; times are in seconds", id="infinite"),
        pytest.param(
            {"caller": [], "agent": [[1, 2], [4.5, 3]]},
            "x.json: agent[1]: ends at 3 s, before it begins at 4.5 s",
            id="end before start",
        ),
        pytest.param(
            {"caller": [[1, 2, 3]], "agent": []}, "x.json: caller[0]: an interval is [start_s, end_s]", id="three edges"
        ),
        pytest.param(
            {"caller": [["1", 2]], "agent": []},
            "x.json: caller[0]: a number of seconds was expected, not text",
            id="a time as text",
        ),
        pytest.param(
            {"caller": [[True, 2]], "agent": []},
            "a number of seconds was expected, not true or false",
            id="a truth as a time",
        ),
        pytest.param(
            {"caller": {"start": 1}, "agent": []}, "x.json: caller: a list was expected, not an object", id="no list"
        ),
        pytest.param(
            {"caller": [], "agents": []}, 'x.json: unknown key "agents". Did you mean "agent"?', id="unknown key"
        ),
        pytest.param({"caller": [[1, 2]]}, 'x.json: "agent" is missing', id="one side"),
        pytest.param(
            BOTH | {"duration_s": 2.5},
            "x.json: caller: speech to 3 s, beyond the recording's duration_s of 2.5 s",
            id="beyond the end",
        ),
        pytest.param(
            {"caller": [], "agent": []},
            "x.json: holds no speech and no duration_s: there is nothing to measure",
            id="empty",
        ),
        pytest.param(
            {"caller": [[0, 400_000_000]], "agent": []},
            "x.json: caller[0]: is more than two days; times are in seconds",
            id="milliseconds",
        ),
        pytest.param({"caller": [[0, 10**400]], "agent": []}, "is more than two days", id="a number without end"),
        pytest.param([1, 2], "x.json: an object was expected, not a list", id="a list"),
        pytest.param('{"caller": [', "x.json: is not JSON: Expecting value (line 1, column 13)", id="cut off"),
        pytest.param('{"caller": [], "caller": [], "agent": []}', '"caller" is given twice', id="twice"),
        pytest.param(
            BOTH | {"words": [{"party": "bot", "start_s": 1, "end_s": 2, "text": "x"}]},
            'x.json: words[0].party: "caller" or "agent" was expected',
            id="a third party",
        ),
        pytest.param(
            BOTH | {"words": [{"party": "agent", "start_s": 1, "text": "x"}]},
            'x.json: words[0]: "end_s" is missing',
            id="words without an end",
        ),
        pytest.param(
            BOTH | {"words": [{"party": "agent", "start_s": 2, "end_s": 1, "text": "x"}]},
            "x.json: words[0]: ends at 1 s, before it begins",
            id="words that end first",
        ),
        pytest.param(
            BOTH | {"words": [{"party": "agent", "start_s": 1, "end_s": 2, "text": 5}]},
            "x.json: words[0].text: text was expected, not a number",
            id="a number as text",
        ),
        pytest.param(
            BOTH | {"expect": [{"at_s": 1, "wanted": "yes"}]},
            "x.json: expect[0].wanted: true or false was expected, not text",
            id="a want as text",
        ),
        pytest.param(
            BOTH | {"expect": [{"wanted": True}]},
            'x.json: expect[0]: "at_s" is missing: which overlap was wanted?',
            id="wanted somewhere",
        ),
        pytest.param(
            BOTH | {"expect": [{"at": 1, "wanted": True}]},
            'x.json: expect[0]: unknown key "at". Did you mean "at_s"?',
            id="unknown key inside",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(given: object, says: str) -> None:
    assert says in complaint(given)


def test_a_key_of_hostile_text_reaches_no_terminal() -> None:
    assert "\x1b" not in complaint({"caller": [], "agent": [], "\x1b[31mred": 1})


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(BadInput, match=r"x\.json: is not UTF-8 text"):
        read_intervals(b'{"caller": "\xff"}', "x.json", call_id="x")


def test_words_and_expectations_as_files_of_their_own() -> None:
    assert read_words(b'\xef\xbb\xbf[{"party": "agent", "start_s": 1, "end_s": 2, "text": "hi"}]', "w.json") == (
        HeardWords("agent", S, 2 * S, "hi"),
    )
    assert read_expectations(b'[{"at_s": 0.3, "wanted": false}]', "e.json") == (Expectation(3 * S // 10, False),)
    with pytest.raises(BadInput, match=r"w\.json: a list was expected, not an object"):
        read_words(b"{}", "w.json")
