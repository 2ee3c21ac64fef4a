"""E-mail addresses that are said: "j o h n dot smith at example dot com". Linear in the text's length."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from earwitness.processors.digit_words import DIGIT_WORDS, LANGUAGES, words
from earwitness.processors.spoken_digits import plain

_WORD = re.compile(r"[^\W_]+|@")
_GAP = re.compile(r"[\s\-\u2010\u2011]{1,3}\Z")
AT_WORDS = words("at @ arroba chiocciola arobase klammeraffe")
DOT_WORDS = words("dot point punkt punto ponto period")
_MARKS = {
    **dict.fromkeys(DOT_WORDS, "."),
    **dict.fromkeys(words("underscore unterstrich"), "_"),
    **dict.fromkeys(words("dash hyphen minus bindestrich tiret guion"), "-"),
    "plus": "+",
}
JOINING_WORDS = AT_WORDS | _MARKS.keys()
"""Words that stand inside a spoken address, with more to come."""
_DIGITS = {word: said for language in reversed(LANGUAGES) for word, said in language.units.items() if len(said) == 1}
_WRITTEN = {**_DIGITS, **_MARKS}
_NOBODY = words("us me him her them it look looking available online website site page here is find")
_MOST_WORDS = 40


class SpelledEmail(NamedTuple):
    """Where a spoken address stands, and the address as it would be written."""

    start: int
    end: int
    address: str


class _Token(NamedTuple):
    word: str
    start: int
    end: int


def may_spell(spoken: Collection[str]) -> bool:
    """Whether these plain words hold an "at" and a "dot": a cheap look before the search."""
    return not DOT_WORDS.isdisjoint(spoken) and not AT_WORDS.isdisjoint(spoken)


def find_spelled_emails(text: str) -> Iterator[SpelledEmail]:
    """Every "somebody at somewhere dot something" whose somebody is no ordinary word such as "us"."""
    tokens = [_Token(plain(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]
    free_from = 0
    for at, token in enumerate(tokens):
        if token.word not in AT_WORDS:
            continue
        domain = _domain(text, tokens, at + 1)
        first = _local_part(text, tokens, at, free_from)
        if domain is None or first == at or (first == at - 1 and tokens[first].word in _NOBODY):
            continue
        name = "".join(_WRITTEN.get(part.word, part.word) for part in tokens[first:at])
        host = "".join(_WRITTEN.get(part.word, part.word) for part in tokens[at + 1 : domain])
        yield SpelledEmail(tokens[first].start, tokens[domain - 1].end, f"{name}@{host}")
        free_from = domain


def _close(text: str, tokens: list[_Token], at: int) -> bool:
    """Whether the token follows the one before it with nothing but space between."""
    return 0 < at < len(tokens) and _GAP.match(text, tokens[at - 1].end, tokens[at].start) is not None


def _local_part(text: str, tokens: list[_Token], at: int, free_from: int) -> int:
    """First token of the name before the "at"; ``at`` itself where there is none."""
    first = at
    least = max(free_from, at - _MOST_WORDS)
    while first > least and _close(text, tokens, first):
        before = tokens[first - 1].word
        if first == at:
            joins = before not in _MARKS
        elif tokens[first].word in _MARKS or before in _MARKS:
            joins = tokens[first].word not in _MARKS or before not in _MARKS
        else:
            # Letters and digits one by one, and the name that digits end.
            last = tokens[first].word
            joins = (len(before) == 1 and len(last) == 1) or _is_digit(before) or (
                _is_digit(last) and before not in _NOBODY
            )  # fmt: skip
        if not joins:
            break
        first -= 1
    while first < at and tokens[first].word in _MARKS:
        first += 1
    return first


def _domain(text: str, tokens: list[_Token], at: int) -> int | None:
    """The token after the domain that begins here; None where no domain does."""
    end: int | None = None
    dotted = False
    most = min(len(tokens), at + _MOST_WORDS)
    while at < most and _close(text, tokens, at):
        word = tokens[at].word
        if word in AT_WORDS:
            break
        if word in _MARKS:
            dotted = word in DOT_WORDS
        else:
            last = tokens[at - 1].word
            if last not in AT_WORDS and last not in _MARKS and len(last) > 1:
                break
            if dotted and word.isalpha() and len(word) > 1:
                end = at + 1
        at += 1
    return end


def _is_digit(word: str) -> bool:
    return word.isdecimal() or word in DIGIT_WORDS
