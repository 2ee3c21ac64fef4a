from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from earwitness.alerts.notification import Notice
from earwitness.alerts.sinks.protocol import SinkFailed
from earwitness.alerts.sinks.webhook import WebhookSink

NOTICE = Notice(
    status="firing", fingerprint="5e1c0d0d0d0d0d0d", rule="slow", severity="page", measure="unanswered.rate",
    title="unanswered", unit="ratio", direction="above", threshold=0.05, window_s=300, value=0.1, n=50,
    since_ns=10**18, as_of_ns=10**18,
)  # fmt: skip


class Hook:
    """A real HTTP server on the loopback that answers as told."""

    def __init__(self) -> None:
        self.status = 200
        self.hold: asyncio.Event | None = None
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append((dict(request.headers), json.loads(await request.text())))
        if self.hold is not None:
            await self.hold.wait()
        headers = {"Location": "/elsewhere"} if self.status == 302 else {}
        return web.Response(status=self.status, headers=headers)


@pytest.fixture
async def hook() -> AsyncIterator[tuple[Hook, Callable[..., WebhookSink]]]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/T0KEN", hook.handle)
    server = TestServer(app)
    await server.start_server()
    sinks: list[WebhookSink] = []

    def sink(**more: Any) -> WebhookSink:
        sinks.append(WebhookSink(SecretStr(str(server.make_url("/T0KEN"))), **more))
        return sinks[-1]

    yield hook, sink
    if hook.hold is not None:
        hook.hold.set()
    for made in sinks:
        await made.close()
    await server.close()


async def test_a_notice_is_posted_as_json_with_its_identity(hook: tuple[Hook, Callable[..., WebhookSink]]) -> None:
    server, sink = hook
    await sink(bearer_token=SecretStr("hunter2")).send(NOTICE)

    ((headers, body),) = server.seen
    assert (body["status"], body["rule"], body["n"]) == ("firing", "slow", 50)
    assert headers["Idempotency-Key"] == "5e1c0d0d0d0d0d0d-1000000000000000000-firing"
    assert headers["Authorization"] == "Bearer hunter2"


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (400, False), (404, False), (302, False)]
)
async def test_what_may_help_is_tried_again_and_what_will_not_is_not(
    hook: tuple[Hook, Callable[..., WebhookSink]], status: int, again: bool
) -> None:
    server, sink = hook
    server.status = status

    with pytest.raises(SinkFailed, match=f"answered {status}") as caught:
        await sink().send(NOTICE)
    assert caught.value.again is again
    assert "T0KEN" not in str(caught.value)


async def test_an_answer_that_does_not_come_is_not_waited_for(hook: tuple[Hook, Callable[..., WebhookSink]]) -> None:
    server, sink = hook
    server.hold = asyncio.Event()

    with pytest.raises(SinkFailed, match="in time") as caught:
        await sink(timeout_s=0.05).send(NOTICE)
    assert caught.value.again


async def test_nobody_there_may_be_there_later(unused_tcp_port: int) -> None:
    sink = WebhookSink(SecretStr(f"http://127.0.0.1:{unused_tcp_port}/T0KEN"))

    with pytest.raises(SinkFailed, match="cannot be reached") as caught:
        await sink.send(NOTICE)
    await sink.close()
    assert caught.value.again
    assert "T0KEN" not in str(caught.value)


def test_a_sink_is_named_without_its_secret_and_takes_the_severities_that_it_was_given() -> None:
    sink = WebhookSink(SecretStr("https://hooks.example/T0KEN"), number=1, severities=["ticket"])

    assert sink.name == "webhook-1:hooks.example"
    assert not sink.wants(NOTICE)
