"""Brokers that these tests may kill, and one that asks for a password."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka_broker import START_WITHIN_S, kafka_tool

CLUSTER_TOOL = Path(__file__).resolve().parents[2] / "tools" / "kafka_cluster.py"
PROPERTIES = r"""
listeners=PLAINTEXT://127.0.0.1:$broker_port,CONTROLLER://127.0.0.1:$controller_port,ASKS://127.0.0.1:$other_port
advertised.listeners=PLAINTEXT://127.0.0.1:$broker_port,ASKS://127.0.0.1:$other_port
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,ASKS:SASL_PLAINTEXT
listener.name.asks.sasl.enabled.mechanisms=PLAIN
listener.name.asks.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    user_bot="right";
# A killed broker may come back as soon as it is given up.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""


@dataclass(frozen=True)
class FaultyKafka:
    """``asks``: the address where user ``bot`` must give the password ``right``. ``tell``: what `kafka.py` takes."""

    address: str
    asks: str
    tell: Callable[[str], None]


def _or_skip(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        reason = f"no Kafka: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return done.stdout.strip()


@pytest.fixture(scope="session")
def faulty_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyKafka]:
    """A broker of one's own."""
    folder = tmp_path_factory.mktemp("faulty-kafka")
    (folder / "more.properties").write_text(PROPERTIES)
    environ = {**os.environ, "EARWITNESS_KAFKA_RUN": str(folder)}
    environ["EARWITNESS_KAFKA_PROPERTIES"] = str(folder / "more.properties")
    environ.pop("EARWITNESS_TEST_KAFKA", None)

    def tell(command: str) -> None:
        done = kafka_tool(command, environ)
        assert done.returncode == 0, done.stderr

    address = _or_skip(kafka_tool("up", environ))
    try:
        port = re.search(r"ASKS://127\.0\.0\.1:(\d+)", (folder / "server.properties").read_text())
        assert port is not None
        yield FaultyKafka(address, f"127.0.0.1:{port[1]}", tell)
    finally:
        kafka_tool("down", environ)


@dataclass(frozen=True)
class Cluster:
    """Three brokers: their addresses, and ``tell("kill", 2)`` or ``tell("start", 2)``."""

    addresses: tuple[str, ...]
    tell: Callable[[str, int], None]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers of one's own."""
    environ = {**os.environ, "EARWITNESS_KAFKA_CLUSTER_RUN": str(tmp_path_factory.mktemp("cluster"))}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(CLUSTER_TOOL), *command],
            capture_output=True, text=True, timeout=START_WITHIN_S, env=environ, check=False,
        )  # fmt: skip

    def tell(what: str, number: int) -> None:
        done = run(what, str(number))
        assert done.returncode == 0, done.stderr

    try:
        yield Cluster(tuple(_or_skip(run("up")).split(",")), tell)
    finally:
        run("down")
