"""Text that comes in pieces, such as words as they are spoken: a number must not slip through digit by digit."""

from __future__ import annotations

from earwitness.processors.digit_words import DIGIT_WORDS, LANGUAGES
from earwitness.processors.spelled_email import JOINING_WORDS
from earwitness.processors.spoken_digits import plain_words

_PAUSES = frozenset(
    word for language in LANGUAGES for word in (*language.pauses, *language.joiners, *language.hundreds)
)
MOST_HELD_CHARS = 400


def open_end(text: str) -> bool:
    """Whether a text ends in what may be the beginning of a number or address, so that the next piece belongs to it.

    Join pieces until this is False, then redact the whole; give up joining at ``MOST_HELD_CHARS``.
    """
    if len(text) >= MOST_HELD_CHARS:
        return False
    words = plain_words(text)
    if not words:
        return text.strip() != ""
    at = len(words) - 1
    while at > 0 and words[at] in _PAUSES:
        at -= 1
    last = words[at]
    joining = not JOINING_WORDS.isdisjoint(words[max(0, at - 1) : at + 1])
    return joining or last[-1].isdecimal() or last in DIGIT_WORDS or len(last) == 1


def open_from(text: str) -> int:
    """Where that beginning of a number or address begins in a text; its length where the text ends in none."""
    at = len(text)
    while at > 0 and open_end(text[:at]):
        at = text[:at].rstrip().rfind(" ") + 1
    return at
