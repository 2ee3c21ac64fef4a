"""What can be wrong around a bot: a door to the log that is shut or deaf, a disk with little room."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal


class Door:
    """An address in front of a broker. ``shut``: nobody listens there, and whoever connects is told so at once;
    ``deaf``: everybody is let in and no answer ever comes; `open`: from then on bytes go through."""

    def __init__(self, broker: str, state: Literal["shut", "deaf"]) -> None:
        self._broker = broker
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._through = False
        self._server: asyncio.Server | None = None
        self._held: set[asyncio.Task[None]] = set()
        self._starts_deaf = state == "deaf"

    async def __aenter__(self) -> Door:
        if self._starts_deaf:
            await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        await self._hang_up()

    async def open(self) -> None:
        """Let bytes through; who waits on a deaf ear is hung up on."""
        self._through = True
        await self._hang_up()
        if self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._visited, sock=self._socket)

    async def _hang_up(self) -> None:
        for task in list(self._held):
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._held.add(task)
        try:
            if not self._through:
                await asyncio.Event().wait()
            host, _, port = self._broker.rpartition(":")
            inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
            await asyncio.gather(_pass(reader, inner_writer), _pass(inner_reader, writer))
        except (asyncio.CancelledError, OSError):
            pass
        finally:
            writer.close()
            self._held.discard(task)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def small_disk(folder: Path, size_kib: int) -> Iterator[bool]:
    """A file system of so many KiB at ``folder``; False where this machine lets nobody mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k,mode=0700", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)
