"""``earwitness run``: the monitor, its alerts and its metrics page in one process, until a signal."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

import structlog

from earwitness.alerts.rules import Rule, load_rules
from earwitness.alerts.runner import AlertRunner
from earwitness.alerts.sinks.console import ConsoleSink
from earwitness.alerts.sinks.protocol import Sink
from earwitness.alerts.sinks.webhook import WebhookSink
from earwitness.alerts.targets import find_target
from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor import wording
from earwitness.monitor.cli.composing import (
    kafka_user,
    log_url,
    monitor_settings,
    opened_log,
    or_stopped,
    run_async,
    settings_of,
)
from earwitness.monitor.cli.live import settled_ns
from earwitness.monitor.cli.rights_check import see_that_it_may_run
from earwitness.monitor.logging import configure
from earwitness.monitor.measures.windows import Windows
from earwitness.monitor.settings import Settings


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    configure(level=settings.logging.level, format=settings.logging.format)
    rules = load_rules(settings.alerts.file, find_target, settings.label_keys) if settings.alerts.enabled else ()
    monitoring = monitor_settings(settings)
    log_url(settings)  # what cannot be a log is told before anything starts

    async def work(stop: asyncio.Event) -> None:
        await _run(settings, monitoring, rules, stop)

    with suppress(KeyboardInterrupt):
        run_async(work)
    return 0


async def _run(settings: Settings, monitoring: MonitorSettings, rules: Sequence[Rule], stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        # A stop need not wait for a log that does not answer.
        log = await or_stopped(stack.enter_async_context(opened_log(settings, sets_retention=True)), stop)
        await or_stopped(see_that_it_may_run(log, monitoring.group, kafka_user(settings)), stop)
        alerts = AlertRunner(log, rules, sinks_of(settings), every_s=settings.alerts.every_s)
        await or_stopped(alerts.start(), stop)

        async def on_tick(windows: Windows, now_ns: int) -> None:
            await alerts.tick(windows, settled_ns(windows, now_ns))

        try:
            monitor = Monitor(log, monitoring, stop=stop, on_tick=on_tick)
            monitor.own.deliveries = alerts.delivery
            collect_seldom()
            telling = asyncio.create_task(_tell_when_ready(monitor, settings, log.url, len(rules)))
            try:
                await monitor.run()
            finally:
                telling.cancel()
        finally:
            await alerts.close(within_s=1.5)
    structlog.get_logger("earwitness").info("monitor stopped")


def sinks_of(settings: Settings) -> list[Sink]:
    """Where notices go by these settings."""
    sinks: list[Sink] = [ConsoleSink()] if settings.alerts.console else []
    for number, hook in enumerate(settings.alerts.webhooks):
        assert hook.url is not None, "load_settings has seen to it"
        sinks.append(
            WebhookSink(
                hook.url,
                number=number,
                bearer_token=hook.bearer_token,
                severities=hook.severities,
                timeout_s=hook.timeout_s,
                give_up_after_s=hook.give_up_after_s,
            )
        )
    return sinks


async def _tell_when_ready(monitor: Monitor, settings: Settings, url: str, rules: int) -> None:
    await monitor.ready.wait()
    page = f"http://{settings.metrics.host}:{monitor.page.port}/metrics" if monitor.page else "off"
    source = str(settings.alerts.file or "shipped") if settings.alerts.enabled else "off"
    structlog.get_logger("earwitness").info("monitor runs", log=url, metrics=page, rules=rules, rules_from=source)
    if sys.stdout.isatty():
        print(f"earwitness watches {url}")
        print(f"  metrics  {page}")
        print(f"  alerts   {wording.plural(rules, 'rule')} ({source})")
        print("  look     earwitness top        stop  Ctrl-C", flush=True)
