"""Words of a text have one form in any script and writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.calls.tokens import script, tokens, word_count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Mm-hm, uh‑huh.", ("mm", "hm", "uh", "huh"), id="hyphens of any kind"),
        pytest.param("D’accord, c‘est ça", ("d'accord", "c'est", "ça"), id="apostrophes of any kind"),
        pytest.param("Que\u0301 tal", ("qué", "tal"), id="combining marks"),
        pytest.param("ＯＫ　ok", ("ok", "ok"), id="full width"),
        pytest.param("o\u00adkay o\u200bkay", ("okay", "okay"), id="invisible characters"),
        pytest.param("call <phone:12:1f3c> now", ("call", "<phone:12:1f3c>", "now"), id="placeholder"),
        pytest.param("हाँ जी ठीक है", ("हां", "जी", "ठीक", "है"), id="Hindi vowel signs are part of words"),
        pytest.param("হ্যাঁ, ঠিক আছে", ("হ্যা", "ঠিক", "আছে"), id="Bengali"),
        pytest.param("حَسَـــنًا أيوه", ("حسنا", "ايوه"), id="Arabic short vowels, strokes and alef"),
        pytest.param("嗯，好的OK", ("嗯", "好", "的", "ok"), id="Chinese characters are words"),
        pytest.param("ครับ", ("ค", "รั", "บ"), id="Thai"),
        pytest.param("Ёлка", ("елка",), id="Russian"),
        pytest.param("'' … -- \u0301", (), id="no words"),
    ],
)
def test_the_words_of_a_text(text: str, words: tuple[str, ...]) -> None:
    assert tokens(text) == words


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    words = tokens(text)
    assert all(words)
    assert 0 <= word_count(words) <= len(words)
    assert all(script(w) is None or script(w) for w in words)


@given(st.text())
def test_the_form_of_the_words_is_final(text: str) -> None:
    words = tuple(w for w in tokens(text) if not w.startswith("<"))
    assert tokens(" ".join(words)) == words


@pytest.mark.parametrize(("text", "count"), [("没问题", 2), ("好", 1), ("好的 okay", 2), ("one two", 2), ("", 0)])
def test_two_characters_without_spaces_are_about_one_word(text: str, count: int) -> None:
    assert word_count(tokens(text)) == count
