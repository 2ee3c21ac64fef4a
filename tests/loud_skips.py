"""Skips are loud: one line each and a count at the end; in CI a skip fails the run.

The one exception is outside data that is not part of the repository: its reason begins with ``outside data``.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

OUTSIDE_DATA = "outside data"


def _skips(config: pytest.Config) -> list[tuple[str, str]]:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    found: list[tuple[str, str]] = []
    for report in reporter.stats.get("skipped", []) if reporter else []:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        found.append((report.nodeid, str(reason).removeprefix("Skipped: ")))
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line for each skip, and how many there were."""
    skips = _skips(config)
    for nodeid, reason in skips:
        terminalreporter.write_line(f"SKIPPED, NOT TESTED: {nodeid}: {reason}")
    if skips:
        terminalreporter.write_line(f"{len(skips)} tests were skipped and say nothing.")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failed run, outside data excepted."""
    if os.environ.get("CI") != "true":
        return
    if any(not reason.startswith(OUTSIDE_DATA) for _, reason in _skips(session.config)) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
