"""Spools that dead processes left, brought to the embedded log, from where they travel as everything else does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from earwitness.monitor.log.protocol import Log
from earwitness.processors.arrived import arrived
from earwitness.processors.log_client import append_what_fits, record_of
from earwitness.processors.relay_losses import too_large
from earwitness.processors.spool import SpoolFile, SpoolFolder

LOOK_EVERY_S: Final = 10.0

log = logging.getLogger("earwitness.relay")


class Orphans:
    """The spools of a host, as their folder looks to each log that bots may have meant: the embedded log, and the
    target itself for those that were told to write there."""

    def __init__(self, folders: Sequence[SpoolFolder], *, look_every_s: float = LOOK_EVERY_S) -> None:
        self._folders = folders
        self._look_every_s = look_every_s
        self._next_s = float("-inf")
        self._file: tuple[SpoolFile, int] | None = None
        """One that is adopted and not emptied, and when it was last written to, wall time."""

    async def adopt(self, source: Log, topic: str) -> int:
        """Move what is there to the log, file by file in the order of their age; how many events. Raises LogError:
        then the file waits for the next call."""
        loop, moved = asyncio.get_running_loop(), 0
        while self._file is not None or loop.time() >= self._next_s:
            if self._file is None:
                self._file = self._next_file()
            if self._file is None:
                self._next_s = loop.time() + self._look_every_s
                break
            moved += await self._empty(*self._file, source, topic)
            self._file = None
        return moved

    def close(self) -> None:
        """Leave what is not emptied to whoever comes next."""
        if self._file is not None:
            self._file[0].close()
            self._file = None

    def _next_file(self) -> tuple[SpoolFile, int] | None:
        for folder in self._folders:
            file = folder.adopt()
            if file is not None:
                return file, file.path.stat().st_mtime_ns
        return None

    async def _empty(self, file: SpoolFile, written_ns: int, source: Log, topic: str) -> int:
        moved = 0
        # A relay may have been killed between appending the first chunk and saying so in the file.
        start = await source.positions_by_time(topic, written_ns)
        while (chunk := file.read()).items:
            records = [record_of(item) for item in chunk.items]
            if start:
                there = await arrived(source, topic, records, start=start, until_ns=_FOR_EVER_NS)
                records = [record for record in records if record not in there]
                start = {}
            refused = await append_what_fits(source, topic, records, lambda record: record) if records else []
            if reports := [report for record in refused if (report := too_large(record)) is not None]:
                await source.append(topic, reports)
            file.confirm(chunk.end)
            moved += len(chunk.items)
        if file.waiting_bytes:
            log.warning("the last %d bytes of %s cannot be read and are given up", file.waiting_bytes, file.path)
        if moved:
            log.info("%d events of a dead process were taken from %s", moved, file.path)
        file.remove()
        return moved


_FOR_EVER_NS: Final = 2**62
