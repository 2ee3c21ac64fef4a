"""``earwitness relay``: ships this host's embedded log, and what dead bots left in spools, to Kafka, until a signal."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import structlog

from earwitness.monitor import wording
from earwitness.monitor.cli.composing import log_settings, or_stopped, run_async, settings_of
from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.url import KafkaUrl, SqliteUrl, default_log_url, parse_log_url
from earwitness.monitor.logging import configure, join_standard_logging
from earwitness.monitor.release import release
from earwitness.monitor.settings import Settings
from earwitness.processors.orphans import Orphans
from earwitness.processors.relay import Relay, target_name
from earwitness.processors.relay_mark import RelayMark, mark_path
from earwitness.processors.spool import SpoolFolder

STOP_WITHIN_S = 12.0
"""For the batch under way and for leaving the broker; a stop that takes longer is cut short, and nothing is lost."""


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    configure(level=settings.logging.level, format=settings.logging.format)
    join_standard_logging("earwitness")
    source, target = source_of(settings), target_of(settings)

    async def work(stop: asyncio.Event) -> None:
        await _run(settings, source, target, stop)

    with suppress(KeyboardInterrupt):
        run_async(work, patience_s=STOP_WITHIN_S)
    return 0


def source_of(settings: Settings) -> SqliteUrl:
    """The embedded log that is meant. Raises BadInput."""
    if settings.relay.source is not None:
        found = parse_log_url(settings.relay.source, where="--from")
        if not isinstance(found, SqliteUrl):
            raise BadInput("only an embedded log can be shipped: write sqlite:///path/log.db or a path", where="--from")
        return found
    general = parse_log_url(settings.log, where="log") if settings.log else None
    return general if isinstance(general, SqliteUrl) else default_log_url(os.environ)


def target_of(settings: Settings) -> KafkaUrl:
    """Where to ship. Raises BadInput."""
    if settings.relay.to is not None:
        found = parse_log_url(settings.relay.to, where="--to")
        if not isinstance(found, KafkaUrl):
            raise BadInput("a relay ships to Kafka: write kafka://host:9092", where="--to")
        return found
    general = parse_log_url(settings.log, where="log") if settings.log else None
    if not isinstance(general, KafkaUrl):
        raise BadInput("say where to ship: --to kafka://host:9092, or relay.to in the settings", where="relay")
    return general


async def _run(settings: Settings, source_url: SqliteUrl, target_url: KafkaUrl, stop: asyncio.Event) -> None:
    kafka = log_settings(settings)
    # Of a target's URL only servers and prefix say which it is; its options may change from one start to the next.
    name = target_name(target_url)
    spool = home(os.environ) / "spool"
    folders = [SpoolFolder(spool, url, 0) for url in dict.fromkeys((str(source_url), str(target_url), name))]

    async def open_target() -> Log:
        return await open_log(target_url, settings=kafka)

    async with AsyncExitStack() as stack:
        source = await or_stopped(open_log(source_url, settings=log_settings(settings)), stop)
        stack.push_async_callback(source.close)
        assert isinstance(source, EmbeddedLog), "source_of has seen to it"
        mark = RelayMark.take(mark_path(source_url.path, name))
        stack.callback(mark.close)
        relay = Relay(source, open_target, target=name, mark=mark, orphans=Orphans(folders), stop=stop)
        page = await stack.enter_async_context(_page(settings, relay))
        says = structlog.get_logger("earwitness.relay")
        says.info("relay runs", source=source.url, target=name, metrics=page)
        if sys.stdout.isatty():
            print(f"earwitness ships {source.url}\n           to {name}; stop with Ctrl-C", flush=True)
        await relay.run()
        shipped = wording.plural(relay.stats.shipped, "event")
        says.info("relay stopped", shipped=shipped, waiting=relay.stats.lag_records)


@asynccontextmanager
async def _page(settings: Settings, relay: Relay) -> AsyncGenerator[str]:
    """The relay's page, where one is asked for; its address."""
    if settings.relay.port is None:
        yield "off"
        return
    from earwitness.consumers.metrics_page import MetricsPage  # noqa: PLC0415 - a relay without a page needs no HTTP
    from earwitness.processors.relay_collector import RelayCollector  # noqa: PLC0415

    page = MetricsPage(
        RelayCollector(relay.stats, release()),
        relay.stats,
        host=settings.metrics.host,
        port=settings.relay.port,
        clock_ns=time.time_ns,
        setting="relay.port",
    )
    await page.start()
    try:
        yield f"http://{settings.metrics.host}:{page.port}/metrics"
    finally:
        await page.close()
