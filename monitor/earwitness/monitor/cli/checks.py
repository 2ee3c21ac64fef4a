"""What `doctor` makes of what it found: pure rules from facts to findings, each fault with its remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from earwitness.monitor import wording
from earwitness.monitor.log.protocol import TopicInfo
from earwitness.monitor.log.topics import ALERTS, DEAD, EVENTS, RECORDS, STATE, topic_name

S = 1_000_000_000
MB = 1_000_000
SKEW_NOTE_S, SKEW_FAULT_S = 2.0, 60.0
DISK_NOTE_BYTES, DISK_FAULT_BYTES = 2_000 * MB, 200 * MB
SPOOL_NOTE_BYTES = 10 * MB
LAG_NOTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. ``fault`` makes the exit code 1; ``note`` may want a look."""

    level: Literal["ok", "note", "fault"]
    what: str
    says: str
    remedy: str | None = None


def topics(found: Mapping[str, TopicInfo], prefix: str, *, hidden: Collection[str] = ()) -> list[Finding]:
    """Whether every topic is there and as it must be; of those that are ``hidden`` from us nothing can be said."""
    create = "earwitness topics create"
    wrong: list[Finding] = []
    for kind in (EVENTS, RECORDS, STATE, ALERTS, DEAD):
        name = topic_name(prefix, kind)
        info = found.get(name)
        if info is None and name in hidden:
            continue
        if info is None:
            wrong.append(Finding("fault", "topics", f"{name} is missing", create))
            continue
        if kind in (EVENTS, RECORDS) and not info.append_time:
            says = f"{name} is dated by its writers, not by the log: a wrong clock would move events in time"
            wrong.append(Finding("fault", "topics", says, f"set message.timestamp.type=LogAppendTime on {name}"))
        if kind in (STATE, ALERTS) and not info.compacted:
            says = f"{name} is not compacted: it would grow without end, or forget"
            wrong.append(Finding("fault", "topics", says, f"set cleanup.policy=compact on {name}"))
        if kind == EVENTS and info.retention_ms is not None and 0 <= info.retention_ms < 86_400_000:
            kept = wording.span(info.retention_ms / 1000)
            says = f"{name} keeps only {kept}: windows of 24 h cannot be worked out again after a restart"
            wrong.append(Finding("note", "topics", says, f"raise retention.ms of {name}"))
    events = found.get(topic_name(prefix, EVENTS))
    for other in (found.get(topic_name(prefix, kind)) for kind in (RECORDS, STATE)):
        if events is not None and other is not None and events.partitions != other.partitions:
            says = f"{events.name} has {events.partitions} partitions and {other.name} has {other.partitions}; "
            says += "they must agree"
            wrong.append(Finding("fault", "topics", says, f"give {other.name} as many partitions as {events.name}"))
    if wrong:
        return wrong
    count = events.partitions if events is not None else 0
    return [Finding("ok", "topics", f"5 topics as they should be, {wording.plural(count, 'partition')} of events")]


def skew(event_and_append_ns: Sequence[tuple[int, int]]) -> Finding:
    """Whether bots' clocks agree with the log's: wall time of the newest events against their arrival."""
    if not event_and_append_ns:
        return Finding("note", "clocks", "no events to compare clocks by", "start a bot that reports")
    # Events may come late, after an outage; none comes early. The least late one tells the clocks apart.
    ahead_s = max((wall - append) / S for wall, append in event_and_append_ns)
    off, n = wording.short_time(abs(ahead_s)), len(event_and_append_ns)
    if abs(ahead_s) < SKEW_NOTE_S:
        return Finding("ok", "clocks", f"bots and log agree within {off} (n {n})")
    level: Literal["note", "fault"] = "fault" if abs(ahead_s) >= SKEW_FAULT_S else "note"
    if ahead_s > 0:
        says = f"a bot's clock is {off} ahead of the log's (n {n}); what claims to be over 60 s ahead is set aside"
    else:
        says = f"bots' clocks are {off} behind the log's, or all of their last events came late (n {n})"
    return Finding(level, "clocks", says, "run NTP (chrony, systemd-timesyncd) on both machines")


def lag(behind: int, oldest_ns: int | None, now_ns: int, *, moved: int | None = None) -> Finding:
    """How far the monitor is behind; ``oldest_ns`` dates the first record that it has not handled, ``moved`` counts
    what it handled while it was watched for a moment (None: it was not)."""
    if not behind:
        return Finding("ok", "monitor", "has handled every event of the log")
    age_s = (now_ns - oldest_ns) / S if oldest_ns is not None else 0.0
    says = f"{behind:,} events are not handled yet, the oldest for {wording.short_time(age_s)}"
    if age_s < LAG_NOTE_S:
        return Finding("ok", "monitor", says)
    if moved:
        return Finding(
            "fault", "monitor", f"{says}; it moves on", "it may catch up; else run more of them, or see its load"
        )
    if moved is not None:
        says = f"{says}, and its position does not move"
    return Finding("fault", "monitor", says, "start `earwitness run`; if one runs, see its log and restart it")


def disk(path: str, free: int, used_by_log: int | None) -> Finding:
    """Whether there is room for the log to grow."""
    size = f", the log takes {used_by_log / MB:,.0f} MB" if used_by_log is not None else ""
    says = f"{free / MB:,.0f} MB free at {path}{size}"
    if free < DISK_FAULT_BYTES:
        return Finding("fault", "disk", says, "free some space, or lower retention.bytes")
    if free < DISK_NOTE_BYTES:
        return Finding("note", "disk", says, "free some space soon, or lower retention.bytes")
    return Finding("ok", "disk", says)


def spool(files: int, size: int) -> Finding:
    """Events that bots wrote to disk because the log was away."""
    if not files:
        return Finding("ok", "spool", "empty: no bot of this machine is waiting for the log")
    says = f"{wording.plural(files, 'file')}, {size / MB:,.1f} MB not on the log yet"
    remedy = "bots deliver it when the log answers; what a killed bot left is taken up by the next one"
    return Finding("note" if size >= SPOOL_NOTE_BYTES else "ok", "spool", says, remedy)


def dead_letters(by_reason: Mapping[str, int]) -> Finding:
    """Records that could not be read and were not put back since."""
    count = sum(by_reason.values())
    if not count:
        return Finding("ok", "dead letters", "none waits")
    reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(by_reason.items(), key=lambda item: -item[1]))
    says = f"{wording.plural(count, 'record')} could not be read and lie on the dead-letter topic ({reasons})"
    return Finding("note", "dead letters", says, "earwitness dead list; a bot of a newer version needs a newer monitor")


def relay(target: str, behind: int, oldest_ns: int | None, now_ns: int, *, running: bool) -> Finding:
    """How far the relay of this host is behind; ``oldest_ns`` dates the first event that it has not shipped."""
    age_s = (now_ns - oldest_ns) / S if oldest_ns is not None else 0.0
    if not behind:
        says = f"has shipped every event to {target}"
    else:
        says = f"{behind:,} events are not shipped to {target} yet, the oldest for {wording.short_time(age_s)}"
    if not running:
        level: Literal["note", "fault"] = "fault" if age_s >= LAG_NOTE_S else "note"
        return Finding(level, "relay", f"{says}; no relay runs", "start `earwitness relay`")
    if age_s >= LAG_NOTE_S:
        return Finding("fault", "relay", says, f"see what the relay says, and: earwitness doctor --log {target}")
    return Finding("ok", "relay", says)


def lines(findings: Sequence[Finding]) -> list[str]:
    """The report."""
    shown: list[str] = []
    for finding in findings:
        level = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}[finding.level]
        shown.append(f" {level}  {finding.what:<13} {wording.printable(finding.says, 400)}")
        if finding.remedy and finding.level != "ok":
            shown.append(f"        {'':<13} → {wording.printable(finding.remedy, 300)}")
    faults = sum(finding.level == "fault" for finding in findings)
    notes = sum(finding.level == "note" for finding in findings)
    shown.append(
        f"{wording.plural(faults, 'fault')}, {wording.plural(notes, 'note')}" if faults or notes else "all is well"
    )
    return shown
