"""A bot's way out under test: a buffer, a courier under way, and the log that it writes to.

Its stories run on the virtual loop of the `run` fixture: a sleep in them is a moment of the story and takes no time.
"""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from earwitness.processors.buffer import Buffer
from earwitness.processors.courier import Courier
from earwitness.processors.losses import Losses
from earwitness.processors.sink import Outbound
from earwitness.processors.spool import Disk, SpoolFolder


@dataclass
class Pace:
    linger_s: float = 0.2
    batch_bytes: int = 256 * 1024
    append_timeout_s: float = 10.0


class Bot:
    """A buffer, a courier under way, and the log that it writes to. Made inside a running loop."""

    def __init__(
        self,
        log: Any,
        folder: Path,
        *,
        buffer_bytes: int = 10**6,
        spool_bytes: int = 10**7,
        disk: Disk = os,
        pace: Pace | None = None,
        arrived: Any = None,
    ) -> None:
        self.log = log
        self._arrived = arrived
        self.folder = folder
        losses = Losses()
        self.losses = losses
        self.pace = pace or Pace()
        self.buffer = Buffer(buffer_bytes, losses, wake_bytes=self.pace.batch_bytes)
        spool = SpoolFolder(folder, "memory:", spool_bytes, disk=disk)
        self.courier = Courier(self.buffer, losses, spool, log.open, self.pace)
        self._running = asyncio.get_running_loop().create_task(self.courier.run())

    def put(self, *items: Outbound) -> None:
        for item in items:
            if self.buffer.put(item):
                self.courier.news()

    async def stop(self, timeout_s: float = 2.0) -> float:
        """Seconds that it took."""
        began_s = asyncio.get_running_loop().time()
        self.courier.stop(timeout_s)
        await self._running
        return asyncio.get_running_loop().time() - began_s

    async def at_log(self, call_id: str = "call") -> Any:
        return self._arrived(await self.log.values(), call_id)

    @property
    def files(self) -> list[Path]:
        return list(self.folder.iterdir()) if self.folder.exists() else []


class NoRoom:
    """A disk that is full until told otherwise."""

    full = True

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd: int, length: int, /) -> None:
        os.ftruncate(fd, length)
