"""Brokers of one's own, for as long as the session lasts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

import pytest
from chaos.brokers import Cluster, FaultyBroker, NoKafka

T = TypeVar("T")


def _or_skip(opened: AbstractContextManager[T]) -> Iterator[T]:
    try:
        with opened as broker:
            yield broker
    except NoKafka as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Kafka: {reason}", pytrace=False)
        pytest.skip(f"no Kafka: {reason}")


@pytest.fixture(scope="session")
def faulty_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyBroker]:
    """A broker that may be killed, and that asks for a password at its second address."""
    yield from _or_skip(FaultyBroker.up(tmp_path_factory.mktemp("faulty-kafka")))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers."""
    yield from _or_skip(Cluster.up(tmp_path_factory.mktemp("cluster")))
