"""The real Kafka of the tests: the one that is up, else one started here and ended with the session.

``make kafka-up`` beforehand saves its start. Where no Kafka can be had the tests that need it are skipped, loudly; in
CI they fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "kafka.py"
START_WITHIN_S = 1_200
"""The first start may have to install Java and fetch the jars."""


def kafka_tool(command: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``tools/kafka.py``."""
    return subprocess.run(
        [sys.executable, str(TOOL), command],
        capture_output=True,
        text=True,
        timeout=START_WITHIN_S,
        env=environ,
        check=False,
    )


@contextmanager
def broker_for_a_bench() -> Iterator[str]:
    """The address of the broker that is up, else of one that ends with the context. Raises SystemExit."""
    was_up = "EARWITNESS_TEST_KAFKA" in os.environ or kafka_tool("status").returncode == 0
    up = kafka_tool("up")
    if up.returncode != 0:
        raise SystemExit(f"no Kafka here: {up.stderr.strip()}")
    try:
        yield up.stdout.strip()
    finally:
        if not was_up:
            kafka_tool("down")


def _address(up: subprocess.CompletedProcess[str]) -> str:
    if up.returncode != 0:
        reason = f"no Kafka: {up.stderr.strip().splitlines()[-1] if up.stderr.strip() else up.returncode}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return up.stdout.strip()


@pytest.fixture(scope="session")
def kafka_bootstrap() -> Iterator[str]:
    """``host:port`` of a real broker, shared by all tests: each makes topics of its own, with a prefix of its own."""
    was_up = "EARWITNESS_TEST_KAFKA" in os.environ or kafka_tool("status").returncode == 0
    yield _address(kafka_tool("up"))
    if not was_up:
        kafka_tool("down")


@pytest.fixture(scope="session")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Callable[[str], None]]]:
    """A second broker that a test may ``pause`` and ``resume``: its address, and the function that does it."""
    environ = {**os.environ, "EARWITNESS_TEST_KAFKA_RUN": str(tmp_path_factory.mktemp("kafka"))}
    environ.pop("EARWITNESS_TEST_KAFKA", None)

    def tell(command: str) -> None:
        assert kafka_tool(command, environ).returncode == 0

    yield _address(kafka_tool("up", environ)), tell
    kafka_tool("down", environ)
