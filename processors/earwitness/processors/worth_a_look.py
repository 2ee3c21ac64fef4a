"""Whether a text can hold any personal data at all: most sentences cannot, and every sentence of a call pays for the
question. So ASCII is looked at as bytes, in one pass for signs and one for words."""

from __future__ import annotations

import re

from earwitness.processors.digit_words import DIGIT_WORDS
from earwitness.processors.spelled_email import AT_WORDS, DOT_WORDS, may_spell
from earwitness.processors.spoken_digits import may_dictate, plain_words

_LOOK = re.compile(r"[\d@<]")
_SIGN = ord("@")
_PLAIN = bytes(
    _SIGN if chr(code) in "0123456789@<" else ord(chr(code).lower()) if chr(code).isalpha() else ord(" ")
    for code in range(128)
) + bytes(128)
"""Letters in lower case; what may begin a number, an address or a placeholder as one sign; blanks for the rest."""


def _in_ascii(words: frozenset[str]) -> frozenset[bytes]:
    return frozenset(word.encode() for word in words if word.isascii())


_DIGIT_WORDS, _AT, _DOT = _in_ascii(DIGIT_WORDS), _in_ascii(AT_WORDS), _in_ascii(DOT_WORDS)
_NOTABLE = _DIGIT_WORDS | _DOT


def worth_a_look(text: str) -> bool:
    """Whether the text holds a digit, an ``@`` or ``<``, two digit words of any language, or an "at" and a "dot"."""
    if not text.isascii():
        if _LOOK.search(text) is not None:
            return True
        spoken = plain_words(text)
        return may_dictate(spoken) or may_spell(spoken)
    plain = text.encode().translate(_PLAIN)
    if _SIGN in plain:
        return True
    words = plain.split()
    found = _NOTABLE.intersection(words)
    if not found:
        return False
    digits = found & _DIGIT_WORDS
    if len(digits) > 1 or (digits and words.count(next(iter(digits))) > 1):
        return True
    return not (_DOT.isdisjoint(found) or _AT.isdisjoint(words))
