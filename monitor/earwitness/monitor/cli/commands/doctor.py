"""``earwitness doctor``: looks at everything that can be wrong and says how to mend it."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from earwitness.alerts.lifecycle import Firing
from earwitness.alerts.rules import load_rules
from earwitness.alerts.store import AlertStore
from earwitness.alerts.targets import find_target
from earwitness.consumers.dead_letter_box import read_box
from earwitness.monitor import wording
from earwitness.monitor.cli import checks
from earwitness.monitor.cli.checks import Finding
from earwitness.monitor.cli.composing import (
    log_settings,
    log_url,
    monitor_settings,
    or_stopped,
    run_async,
    settings_of,
)
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.cli.parser import own_version
from earwitness.monitor.contract.wire import UnreadableRecord, decode_event
from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.oldest import oldest_unread_ns
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log, LogError
from earwitness.monitor.log.topics import DEAD, EVENTS, topic_name
from earwitness.monitor.log.url import SqliteUrl
from earwitness.monitor.settings import Settings
from earwitness.processors.relay import GROUP_PREFIX
from earwitness.processors.relay_mark import is_running, mark_path

LIBRARIES = ("pipecat-ai", "pydantic", "aiokafka", "msgspec", "uvloop")
ANSWER_WITHIN_S = 15.0
NEWEST = 200


def execute(arguments: argparse.Namespace) -> int:
    findings = [_versions()]
    settings: Settings | None = None
    try:
        settings = settings_of(arguments)
        findings.append(Finding("ok", "settings", "no mistakes"))
    except BadInput as error:
        findings.append(Finding("fault", "settings", str(error), "mend it; the other checks use the defaults"))
    findings.append(_bot_settings())
    checked = settings or Settings(log=arguments.log)
    findings.append(_checked("alert rules", lambda: _rules(checked)))

    async def work(stop: asyncio.Event) -> list[Finding]:
        return await or_stopped(_log(checked), stop)

    findings += run_async(work)
    print("\n".join(checks.lines(findings)))
    return FAULT_FOUND if any(finding.level == "fault" for finding in findings) else DONE


def _versions() -> Finding:
    found: list[str] = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return Finding(
        "ok", "versions", f"earwitness {own_version()}, Python {platform.python_version()}, {', '.join(found)}"
    )


def _checked(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding("ok", what, look())
    except BadInput as error:
        return Finding("fault", what, str(error), "mend what the line names")


def _bot_settings() -> Finding:
    # Importing the hooks imports Pipecat, which greets on standard error.
    os.environ.setdefault("LOGURU_LEVEL", "WARNING")
    try:
        from earwitness.processors.bot_settings import BotSettings  # noqa: PLC0415 - a monitor may have no Pipecat
    except ModuleNotFoundError as error:
        return Finding(
            "note", "bot settings", f"not checked: {error.name} is not installed here", "run doctor beside the bot"
        )
    try:
        bot = BotSettings.from_env(os.environ, strict=True)
    except BadInput as error:
        return Finding("fault", "bot settings", str(error), "mend what the line names")
    agent = f"agent {wording.printable(bot.agent)}" if bot.agent else "agent not named by the environment"
    return Finding("ok", "bot settings", f"no mistakes; {agent}, {'switched off' if bot.off else 'on'}, log {bot.log}")


def _rules(settings: Settings) -> str:
    if not settings.alerts.enabled:
        return "alerts are switched off"
    rules = load_rules(settings.alerts.file, find_target, settings.label_keys)
    monitor_settings(settings)
    return f"{wording.plural(len(rules), 'rule')} ({settings.alerts.file or 'shipped'})"


async def _log(settings: Settings) -> list[Finding]:
    try:
        url = log_url(settings)
    except BadInput as error:
        return [Finding("fault", "log", str(error), "mend EARWITNESS_LOG, --log or the settings")]
    findings = _disk(url.path) if isinstance(url, SqliteUrl) else []
    findings.append(_spool())
    if isinstance(url, SqliteUrl) and not url.path.exists():
        return [
            *findings,
            Finding("note", "log", f"{url} is not there yet", "start `earwitness run`, or a bot that reports"),
        ]
    began = time.monotonic()
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            log = await open_log(url, settings=log_settings(settings))
    except (LogError, BadInput) as error:
        return [*findings, Finding("fault", "log", str(error), "is it running, and are address and credentials right?")]
    except TimeoutError:
        says = f"{url} did not answer within {ANSWER_WITHIN_S:.0f} s"
        return [*findings, Finding("fault", "log", says, "is it running, and does a firewall let you through?")]
    try:
        findings.append(Finding("ok", "log", f"{log.url} answers after {wording.short_time(time.monotonic() - began)}"))
        return findings + await _contents(log, monitor_settings(settings).group)
    except (LogError, BadInput) as error:
        return [*findings, Finding("fault", "log", str(error), "see what the line names")]
    finally:
        await log.close()


async def _contents(log: Log, group: str) -> list[Finding]:
    found = await log.topics()
    findings = checks.topics(found, log.prefix)
    events = topic_name(log.prefix, EVENTS)
    if events not in found:
        return findings
    findings.append(checks.skew(await _newest(log, events)))
    relays = await _relays(log, events)
    if not relays or await log.committed(group, events):
        findings.append(await _lag(log, events, group))
    findings += relays
    if topic_name(log.prefix, DEAD) in found:
        findings.append(checks.dead_letters(Counter(letter.reason for letter in (await read_box(log)).waiting)))
    store = AlertStore(log)
    try:
        firing = sum(isinstance(alert.state, Firing) for alert in (await store.load()).alerts.values())
        says = f"{wording.plural(firing, 'alert')} firing" + (": earwitness alerts list" if firing else "")
        findings.append(Finding("ok", "alerts", says))
    finally:
        await store.close()
    return findings


async def _newest(log: Log, topic: str) -> list[tuple[int, int]]:
    """Wall time and append time of the newest events."""
    starts, ends = await log.start_positions(topic), await log.end_positions(topic)
    reader = await log.reader(topic, start={p: max(starts.get(p, 0), end - NEWEST) for p, end in ends.items()})
    pairs: list[tuple[int, int]] = []
    try:
        while any(at < ends.get(p, 0) for p, at in reader.positions().items()):
            entries = await reader.poll(timeout_s=2.0)
            if not entries:
                break
            for entry in entries:
                try:
                    pairs.append((decode_event(entry.value or b"").wall_ns, entry.append_ns))
                except UnreadableRecord:
                    continue  # the monitor counts these as dead letters
    finally:
        await reader.close()
    return pairs


async def _lag(log: Log, topic: str, group: str) -> Finding:
    ends, committed = await log.end_positions(topic), await log.committed(group, topic)
    starts = await log.start_positions(topic)
    if not committed:
        unread = sum(ends[p] - starts.get(p, 0) for p in ends)
        says = f"has never run on this log, which holds {wording.plural(unread, 'event')}"
        return Finding("note", "monitor", says, "start `earwitness run`")
    at = {p: max(committed.get(p, 0), starts.get(p, 0)) for p in ends}
    behind = {p: position for p, position in at.items() if position < ends[p]}
    oldest_ns = await oldest_unread_ns(log, topic, behind)
    return checks.lag(sum(ends[p] - at for p, at in behind.items()), oldest_ns, time.time_ns())


async def _relays(log: Log, topic: str) -> list[Finding]:
    """One for each target that a relay of this host ships the embedded log to."""
    if not isinstance(log, EmbeddedLog):
        return []
    ends, starts = await log.end_positions(topic), await log.start_positions(topic)
    findings: list[Finding] = []
    for group in await log.groups(topic):
        if not group.startswith(GROUP_PREFIX):
            continue
        committed = await log.committed(group, topic)
        at = {p: max(committed.get(p, 0), starts.get(p, 0)) for p in ends}
        oldest_ns = await oldest_unread_ns(log, topic, at)
        behind = sum(ends[p] - position for p, position in at.items())
        target = group.removeprefix(GROUP_PREFIX)
        running = is_running(mark_path(log.path, target))
        findings.append(checks.relay(target, behind, oldest_ns, time.time_ns(), running=running))
    return findings


def _disk(path: Path) -> list[Finding]:
    there = next((folder for folder in path.parents if folder.exists()), Path("/"))
    try:
        size = sum(file.stat().st_size for file in there.glob(f"{path.name}*")) if path.exists() else None
        return [checks.disk(str(there), shutil.disk_usage(there).free, size)]
    except OSError as error:
        return [Finding("fault", "disk", f"{there}: {error.strerror}", "let Earwitness read and write there")]


def _spool() -> Finding:
    folder = home(os.environ) / "spool"
    try:
        sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()] if folder.exists() else []
    except OSError as error:
        return Finding("note", "spool", f"cannot be looked at ({error.strerror})", "run doctor as the bots' user")
    return checks.spool(sum(size > 0 for size in sizes), sum(sizes))
