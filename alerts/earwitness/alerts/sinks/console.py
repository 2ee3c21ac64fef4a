"""Notices on the console: words for a person at a terminal, one structured line for a log collector."""

from __future__ import annotations

import asyncio
import sys
from typing import TextIO

import structlog

from earwitness.alerts.message import headline, text
from earwitness.alerts.notification import Notice
from earwitness.alerts.sinks.protocol import SinkFailed


class ConsoleSink:
    """``stream`` None: standard output."""

    name = "console"
    give_up_after_s = 0.0

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def wants(self, notice: Notice) -> bool:
        return True

    async def send(self, notice: Notice) -> None:
        stream = self._stream or sys.stdout
        if not stream.isatty():
            structlog.get_logger("earwitness.alerts").warning(
                "alert", status=notice.status, rule=notice.rule, severity=notice.severity, labels=dict(notice.labels),
                fingerprint=notice.fingerprint, message=headline(notice),
            )  # fmt: skip
            return
        try:
            await asyncio.to_thread(stream.write, text(notice) + "\n")
        except (OSError, ValueError) as error:
            raise SinkFailed(f"standard output is gone ({error})", again=False) from None

    async def close(self) -> None:
        return None
