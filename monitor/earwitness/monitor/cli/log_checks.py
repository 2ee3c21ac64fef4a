"""What `doctor` asks of a log that answers. A question that the log refuses is a finding, and the others go on."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from earwitness.alerts.lifecycle import Firing
from earwitness.alerts.store import AlertStore
from earwitness.consumers.dead_letter_box import read_box
from earwitness.monitor import wording
from earwitness.monitor.cli import bot_checks, checks, rights_check
from earwitness.monitor.cli.checks import Finding
from earwitness.monitor.contract.decoder import decode_event_fast
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import UnreadableRecord
from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.oldest import oldest_unread_ns
from earwitness.monitor.log.protocol import Log, LogError
from earwitness.monitor.log.rights import Rights
from earwitness.monitor.log.topics import ALERTS, DEAD, EVENTS, topic_name
from earwitness.processors.relay import GROUP_PREFIX
from earwitness.processors.relay_mark import is_running, mark_path

NEWEST = 1_000
"""Events of each partition that are looked at."""
WATCHED_S = 2.0
"""How long a monitor that is behind is watched, to see whether it moves."""


async def look(log: Log, group: str, user: str | None) -> list[Finding]:
    """All findings about a log; ``user``: whose rights are looked at, where the cluster has any."""
    findings: list[Finding] = []
    rights = await rights_check.rights_on(log, group)
    if rights is not None:
        findings += rights_check.rights(rights, log.prefix, user)
        if rights_check.role_of(rights, log.prefix) in ("bot", "nobody"):
            return findings

    def may_read(kind: str) -> bool:
        return rights is None or "Read" in rights.topics.get(topic_name(log.prefix, kind), ("Read",))

    events = topic_name(log.prefix, EVENTS)
    findings += await _asked("topics", lambda: _topics(log, rights))
    if not await _is_there(log, events):
        return findings
    if may_read(EVENTS):
        findings += await _asked("bots", lambda: _bots(log, events))
    relays = await _relays(log, events)
    if rights is None or "Read" in rights.groups[group]:
        findings += await _asked("monitor", lambda: _monitor(log, events, group, beside=bool(relays)))
    findings += relays
    if may_read(DEAD):
        findings += await _asked("dead letters", lambda: _dead_letters(log))
    if may_read(ALERTS):
        findings += await _asked("alerts", lambda: _alerts(log))
    return findings


async def _asked(what: str, question: Callable[[], Awaitable[Sequence[Finding]]]) -> Sequence[Finding]:
    try:
        return await question()
    except LogError as error:
        return [Finding("fault", what, str(error), "see what the line names")]


async def _is_there(log: Log, topic: str) -> bool:
    try:
        return bool(await log.end_positions(topic))
    except LogError:
        return False


async def _topics(log: Log, rights: Rights | None) -> Sequence[Finding]:
    hidden = {name for name, given in rights.topics.items() if not given} if rights is not None else set[str]()
    if rights is not None and any(given and "DescribeConfigs" not in given for given in rights.topics.values()):
        return [Finding("note", "topics", "their settings are not looked at", "needs DescribeConfigs on each of them")]
    return checks.topics(await log.topics(), log.prefix, hidden=hidden)


async def _bots(log: Log, topic: str) -> Sequence[Finding]:
    newest = bot_checks.Newest(await _newest(log, topic))
    return [checks.skew(newest.clocks), *bot_checks.findings(newest, time.time_ns())]


async def _newest(log: Log, topic: str) -> list[tuple[AnyEvent, int]]:
    """The newest events with their arrival."""
    starts, ends = await log.start_positions(topic), await log.end_positions(topic)
    reader = await log.reader(topic, start={p: max(starts.get(p, 0), end - NEWEST) for p, end in ends.items()})
    found: list[tuple[AnyEvent, int]] = []
    try:
        while any(at < ends.get(p, 0) for p, at in reader.positions().items()):
            entries = await reader.poll(timeout_s=2.0)
            if not entries:
                break
            for entry in entries:
                try:
                    found.append((decode_event_fast(entry.value or b""), entry.append_ns))
                except UnreadableRecord:
                    continue  # the monitor counts these as dead letters
    finally:
        await reader.close()
    return found


async def _monitor(log: Log, topic: str, group: str, *, beside: bool) -> Sequence[Finding]:
    """Where the monitor stands; one that never ran is no matter where a relay takes the events elsewhere."""
    ends, committed = await log.end_positions(topic), await log.committed(group, topic)
    starts = await log.start_positions(topic)
    if not committed:
        unread = sum(ends[p] - starts.get(p, 0) for p in ends)
        says = f"has never run on this log, which holds {wording.plural(unread, 'event')}"
        return [] if beside else [Finding("note", "monitor", says, "start `earwitness run`")]
    at = {p: max(committed.get(p, 0), starts.get(p, 0)) for p in ends}
    behind = {p: position for p, position in at.items() if position < ends[p]}
    oldest_ns, now_ns = await oldest_unread_ns(log, topic, behind), time.time_ns()
    moved: int | None = None
    if oldest_ns is not None and now_ns - oldest_ns > checks.LAG_NOTE_S * checks.S:
        await asyncio.sleep(WATCHED_S)
        later = await log.committed(group, topic)
        moved = sum(later.get(p, 0) - committed.get(p, 0) for p in ends)
    return [checks.lag(sum(ends[p] - at for p, at in behind.items()), oldest_ns, now_ns, moved=moved)]


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


async def _dead_letters(log: Log) -> Sequence[Finding]:
    return [checks.dead_letters(Counter(letter.reason for letter in (await read_box(log)).waiting))]


async def _alerts(log: Log) -> Sequence[Finding]:
    store = AlertStore(log)
    try:
        firing = sum(isinstance(alert.state, Firing) for alert in (await store.load()).alerts.values())
        says = f"{wording.plural(firing, 'alert')} firing" + (": earwitness alerts list" if firing else "")
        return [Finding("ok", "alerts", says)]
    finally:
        await store.close()
