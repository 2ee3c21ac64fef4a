"""One call on the oldest Pipecat that we work on, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SMOKE = Path(__file__).resolve().parents[1] / "pipecat_calls" / "smoke_oldest.py"


@pytest.mark.pipecat
def test_a_call_on_the_oldest_pipecat_is_reported_like_any_other() -> None:
    python = os.environ.get("EARWITNESS_TEST_OLDEST_PYTHON")
    if not python:
        pytest.skip("EARWITNESS_TEST_OLDEST_PYTHON names no interpreter with requirements/oldest.in installed")

    done = subprocess.run([python, str(SMOKE)], capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert "pipecat-ai 1.0." in done.stdout


@pytest.mark.pipecat
def test_the_same_script_holds_on_the_newest() -> None:
    from pipecat_calls.recorded import record_call
    from pipecat_calls.smoke_oldest import CALL, check

    call = record_call(CALL, taps=True)
    check(call)
    assert call.events[-1].kind == "call_ended"
