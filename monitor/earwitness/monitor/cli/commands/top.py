"""``earwitness top``: the live view. Reads the log by itself and writes nothing."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from contextlib import suppress

from earwitness.alerts.store import AlertStore
from earwitness.consumers.replayed import rebuilt
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.cli.composing import (
    length_s,
    monitor_settings,
    opened_log,
    or_stopped,
    run_async,
    settings_of,
)
from earwitness.monitor.cli.live import Model, Screen, plain_width
from earwitness.monitor.cli.views.top_view import top_view
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.protocol import LogError
from earwitness.monitor.logging import configure
from earwitness.monitor.measures.steps import STEP_OF
from earwitness.monitor.settings import Settings

LONGEST_WINDOW_S = 86_400
PLAIN_EVERY_S, LIVE_EVERY_S = 5.0, 1.0


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    window_s = round(length_s(arguments.window, "--window"))
    if window_s not in STEP_OF or window_s > LONGEST_WINDOW_S:
        raise BadInput("choose 1m, 5m, 30m, 1h, 2h, 6h or 24h", where="--window")
    if arguments.every is not None and not 0.1 <= arguments.every <= 3600:
        raise BadInput("choose 0.1 to 3600 seconds", where="--every")
    live = not arguments.once and sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"
    every_s = arguments.every or (LIVE_EVERY_S if live else PLAIN_EVERY_S)

    if live:  # it would be written over the view, which counts what matters of it
        configure(level="error", stream=io.StringIO())

    async def work(stop: asyncio.Event) -> None:
        await or_stopped(_show(settings, window_s, every_s, live=live, once=arguments.once), stop)

    with suppress(KeyboardInterrupt):
        run_async(work)
    return 0


async def _show(settings: Settings, window_s: int, every_s: float, *, live: bool, once: bool) -> None:
    async with opened_log(settings, must_exist=True) as log:
        monitoring = monitor_settings(settings)
        fold = await rebuilt(log, monitoring) or await LogFold.open(log, monitoring, from_state=True)
        store = AlertStore(log)
        try:
            await fold.catch_up()
            await store.load()
            model = Model(fold, store, log.url, window_s)
            if live:
                with Screen() as screen:
                    await screen.run(model, every_s)
            else:
                await _print_frames(model, every_s, once=once)
        finally:
            await store.close()
            await fold.close()


async def _print_frames(model: Model, every_s: float, *, once: bool) -> None:
    while True:
        data = model.frame(model.now_ns())
        print("\n".join(line.plain.rstrip() for line in top_view(data, width=plain_width(), keys=False)), flush=True)
        if once:
            return
        print()
        await asyncio.sleep(every_s)
        try:
            await model.refresh()
        except LogError as error:
            model.away = str(error)
