"""The page for Prometheus, with ``/healthz`` and ``/readyz`` for whoever keeps the process running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from earwitness.monitor.errors import BadInput

S: Final = 1_000_000_000
STALLED_NS: Final = 30 * S
"""A monitor that has not looked at the clock for so long is not well."""
STUCK_S: Final = 60.0
"""Nor is one whose position has not moved for so long while the log has more (D01): it is to be started anew."""


class Condition(Protocol):
    """How a process fares, as far as the page goes; `SelfMetrics` is one."""

    @property
    def ready(self) -> bool: ...
    @property
    def log_away(self) -> bool: ...
    @property
    def ticked_ns(self) -> int: ...


class MetricsPage:
    """The HTTP server. Port 0 takes a free one; ``port`` says which. ``setting``: what to change where it cannot be
    had; ``stalled_s``: for how long there was something to do and nothing was done, at a wall time."""

    def __init__(
        self,
        collector: Collector,
        own: Condition,
        *,
        host: str,
        port: int,
        clock_ns: Callable[[], int],
        setting: str = "metrics.port",
        stalled_s: Callable[[int], float] | None = None,
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(collector)
        self._own = own
        self._host = host
        self._wanted_port = port
        self._clock_ns = clock_ns
        self._setting = setting
        self._stalled_s = stalled_s
        self._runner: web.AppRunner | None = None
        self.port = port

    async def start(self) -> None:
        """Serve. Raises BadInput where the address cannot be had."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/metrics", self._metrics),
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._wanted_port).start()
        except OSError as error:
            await runner.cleanup()
            why = (error.strerror or str(error)).lower()
            off = ", or turn the page off with metrics.enabled=false" if self._setting == "metrics.port" else ""
            raise BadInput(
                f"cannot serve metrics at {self._host}:{self._wanted_port} ({why}); "
                f"choose another with {self._setting}{off}",
                where=self._setting,
            ) from None
        self._runner = runner
        self.port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Stop serving."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _index(self, _request: web.Request) -> web.Response:
        return web.Response(text="Earwitness: /metrics /healthz /readyz\n")

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})

    async def _healthz(self, _request: web.Request) -> web.Response:
        idle_ns = self._clock_ns() - self._own.ticked_ns
        if self._own.ticked_ns and idle_ns > STALLED_NS:
            return web.Response(status=503, text=f"stalled: no tick for {idle_ns // S} s\n")
        stalled_s = 0.0 if self._stalled_s is None else self._stalled_s(self._clock_ns())
        if stalled_s > STUCK_S:
            return web.Response(status=503, text=f"stuck: events wait and none was read for {stalled_s:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        if not self._own.ready:
            return web.Response(status=503, text="not ready: reading the log's past\n")
        if self._own.log_away:
            return web.Response(status=503, text="not ready: the log does not answer\n")
        return web.Response(text="ok\n")
