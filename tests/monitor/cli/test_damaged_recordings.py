"""A recording whose file is cut off, or holds more than belongs to it: measured as far as it goes, and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]

from earwitness.monitor.cli import main

Capture = pytest.CaptureFixture[str]
HZ = 8_000


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    sides = np.random.default_rng(1).normal(size=(HZ * 6, 2)) * 0.05
    soundfile.write(tmp_path / "call.wav", sides, HZ)
    return tmp_path / "call.wav"


def analyzed(capsys: Capture, *arguments: object) -> tuple[Any, str]:
    """The report, and what stands on standard error."""
    assert main(["analyze", "--json", *map(str, arguments)]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_a_whole_recording_needs_no_words(whole: Path, capsys: Capture) -> None:
    report, said = analyzed(capsys, whole)

    assert report["calls"][0]["notes"] == []
    assert said == ""


def test_one_cut_off_says_so_in_the_table_in_json_and_on_standard_error(whole: Path, capsys: Capture) -> None:
    whole.write_bytes(whole.read_bytes()[: 44 + HZ * 4 * 2])
    what = "cut off: 4.0 s of the 6.0 s that its header says are missing"

    report, said = analyzed(capsys, whole)

    assert report["calls"][0]["duration_s"] == 2.0
    assert report["calls"][0]["notes"] == [f"file: {what}"]
    assert said == f"earwitness: call.wav: {what}\n"
    assert main(["analyze", str(whole)]) == 0
    assert f"\n  file: {what}\n" in capsys.readouterr().out


def test_what_follows_the_audio_is_said_too(whole: Path, capsys: Capture) -> None:
    whole.write_bytes(whole.read_bytes() + b"the upload ended here")

    report, said = analyzed(capsys, whole)

    assert report["calls"][0]["duration_s"] == 6.0
    assert report["calls"][0]["notes"] == ["file: 21 bytes after its audio are left out"]
    assert said.count("\n") == 1


def test_notes_say_what_else_is_to_be_known(whole: Path, tmp_path: Path, capsys: Capture) -> None:
    sides, _ = soundfile.read(whole)
    sides[:, 1] = 0.0
    soundfile.write(whole, sides, HZ)
    found = tmp_path / "found.json"
    found.write_text(json.dumps({"caller": [[1, 2], [2, 3], [4, 4]], "agent": [], "duration_s": 5}))

    report, said = analyzed(capsys, whole, found)

    notes = {call["call_id"]: call["notes"] for call in report["calls"]}
    assert notes == {
        "call.wav": ["agent channel: digital silence throughout: nothing of this side was recorded"],
        "found.json": [
            "1 interval joined to others of the same party",
            "1 interval without length left out",
        ],
    }
    assert said == ""


def test_a_comparison_says_which_recordings_are_cut_off(whole: Path, tmp_path: Path, capsys: Capture) -> None:
    cut = tmp_path / "cut.wav"
    cut.write_bytes(whole.read_bytes()[: -HZ * 4])

    assert main(["compare", str(whole), str(cut)]) == 0

    assert capsys.readouterr().err == (
        "earwitness: cut.wav: cut off: 1.0 s of the 6.0 s that its header says are missing\n"
    )


@pytest.mark.parametrize("content", [b"Dear sir or madam", b'{"kind": "turn"}\n', b"\x89PNG\r\n\x1a\nabc"])
def test_what_only_its_name_calls_audio_is_said_to_be_none(content: bytes, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "call.WAV"
    path.write_bytes(content)

    assert main(["analyze", str(path)]) == 2

    assert capsys.readouterr().err == (
        f"earwitness: {path}: is no audio, whatever its name says; give a stereo WAV file\n"
    )
