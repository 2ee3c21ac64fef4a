"""How long a log keeps what it has, as commands are told it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from started_commands import started

from earwitness.monitor.cli import main
from earwitness.monitor.log.open import open_log


def kept_days(path: str) -> float:
    """As a bot opens the log."""

    async def look() -> float:
        log = await open_log(path)
        (kept_ms,) = {info.retention_ms for info in (await log.topics()).values() if not info.compacted}
        await log.close()
        return (kept_ms or 0) / 86_400_000

    return asyncio.run(look())


def test_retention_that_is_set_when_topics_are_made_holds_for_bots(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    assert main(["topics", "create", "--log", path]) == 0
    assert kept_days(path) == 8
    assert main(["topics", "create", "--log", path, "--set", "retention.days=30"]) == 0
    assert kept_days(path) == 30
    assert main(["calls", "--log", path, "--set", "retention.days=1"]) == 0  # who only looks sets nothing
    assert main(["topics", "create", "--log", path]) == 0
    assert kept_days(path) == 30


@pytest.mark.realtime
def test_retention_that_is_set_for_run_holds_for_bots(log_path: Path) -> None:
    process = started(["run", "--log", str(log_path), "--port", "0", "--set", "retention.days=30"])
    assert process.stderr is not None
    assert any(b"monitor runs" in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    assert kept_days(str(log_path)) == 30
