from __future__ import annotations

from dataclasses import replace

import pytest

from earwitness.monitor.cli import checks
from earwitness.monitor.log.protocol import TopicInfo
from earwitness.monitor.log.topics import topic_specs

S = 1_000_000_000
GOOD = {
    spec.name: TopicInfo(spec.name, spec.partitions, spec.compacted, True, spec.retention_ms)
    for spec in topic_specs("earwitness", 12)
}


def changed(name: str, **fields: object) -> dict[str, TopicInfo]:
    full = f"earwitness.{name}"
    return GOOD | {full: replace(GOOD[full], **fields)}  # type: ignore[arg-type]


def test_topics_as_they_should_be_are_well() -> None:
    (finding,) = checks.topics(GOOD, "earwitness")
    assert (finding.level, finding.says) == ("ok", "5 topics as they should be, 12 partitions of events")


@pytest.mark.parametrize(
    ("found", "says", "remedy"),
    [
        (
            {k: v for k, v in GOOD.items() if "state" not in k},
            "earwitness.state is missing",
            "earwitness topics create",
        ),
        (changed("events", append_time=False), "dated by its writers", "LogAppendTime"),
        (changed("state", compacted=False), "not compacted", "cleanup.policy=compact"),
        (changed("state", partitions=6), "12 partitions and earwitness.state has 6", "as many partitions"),
        (changed("records", partitions=6), "12 partitions and earwitness.records has 6", "as many partitions"),
        (changed("events", retention_ms=3_600_000), "keeps only 1 h", "retention.ms"),
    ],
)
def test_each_fault_of_a_topic_has_its_remedy(found: dict[str, TopicInfo], says: str, remedy: str) -> None:
    (finding,) = checks.topics(found, "earwitness")
    assert finding.level != "ok"
    assert says in finding.says
    assert remedy in (finding.remedy or "")


@pytest.mark.parametrize(
    ("ahead_s", "level"),
    [(0.1, "ok"), (-1.5, "ok"), (5.0, "note"), (-30.0, "note"), (90.0, "fault"), (-3600.0, "fault")],
)
def test_clocks_that_differ_are_noticed(ahead_s: float, level: str) -> None:
    finding = checks.skew([(100 * S + round(ahead_s * S), 100 * S)] * 3)

    assert finding.level == level
    assert "n 3" in finding.says


def test_events_that_came_late_after_an_outage_are_no_wrong_clock() -> None:
    late = [(at * S, 1_000 * S) for at in range(100, 1_000)]

    assert checks.skew(late).level == "ok"


def test_a_monitor_that_is_behind_is_a_fault_only_after_a_while() -> None:
    assert checks.lag(0, None, 0).level == "ok"
    assert checks.lag(10, 100 * S, 110 * S).level == "ok"
    assert checks.lag(10, 100 * S, 200 * S).level == "fault"


def test_room_on_the_disk_and_events_in_spools() -> None:
    assert [checks.disk("/x", free, None).level for free in (10**11, 10**9, 10**8)] == ["ok", "note", "fault"]
    assert [checks.spool(n, size).level for n, size in ((0, 0), (1, 1000), (2, 10**8))] == ["ok", "ok", "note"]
    assert [checks.dead_letters(found).level for found in ({}, {"invalid": 1})] == ["ok", "note"]


def test_the_report_says_in_the_end_how_many() -> None:
    fault = checks.Finding("fault", "log", "no broker", "start it")

    assert checks.lines([fault, fault])[-1] == "2 faults, 0 notes"
    assert checks.lines([checks.Finding("ok", "log", "fine")])[-1] == "all is well"
    assert checks.lines([fault])[:2] == [" FAULT  log           no broker", "                      → start it"]


@pytest.mark.parametrize(
    ("behind", "age_s", "running", "level", "says"),
    [
        (0, None, True, "ok", "has shipped every event to kafka://k/e"),
        (5, 3, True, "ok", "5 events are not shipped to kafka://k/e yet, the oldest for 3,000 ms"),
        (5, 600, True, "fault", "the oldest for 10 min"),
        (0, None, False, "note", "no relay runs"),
        (5, 600, False, "fault", "no relay runs"),
    ],
)
def test_a_relay_is_judged_by_the_oldest_event_that_waits(
    behind: int, age_s: int | None, running: bool, level: str, says: str
) -> None:
    oldest_ns = None if age_s is None else (1_000 - age_s) * S
    finding = checks.relay("kafka://k/e", behind, oldest_ns, 1_000 * S, running=running)
    assert finding.level == level
    assert says in finding.says


def test_dead_letters_are_counted_by_reason() -> None:
    finding = checks.dead_letters({"invalid": 1, "unknown_version": 12})
    assert "13 records" in finding.says
    assert "(unknown_version 12, invalid 1)" in finding.says
