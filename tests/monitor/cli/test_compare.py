"""``earwitness compare``: sets named by file, folder, pattern and label, and what is said of them."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from calls_of import sample_call
from event_logs import written

from earwitness.monitor.cli.entry import main
from earwitness.monitor.cli.views.compare_view import COUNTED, LABELS, compare_view
from earwitness.monitor.contract.comparison import Comparison
from earwitness.monitor.contract.schema import schemas
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.measures.comparison import NUMBERS

S = 1_000_000_000


def events_of(version: str, count: int, *, slow_s: float, began_ns: int | None = None) -> list[list[Any]]:
    rng = random.Random(version)
    calls = []
    for n in range(count):
        told = sample_call(rng, slow_s=slow_s, version=version, labels={"route": "ivr"}).events()
        moved = {"call_id": f"v{version}-{n}"}
        calls.append([
            e.model_copy(update=moved if began_ns is None else moved | {"wall_ns": began_ns + e.at_ns}) for e in told
        ])  # fmt: skip
    return calls


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A folder for each of two versions, the newer slower, a call a file."""
    for version, slow_s in (("41", 0.7), ("42", 1.4)):
        (tmp_path / version).mkdir()
        for n, call in enumerate(events_of(version, 12, slow_s=slow_s)):
            written(tmp_path / version / f"{n}.jsonl", call)
        (tmp_path / version / "notes.json").write_text("{}")
    return tmp_path


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["compare", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json.loads(schemas()["compare.json"]))
    return {**found, "numbers": {n["name"]: n for n in found["numbers"]}}


def test_folders_patterns_and_files_name_the_same_calls(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_folder = compared(capsys, str(versions / "41"), str(versions / "42"))
    by_pattern = compared(capsys, str(versions / "41" / "*.jsonl"), str(versions / "42" / "*.jsonl"))
    whole = [written(versions / f"{v}.jsonl", *events_of(v, 12, slow_s=s)) for v, s in (("41", 0.7), ("42", 1.4))]
    by_file = compared(capsys, *whole)

    assert by_folder["a"]["calls"] == by_folder["b"]["calls"] == 12
    assert by_folder["numbers"] == by_pattern["numbers"] == by_file["numbers"]
    assert by_folder["numbers"]["response_latency_p50"]["verdict"] == "worse"
    assert by_folder["numbers"]["response_latency_p50"]["interval"]["low"] > 0.1


def test_the_table_says_worse_and_cannot_tell_with_numbers(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(versions / "41"), str(versions / "42")]) == 0

    out = capsys.readouterr().out
    latency = next(line for line in out.splitlines() if "response latency p50" in line)
    assert "WORSE" in latency
    assert latency.split()[4] == "ms"
    assert re.search(r" [1-9]\d+ / [1-9]\d+$", latency)
    assert "n: caller turns" in out
    assert "cannot tell" in out
    assert "one in twenty" in out


def test_versions_on_the_log_are_named_by_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, now_ns = tmp_path / "log.db", time.time_ns()
    calls = [
        *events_of("41", 11, slow_s=0.7, began_ns=now_ns - 600 * S),
        *events_of("42", 11, slow_s=1.4, began_ns=now_ns - 600 * S),
    ]
    going_on = events_of("42x", 1, slow_s=1.0, began_ns=now_ns - 10 * S)[0][:6]
    going_on = [e.model_copy(update={"version": "42"}) if e.kind == "call_started" else e for e in going_on]

    async def write() -> None:
        log = await open_log(str(path))
        for call in (*calls, going_on):
            await log.append("earwitness.events", [Outgoing(e.call_id, encode(e)) for e in call])
        await log.close()

    asyncio.run(write())
    log = ["--log", str(path)]

    found = compared(capsys, "version=41", "version=42,route=ivr", "--agent", "clinic", *log)
    assert (found["a"]["calls"], found["b"]["calls"]) == (11, 11)
    assert found["numbers"]["response_latency_p50"]["verdict"] == "worse"

    assert main(["compare", "version=41", "version=42", *log]) == 0
    assert "1 call still in progress, left out" in capsys.readouterr().out
    assert main(["compare", "version=41", "version=43", *log]) == 2
    assert "version=43: no ended call within 24 h is so labelled" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.jsonl", "one.jsonl"], "no.jsonl: no such file, folder or pattern; calls on the log are named by a label"),
        (["*.nothing", "one.jsonl"], "*.nothing: no file matches"),
        (["empty", "one.jsonl"], "empty: no file in it tells of calls"),
        (["one.jsonl", "one.jsonl", "--agent", "x"], "--agent: chooses among the calls of a log"),
        (["", "one.jsonl"], '"": is no name that a file can have'),
        (["x" * 5_000, "one.jsonl"], "xxx"),
        (["-", "-"], "-: only one side can be standard input"),
        (["version=1", "one.jsonl", "--since", "often"], "--since: "),
    ],
)
def test_a_set_that_is_none_is_one_line(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    written(tmp_path / "one.jsonl", *events_of("41", 1, slow_s=1.0))

    assert main(["compare", *arguments]) == 2

    err = capsys.readouterr().err
    assert err.startswith(f"earwitness: {said}")
    assert err.count("\n") == 1


def test_calls_in_both_sets_and_other_measuring_points_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "one.jsonl", *events_of("41", 2, slow_s=1.0))
    (tmp_path / "a.intervals.json").write_text('{"caller": [[1, 2]], "agent": [[2.8, 5]]}')

    assert main(["compare", log, log]) == 0
    said = capsys.readouterr().out
    assert "2 calls in both sets" in said
    assert "Intervals:" not in said  # two calls have none
    assert main(["compare", log, "a.intervals.json"]) == 0
    assert "measured at different points" in capsys.readouterr().out


def test_hostile_names_are_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "x\x1b[2J\u202e.jsonl"
    written(tmp_path / name, *events_of("41", 1, slow_s=1.0))

    assert main(["compare", name, name]) == 0

    assert all(c.isprintable() or c == "\n" for c in capsys.readouterr().out)


def comparison(interval: tuple[float | None, float | None], **changed: Any) -> Comparison:
    """Every number with the same difference, of sets as large as there are."""
    side = {"value": 9.999, "more_than": None, "n": 12_345.0, "calls": 12_345}
    low, high = interval
    number = {
        "a": side, "b": side | {"value": None, "more_than": 119.4},
        "difference": -9.999, "difference_more_than": None, "difference_less_than": None,
        "interval": {"low": low, "high": high}, "verdict": "cannot_tell", "reason": "covers_zero", **changed,
    }  # fmt: skip
    return Comparison.model_validate({
        "bounds": "default-1", "confidence": 0.95, "resamples": 2000, "shared_calls": 0,
        "a": {"name": "calls/of/a/long/name/" * 4, "calls": 12_345, "measuring_points": ("pipeline", "recording")},
        "b": {"name": "b", "calls": 10, "measuring_points": ("pipeline",)},
        "numbers": tuple({"name": n.name, "unit": n.unit, "better": n.better, **number} for n in NUMBERS),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("interval", "changed"),
    [
        ((-9.999, 9.999), {}),
        ((-9.999, 11.6), {}),
        ((-9.999, 99.4), {"difference": 10.2}),
        ((-9.999, None), {"difference": None, "difference_more_than": -9.999}),
        ((None, 9.999), {"difference": None, "difference_less_than": 9.999}),
        ((None, None), {"difference": None, "reason": "censored"}),
    ],
)
def test_every_number_has_a_label_and_fits_100_columns(
    interval: tuple[float | None, float | None], changed: dict[str, Any]
) -> None:
    assert set(LABELS) == {number.name for number in NUMBERS}
    assert set(LABELS) > COUNTED

    lines = compare_view(comparison(interval, **changed))

    rows = [line for line in lines if "cannot tell" in line]
    assert len(rows) == len(NUMBERS)
    assert len({row.index("cannot tell") for row in rows}) == 1
    assert len({row.index("12,345 / 12,345") for row in rows}) == 1
    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize(
    ("interval", "difference", "shown"),
    [
        ((0.72, 1.12), 0.93, "+930 ms  +720 to +1,120"),
        ((-0.72, 1.12), 0.2, "+200 ms  −720 to +1,120"),
        ((9.2, 11.6), 10.4, "+10.4 s  +9.2 to +11.6 s"),
        ((-9.2, 9.6), 10.4, "+10.4 s  −9.2 to +9.6 s"),
        ((0.2, None), 0.4, "+400 ms  over +200 ms"),
    ],
)
def test_an_interval_stands_in_the_unit_of_its_difference_or_says_its_own(
    interval: tuple[float | None, float | None], difference: float, shown: str
) -> None:
    [row] = [line for line in compare_view(comparison(interval, difference=difference)) if "latency p50" in line][:1]

    assert shown in row
