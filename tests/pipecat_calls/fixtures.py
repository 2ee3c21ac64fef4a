"""Fixtures for tests that need a whole call. Loaded as a plugin, so that the virtual clock is in place early."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pipecat_calls import virtual_clock  # noqa: F401 - before anybody imports Pipecat

if TYPE_CHECKING:
    from pipecat_calls.recorded import RecordedCall

RunCall = Callable[..., "RecordedCall"]


@pytest.fixture
def run_call() -> RunCall:
    """``run_call(script, **options)``: a scripted call through a real pipeline, watched. See `record_call`."""
    from pipecat_calls.recorded import record_call

    def run(script: Any, **options: Any) -> RecordedCall:
        return record_call(script, **options)

    return run
