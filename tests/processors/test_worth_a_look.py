"""The quick look says what the slow one says: nothing that could be personal data is passed over."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.processors.digit_words import DIGIT_WORDS
from earwitness.processors.spelled_email import AT_WORDS, DOT_WORDS, may_spell
from earwitness.processors.spoken_digits import may_dictate, plain_words
from earwitness.processors.worth_a_look import worth_a_look

WORD = st.sampled_from(sorted(DIGIT_WORDS | AT_WORDS | DOT_WORDS | {"table", "for", "Friday", "café", "12", "<", "\0"}))
GAP = st.sampled_from([" ", ", ", "-", ".", "\n", "\u2011", "\x7f", "_", "'"])


@given(st.lists(st.tuples(WORD, GAP, st.booleans()), max_size=8), st.text(max_size=8))
def test_the_quick_look_is_the_slow_one(spoken: list[tuple[str, str, bool]], more: str) -> None:
    text = "".join((word.upper() if loud else word) + gap for word, gap, loud in spoken) + more
    words = plain_words(text)
    assert worth_a_look(text) == bool(re.search(r"[\d@<]", text) or may_dictate(words) or may_spell(words))


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("I would like the earliest one on Friday", False),
        ("one one", True),
        ("One, TWO", True),
        ("meet me at the dot", True),
        ("the dot", False),
        ("call 5", True),
        ("", False),
    ],
)
def test_what_can_be_personal_is_looked_at(text: str, worth: bool) -> None:
    assert worth_a_look(text) is worth
