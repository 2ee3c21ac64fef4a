"""Label sets are bounded whatever the bots send."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.measures.label_sets import OTHER, OVERFLOW, LabelSets


def test_labels_are_those_fixed_and_those_declared(turn: Any) -> None:
    sets = LabelSets({"route": None})

    number = sets.number_of(turn(labels={"route": "ivr", "undeclared": "x"}))

    assert sets.labels_of(number) == (("agent", "clinic"), ("mode", "unknown"), ("route", "ivr"), ("version", "42"))


def test_d15_ten_thousand_values_of_a_key_are_fifty_and_other(turn: Any) -> None:
    sets = LabelSets({"caller": None})

    numbers = [sets.number_of(turn(call_id=f"c{i}", labels={"caller": str(i)})) for i in range(10_000)]

    assert len(set(numbers)) == 51
    assert dict(sets.labels_of(numbers[-1]))["caller"] == OTHER
    assert sets.refused_values["caller"] == 9_950


def test_a_declared_list_of_values_admits_no_other(turn: Any) -> None:
    sets = LabelSets({"route": ("ivr", "web")})

    found = [
        dict(sets.labels_of(sets.number_of(turn(call_id=r, labels={"route": r}))))["route"] for r in ("web", "fax")
    ]

    assert found == ["web", OTHER]


def test_past_the_greatest_number_of_sets_all_is_overflow_and_counted(turn: Any) -> None:
    sets = LabelSets(max_sets=3)

    numbers = [sets.number_of(turn(call_id=f"c{i}", agent=f"a{i}")) for i in range(6)]

    assert len(set(numbers)) == 4
    assert dict(sets.labels_of(numbers[-1]))["agent"] == OVERFLOW
    assert sets.refused_sets == 3


def test_a_call_keeps_its_set_even_if_room_is_made_later(turn: Any) -> None:
    sets = LabelSets(max_values=1)
    sets.number_of(turn(call_id="c1", agent="a"))
    refused = sets.number_of(turn(call_id="c2", agent="b"))
    sets.forget("c1")
    sets.retain({refused})

    assert sets.number_of(turn(call_id="c2", agent="b")) == refused
    assert dict(sets.labels_of(sets.number_of(turn(call_id="c3", agent="b"))))["agent"] == "b"


def test_sets_that_nothing_uses_any_more_make_room(turn: Any) -> None:
    sets = LabelSets(max_sets=1)
    sets.number_of(turn(call_id="c1", agent="a"))
    sets.forget("c1")
    sets.retain(set())

    assert len(sets) == 0
    assert dict(sets.labels_of(sets.number_of(turn(call_id="c2", agent="b"))))["agent"] == "b"


def test_matching_finds_the_sets_that_agree_with_all_pairs(turn: Any) -> None:
    sets = LabelSets()
    one = sets.number_of(turn(call_id="c1", agent="a", version="1"))
    two = sets.number_of(turn(call_id="c2", agent="a", version="2"))
    sets.number_of(turn(call_id="c3", agent="b", version="1"))

    assert list(sets.matching((("agent", "a"),))) == [one, two]
    assert list(sets.matching((("agent", "a"), ("version", "2")))) == [two]
    assert len(sets.matching(())) == 3
