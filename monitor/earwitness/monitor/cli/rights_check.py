"""The rights of a user on Kafka: fit for which role, and what is missing. For `doctor`, and for `run` at its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from earwitness.monitor.cli.checks import Finding
from earwitness.monitor.log.protocol import Log, LogRefused
from earwitness.monitor.log.rights import Missing, Right, Rights
from earwitness.monitor.log.topics import ALERTS, DEAD, EVENTS, RECORDS, STATE, topic_name

Role = Literal["monitor", "reader", "bot", "nobody"]

MONITOR: Final[Mapping[str, tuple[Right, ...]]] = {
    EVENTS: ("Read",),
    RECORDS: ("Read", "Write"),
    STATE: ("Read", "Write"),
    ALERTS: ("Read", "Write"),
    DEAD: ("Read", "Write"),
}
"""What a monitor needs on each topic; also Read on its group."""


async def rights_on(log: Log, group: str) -> Rights | None:
    """What we may do with a log's topics and a group; None where the log has no rights to grant. Raises LogError."""
    if not log.url.startswith("kafka"):
        return None
    from earwitness.monitor.log.kafka import KafkaLog  # noqa: PLC0415 - only those who use Kafka load its client

    if not isinstance(log, KafkaLog):
        return None
    return await log.rights([topic_name(log.prefix, kind) for kind in MONITOR], group)


async def see_that_it_may_run(log: Log, group: str, user: str | None) -> None:
    """Raises LogRefused, with one line, where a monitor's rights are not all there: better than a monitor that waits
    for them half at work."""
    rights = await rights_on(log, group)
    lacks = [] if rights is None else list(missing_for_monitor(rights, log.prefix, user))
    if lacks:
        more = f" ({len(lacks) - 1} more are missing)" if len(lacks) > 1 else ""
        raise LogRefused(f"{log.url}: {lacks[0].says}; grant it: {lacks[0].grant}{more}")


def role_of(rights: Rights, prefix: str) -> Role:
    """What a user is meant to be, by what it was given: a monitor writes more than events, a reader reads, a bot writes
    events."""
    given = {kind: rights.topics.get(topic_name(prefix, kind), frozenset[Right]()) for kind in MONITOR}
    group = any("Read" in of_group for of_group in rights.groups.values())
    if group or any("Write" in found for kind, found in given.items() if kind != EVENTS):
        return "monitor"
    if "Read" in given[EVENTS]:
        return "reader"
    return "bot" if "Write" in given[EVENTS] else "nobody"


def missing_for_monitor(rights: Rights, prefix: str, user: str | None) -> Iterator[Missing]:
    """What keeps a user from being a monitor; topics that are not there are no matter of rights."""
    for kind, needed in MONITOR.items():
        name = topic_name(prefix, kind)
        if name in rights.topics:
            yield from (Missing(user, right, name) for right in needed if right not in rights.topics[name])
    for group, given in rights.groups.items():
        if "Read" not in given:
            yield Missing(user, "Read", f"{prefix}.{group}", is_group=True)


def rights(found: Rights, prefix: str, user: str | None) -> list[Finding]:
    """One line for each right that the user lacks in its role, or one that says what it may do."""
    who, events = f"user {user}" if user else "this client", topic_name(prefix, EVENTS)
    match role_of(found, prefix):
        case "bot":
            says = f"{who} may write {events} and nothing else, as a bot should; what must be read is not looked at"
            return [Finding("ok", "rights", says)]
        case "reader":
            says = f"{who} may read {events}, enough for `top` and `calls`, not for `run`"
            return [Finding("note", "rights", says, "for `run`: see the rights of a monitor in docs/operations.md")]
        case "nobody" if events in found.topics:
            says = f"{who} may neither write {events}, as a bot must, nor read it, as a monitor must"
            grant = Missing(user, "Write", events).grant
            return [Finding("fault", "rights", says, f"for a bot: {grant}; others: docs/operations.md")]
        case _:
            lacks = list(missing_for_monitor(found, prefix, user))
    if lacks:
        return [Finding("fault", "rights", one.says, one.grant) for one in lacks]
    return [Finding("ok", "rights", f"{who} may do all that a monitor does")]
