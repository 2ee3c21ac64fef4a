"""Whether a text can hold any personal data at all: most sentences cannot, and every sentence of a call pays for the
question. So ASCII is looked at as bytes, in one pass for signs and one for words."""

from __future__ import annotations

from earwitness.processors.digit_words import DIGIT_WORDS
from earwitness.processors.spelled_email import AT_WORDS, DOT_WORDS, may_spell
from earwitness.processors.spoken_digits import MIN_DIGITS, may_dictate, plain_words

_SIGN, _FIGURE = "@", "0"
_LEAST_IBAN = 15
"""Shorter text with fewer than six figures holds no number that is looked for."""
_PLAIN = bytes(
    ord(_SIGN if sign in "@<" else _FIGURE if sign.isdecimal() else sign.lower() if sign.isalpha() else " ")
    for sign in map(chr, range(128))
) + bytes(128)
"""Letters in lower case, every figure as one, what an address or a placeholder has as another; blanks for the rest."""


def _in_ascii(words: frozenset[str]) -> frozenset[bytes]:
    return frozenset(word.encode() for word in words if word.isascii())


_DIGIT_WORDS, _AT, _DOT = _in_ascii(DIGIT_WORDS), _in_ascii(AT_WORDS), _in_ascii(DOT_WORDS)
_NOTABLE = _DIGIT_WORDS | _DOT


def worth_a_look(text: str) -> bool:
    """Whether the text holds six figures (some, where it is long enough for an account number), an ``@`` or ``<``, two
    digit words of any language, or an "at" and a "dot"."""
    if not text.isascii():
        figures = sum(map(str.isdecimal, text))
        if "@" in text or "<" in text or figures >= (MIN_DIGITS if len(text) < _LEAST_IBAN else 1):
            return True
        spoken = plain_words(text)
        return may_dictate(spoken) or may_spell(spoken)
    plain = text.encode().translate(_PLAIN)
    if ord(_SIGN) in plain:
        return True
    if ord(_FIGURE) in plain and plain.count(_FIGURE.encode()) >= (MIN_DIGITS if len(plain) < _LEAST_IBAN else 1):
        return True
    words = plain.split()
    found = _NOTABLE.intersection(words)
    if not found:
        return False
    digits = found & _DIGIT_WORDS
    if len(digits) > 1 or (digits and words.count(next(iter(digits))) > 1):
        return True
    return not (_DOT.isdisjoint(found) or _AT.isdisjoint(words))
