"""From arguments to settings, an open log, and an event loop that stops on signals."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from earwitness.alerts.quantities import duration_s
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.lexicon import LISTS, WordsAdded, language_of
from earwitness.monitor.calls.tokens import tokens
from earwitness.monitor.cli.event_loop import loop_factory
from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.url import LogUrl, SqliteUrl, default_log_url, parse_log_url
from earwitness.monitor.logging import configure
from earwitness.monitor.settings import Settings, Sources, Words, load_settings, option
from earwitness.monitor.strict_yaml import did_you_mean

T = TypeVar("T")
_OPTIONS = (
    ("log", "log"),
    ("port", "metrics.port"),
    ("rules", "alerts.file"),
    ("source", "relay.source"),
    ("to", "relay.to"),
    ("page", "relay.port"),
)
"""Options that are settings, by the name of the argument."""
_WRITTEN = {"source": "from", "page": "port"}
"""How they are written where that differs."""


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings of this command. Raises BadInput."""
    options: dict[str, tuple[object, str]] = {}
    for text in getattr(arguments, "set", []):
        name, value = option(text)
        options[name] = (value, f"--set {name}")
    for name, setting in _OPTIONS:
        if (given := getattr(arguments, name, None)) is not None:
            options[setting] = (given if isinstance(given, int) else str(given), f"--{_WRITTEN.get(name, name)}")
    settings = load_settings(
        Sources(environ=os.environ, options=options, file=arguments.settings, here=Path(), home=home(os.environ))
    )
    # Commands answer on standard output; only `run` has more to say of itself than errors.
    configure(level="error", format=settings.logging.format)
    return settings


def log_url(settings: Settings) -> LogUrl:
    """The log that is meant. Raises BadInput."""
    return parse_log_url(settings.log, where="log") if settings.log else default_log_url(os.environ)


def kafka_user(settings: Settings) -> str | None:
    """As whom we come to a cluster, where that has a name."""
    return settings.kafka.sasl_username if settings.kafka.security_protocol.startswith("SASL") else None


def log_settings(settings: Settings, *, sets_retention: bool = False) -> LogSettings:
    """What the log needs of the settings. ``sets_retention``: retention that was set, rather than left at its default,
    holds for all who open the embedded log."""
    said = settings.retention.model_fields_set
    given = settings.kafka.model_dump(exclude={"sasl_password_file", "ssl_key_password_file", "partitions"})
    return LogSettings(
        kafka={name: value for name, value in given.items() if value is not None},
        retention_days=settings.retention.days if "days" in said else None,
        retention_bytes=settings.retention.bytes if "bytes" in said else None,
        remember_retention=sets_retention,
    )


def monitor_settings(settings: Settings) -> MonitorSettings:
    """What the timeline worker needs of the settings. Raises BadInput for a bound that does not exist."""
    return MonitorSettings(
        label_keys={key: values or None for key, values in settings.label_keys.items()},
        max_label_values=settings.label_values_max,
        bounds=bounds_of(settings.bounds, settings.words),
        keep_state=settings.state.enabled,
        keep_every_s=settings.state.every_s,
        calls_at_hand=settings.state.calls_at_hand,
        metrics=settings.metrics.enabled,
        metrics_host=settings.metrics.host,
        metrics_port=settings.metrics.port,
    )


def bounds_of(changed: Mapping[str, float], words: Mapping[str, Words] | None = None) -> Bounds:
    """The definitions' bounds with changes, durations in seconds: ``turn_gap_s: 2.5``; ``words``: small words that the
    site adds. Raises BadInput."""
    numbers = [f for f in fields(Bounds) if f.name != "words"]
    known = {f.name.removesuffix("_ns") + "_s" if f.name.endswith("_ns") else f.name: f for f in numbers}
    given: dict[str, Any] = {}
    for name, value in changed.items():
        if name not in known:
            raise BadInput(f"unknown bound.{did_you_mean(name, known)}", where=f"bounds.{name}")
        if not math.isfinite(value) or value < 0:
            raise BadInput("must be 0 or more", where=f"bounds.{name}")
        bound = known[name]
        given[bound.name] = (
            value if isinstance(bound.default, float) else round(value * (S if name != bound.name else 1))
        )
    return Bounds(**given, words=_words_added(words or {}))


def _words_added(words: Mapping[str, Words]) -> WordsAdded:
    """The site's phrases in one order, each in its one form, so that equal lists have equal ids."""
    return tuple(
        (language, name, phrases)
        for language, lists in sorted((language_of(tag), lists) for tag, lists in words.items())
        for name in LISTS
        if (phrases := tuple(sorted({" ".join(tokens(phrase)) for phrase in getattr(lists, name)})))
    )


@contextlib.asynccontextmanager
async def opened_log(
    settings: Settings, *, must_exist: bool = False, sets_retention: bool = False
) -> AsyncGenerator[Log]:
    """The log, closed in the end. ``must_exist``: an embedded log is not made by looking at it. ``sets_retention``: see
    `log_settings`.

    Raises BadInput, LogError.
    """
    url = log_url(settings)
    if must_exist and isinstance(url, SqliteUrl) and not url.path.exists():
        raise BadInput("no log is there yet; start `earwitness run`, or a bot that reports", where=str(url.path))
    log = await open_log(url, settings=log_settings(settings, sets_retention=sets_retention))
    try:
        yield log
    finally:
        await log.close()


def length_s(text: str, where: str) -> float:
    """A length of time from the command line. Raises BadInput."""
    try:
        return duration_s(text)
    except ValueError as error:
        raise BadInput(str(error), where=where) from None


def run_async(work: Callable[[asyncio.Event], Coroutine[Any, Any, T]], *, patience_s: float = 4.5) -> T:
    """Run ``work`` with an event that SIGINT, SIGTERM and SIGHUP set. A second signal, or ``patience_s`` after the
    first, cancels what has not ended by itself."""

    async def whole() -> T:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        task = asyncio.ensure_future(work(stop))

        def on_signal() -> None:
            if stop.is_set():
                task.cancel()
            stop.set()
            loop.call_later(patience_s, task.cancel)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # under nohup
                loop.add_signal_handler(number, on_signal)
        try:
            return await task
        except asyncio.CancelledError:
            if stop.is_set():
                raise KeyboardInterrupt from None
            raise

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(whole())


async def or_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """``work``, given up as soon as ``stop`` is set. Raises KeyboardInterrupt then."""
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise KeyboardInterrupt
        return task.result()
    finally:
        stopped.cancel()
