"""Against the benchmark's own published numbers of three of its simulations: all of them, exactly."""

from __future__ import annotations

import json

import pytest
from outside_data import outside, outside_json

from earwitness.monitor.cli import main


def test_all_metrics_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    path = outside("truth", "tau-voice", "golden.json")
    assert main(["analyze", "--profile", "tau-voice", "--json", str(path)]) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = outside_json("truth", "tau-voice", "golden.json")["expected"]
    assert (len(expected), len(expected["counts"])) == (9, 7)
    assert {name: shown[name] for name in expected} == expected
