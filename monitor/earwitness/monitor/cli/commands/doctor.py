"""``earwitness doctor``: looks at everything that can be wrong and says how to mend it."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from earwitness.alerts.rules import load_rules
from earwitness.alerts.targets import find_target
from earwitness.monitor import wording
from earwitness.monitor.cli import checks
from earwitness.monitor.cli.checks import Finding
from earwitness.monitor.cli.composing import (
    kafka_user,
    log_settings,
    log_url,
    monitor_settings,
    or_stopped,
    run_async,
    settings_of,
)
from earwitness.monitor.cli.entry import DONE, FAULT_FOUND
from earwitness.monitor.cli.log_checks import look
from earwitness.monitor.errors import BadInput
from earwitness.monitor.home import home
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import LogError
from earwitness.monitor.log.url import SqliteUrl
from earwitness.monitor.release import release
from earwitness.monitor.settings import Settings

LIBRARIES = ("pipecat-ai", "pydantic", "aiokafka", "msgspec", "uvloop")
ANSWER_WITHIN_S = 15.0


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
    return Finding("ok", "versions", f"earwitness {release()}, Python {platform.python_version()}, {', '.join(found)}")


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
        return findings + await look(log, monitor_settings(settings).group, kafka_user(settings))
    except (LogError, BadInput) as error:
        return [*findings, Finding("fault", "log", str(error), "see what the line names")]
    finally:
        await log.close()


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
