"""Rules against readings: one evaluation at one moment, and what it changed. No clock, no log, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from earwitness.alerts.cause import cause_of
from earwitness.alerts.lifecycle import (
    Change,
    Closed,
    Firing,
    Insufficient,
    Opened,
    Pending,
    Quiet,
    State,
    aligned,
    fingerprint,
    step,
)
from earwitness.alerts.notification import Evidence, Frozen, Notice
from earwitness.alerts.rules import SILENCE_MEMORY_S, Rule, Sample, sample_of, side_of
from earwitness.monitor.measures.reading import Labels, Reading, Readings

RESOLVED_SHOWN_NS = 3_600_000_000_000
"""How long a resolved alert is still shown before it is forgotten."""


class Delivery(Frozen):
    """A notice on its way, and the sinks that do not have it yet."""

    notice: Notice
    sinks: tuple[str, ...]


class Alert(Frozen):
    """Everything kept of one alert, that is of one rule and one group of labels."""

    v: int = 1
    fingerprint: str
    rule: str
    labels: dict[str, str]
    state: Firing | Pending | Quiet | Insufficient
    notice: Notice | None = None
    """The latest picture: of a firing alert as it is now, of a resolved one as it ended."""
    outbox: tuple[Delivery, ...] = ()
    undelivered: tuple[str, ...] = ()
    """Sinks that were given up: they do not have its latest notice."""

    @property
    def group(self) -> Labels:
        return tuple(sorted(self.labels.items()))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one evaluation gave. ``changed`` are the alerts to keep, ``forgotten`` the fingerprints to drop."""

    changed: tuple[Alert, ...] = ()
    notices: tuple[Notice, ...] = ()
    forgotten: tuple[str, ...] = ()
    undecided: int = 0
    """Rules and groups without enough data."""


class Evaluator:
    """The rules and the state of every alert. ``step_ns`` is the least time between two evaluations: moments are
    aligned to it, so that a repeated evaluation finds the same beginnings."""

    def __init__(self, rules: Sequence[Rule], kept: Iterable[Alert] = (), *, step_ns: int = 10_000_000_000) -> None:
        self._rules = tuple(rules)
        self._step_ns = step_ns
        self._alerts: dict[str, Alert] = {alert.fingerprint: alert for alert in kept}

    @property
    def alerts(self) -> list[Alert]:
        """All that is not quiet, and what was resolved of late."""
        return list(self._alerts.values())

    def keep(self, alert: Alert) -> None:
        """Put an alert back whose outbox has changed."""
        if alert.fingerprint in self._alerts:
            self._alerts[alert.fingerprint] = alert

    def evaluate(self, readings: Readings, as_of_ns: int) -> Evaluation:
        """Look at every rule and group once."""
        now_ns = aligned(as_of_ns, self._step_ns)
        changed: dict[str, Alert] = {}
        notices: list[Notice] = []
        undecided = 0
        for rule in self._rules:
            for group in self._groups(rule, readings, as_of_ns):
                mark = fingerprint(rule.name, group)
                before = self._alerts.get(mark)
                sample, reading = _look(rule, group, readings, as_of_ns)
                state, change = step(
                    before.state if before else Insufficient(), side_of(rule, sample), now_ns, rule.timing
                )
                undecided += isinstance(state, Insufficient)
                seen = _Seen(rule, group, mark, state, change, sample, reading, now_ns)
                notice = _notice(seen, before.notice if before else None, readings, as_of_ns)
                after = Alert(
                    fingerprint=mark, rule=rule.name, labels=dict(group), state=state,
                    notice=notice or (before.notice if before else None), outbox=before.outbox if before else (),
                    undelivered=before.undelivered if before else (),
                )  # fmt: skip
                if notice is not None and change is not None:
                    notices.append(notice)
                if before is None and isinstance(state, Quiet | Insufficient):
                    continue
                if after != before:
                    self._alerts[mark] = changed[mark] = after
        for alert in self._orphans():
            gone, notice = _rule_gone(alert, as_of_ns, now_ns)
            self._alerts[gone.fingerprint] = changed[gone.fingerprint] = gone
            notices += [notice] if notice else []
        forgotten = self._forget(now_ns)
        kept = tuple(alert for mark, alert in changed.items() if mark not in forgotten)
        return Evaluation(kept, tuple(notices), forgotten, undecided)

    def _groups(self, rule: Rule, readings: Readings, as_of_ns: int) -> list[Labels]:
        """The groups of the window, those with an open alert, and for "too few" those that were there today."""
        if not rule.by:
            return [()]
        windows = {rule.window_s, max(rule.window_s, SILENCE_MEMORY_S)} if rule.counts_absence else {rule.window_s}
        found = {tuple(sorted(g)) for w in windows for g in readings.groups(rule.by, window_s=w, as_of_ns=as_of_ns)}
        found |= {
            a.group for a in self._alerts.values() if a.rule == rule.name and isinstance(a.state, Firing | Pending)
        }
        given = dict(rule.where)
        return sorted(g for g in found if all(given.get(key, value) == value for key, value in g))

    def _orphans(self) -> list[Alert]:
        known = {rule.name for rule in self._rules}
        return [a for a in self._alerts.values() if a.rule not in known and isinstance(a.state, Firing | Pending)]

    def _forget(self, now_ns: int) -> tuple[str, ...]:
        """Drop what is quiet, delivered, and no longer worth showing."""
        old = tuple(mark for mark, alert in self._alerts.items() if _is_over(alert, now_ns))
        for mark in old:
            del self._alerts[mark]
        return old


def _is_over(alert: Alert, now_ns: int) -> bool:
    if isinstance(alert.state, Firing | Pending) or alert.outbox:
        return False
    ended_ns = alert.notice.until_ns if alert.notice else None
    return ended_ns is None or now_ns - ended_ns >= RESOLVED_SHOWN_NS


def _where(rule: Rule, group: Labels) -> Labels:
    return tuple(sorted({**dict(rule.where), **dict(group)}.items()))


def _look(rule: Rule, group: Labels, readings: Readings, as_of_ns: int) -> tuple[Sample, Reading | None]:
    try:
        reading = readings.read(
            rule.target.measure, window_s=rule.window_s, as_of_ns=as_of_ns, where=_where(rule, group)
        )
    except KeyError:
        return Sample(0, why="not kept"), None
    return sample_of(rule, reading), reading


@dataclass(frozen=True, slots=True)
class _Seen:
    """One rule and group at this evaluation, after its step."""

    rule: Rule
    group: Labels
    mark: str
    state: State
    change: Change | None
    sample: Sample
    reading: Reading | None
    now_ns: int


def _notice(seen: _Seen, last: Notice | None, readings: Readings, as_of_ns: int) -> Notice | None:
    """The picture of an alert that fires or has just ended; None for any other."""
    rule, change, sample = seen.rule, seen.change, seen.sample
    closed = change if isinstance(change, Closed) else None
    if isinstance(seen.state, Firing):
        since_ns = seen.state.since_ns
    elif closed is not None:
        since_ns = closed.since_ns
    else:
        return None
    if change is None and sample.value is None and sample.more_than is None:
        return last  # nothing measured now: the last picture stands
    where = _where(rule, seen.group)
    opened = isinstance(change, Opened) or last is None
    return Notice(
        status="resolved" if closed else "firing",
        fingerprint=seen.mark,
        rule=rule.name,
        severity=rule.severity,
        labels=dict(where),
        measure=f"{rule.target.measure}.{rule.target.stat}",
        title=rule.target.title,
        unit=rule.target.unit,
        direction=rule.direction,
        threshold=rule.threshold,
        window_s=rule.window_s,
        value=sample.value,
        more_than=sample.more_than,
        count=seen.reading.count if seen.reading and rule.target.stat == "rate" else None,
        n=sample.n,
        coverage=sample.coverage,
        since_ns=since_ns,
        until_ns=seen.now_ns if closed else None,
        as_of_ns=as_of_ns,
        reason=closed.why if closed else None,
        evidence=_evidence(rule, where, readings, as_of_ns) if opened or last is None else last.evidence,
        cause=cause_of(rule, where, readings, as_of_ns) if opened or last is None else last.cause,
    )


def _evidence(rule: Rule, where: Labels, readings: Readings, as_of_ns: int) -> tuple[Evidence, ...]:
    try:
        found = readings.worst(rule.target.measure, window_s=rule.window_s, as_of_ns=as_of_ns, where=where)
    except KeyError:
        return ()
    return tuple(
        Evidence(call_id=e.call_id, subject=e.subject, value_s=e.value_s, at_s=e.at_s, censored=e.censored)
        for e in found
    )


def _rule_gone(alert: Alert, as_of_ns: int, now_ns: int) -> tuple[Alert, Notice | None]:
    """End an alert whose rule has left the file."""
    notice = alert.notice
    if isinstance(alert.state, Firing) and notice is not None:
        end = {"status": "resolved", "until_ns": now_ns, "as_of_ns": as_of_ns, "reason": "rule_gone"}
        notice = notice.model_copy(update=end)
        return alert.model_copy(update={"state": Quiet(), "notice": notice}), notice
    return alert.model_copy(update={"state": Quiet()}), None
