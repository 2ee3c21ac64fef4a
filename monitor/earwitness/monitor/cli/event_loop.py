"""The event loop that commands run on: uvloop where it installs, with an end that waits for nobody.

uvloop's ``close`` may wait until the last transport is gone, and one of TLS may only be gone when the far end has hung
up: a command that was done was seen to stay for as long as a broker kept its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_fast: Any = None
with suppress(ImportError):  # faster where it is, not needed where it is not
    import uvloop

    _fast = uvloop.Loop


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes one loop; None: asyncio's own."""
    if _fast is None:
        return None
    opened = set[Any]()

    class EventLoop(_fast):  # type: ignore[misc]  # pyright: ignore[reportUntypedBaseClass]
        async def create_connection(self, *arguments: Any, **options: Any) -> Any:
            base: Any = super()
            transport: Any
            protocol: Any
            transport, protocol = await base.create_connection(*arguments, **options)
            lost: Any = protocol.connection_lost

            def connection_lost(error: Exception | None) -> None:
                opened.discard(transport)
                lost(error)

            with suppress(AttributeError):  # one with slots looks after itself
                protocol.connection_lost = connection_lost
                opened.add(transport)
            return transport, protocol

        async def shutdown_asyncgens(self) -> None:
            """The last that is awaited on a loop: here every connection that is still open is given up."""
            base: Any = super()
            await base.shutdown_asyncgens()
            for transport in list(opened):
                with suppress(Exception):
                    transport.abort()
            await asyncio.sleep(0)

    return EventLoop
