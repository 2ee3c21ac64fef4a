from __future__ import annotations

from pathlib import Path

import pytest

from earwitness.alerts.lifecycle import Side
from earwitness.alerts.rules import Rule, default_rules_text, load_rules, parse_rules, sample_of, side_of
from earwitness.alerts.targets import find_target
from earwitness.monitor.errors import BadInput
from earwitness.monitor.measures.reading import Quantile, Reading

EXAMPLE = """\
rules:
  - name: slow answers
    measure: response_latency.p95
    window: 5m
    above: 1.5s
    clear: 1.3s
    for: 2m
    min_n: 30
    by: [agent, version]
    severity: page
"""


def rule(more: str = "measure: response_latency.p95\n    window: 5m\n    above: 1.5s") -> Rule:
    return parse_rules(f"rules:\n  - name: x\n    {more}\n", find_target, ["route"], name="alerts.yaml")[0]


def test_the_example_of_the_interfaces_page_reads_as_it_says() -> None:
    (found,) = parse_rules(EXAMPLE, find_target)

    assert (found.target.measure, found.target.stat, found.window_s) == ("response_latency", "p95", 300)
    assert (found.direction, found.threshold, found.clear) == ("above", 1.5, 1.3)
    assert (found.timing.for_ns, found.min_n, found.by) == (120_000_000_000, 30, ("agent", "version"))
    assert found.severity == "page"


def test_the_shipped_rules_are_valid_and_each_says_how_many_values_it_needs() -> None:
    rules = load_rules(None, find_target)

    assert len(rules) >= 9
    assert all(r.min_n >= 20 for r in rules if r.target.stat != "count")
    assert "presets" in default_rules_text()


def test_least_numbers_are_those_of_the_definitions() -> None:
    stats = {"response_latency.p95": 30, "response_latency.p99": 100}
    for measure, n in stats.items():
        assert rule(f"measure: {measure}\n    window: 5m\n    above: 1s").min_n == n
    assert rule("measure: unanswered.rate\n    window: 5m\n    above: 5%").min_n == 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            EXAMPLE.replace("response_latency.p95", "response_latancy.p95"),
            'alerts.yaml:3: rules[0].measure: unknown measure "response_latancy". Did you mean "response_latency"?',
            id="unknown measure",
        ),
        pytest.param(
            EXAMPLE.replace(".p95", ".p96"),
            'rules[0].measure: "response_latency" has no ".p96"',
            id="unknown statistic",
        ),
        pytest.param(EXAMPLE.replace("1.5s", "5%"), "alerts.yaml:5: rules[0].above: ", id="a share for a latency"),
        pytest.param(
            EXAMPLE.replace("5m", "7m"), "alerts.yaml:4: rules[0].window: no such window is kept", id="window"
        ),
        pytest.param(EXAMPLE.replace("5m", "3d").replace("response_latency", "agent_ttfa"), "kept: 1m, 5m", id="long"),
        pytest.param(EXAMPLE.replace("for: 2m", "for: 2"), "alerts.yaml:7: rules[0].for: ", id="no unit"),
        pytest.param(
            EXAMPLE.replace("clear: 1.3s", "clear: 1.8s"), "rules[0].clear: lies on the wrong side", id="clear"
        ),
        pytest.param(EXAMPLE + "    below: 1s\n", "give either above or below", id="both directions"),
        pytest.param(EXAMPLE.replace("above", "#"), "give either above or below", id="no direction"),
        pytest.param(
            EXAMPLE.replace("version", "versoin"),
            'alerts.yaml:9: rules[0].by[1]: unknown label "versoin". Did you mean "version"?',
            id="unknown label",
        ),
        pytest.param(EXAMPLE + "    where: {rute: x}\n", 'unknown label "rute". Did you mean "route"?', id="where"),
        pytest.param(
            EXAMPLE + EXAMPLE.removeprefix("rules:\n"), 'two rules are called "slow answers"', id="names differ"
        ),
        pytest.param(EXAMPLE + "    windw: 5m\n", 'unknown key "windw". Did you mean "window"?', id="unknown key"),
        pytest.param(EXAMPLE.replace("page", "Page!"), "rules[0].severity", id="severity is a plain word"),
        pytest.param("rules: 3\n", "alerts.yaml:1: rules: should be a list", id="no list"),
        pytest.param("{}\n", "rules: is missing", id="empty"),
    ],
)
def test_a_mistake_names_line_and_key_and_what_was_meant(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_rules(text, find_target, ["route"], name="alerts.yaml")
    assert says in str(caught.value)


def test_a_file_of_rules_is_read(tmp_path: Path) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text(EXAMPLE)

    assert load_rules(path, find_target)[0].name == "slow answers"


def test_a_version_may_be_written_as_a_number() -> None:
    found = rule("measure: unanswered.rate\n    window: 5m\n    above: 5%\n    where: {version: 42}")
    assert found.where == (("version", "42"),)


def reading(**fields: object) -> Reading:
    return Reading("x", 300, 0, **fields)  # type: ignore[arg-type]


def test_d19_nothing_measured_is_never_compared() -> None:
    sample = sample_of(rule(), reading(n=0))

    assert (sample.value, sample.why) == (None, "nothing measured")
    assert side_of(rule(), sample) is Side.UNKNOWN
    below = rule("measure: containment.rate\n    window: 1h\n    below: 50%")
    assert side_of(below, sample_of(below, reading(n=0, denominator=0))) is Side.UNKNOWN


def test_too_few_values_say_how_few() -> None:
    sample = sample_of(rule(), reading(n=29, quantiles={"p95": Quantile(9.0)}))

    assert (sample.value, sample.why) == (None, "n 29 < 30")


def test_a_percentile_that_touches_the_unanswered_is_above_every_threshold() -> None:
    high = rule("measure: response_latency.p95\n    window: 5m\n    above: 60s")
    sample = sample_of(high, reading(n=40, censored=5, quantiles={"p95": Quantile(more_than_s=10.0)}))

    assert side_of(high, sample) is Side.OVER
    low = rule("measure: response_latency.p95\n    window: 5m\n    below: 60s")
    assert side_of(low, sample) is Side.CLEAN


def test_a_rate_needs_its_denominator_not_its_hits() -> None:
    few = rule("measure: missed_barge_in.rate\n    window: 30m\n    above: 25%")

    assert sample_of(few, reading(n=100, count=5, denominator=19, rate=5 / 19)).why == "n 19 < 20"
    assert side_of(few, sample_of(few, reading(n=20, count=6, denominator=20, rate=0.3))) is Side.OVER


def test_a_rule_that_asks_for_a_rate_of_few_gets_it() -> None:
    few = rule("measure: missed_barge_in.rate\n    window: 30m\n    above: 25%\n    min_n: 3")

    assert sample_of(few, reading(n=3, count=1, denominator=3, rate=None)).value == 1 / 3


def test_a_count_of_none_is_a_count_once_the_window_is_whole() -> None:
    none = rule("measure: calls.count\n    window: 1h\n    below: 1")

    assert side_of(none, sample_of(none, reading(count=0, complete=True))) is Side.OVER
    assert side_of(none, sample_of(none, reading(count=0, complete=False))) is Side.UNKNOWN
    assert side_of(none, sample_of(none, reading(count=1, complete=True))) is Side.CLEAN


@pytest.mark.parametrize(
    ("value", "side"), [(1.51, Side.OVER), (1.5, Side.BETWEEN), (1.31, Side.BETWEEN), (1.3, Side.CLEAN)]
)
def test_between_the_thresholds_nothing_changes(value: float, side: Side) -> None:
    found = rule("measure: response_latency.p95\n    window: 5m\n    above: 1.5s\n    clear: 1.3s")
    assert side_of(found, sample_of(found, reading(n=40, quantiles={"p95": Quantile(value)}))) is side
