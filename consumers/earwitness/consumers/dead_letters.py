"""Where records go that cannot be read or handled: none is lost in silence, none stops a worker (D09).

A dead letter says topic, partition, offset and reason, and carries the payload, so that it can be looked at and
played again after a mend.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any, Final

import structlog

from earwitness.monitor.contract.wire import UnreadableReason
from earwitness.monitor.log.protocol import Entry, Outgoing

HANDLER_ERROR: Final = "handler_error"
"""Reason of a record that was read and then could not be handled: a fault of ours, logged with its traceback."""
REASONS: Final[tuple[str, ...]] = ("not_json", "unknown_kind", "unknown_version", "invalid", HANDLER_ERROR)
Reason = UnreadableReason | str

_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class DeadLetters:
    """Collects what could not be read. ``keep`` False only counts: for readers that write nothing."""

    def __init__(self, *, keep: bool = True) -> None:
        self.by_reason: Counter[str] = Counter()
        self._keep = keep
        self._waiting: list[Outgoing] = []

    def add(self, entry: Entry, reason: str, detail: str) -> None:
        """Set one record aside."""
        self.by_reason[reason] += 1
        if not self._keep:
            return
        _log.warning(
            "record set aside",
            topic=entry.topic,
            partition=entry.partition,
            offset=entry.offset,
            reason=reason,
            detail=detail,
        )
        self._waiting.append(dead_letter(entry, reason, detail))

    def take(self) -> list[Outgoing]:
        """The letters since the last call of this."""
        waiting, self._waiting = self._waiting, []
        return waiting


def dead_letter(entry: Entry, reason: str, detail: str) -> Outgoing:
    """One record of the dead-letter topic, keyed by where the original lies."""
    body: dict[str, Any] = {
        "v": 1,
        "topic": entry.topic,
        "partition": entry.partition,
        "offset": entry.offset,
        "append_ns": entry.append_ns,
        "key": entry.key,
        "reason": reason,
        "detail": detail,
        **_payload(entry.value),
    }
    return Outgoing(f"{entry.topic}/{entry.partition}/{entry.offset}", json.dumps(body, ensure_ascii=False).encode())


def without_payload(letter: Outgoing) -> Outgoing:
    """The same letter for a log that finds it too large: the original still lies where it says."""
    body: dict[str, Any] = json.loads(letter.value or b"{}")
    for field in ("payload", "payload_base64"):
        body.pop(field, None)
    return Outgoing(letter.key, json.dumps({**body, "payload_left_out": True}, ensure_ascii=False).encode())


def _payload(value: bytes | None) -> dict[str, str | None]:
    if value is None:
        return {"payload": None}
    try:
        return {"payload": value.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(value).decode()}
