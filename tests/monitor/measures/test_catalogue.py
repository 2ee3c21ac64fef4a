"""Every measure once, and names that lead to it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from earwitness.monitor.measures.catalogue import MEASURES, UnknownMeasure, parse, resolve, stat_names


def test_names_are_unique() -> None:
    names = [measure.name for measure in MEASURES]

    assert len(names) == len(set(names))


def test_every_measure_says_what_it_means() -> None:
    for measure in MEASURES:
        assert measure.help.endswith("."), measure.name
        assert measure.section, measure.name
        assert measure.stats, measure.name


def test_a_view_reads_a_measure_that_exists() -> None:
    names = {measure.name for measure in MEASURES}

    assert {measure.view_of for measure in MEASURES} - {None} <= names


@pytest.mark.parametrize("name", list(stat_names()))
def test_every_stat_resolves(name: str) -> None:
    named = resolve(name)

    assert f"{named.measure.name}.{named.stat}" == name


def test_one_class_can_be_named() -> None:
    named = resolve("latency_part[llm].p95")

    assert (named.measure.name, named.klass, named.stat) == ("latency_part", "llm", "p95")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("response_latancy.p95", 'unknown measure "response_latancy". Did you mean "response_latency"?'),
        ("response_latency.p96", '"response_latency" has no ".p96". Did you mean "p9'),
        ("missed_barge_in.p95", '"missed_barge_in" has no ".p95". It has: rate, count'),
        ("response_latency", '"response_latency" says no number. Write one of: response_latency.p50'),
        ("faults[x].count", '"faults" has no classes'),
        ("", 'unknown measure ""'),
        ("Response Latency!", 'unknown measure "Response Latency!"'),
    ],
)
def test_a_wrong_name_gets_a_suggestion(name: str, text: str) -> None:
    with pytest.raises(UnknownMeasure) as caught:
        resolve(name)

    assert str(caught.value).startswith(text)


def test_an_unknown_measure_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        parse("nonsense")


def test_measures_are_values() -> None:
    first: Any = MEASURES[0]

    with pytest.raises(AttributeError):
        setattr(first, fields(first)[0].name, "x")
