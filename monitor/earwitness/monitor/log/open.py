"""Opening a log by its URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from earwitness.monitor.log.embedded import EmbeddedLog, EmbeddedSettings
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.topics import DEFAULT_PREFIX, topic_specs
from earwitness.monitor.log.url import LogUrl, SqliteUrl, parse_log_url

EMBEDDED_PARTITIONS = 4
"""Few enough that an idle site costs nothing, more than one so that several workers can share a machine."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What may be set of a log: ``kafka`` as in the settings file, and how much the embedded log keeps (None: what it
    remembers, else 8 days and 4 GiB)."""

    kafka: Mapping[str, object] = field(default_factory=dict[str, object])
    retention_days: float | None = None
    retention_bytes: int | None = None
    remember_retention: bool = False
    """Have the embedded log remember the retention given here, for bots and others who open it without."""
    busy_timeout_s: float = 5.0
    """How long the embedded log waits for another process that holds it: an exit may have to wait as long."""


async def open_log(url: str | LogUrl, *, settings: LogSettings | None = None) -> Log:
    """Open a log. The embedded log is made, with its topics, where it is missing; on Kafka topics are made by hand.

    Raises BadInput for a URL or settings that cannot be right, LogUnavailable or LogRefused where it cannot be had.
    """
    settings = settings or LogSettings()
    found = parse_log_url(url) if isinstance(url, str) else url
    if isinstance(found, SqliteUrl):
        kept = EmbeddedSettings(
            keep_s=None if settings.retention_days is None else settings.retention_days * 24 * 3600,
            keep_bytes=settings.retention_bytes,
            remember_kept=settings.remember_retention,
            busy_timeout_s=settings.busy_timeout_s,
        )
        topics = topic_specs(DEFAULT_PREFIX, EMBEDDED_PARTITIONS)
        return await EmbeddedLog.open(found, topics, settings=kept)
    # Only those who use Kafka pay for loading its client.
    from earwitness.monitor.log.kafka import KafkaLog  # noqa: PLC0415
    from earwitness.monitor.log.kafka_settings import kafka_settings  # noqa: PLC0415

    return await KafkaLog.open(found, kafka_settings(found, settings.kafka))
