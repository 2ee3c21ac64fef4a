"""A writer of its own: appends numbered batches to a log and prints each batch's number once it is acknowledged."""

from __future__ import annotations

import asyncio
import sys

from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing


async def main(url: str, topic: str, writer: str, batches: int, batch_size: int) -> None:
    log = await open_log(url)
    for number in range(batches):
        records = [
            Outgoing(f"{writer}-{i % 7}", f"{writer} {number * batch_size + i}".encode()) for i in range(batch_size)
        ]
        await log.append(topic, records)
        print(number, flush=True)
    await log.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
