"""Words that come one by one are joined as long as they may be parts of a number or an address."""

from __future__ import annotations

import re

import pytest

from earwitness.processors.fragments import MOST_HELD_CHARS, open_end, open_from
from earwitness.processors.redaction import Redaction

REDACTION = Redaction(b"secret")


def spoken(words: list[str]) -> list[str]:
    """The texts that leave, of words that come one by one."""
    held, left = "", []
    for word in words:
        held += f" {word}"
        if not open_end(held):
            left.append(REDACTION.text(held))
            held = ""
    return [*left, REDACTION.text(held)] if held else left


@pytest.mark.parametrize(
    "sentence",
    [
        "I will call five five five, uh, zero one four two tomorrow",
        "that was 555 - 01 42 right",
        "double five five and then oh one four two",
        "write to j o h n at example dot com please",
        "zéro six douze trente quatre cinquante et un merci",
    ],
)
def test_a_number_that_comes_word_by_word_leaves_as_one_placeholder(sentence: str) -> None:
    texts = spoken(sentence.split())
    assert len(re.findall("<[a-z]+:", "".join(texts))) == 1
    assert "".join(texts) == REDACTION.text(" " + sentence)


def test_ordinary_words_leave_as_they_come() -> None:
    sentence = "you have two visits and three bills on Friday"
    assert spoken(sentence.split(" ")) == [" you", " have", " two visits", " and", " three bills", " on", " Friday"]


def test_joining_has_an_end() -> None:
    assert not open_end("five " * MOST_HELD_CHARS)


def test_where_a_number_that_may_go_on_begins() -> None:
    assert open_from("we have two visits") == len("we have two visits")
    assert open_from("please call five five five") == len("please call ")
    assert open_from("five five, uh, ") == 0
