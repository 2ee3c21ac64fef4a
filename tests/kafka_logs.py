"""Logs on the tests' Kafka, opened with settings of a test's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from earwitness.monitor.log.kafka import KafkaLog

Opener = Callable[..., Awaitable[KafkaLog]]
"""Takes the topics to make, and settings that differ; ``bootstrap``: another broker than the tests' own."""
