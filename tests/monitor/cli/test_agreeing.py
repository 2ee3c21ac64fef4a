"""``analyze --recording``: the recordings of live calls, found by file and by folder, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from event_logs import written
from pipecat_calls.recorded import record_call
from pipecat_calls.script import Reply, Say, Script

from earwitness.monitor.call_names import recording_name
from earwitness.monitor.cli.entry import main
from earwitness.monitor.contract.events import AnyEvent
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.recording import disk_executor

MakeCall = Callable[..., list[AnyEvent]]


@pytest.fixture
def live(tmp_path: Path, make_call: MakeCall) -> str:
    return written(tmp_path / "live.jsonl", make_call("c-7f3a"))


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """The caller from 1.0 to 2.0 s as in the call, the agent 50 ms later than it was written."""
    path = tmp_path / "call.intervals.json"
    path.write_text('{"caller": [[1.0, 2.0]], "agent": [[2.95, 4.95]]}')
    return str(path)


def test_a_recording_is_held_against_its_call(live: str, recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", live, "--recording", recording, "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert [c["call_id"] for c in found["calls"]] == ["c-7f3a"]
    agreement = found["agreement"]
    on = next(e for e in agreement["edges"] if e["edge"] == "a_on")
    assert (on["kinds"], on["n"], on["median_s"]) == (["recording", "playout"], 1, -0.05)
    assert agreement["response_latency"]["median_s"] == 0.05
    assert agreement["recordings"][0]["turns"][0]["difference_s"] == 0.05

    assert main(["analyze", live, "--recording", recording]) == 0
    out = capsys.readouterr().out
    assert "agent playout − recording: onset −50 ms (p90 50, n 1)" in out
    assert "response latency recording − live: +50 ms (p90 50, n 1)" in out


def test_of_several_calls_the_folder_holds_the_recordings(
    tmp_path: Path, make_call: MakeCall, recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    both = written(tmp_path / "both.jsonl", make_call("c/1"), make_call("c-2"))
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / recording_name("c/1")).write_text(Path(recording).read_text())

    assert main(["analyze", both, "--recording", str(folder), "--json"]) == 0

    agreement = json.loads(capsys.readouterr().out)["agreement"]
    assert [r["call_id"] for r in agreement["recordings"]] == ["c/1"]


@pytest.mark.parametrize(
    ("files", "recording", "said"),
    [
        (["both.jsonl"], "a.intervals.json", "is one recording, and there are 2 live calls; name the folder"),
        (["both.jsonl"], "empty", "holds no recording of these calls, such as c-1.wav"),
        (["a.intervals.json"], "a.intervals.json", "is held against a live call, and no event log is given"),
        (["one.jsonl"], "both.jsonl", "is no recording of one call"),
    ],
)
def test_a_recording_that_is_none_is_one_line(
    make_call: MakeCall, files: list[str], recording: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path = Path()  # where each test of the command line runs
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.intervals.json").write_text('{"caller": [[1.0, 2.0]], "agent": [[3, 4]]}')
    written(tmp_path / "one.jsonl", make_call("c-1"))
    written(tmp_path / "both.jsonl", make_call("c-1"), make_call("c-2"))

    assert main(["analyze", *files, "--recording", recording]) == 2

    err = capsys.readouterr().err
    assert err.startswith(f"earwitness: --recording {recording}: {said}")
    assert err.count("\n") == 1


def test_a_recording_alone_has_one_witness(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", recording, "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["agreement"] == {
        "edges": [],
        "response_latency": None,
        "recordings": [],
    }


@pytest.mark.pipecat
def test_what_a_bot_recorded_lies_on_the_clock_of_its_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole call through a real pipeline with taps, recorded as ``EARWITNESS_RECORD`` does it."""
    lines = tuple(Say("can you tell me more about it", at_s=at) for at in (5.0, 12.0, 19.0, 26.0))
    replies = tuple(Reply("Of course I can tell you more.") for _ in range(6))
    settings = BotSettings.from_env({"EARWITNESS_RECORD": str(tmp_path / "recordings")}, taps=True)
    placed = record_call(
        Script(lines=lines, replies=replies, sound="voice", ends_s=34), witness={"settings": settings}, transport=True
    )
    disk_executor().submit(int).result()
    log = written(tmp_path / "live.jsonl", placed.events)

    assert main(["analyze", log, "--recording", str(tmp_path / "recordings"), "--json"]) == 0

    agreement: dict[str, Any] = json.loads(capsys.readouterr().out)["agreement"]
    assert agreement["recordings"][0]["offset_s"] == 0
    rows = {(e["edge"], *e["kinds"]): e for e in agreement["edges"]}
    assert {("u_off", "recording", "audio"), ("u_off", "audio", "vad"), ("a_on", "recording", "playout")} <= set(rows)
    for (edge, *kinds), found in rows.items():
        assert found["n"] >= 4, (edge, kinds)
        if "vad" not in kinds:
            assert abs(found["median_s"]) <= 0.06, (edge, kinds)
    latency = agreement["response_latency"]
    assert latency["n"] == 4
    assert latency["p90_abs_s"] <= 0.1
