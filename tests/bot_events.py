"""What a bot's process has left: on its embedded log, and in its spool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from earwitness.monitor.log.open import open_log
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.spool import SpoolFolder


def on_log(settings: BotSettings) -> list[dict[str, Any]]:
    """Everything on the embedded log, in order."""

    async def read() -> list[dict[str, Any]]:
        log = await open_log(settings.log)
        reader = await log.reader("earwitness.events")
        found: list[dict[str, Any]] = []
        while entries := await reader.poll(timeout_s=0):
            found += [json.loads(entry.value or b"") for entry in entries]
        await reader.close()
        await log.close()
        return found

    return asyncio.run(read())


def in_spools(settings: BotSettings) -> list[int]:
    """The seqs in files that some process has left."""
    folder = SpoolFolder(settings.spool_folder, settings.log, 10**9)
    seqs: list[int] = []
    files = []
    while (file := folder.adopt()) is not None:
        files.append(file)
        while file.waiting_bytes:
            items, end = file.read()
            assert items
            seqs += [item.seq for item in items]
            file.confirm(end)
    for file in files:
        file.close()
    return seqs
