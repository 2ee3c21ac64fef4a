"""RTTM as diarisers write it: who is who, several recordings, and what is wrong with a line."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.monitor.calls.heard import HeardWords
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.rttm import read_rttm

S = 1_000_000_000


def line(name: str, start: float, length: float, file: str = "c1") -> str:
    return f"SPEAKER {file} 1 {start:.3f} {length:.3f} <NA> <NA> {name} <NA> <NA>"


def read(*lines: str, **more: Any) -> Any:
    return read_rttm("\n".join(lines).encode(), "c.rttm", call_id="c.rttm", **more)


def complaint(*lines: str, **more: Any) -> str:
    with pytest.raises(BadInput) as error:
        read(*lines, **more)
    return str(error.value)


def test_segments_comments_words_and_lines_of_other_types() -> None:
    [call] = read(
        ";; made by hand",
        "SPKR-INFO c1 1 <NA> <NA> <NA> adult_female caller <NA>",
        line("Agent", 0.5, 1.5),
        "",
        line("caller", 3.0, 1.0),
        "LEXEME c1 1 3.1 0.4 hello lex caller 0.9",
        line("caller", 3.5, 1.0),
        "NON-SPEECH c1 1 8.0 2.0 <NA> noise <NA> <NA>",
    )
    assert (call.call_id, call.duration_ns) == ("c.rttm", 9 * S // 2)
    assert (call.caller, call.agent) == (((3 * S, 9 * S // 2),), ((S // 2, 2 * S),))
    assert call.words == (HeardWords("caller", 31 * S // 10, 35 * S // 10, "hello"),)
    assert call.details["joined"] == "1 interval joined to others of the same party"


@pytest.mark.parametrize(
    ("named", "caller_on"),
    [
        pytest.param({"caller": "S0", "agent": "S1"}, 1, id="both"),
        pytest.param({"caller": "S0"}, 1, id="one of two is enough"),
        pytest.param({"agent": "S0"}, 2, id="the other one"),
    ],
)
def test_speakers_of_other_names_are_told_who_they_are(named: dict[str, str], caller_on: int) -> None:
    [call] = read(line("S0", 1, 0.5), line("S1", 2, 0.5), **named)
    assert call.caller[0][0] == caller_on * S
    assert call.details["speakers"] == ("caller S0, agent S1" if caller_on == 1 else "caller S1, agent S0")


def test_one_speaker_may_be_the_only_one() -> None:
    [call] = read(line("agent", 1, 2))
    assert (call.caller, call.agent) == ((), ((S, 3 * S),))


def test_further_speakers_are_others_on_the_callers_side() -> None:
    [call] = read(line("caller", 1, 1), line("agent", 3, 1), line("wife", 5, 1))
    assert call.others == ((5 * S, 6 * S),)


def test_several_recordings_of_one_file_are_calls_of_their_own() -> None:
    calls = read(line("caller", 1, 1, "a"), line("caller", 2, 1, "b"), line("agent", 3, 1, "a"))
    assert [(c.call_id, len(c.caller), len(c.agent)) for c in calls] == [("c.rttm:a", 1, 1), ("c.rttm:b", 1, 0)]


@pytest.mark.parametrize(
    ("lines", "named", "says"),
    [
        pytest.param(
            [line("S0", 1, 1), line("S1", 2, 1)],
            {},
            "c.rttm: its speakers are S0, S1; say who is who with --caller NAME and --agent NAME",
            id="nobody known",
        ),
        pytest.param([line("S0", 1, 1)], {}, "c.rttm: its only speaker is S0; say who is who", id="one, unknown"),
        pytest.param(
            [line("caller", 1, 1), line("S1", 2, 1), line("S2", 2, 1)],
            {},
            "say who is who",
            id="which is the agent",
        ),
        pytest.param(
            [line("caller", 1, 1), line("agent", 2, 1)],
            {"caller": "S7"},
            'c.rttm: --caller: no speaker is called "S7"; its speakers are caller, agent',
            id="nobody of that name",
        ),
        pytest.param([line("S0", 1, 1)], {"caller": "S0", "agent": "S0"}, "name the same speaker", id="one is both"),
        pytest.param([line("Caller", 1, 1), line("caller", 2, 1)], {}, "speakers Caller and caller: say", id="twice"),
        pytest.param(["SPEAKER c1 1 0.5"], {}, "c.rttm:1: 4 fields where RTTM has 9 or 10", id="too short"),
        pytest.param(["", line("caller", -1, 1)], {}, "c.rttm:2: -1 s is before the recording began", id="negative"),
        pytest.param(
            [line("caller", 1, -1)], {}, "c.rttm:1: a duration of -1 s: it ends before it begins", id="ends first"
        ),
        pytest.param([line("caller", float("nan"), 1)], {}, 'c.rttm:1: start "nan" is no number of seconds', id="NaN"),
        pytest.param(["SPEAKER c 1 x 1 <NA> <NA> a <NA>"], {}, 'start "x" is no number of seconds', id="no number"),
        pytest.param(
            ["SPEAKER c 1 1_0 1 <NA> <NA> a <NA>"], {}, 'start "1_0" is no number of seconds', id="digits grouped"
        ),
        pytest.param(["SPEAKERS c 1 0 1"], {}, 'c.rttm:1: "SPEAKERS" is no type of line that RTTM has', id="no type"),
        pytest.param([";; nothing"], {}, "c.rttm: holds no SPEAKER line: nobody spoke", id="empty"),
    ],
)
def test_a_mistake_is_named_with_its_line(lines: list[str], named: dict[str, str], says: str) -> None:
    assert says in complaint(*lines, **named)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(BadInput, match="is not UTF-8 text"):
        read_rttm(b"SPEAKER \xff", "c.rttm", call_id="c")
