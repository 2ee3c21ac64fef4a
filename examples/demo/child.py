"""How the demo's processes talk to the one that started them: JSON lines on standard input and output.

A child ends when its standard input closes or SIGTERM comes, so nothing outlives a parent that died.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any


def announce(**fact: Any) -> None:
    """One fact for the parent."""
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


async def orders() -> AsyncIterator[dict[str, Any]]:
    """What the parent asks for, until it leaves or SIGTERM comes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    loop.add_signal_handler(signal.SIGTERM, reader.feed_eof)
    while line := await reader.readline():
        yield json.loads(line)


async def until_parent_leaves() -> None:
    async for _ in orders():
        pass
