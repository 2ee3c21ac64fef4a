"""A command that is done ends, whoever does not let go of its connections."""

from __future__ import annotations

import asyncio
import socket

import pytest

from earwitness.monitor.cli.composing import run_async


@pytest.mark.timeout(60)  # where it is not given up, the loop never closes
def test_a_connection_that_was_left_open_is_given_up_at_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        left: list[asyncio.StreamWriter] = []

        async def work(_stop: asyncio.Event) -> int:
            left.extend([(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(2)])
            left[1].close()
            return 7

        assert run_async(work) == 7
        connections = [server.accept()[0] for _ in range(2)]
        for connection in connections:
            connection.settimeout(10)
            assert connection.recv(1) == b"", "nobody hung up"
            connection.close()
    assert all(writer.transport.is_closing() for writer in left)
