"""``earwitness alerts list | check | defaults | silence``."""

from __future__ import annotations

import argparse
import asyncio
import time

from earwitness.alerts.evaluator import Alert
from earwitness.alerts.lifecycle import Firing, Pending
from earwitness.alerts.message import headline, in_unit, text
from earwitness.alerts.rules import Rule, default_rules_text, load_rules
from earwitness.alerts.store import AlertStore, Kept, Silence
from earwitness.alerts.targets import find_target
from earwitness.monitor import wording
from earwitness.monitor.cli.composing import length_s, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.errors import BadInput
from earwitness.monitor.settings import Settings


def execute(arguments: argparse.Namespace) -> int:
    match arguments.action:
        case "defaults":
            print(default_rules_text(), end="")
            return 0
        case "check":
            return _check(arguments)
        case "silence":
            return _silence(arguments)
        case _:
            return _list(arguments)


def _check(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    path = arguments.file or settings.alerts.file
    rules = load_rules(path, find_target, settings.label_keys)
    for rule in rules:
        print(f"{wording.printable(rule.name):<24} {_said(rule)}")
    print(f"{path or 'shipped rules'}: {wording.plural(len(rules), 'rule')}, no mistakes")
    return 0


def _said(rule: Rule) -> str:
    """``page when response latency p95 over 5 min is above 1,500 ms for 2 min (n ≥ 30), by agent, version``."""
    who = ", ".join(rule.by) or "all together"
    lasting = f" for {wording.span(rule.timing.for_ns / 1e9)}" if rule.timing.for_ns else ""
    least = f" (n ≥ {rule.min_n})" if rule.min_n else ""
    limit = in_unit(rule.target.unit, rule.threshold)
    what = f"{rule.target.title} over {wording.span(rule.window_s)} is {rule.direction} {limit}{lasting}{least}"
    return f"{rule.severity} when {what}, by {who}"


def _list(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)

    async def work(stop: asyncio.Event) -> int:
        kept = await or_stopped(_load(settings), stop)
        lines = [line for alert in sorted(kept.alerts.values(), key=lambda a: a.rule) for line in _lines(alert, kept)]
        print("\n".join(lines) if lines else "no alert is open")
        return 0

    return run_async(work)


def _lines(alert: Alert, kept: Kept) -> list[str]:
    silenced = "  (silenced)" if kept.is_silenced(alert.fingerprint, time.time_ns()) else ""
    waiting = {sink for item in alert.outbox for sink in item.sinks}
    for sink in sorted({*waiting, *alert.undelivered}):
        silenced += f"  ({'not delivered yet' if sink in waiting else 'never delivered'} to {wording.printable(sink)})"
    if isinstance(alert.state, Pending):
        since = wording.clock(alert.state.since_ns)
        return [f"PENDING  {wording.group_name(alert.group)}: {wording.printable(alert.rule)}, since {since}{silenced}"]
    if alert.notice is None:
        return []
    return [(text if isinstance(alert.state, Firing) else headline)(alert.notice) + silenced]


def _silence(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    seconds = length_s("0" if arguments.length == "0" else arguments.length, "--for")
    prefix = arguments.fingerprint.lower()
    if not 4 <= len(prefix) <= 16 or set(prefix) - set("0123456789abcdef"):
        raise BadInput(
            "is no alert's id: 4 to 16 digits and letters a to f, as its message says", where=arguments.fingerprint
        )

    async def work(stop: asyncio.Event) -> int:
        return await or_stopped(_keep_silence(settings, prefix, seconds), stop)

    return run_async(work)


async def _keep_silence(settings: Settings, prefix: str, seconds: float) -> int:
    async with opened_log(settings, must_exist=True) as log:
        store = AlertStore(log)
        known = [alert for mark, alert in (await store.load()).alerts.items() if mark.startswith(prefix)]
        if not known:
            raise BadInput("no alert has this id; `earwitness alerts list` shows them", where=prefix)
        until_ns = time.time_ns() + round(seconds * 1e9)
        await store.silence(Silence(prefix=prefix, until_ns=until_ns))
        await store.close()
    name = f"{wording.printable(known[0].rule)}, {wording.group_name(known[0].group)}"
    print(f"{name}: " + (f"silenced until {wording.clock_with_zone(until_ns)}" if seconds else "no longer silenced"))
    return 0


async def _load(settings: Settings) -> Kept:
    async with opened_log(settings, must_exist=True) as log:
        store = AlertStore(log)
        try:
            return await store.load()
        finally:
            await store.close()
