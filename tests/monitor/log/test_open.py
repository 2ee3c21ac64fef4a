"""A log is opened by its name alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.protocol import Outgoing


async def test_the_embedded_log_is_made_with_its_topics_and_settings(tmp_path: Path) -> None:
    settings = LogSettings(retention_days=2, retention_bytes=1_000_000)
    log = await open_log(str(tmp_path / "deep" / "log.db"), settings=settings)
    await log.append("earwitness.events", [Outgoing("call", b"x")])
    topics = await log.topics()
    await log.close()

    assert log.url == f"sqlite://{tmp_path}/deep/log.db"
    assert log.prefix == "earwitness"
    assert {name: (info.compacted, info.retention_ms) for name, info in topics.items()} == {
        "earwitness.events": (False, 2 * 24 * 3_600_000),
        "earwitness.records": (False, 2 * 24 * 3_600_000),
        "earwitness.state": (True, None),
        "earwitness.alerts": (True, None),
        "earwitness.dead": (False, 2 * 24 * 3_600_000),
    }
    assert topics["earwitness.state"].partitions == topics["earwitness.events"].partitions


async def test_retention_that_the_monitor_sets_holds_for_all_who_open_the_log(tmp_path: Path) -> None:
    url = str(tmp_path / "log.db")
    for settings, days in (
        (LogSettings(retention_days=2), 2),  # its own affair
        (None, 8),
        (LogSettings(retention_days=30, remember_retention=True), 30),
        (None, 30),
        (LogSettings(remember_retention=True), 30),
    ):
        log = await open_log(url, settings=settings)
        assert (await log.topics())["earwitness.events"].retention_ms == days * 24 * 3_600_000
        await log.close()


async def test_settings_that_cannot_be_right_are_refused_before_anything_connects() -> None:
    with pytest.raises(BadInput, match=r"kafka\.security_protocol"):
        await open_log("kafka://127.0.0.1:1", settings=LogSettings(kafka={"security_protocol": "no"}))


def test_the_embedded_log_does_not_load_a_kafka_client() -> None:
    code = "import sys, earwitness.monitor.log.open; sys.exit('aiokafka' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
