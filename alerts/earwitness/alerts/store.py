"""Alerts kept on the log's compacted alerts topic, so that a restart goes on where the last process stood.

One record an alert, keyed by its fingerprint, and one a silence. Readers (a view, another process) see the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import structlog
from pydantic import ValidationError

from earwitness.alerts.evaluator import Alert
from earwitness.alerts.notification import Frozen
from earwitness.monitor.log.protocol import Log, Outgoing, Reader
from earwitness.monitor.log.topics import ALERTS, topic_name

SILENCE = "silence:"


class Silence(Frozen):
    """No firing notice of the alerts whose fingerprint begins with ``prefix`` goes out before ``until_ns``."""

    v: int = 1
    prefix: str
    until_ns: int
    by: str | None = None

    def covers(self, fingerprint: str, now_ns: int) -> bool:
        return now_ns < self.until_ns and fingerprint.startswith(self.prefix)


@dataclass(slots=True)
class Kept:
    """What the topic says, latest of each key."""

    alerts: dict[str, Alert] = field(default_factory=dict[str, Alert])
    silences: dict[str, Silence] = field(default_factory=dict[str, Silence])

    def is_silenced(self, fingerprint: str, now_ns: int) -> bool:
        return any(silence.covers(fingerprint, now_ns) for silence in self.silences.values())


class AlertStore:
    """Reads and writes alerts. Raises LogError where the log does."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._topic = topic_name(log.prefix, ALERTS)
        self._reader: Reader | None = None
        self.kept = Kept()
        self.unreadable = 0

    async def load(self) -> Kept:
        """Read to the present end."""
        if self._reader is None:
            self._reader = await self._log.reader(self._topic)
        ends = await self._log.end_positions(self._topic)
        while any(at < ends.get(partition, 0) for partition, at in self._reader.positions().items()):
            before = self._reader.positions()
            await self._take(0.5)
            if self._reader.positions() == before:
                break  # what compaction removed at the end is not to be waited for
        return self.kept

    async def refresh(self) -> Kept:
        """Take in what has come since, without waiting."""
        if self._reader is None:
            return await self.load()
        await self._take(0.0)
        return self.kept

    async def save(self, alerts: Iterable[Alert], forgotten: Iterable[str] = ()) -> None:
        """Keep alerts; forget fingerprints."""
        records = [Outgoing(alert.fingerprint, alert.model_dump_json().encode()) for alert in alerts]
        records += [Outgoing(mark, None) for mark in forgotten]
        await self._append(records)

    async def silence(self, silence: Silence) -> None:
        await self._append([Outgoing(SILENCE + silence.prefix, silence.model_dump_json().encode())])

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _append(self, records: Sequence[Outgoing]) -> None:
        if records:
            await self._log.append(self._topic, records)

    async def _take(self, timeout_s: float) -> None:
        assert self._reader is not None
        for entry in await self._reader.poll(timeout_s=timeout_s):
            self._fold(entry.key, entry.value)

    def _fold(self, key: str, value: bytes | None) -> None:
        is_silence = key.startswith(SILENCE)
        if value is None:
            (self.kept.silences if is_silence else self.kept.alerts).pop(key, None)
            return
        try:
            if is_silence:
                self.kept.silences[key] = Silence.model_validate(json.loads(value))
            else:
                self.kept.alerts[key] = Alert.model_validate_json(value)
        except (ValidationError, ValueError) as error:
            self.unreadable += 1
            structlog.get_logger("earwitness.alerts").warning(
                "alert record unreadable", key=key, error=type(error).__name__
            )
