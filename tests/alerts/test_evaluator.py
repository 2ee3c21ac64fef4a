from __future__ import annotations

from dataclasses import replace

import pytest
from reading_shelf import Shelf

from earwitness.alerts.evaluator import Evaluation, Evaluator
from earwitness.alerts.lifecycle import Firing
from earwitness.alerts.rules import Rule, parse_rules
from earwitness.alerts.targets import find_target
from earwitness.monitor.measures.reading import Exemplar, Labels, Reading

START_NS = 1_800_000_000 * 1_000_000_000
MINUTE_NS = 60_000_000_000
CLINIC: Labels = (("agent", "clinic"),)
HOTEL: Labels = (("agent", "hotel"),)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def rules(more: str = "") -> tuple[Rule, ...]:
    text = "rules:\n  - {name: slow, measure: response_latency.p95, window: 1m, above: 1.5s, min_n: 20, by: [agent]"
    return parse_rules(f"{text}{more}}}\n", find_target, ["route"])


def minutes(evaluator: Evaluator, shelf: Shelf, values: list[tuple[float | None, int]]) -> list[str]:
    """One reading a minute for the clinic; what was notified, and when."""
    said: list[str] = []
    for minute, (value_s, n) in enumerate(values):
        shelf.p95(value_s, n, CLINIC)
        said += [f"{notice.status}@{minute}" for notice in at(evaluator, shelf, minute).notices]
    return said


def at(evaluator: Evaluator, shelf: Shelf, minute: float) -> Evaluation:
    shelf.now_ns = START_NS + round(minute * MINUTE_NS)
    return evaluator.evaluate(shelf, shelf.now_ns)


def test_d21_null_read_as_zero_never_makes_the_alert_flap(shelf: Shelf) -> None:
    story: list[tuple[float | None, int]] = [(1.9, 40), (None, 0), (1.9, 38), (9.0, 1), (1.1, 40), (1.1, 41)]

    assert minutes(Evaluator(rules()), shelf, story) == ["firing@0", "resolved@4"]
    assert minutes(Evaluator(rules(", clear: 1.3s, keep_firing_for: 1m")), shelf, story) == ["firing@0", "resolved@5"]


def test_d10_an_agent_that_falls_silent_is_noticed_once(shelf: Shelf) -> None:
    (none,) = parse_rules(
        "rules:\n  - {name: none, measure: calls.count, window: 1m, below: 1, by: [agent]}\n", find_target
    )
    evaluator = Evaluator([none])
    shelf.put("calls", CLINIC, Reading("", 0, 0, n=3, count=3))
    shelf.put("calls", HOTEL, Reading("", 0, 0, n=3, count=3))
    assert at(evaluator, shelf, 0).notices == ()

    shelf.put("calls", CLINIC, None)
    said = [notice for minute in range(1, 6) for notice in at(evaluator, shelf, minute).notices]

    assert [(n.status, n.labels, n.value) for n in said] == [("firing", {"agent": "clinic"}, 0.0)]


def test_d17_a_percentile_without_new_data_neither_fires_nor_looks_alive(shelf: Shelf) -> None:
    evaluator = Evaluator(rules())
    shelf.p95(9.0, 40, CLINIC)
    at(evaluator, shelf, 0)
    shelf.put("response_latency", CLINIC, None)

    held = at(evaluator, shelf, 1)
    assert (held.notices, held.undecided) == ((), 0)
    assert [alert.notice.value for alert in evaluator.alerts if alert.notice] == [9.0]
    later = at(evaluator, shelf, 62)
    assert [(n.status, n.reason, n.value) for n in later.notices] == [("resolved", "no_data", None)]


def test_each_group_has_an_alert_of_its_own(shelf: Shelf) -> None:
    evaluator = Evaluator(rules())
    shelf.p95(1.9, 40, CLINIC)
    shelf.p95(1.2, 40, HOTEL)

    assert [dict(n.labels) for n in at(evaluator, shelf, 0).notices] == [{"agent": "clinic"}]
    shelf.p95(1.9, 40, HOTEL)
    assert [dict(n.labels) for n in at(evaluator, shelf, 1).notices] == [{"agent": "hotel"}]


def test_a_rule_without_groups_looks_at_everything(shelf: Shelf) -> None:
    (whole,) = parse_rules(
        "rules:\n  - {name: slow, measure: response_latency.p95, window: 1m, above: 1s, by: []}\n", find_target
    )
    shelf.p95(1.9, 40, ())

    assert [n.labels for n in at(Evaluator([whole]), shelf, 0).notices] == [{}]


def test_where_keeps_a_rule_to_its_labels(shelf: Shelf) -> None:
    evaluator = Evaluator(rules(", where: {agent: hotel}"))
    shelf.p95(1.9, 40, CLINIC)
    shelf.p95(1.9, 40, HOTEL)

    assert [dict(n.labels) for n in at(evaluator, shelf, 0).notices] == [{"agent": "hotel"}]


def test_a_restart_never_notifies_twice_and_keeps_the_beginning(shelf: Shelf) -> None:
    shelf.p95(1.9, 40, CLINIC)
    first = Evaluator(rules())
    (opened,) = at(first, shelf, 0).notices
    second = Evaluator(rules(), first.alerts)

    assert at(second, shelf, 1).notices == ()
    shelf.p95(1.0, 40, CLINIC)
    (closed,) = at(second, shelf, 2).notices
    assert (closed.fingerprint, closed.since_ns) == (opened.fingerprint, opened.since_ns)
    assert closed.until_ns == START_NS + 2 * MINUTE_NS


def test_a_firing_that_was_not_kept_before_a_crash_has_the_same_identity_again(shelf: Shelf) -> None:
    shelf.p95(1.9, 40, CLINIC)
    (one,) = at(Evaluator(rules()), shelf, 0.01).notices
    (two,) = at(Evaluator(rules()), shelf, 0.15).notices

    assert (one.fingerprint, one.since_ns) == (two.fingerprint, two.since_ns) == (one.fingerprint, START_NS)


def test_pending_outlives_a_restart(shelf: Shelf) -> None:
    shelf.p95(1.9, 40, CLINIC)
    first = Evaluator(rules(", for: 2m"))
    assert at(first, shelf, 0).notices == ()
    second = Evaluator(rules(", for: 2m"), first.alerts)

    assert at(second, shelf, 1).notices == ()
    (notice,) = at(second, shelf, 2).notices
    assert notice.since_ns == START_NS


def test_a_rule_that_left_the_file_ends_its_alerts_and_says_so(shelf: Shelf) -> None:
    shelf.p95(1.9, 40, CLINIC)
    first = Evaluator(rules())
    at(first, shelf, 0)

    (notice,) = at(Evaluator([], first.alerts), shelf, 1).notices
    assert (notice.status, notice.reason) == ("resolved", "rule_gone")


def test_a_firing_alert_shows_the_value_of_now_and_a_resolved_one_is_forgotten_in_the_end(shelf: Shelf) -> None:
    evaluator = Evaluator(rules())
    shelf.p95(1.9, 40, CLINIC)
    at(evaluator, shelf, 0)
    shelf.p95(2.5, 44, CLINIC)
    (alert,) = at(evaluator, shelf, 1).changed
    assert alert.notice is not None
    assert (alert.notice.value, alert.notice.n, alert.notice.since_ns) == (2.5, 44, START_NS)

    shelf.p95(1.0, 40, CLINIC)
    at(evaluator, shelf, 2)
    assert [alert.notice.status for alert in evaluator.alerts if alert.notice] == ["resolved"]
    assert at(evaluator, shelf, 61).forgotten == ()
    assert at(evaluator, shelf, 62).forgotten == (alert.fingerprint,)
    assert evaluator.alerts == []


def test_what_is_well_is_not_kept(shelf: Shelf) -> None:
    evaluator = Evaluator(rules())
    shelf.p95(1.0, 40, CLINIC)
    shelf.p95(1.0, 4, HOTEL)
    result = at(evaluator, shelf, 0)

    assert (result.changed, evaluator.alerts) == ((), [])
    assert result.undecided == 1


def test_a_measure_that_readings_do_not_keep_is_no_data_and_stops_no_other_rule(shelf: Shelf) -> None:
    class Partly:
        groups, worst = staticmethod(shelf.groups), staticmethod(shelf.worst)

        @staticmethod
        def read(measure: str, *, window_s: int, as_of_ns: int, where: Labels = ()) -> Reading:
            if measure == "unanswered":
                raise KeyError(measure)
            return shelf.read(measure, window_s=window_s, as_of_ns=as_of_ns, where=where)

    (lost,) = parse_rules("rules:\n  - {name: u, measure: unanswered.rate, window: 1m, above: 5%}\n", find_target)
    shelf.p95(1.9, 40, CLINIC)
    result = Evaluator([lost, *rules()]).evaluate(Partly(), START_NS)

    assert [notice.rule for notice in result.notices] == ["slow"]
    assert result.undecided == 1


def test_a_notice_says_where_to_look_and_what_grew(shelf: Shelf) -> None:
    group: Labels = (("agent", "clinic"), ("version", "42"))
    shelf.p95(1.9, 40, group, sum_s=48.0)
    shelf.put("latency_part[llm]", group, Reading("", 0, 0, n=40, sum_s=40.0))
    shelf.put("latency_part[tts]", group, Reading("", 0, 0, n=40, sum_s=8.0))
    shelf.earlier = {
        ("response_latency", group): Reading("", 0, 0, n=100, sum_s=59.0),
        ("latency_part[llm]", group): Reading("", 0, 0, n=100, sum_s=39.0),
        ("latency_part[tts]", group): Reading("", 0, 0, n=100, sum_s=20.0),
    }
    shelf.versions_before = [(("agent", "clinic"), ("version", "41"))]
    shelf.exemplars = [Exemplar("c-1", "t4", None, 12.0, censored=True), Exemplar("c-2", "t2", 2.4, 3.0)]
    evaluator = Evaluator([replace(rules()[0], by=("agent", "version"))])

    (notice,) = at(evaluator, shelf, 0).notices

    assert notice.cause.part is not None
    assert (notice.cause.part.name, round(notice.cause.part.growth_s, 3)) == ("llm", 0.61)
    assert notice.cause.new_version == "42"
    assert [e.call_id for e in notice.evidence] == ["c-1", "c-2"]
    assert isinstance(evaluator.alerts[0].state, Firing)
