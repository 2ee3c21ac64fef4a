"""``earwitness replay --since 7d --into NAME``: records rebuilt from events with today's definitions, elsewhere."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from pathlib import Path

from earwitness.alerts.quantities import duration_s
from earwitness.consumers.replay import Manifest, Progress, Replay, claim, plan
from earwitness.monitor import wording
from earwitness.monitor.cli.composing import (
    log_settings,
    log_url,
    monitor_settings,
    opened_log,
    or_stopped,
    run_async,
    settings_of,
)
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, LogRefused
from earwitness.monitor.log.topics import EVENTS, topic_name, topic_specs
from earwitness.monitor.log.url import KafkaUrl, LogUrl, SqliteUrl, parse_log_url
from earwitness.monitor.settings import Settings

S = 1_000_000_000
TOLD_EVERY_S = 10.0
_PREFIX = re.compile(r"[A-Za-z0-9._-]+")


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    now_ns = time.time_ns()
    since_ns = moment_ns(arguments.since, now_ns, "--since")
    until_ns = now_ns if arguments.until is None else moment_ns(arguments.until, now_ns, "--until")
    if since_ns >= until_ns:
        raise BadInput("nothing lies between --since and --until", where="--until")
    source = log_url(settings)
    target = target_of(source, arguments.into)
    asked = f"since {arguments.since}" + (f" until {arguments.until}" if arguments.until is not None else "")

    async def work(stop: asyncio.Event) -> int:
        return await or_stopped(_replay(settings, target, asked, since_ns, until_ns), stop)

    try:
        return run_async(work)
    except KeyboardInterrupt:
        sys.stderr.write("earwitness: stopped; the same command begins again and completes what is there\n")
        raise


def moment_ns(text: str, now_ns: int, where: str) -> int:
    """A moment of the past from a length ago (``7d``) or a date (``2026-11-30T08:00``, local time unless it says
    otherwise). Raises BadInput."""
    try:
        return now_ns - round(duration_s(text) * S)
    except ValueError:
        pass
    try:
        return round(datetime.fromisoformat(text).astimezone().timestamp() * S)
    except ValueError:
        raise BadInput("write a length such as 7d, or a date such as 2026-11-30T08:00", where=where) from None


def target_of(source: LogUrl, into: str) -> LogUrl:
    """Where to write: another prefix on the source's cluster, or a log by path or URL. Raises BadInput where that is
    the source."""
    if isinstance(source, KafkaUrl) and _PREFIX.fullmatch(into) and not into.endswith(".db"):
        target: LogUrl = KafkaUrl(source.servers, into, source.options)
    else:
        target = parse_log_url(into, where="--into")
    if isinstance(source, KafkaUrl) and isinstance(target, KafkaUrl) and target.prefix == source.prefix:
        # Servers may be spelled in many ways; a prefix of its own is always right.
        raise BadInput("is the prefix of the live topics; choose another", where="--into")
    if isinstance(source, SqliteUrl) and isinstance(target, SqliteUrl) and _same_file(source.path, target.path):
        raise BadInput("is the live log; choose another file", where="--into")
    return target


def _same_file(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


async def _replay(settings: Settings, target_url: LogUrl, asked: str, since_ns: int, until_ns: int) -> int:
    monitoring = monitor_settings(settings)
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(opened_log(settings, must_exist=True))
        wanted = await plan(source, monitoring, asked, since_ns=since_ns, until_ns=until_ns)
        target = await open_log(target_url, settings=log_settings(settings))
        stack.push_async_callback(target.close)
        await _make_topics(source, target, settings)
        manifest = await claim(target, wanted)
        told = Told(sys.stderr.isatty())
        done = await Replay(source, target, monitoring, manifest).run(told.progress)
        told.close()
    _say(done, target_url)
    return FAULT_FOUND if done.unreadable or done.broken_calls else DONE


async def _make_topics(source: Log, target: Log, settings: Settings) -> None:
    """As many partitions as the source has, so that calls lie as they lie there."""
    if target.url.startswith("kafka"):
        partitions = len(await source.end_positions(topic_name(source.prefix, EVENTS)))
        kept_ms = round(settings.retention.days * 86_400_000)
        specs = topic_specs(target.prefix, partitions, retention_ms=kept_ms)
        await target.create_topics(specs)
        for spec in specs:
            await _until_it_is_there(target, spec.name)


async def _until_it_is_there(target: Log, topic: str) -> None:
    """A cluster may take a moment to tell of what it has just made."""
    for _ in range(50):
        with suppress(LogRefused):
            await target.end_positions(topic)
            return
        await asyncio.sleep(0.1)
    await target.end_positions(topic)


class Told:
    """The progress line: drawn over on a terminal, a line now and then elsewhere."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._began_s = time.monotonic()
        self._told_s = 0.0

    def progress(self, now: Progress) -> None:
        """Say how far it is, not too often."""
        at_s = time.monotonic()
        if at_s - self._told_s < (0.2 if self._live else TOLD_EVERY_S):
            return
        self._told_s = at_s
        spent_s = max(at_s - self._began_s, 1e-9)
        rate = now.events / spent_s
        left = wording.compact_span((now.total - now.events) / rate) if rate else "?"
        share = now.events / now.total if now.total else 1.0
        reached = datetime.fromtimestamp(now.reached_ns / S).astimezone().isoformat(" ", "minutes")
        line = (
            f"{share:4.0%}  {now.events:,} of {now.total:,} events  {now.calls:,} calls written  at {reached}  "
            f"{rate:,.0f}/s  {left} left"
        )
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live:
            sys.stderr.write("\r\x1b[K")


def _say(done: Manifest, target: LogUrl) -> None:
    since, until = (
        datetime.fromtimestamp(at / S).astimezone().isoformat(" ", "minutes") for at in (done.since_ns, done.until_ns)
    )
    print(f"rebuilt  {wording.plural(done.calls, 'call')}, {wording.plural(done.records, 'record')}")
    print(
        f"from     {wording.plural(done.events, 'event')} that arrived from {since} until {until}, bounds {done.bounds}"
    )
    for reason, count in sorted(done.unreadable.items()):
        print(f"left out {wording.plural(count, 'event')}: {reason}")
    if done.broken_calls:
        print(
            f"left     {wording.plural(done.broken_calls, 'call')} as far as it could be worked out: see the log above"
        )
    print(f"look     earwitness top --once --window 24h --log {target}")
