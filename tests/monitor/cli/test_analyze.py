"""``analyze`` on what people have: recordings, segments, intervals, event logs, alone and together."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from earwitness.monitor.cli import main
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode

Capture = pytest.CaptureFixture[str]
MakeCall = Callable[..., list[AnyEvent]]

INTERVALS: dict[str, Any] = {"caller": [[2.0, 3.0], [6.0, 6.4]], "agent": [[0.5, 1.5], [3.9, 7.0]], "duration_s": 9.0}
WORDS = [
    {"party": "caller", "start_s": 2.0, "end_s": 3.0, "text": "where is my order"},
    {"party": "caller", "start_s": 6.0, "end_s": 6.4, "text": "no wait"},
    {"party": "agent", "start_s": 0.5, "end_s": 1.5, "text": "hello"},
]
KINDS = ("rttm", "intervals", "wav", "log")
RTTM = """SPEAKER c 1 0.50 1.00 <NA> <NA> agent <NA> <NA>
SPEAKER c 1 2.00 1.00 <NA> <NA> caller <NA> <NA>
SPEAKER c 1 4.20 2.00 <NA> <NA> agent <NA> <NA>
"""


def run(capsys: Capture, *arguments: object, code: int = 0) -> Any:
    """The report as JSON."""
    assert main(["analyze", "--json", *map(str, arguments)]) == code
    return json.loads(capsys.readouterr().out)


def complaint(capsys: Capture, *arguments: object) -> str:
    """The one line that a mistake gives."""
    assert main(["analyze", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err.strip()


def table(capsys: Capture, *arguments: object) -> str:
    assert main(["analyze", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def as_file(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def intervals(tmp_path: Path) -> Path:
    return as_file(tmp_path, "call.intervals.json", INTERVALS)


@pytest.fixture
def rttm(tmp_path: Path) -> Path:
    return as_file(tmp_path, "call.rttm", RTTM)


@pytest.fixture
def log(tmp_path: Path, make_call: MakeCall) -> Path:
    return as_file(tmp_path, "calls.jsonl", b"".join(encode(event) + b"\n" for event in make_call()))


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """Six seconds: the caller speaks in one channel, and later a tone stands for the agent in the other."""
    speech, rate = soundfile.read(Path(__file__).parents[2] / "data" / "speech" / "appointment.flac", dtype="float32")
    sound = np.zeros((6 * rate, 2), np.float32)
    sound[rate : 2 * rate + rate // 2, 0] = speech[: rate + rate // 2]
    spoken = np.arange(rate) / rate
    sound[-2 * rate : -rate, 1] = 0.3 * np.sin(2 * np.pi * 220 * spoken)
    path = tmp_path / "call.wav"
    soundfile.write(path, sound, rate, subtype="PCM_16")
    return path


# Each kind


def test_intervals(intervals: Path, capsys: Capture) -> None:
    found = run(capsys, intervals)
    call = found["calls"][0]
    assert (found["measuring_point"], found["bounds"]) == ("recording", "default-1")
    assert (call["call_id"], call["duration_s"], call["end_cause"]) == ("call.intervals.json", 9.0, None)
    assert (call["turns"][0]["response_latency_s"], call["turns"][0]["class"]) == (0.9, "eligible")
    row = call["overlaps"][0]
    assert (row["gave_way"], row["a_off_s"], row["silent_for_s"], row["talk_over_s"]) == (True, 7.0, 2.0, 0.4)
    assert (row["wanted"], row["decided_by"], row["cell"]) == ("unknown", None, None)


def test_segments_of_a_diariser(rttm: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(capsys, rttm)["calls"][0]["turns"][0]["response_latency_s"] == 1.2
    other = as_file(tmp_path, "other.rttm", RTTM.replace("caller", "S0").replace("agent", "S1"))
    assert run(capsys, "--caller", "S0", other)["calls"][0]["turns"][0]["response_latency_s"] == 1.2
    assert "say who is who with --caller NAME and --agent NAME" in complaint(capsys, other)
    assert '--agent: no speaker is called "S9"' in complaint(capsys, other, "--caller", "S0", "--agent", "S9")


def test_a_recording(wav: Path, capsys: Capture) -> None:
    call = run(capsys, wav)["calls"][0]
    assert (call["call_id"], call["duration_s"]) == ("call.wav", 6.0)
    assert [t["answered_by"] for t in call["turns"]] == ["a1"]
    assert call["agent_turns"][0]["a_on_s"] == pytest.approx(4.0, abs=0.05)
    turned = run(capsys, "--caller-channel", "right", wav)["calls"][0]
    assert turned["agent_turns"][0]["a_on_s"] < 2
    assert run(capsys, "--caller-channel", "1", "--voice-activity", "fast", wav)["calls"][0]["call_id"] == "call.wav"


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_is_says_its_content_and_not_its_name(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: Capture
) -> None:
    misnamed = as_file(tmp_path, "some.txt", request.getfixturevalue(kind).read_bytes())
    assert len(run(capsys, misnamed)["calls"]) == 1


def test_a_byte_order_mark_is_no_content(tmp_path: Path, capsys: Capture) -> None:
    for n, text in enumerate((RTTM, json.dumps(INTERVALS, indent=2))):
        assert len(run(capsys, as_file(tmp_path, f"{n}", b"\xef\xbb\xbf" + text.encode()))["calls"]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input(kind: str, request: pytest.FixtureRequest, capsys: Capture, monkeypatch: Any) -> None:
    content = request.getfixturevalue(kind).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    [call] = run(capsys, "-")["calls"]
    assert call["call_id"] == ("c-7f3a" if kind == "log" else "standard input")


def test_a_pipe_that_gives_little_at_a_time(intervals: Path) -> None:
    slowly = "import sys\nfor b in sys.stdin.buffer.read():\n sys.stdout.buffer.write(bytes([b])); sys.stdout.flush()"
    own = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"
    line = f"{sys.executable} -c '{slowly}' < {intervals} | {sys.executable} -c '{own}' analyze --json -"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["calls"][0]["duration_s"] == 9.0


# Together


def test_files_of_all_kinds_are_pooled(rttm: Path, intervals: Path, wav: Path, log: Path, capsys: Capture) -> None:
    found = run(capsys, rttm, intervals, wav, log)
    assert [c["call_id"] for c in found["calls"]] == ["call.rttm", "call.intervals.json", "call.wav", "c-7f3a"]
    assert [c["measuring_point"] for c in found["calls"]] == ["recording"] * 3 + ["pipeline"]
    assert (found["measuring_point"], found["summary"]["response_latency"]["n"]) == ("mixed", 4)
    assert "measured at the pipeline and in recordings, bounds" in table(capsys, rttm, log)


def test_recordings_of_the_same_name_are_calls_of_their_own(tmp_path: Path, capsys: Capture) -> None:
    paths = [as_file(tmp_path, f"{folder}/call.json", INTERVALS) for folder in "ab"]
    assert [c["call_id"] for c in run(capsys, *paths)["calls"]] == [str(p) for p in paths]
    assert [c["call_id"] for c in run(capsys, paths[0], paths[0])["calls"]] == ["call.json"]


# Words and expectations


def test_words_decide_what_the_caller_wanted(intervals: Path, tmp_path: Path, capsys: Capture) -> None:
    words = as_file(tmp_path, "words.json", WORDS)
    found = run(capsys, intervals, "--words", words)
    assert [t["text"] for t in found["calls"][0]["turns"]] == ["where is my order", "no wait"]
    assert [(o["wanted"], o["cell"]) for o in found["calls"][0]["overlaps"]] == [("yes", "TP")]
    assert found["calls"][0]["agent_turns"][0]["text"] == "hello"
    assert found == run(capsys, as_file(tmp_path, "call.intervals.json", INTERVALS | {"words": WORDS}))


def test_words_in_a_language_that_has_no_list_decide_nothing(intervals: Path, tmp_path: Path, capsys: Capture) -> None:
    words = as_file(tmp_path, "words.json", WORDS)
    found = run(capsys, intervals, "--words", words, "--language", "nl")
    assert [o["wanted"] for o in found["calls"][0]["overlaps"]] == ["unknown"]
    assert (
        run(capsys, as_file(tmp_path, "l.json", INTERVALS | {"words": WORDS, "language": "nl"}))["calls"][0][
            "overlaps"
        ][0]["wanted"]
        == "unknown"
    )


def test_an_expectation_stands_in_the_place_of_a_label(
    wav: Path, intervals: Path, tmp_path: Path, capsys: Capture
) -> None:
    expect = as_file(tmp_path, "expect.json", [{"at_s": 6.2, "wanted": False}])
    row = run(capsys, intervals, "--expect", expect)["calls"][0]["overlaps"][0]
    assert (row["wanted"], row["decided_by"], row["gave_way"], row["cell"]) == ("no", "expectation", False, "TN")
    everywhere = as_file(tmp_path, "expect.json", [{"wanted": False}])
    assert run(capsys, wav, "--expect", everywhere)["calls"][0]["overlaps"] == []


def test_they_belong_to_one_recording(intervals: Path, rttm: Path, log: Path, tmp_path: Path, capsys: Capture) -> None:
    words = as_file(tmp_path, "words.json", WORDS)
    assert complaint(capsys, intervals, rttm, "--words", words) == (
        "earwitness: --words: is for one recording; there are 2 calls"
    )
    assert "--expect: is for one recording; there is no recording" in complaint(capsys, log, "--expect", words)
    assert f"{words}[1]: at 6 s, after the recording's end at 5.2 s" in complaint(
        capsys, as_file(tmp_path, "short.rttm", RTTM.replace("4.20 2.00", "4.20 1.00")), "--words", words
    )
    late = as_file(tmp_path, "late.json", [{"wanted": False}, {"at_s": 99, "wanted": True}])
    assert f"{late}[1]: at 99 s, after the recording's end at 9 s" in complaint(capsys, intervals, "--expect", late)
    assert f"{words}[0]: unknown key" in complaint(capsys, intervals, "--expect", words)
    assert "none.json: no such file" in complaint(capsys, intervals, "--words", tmp_path / "none.json")


# Mistakes


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param('{"caller": [[1, 2]], "agnet": []}', 'unknown key "agnet". Did you mean "agent"?', id="a key"),
        pytest.param('{"caller": [[1, 2]', "is not JSON: ", id="cut off"),
        pytest.param("{}", '"caller" is missing', id="an empty object"),
        pytest.param("[[1, 2]]", "holds no event; expected one JSON object a line", id="a list"),
        pytest.param('{"simulations": []}', "holds ticks of who speaks; --profile tau-voice reads them", id="ticks"),
        pytest.param("SPEAKER c 1 0 1\n", ":1: 5 fields where RTTM has 9 or 10", id="a short line"),
        pytest.param(";; nobody\n", "holds no SPEAKER line", id="comments alone"),
        pytest.param(b"RIFF\x00\x00\x00\x00WAVE", "", id="half a recording"),
    ],
)
def test_a_file_with_a_mistake_is_named(content: object, says: str, tmp_path: Path, capsys: Capture) -> None:
    path = as_file(tmp_path, "file", content)
    said = complaint(capsys, path)
    assert said.startswith(f"earwitness: {path}:")
    assert says in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--caller-channel", "middle"], '--caller-channel: "middle" is no channel; give left, right, or its number'),
        (["--caller-channel", "-1"], '--caller-channel: "-1" is no channel'),
        (["--agent-channel", "left"], "--agent-channel: names the channel of the caller too"),
        (["--voice-activity", "best"], "invalid choice: 'best'"),
        (["--svg", ""], '--svg "": give the picture a name that ends in .svg or .png'),
        (["--recording", ""], '--recording "": is held against a live call'),
        ([""], '"": is no name that a file can have'),
        (["a\0b"], "is no name that a file can have"),
    ],
)
def test_options_that_are_none(options: list[str], says: str, intervals: Path, capsys: Capture) -> None:
    assert says in complaint(capsys, intervals, *options)


def test_a_mono_recording_on_standard_input_is_called_so(wav: Path, capsys: Capture, monkeypatch: Any) -> None:
    sound, rate = soundfile.read(wav)
    soundfile.write(wav, sound[:, 0], rate)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(wav.read_bytes())))

    assert complaint(capsys, "-").startswith("earwitness: standard input: is mono")


def test_the_same_file_by_two_names_is_one_call(wav: Path, capsys: Capture) -> None:
    assert len(run(capsys, wav, wav.parent / "." / ".." / wav.parent.name / wav.name)["calls"]) == 1


@pytest.mark.parametrize("moment", [10**18, 2**63 - 1])
def test_a_call_too_long_for_ticks_is_named(moment: int, tmp_path: Path, make_call: MakeCall, capsys: Capture) -> None:
    events = [json.loads(encode(event)) for event in make_call()]
    events[-1]["at_ns"] = moment
    path = as_file(tmp_path, "calls.jsonl", "\n".join(map(json.dumps, events)))

    said = complaint(capsys, path, "--profile", "tau-voice")

    assert "lasts over two days" in said


def test_no_escape_sequence_of_a_name_or_a_word_reaches_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    hostile = "\x1b[31mred\u202e"
    told = INTERVALS | {"words": [{"party": "caller", "start_s": 2, "end_s": 3, "text": hostile}]}
    paths = [as_file(tmp_path, f"{hostile}{n}.json", told) for n in range(2)]
    shown = table(capsys, *paths)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[31mred0.json" in shown


# The table


def test_the_table_of_one_recording(wav: Path, intervals: Path, tmp_path: Path, capsys: Capture) -> None:
    lines = table(capsys, wav).splitlines()
    assert lines[0] == "call.wav  16 kHz stereo  6s  caller left, agent right"
    assert table(capsys, wav, "--caller-channel", "right").startswith(
        "call.wav  16 kHz stereo  6s  caller right, agent left"
    )
    lines = table(capsys, intervals).splitlines()
    assert lines[0] == "call.intervals.json  9s"
    assert "  overlaps            1 · agent gave way 1 (stop 1,000 ms median) · kept the floor 0" in lines
    assert "                      what the caller wanted: unknown without words (--words, --expect)" in lines
    assert not any("outcome" in line for line in lines)
    words = as_file(tmp_path, "words.json", WORDS)
    shown = table(capsys, intervals, "--words", words)
    assert "unknown without words" not in shown
    assert "barge-ins 1: yielded 1, missed 0" in shown
    long = as_file(tmp_path, "long.json", INTERVALS | {"caller": [[2.0, 3.0], [5.0, 6.4]]})
    drawn_out = as_file(tmp_path, "mhm.json", [{"party": "caller", "start_s": 5.0, "end_s": 6.4, "text": "mhm"}])
    shown = table(capsys, long, "--words", drawn_out)
    assert "what the caller wanted: its words do not tell in 1 (--expect)" in shown


def test_what_had_to_be_mended_is_said(tmp_path: Path, capsys: Capture) -> None:
    path = as_file(tmp_path, "c.json", {"caller": [[1, 2], [1.5, 3], [4, 4]], "agent": [[5, 6]]})
    first = table(capsys, path).splitlines()[0]
    assert first.endswith("1 interval joined to others of the same party  1 interval without length left out")


def test_what_was_heard_of_the_channels_is_said(wav: Path, tmp_path: Path, capsys: Capture) -> None:
    sound, rate = soundfile.read(wav)
    sound[:, 1] = 0
    path = tmp_path / "half.wav"
    soundfile.write(path, sound, rate)
    first, second = table(capsys, path).splitlines()[:2]
    assert first == "half.wav  16 kHz stereo  6s  caller left, agent right"
    assert second.startswith("  agent channel: digital silence throughout")


def test_dead_air_says_where_it_was(tmp_path: Path, capsys: Capture) -> None:
    path = as_file(tmp_path, "c.json", {"caller": [[0, 71.9]], "agent": [[78, 79]]})
    assert "  dead air ≥ 3 s      1 · 6,100 ms at 1:11.9, agent owed speech" in table(capsys, path).splitlines()


# The schema


def test_the_published_schema_describes_what_is_printed(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: Capture
) -> None:
    files: list[Path] = [request.getfixturevalue(kind) for kind in KINDS]
    assert main(["schema", "analyze"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    told = INTERVALS | {"words": WORDS, "expect": [{"at_s": 6, "wanted": True}]}
    files.append(as_file(tmp_path, "told.json", told))
    files.append(as_file(tmp_path, "silent.json", {"caller": [], "agent": [], "duration_s": 5}))
    for paths in (*([path] for path in files), files):
        found = run(capsys, *paths)
        validator.validate(found)
        assert undescribed(found, schema, schema) == []
    del found["calls"][0]["overlaps"]
    assert not validator.is_valid(found)


def undescribed(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> list[str]:
    """Fields of a report that the schema does not name."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    if isinstance(value, list):
        return [name for one in value for name in undescribed(one, schema["items"], root, at + "[]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    unknown = [f"{at}.{key}" for key in value if key not in known]
    return unknown + [n for k, v in value.items() if k in known for n in undescribed(v, known[k], root, f"{at}.{k}")]


# The tau-voice profile


def test_the_profile_takes_ticks_and_other_kinds(intervals: Path, log: Path, tmp_path: Path, capsys: Capture) -> None:
    ticks = as_file(tmp_path, "ticks.json", {"tick_seconds": 0.2, "simulations": [{"ticks": "UU..A", "events": []}]})
    found = run(capsys, "--profile", "tau-voice", ticks, intervals, log)
    assert (found["profile"], found["counts"]["n_simulations"]) == ("tau-voice", 3)
    assert found["response_latency_mean"] == pytest.approx((0.4 + 1.0 + 0.8) / 3, abs=0.1)
    shown = table(capsys, "--profile", "tau-voice", ticks)
    assert shown.startswith(f"{ticks}  1 simulation  5 ticks of 0.2 s\n")
    assert "response latency, mean         0.400 s   n 1" in shown


def test_the_profile_counts_ticks_of_one_length(intervals: Path, tmp_path: Path, capsys: Capture) -> None:
    ticks = as_file(tmp_path, "t.json", {"tick_seconds": 0.1, "simulations": [{"ticks": "UU..A"}]})
    assert run(capsys, "--profile", "tau-voice", ticks)["response_latency_mean"] == pytest.approx(0.2)
    assert "ticks of different lengths cannot be counted together" in complaint(
        capsys, "--profile", "tau-voice", ticks, intervals
    )
    assert "--profile: does not go with --svg" in complaint(capsys, "--profile", "tau-voice", ticks, "--svg", "x.svg")
    assert "none: no such file" in complaint(capsys, "--profile", "tau-voice", tmp_path / "none")
