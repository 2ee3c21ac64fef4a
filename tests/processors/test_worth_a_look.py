"""The quick look says what the slow one says: nothing that could be personal data is passed over."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from earwitness.processors.digit_words import DIGIT_WORDS
from earwitness.processors.redaction import Redaction
from earwitness.processors.spelled_email import AT_WORDS, DOT_WORDS, may_spell
from earwitness.processors.spoken_digits import may_dictate, plain_words
from earwitness.processors.worth_a_look import worth_a_look

WORD = st.sampled_from(sorted(DIGIT_WORDS | AT_WORDS | DOT_WORDS | {"table", "for", "Friday", "café", "12", "<", "\0"}))
GAP = st.sampled_from([" ", ", ", "-", ".", "\n", "\u2011", "\x7f", "_", "'"])


TEXTS = st.builds(
    lambda spoken, more: "".join((word.upper() if loud else word) + gap for word, gap, loud in spoken) + more,
    st.lists(st.tuples(WORD, GAP, st.booleans()), max_size=8),
    st.text(st.sampled_from("0123456789 +-./()abcGB@\u0663"), max_size=16) | st.text(max_size=8),
)


@given(TEXTS)
def test_the_quick_look_is_the_slow_one(text: str) -> None:
    words, figures = plain_words(text), len(re.findall(r"\d", text))
    signs = bool(re.search("[@<]", text)) or figures >= 6 or (figures > 0 and len(text) >= 15)
    assert worth_a_look(text) == (signs or may_dictate(words) or may_spell(words))


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_what_is_passed_over_holds_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    assume(not worth_a_look(text))
    redaction: Any = Redaction(b"secret")
    with monkeypatch.context() as patched:
        patched.setattr("earwitness.processors.redaction.worth_a_look", lambda _: True)
        assert redaction._redact(text, redaction._finders) == text
        assert redaction._redact(text, redaction._identity_finders) == text


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("I would like the earliest one on Friday", False),
        ("one one", True),
        ("One, TWO", True),
        ("meet me at the dot", True),
        ("the dot", False),
        ("call 5", False),
        ("5 at GB82 WESTAB", True),
        ("12345", False),
        ("123456", True),
        ("", False),
    ],
)
def test_what_can_be_personal_is_looked_at(text: str, worth: bool) -> None:
    assert worth_a_look(text) is worth
