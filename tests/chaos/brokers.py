"""Brokers that a test may kill, one of which asks for a password on a second address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


class NoKafka(Exception):
    """There is none to be had here; the text says why."""


def _said(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        raise NoKafka(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else str(done.returncode))
    return done.stdout.strip()


@dataclass(frozen=True)
class FaultyBroker:
    """``asks``: the address where user ``bot`` must give the password ``right``. ``tell``: what `kafka.py` takes."""

    address: str
    asks: str
    tell: Callable[[str], None]

    @staticmethod
    @contextmanager
    def up(folder: Path) -> Iterator[FaultyBroker]:
        """Raises NoKafka."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "more.properties").write_text(PROPERTIES)
        environ = {**os.environ, "EARWITNESS_TEST_KAFKA_RUN": str(folder)}
        environ["EARWITNESS_TEST_KAFKA_PROPERTIES"] = str(folder / "more.properties")
        environ.pop("EARWITNESS_TEST_KAFKA", None)

        def tell(command: str) -> None:
            done = kafka_tool(command, environ)
            assert done.returncode == 0, done.stderr

        address = _said(kafka_tool("up", environ))
        try:
            port = re.search(r"ASKS://127\.0\.0\.1:(\d+)", (folder / "server.properties").read_text())
            assert port is not None
            yield FaultyBroker(address, f"127.0.0.1:{port[1]}", tell)
        finally:
            kafka_tool("down", environ)


@dataclass(frozen=True)
class Cluster:
    """Three brokers: their addresses, and ``tell("kill", 2)`` or ``tell("start", 2)``."""

    addresses: tuple[str, ...]
    tell: Callable[[str, int], None]

    @staticmethod
    @contextmanager
    def up(folder: Path) -> Iterator[Cluster]:
        """Raises NoKafka."""
        environ = {**os.environ, "EARWITNESS_TEST_KAFKA_CLUSTER_RUN": str(folder)}

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, str(CLUSTER_TOOL), *command],
                capture_output=True, text=True, timeout=START_WITHIN_S, env=environ, check=False,
            )  # fmt: skip

        def tell(what: str, number: int) -> None:
            done = run(what, str(number))
            assert done.returncode == 0, done.stderr

        try:
            yield Cluster(tuple(_said(run("up")).split(",")), tell)
        finally:
            run("down")
