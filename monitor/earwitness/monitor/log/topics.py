"""The topics of Earwitness, by name and shape."""

from __future__ import annotations

from earwitness.monitor.log.protocol import TopicSpec

DEFAULT_PREFIX = "earwitness"
EVENTS, RECORDS, STATE, ALERTS, DEAD = "events", "records", "state", "alerts", "dead"


def topic_name(prefix: str, kind: str) -> str:
    """``earwitness.events`` for ``events``."""
    return f"{prefix}.{kind}"


def topic_specs(prefix: str, partitions: int, *, retention_ms: int | None = None) -> list[TopicSpec]:
    """All topics that a log needs. ``retention_ms`` (None: the log's own rule) holds for those that are not compacted.

    ``state`` has as many partitions as ``events``: the state of a partition lies in the partition of its number.
    """
    return [
        TopicSpec(topic_name(prefix, EVENTS), partitions, retention_ms=retention_ms),
        TopicSpec(topic_name(prefix, RECORDS), partitions, retention_ms=retention_ms),
        TopicSpec(topic_name(prefix, STATE), partitions, compacted=True),
        TopicSpec(topic_name(prefix, ALERTS), 1, compacted=True),
        TopicSpec(topic_name(prefix, DEAD), 1, retention_ms=retention_ms),
    ]
