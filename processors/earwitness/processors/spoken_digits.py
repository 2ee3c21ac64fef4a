"""Digit strings that are dictated: "four two one, double five", "zéro six, douze, trente-quatre".

Reads number words as the digits that a speaker dictates, so that they can be taken out of a transcript and hashed
like the same number in figures. It is no number parser: "two thousand" is not dictation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from earwitness.processors.digit_words import DIGIT_WORDS, LANGUAGES, Language, words

MIN_DIGITS = 6
_WORDS_A_BREATH = 64
_MOST_DIGITS = (
    dict.fromkeys(DIGIT_WORDS, 2)
    | {word: 4 for language in LANGUAGES for word in language.repeats}
    | {word: 2 for language in LANGUAGES for word in language.hundreds}
)
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_BETWEEN = re.compile(r"[\s,.;:\-\u2010-\u2015]{1,6}\Z")
_WITHIN = re.compile(r"[\s\-\u2010\u2011]{1,3}\Z")
_DAY_AND_YEAR = re.compile(r"(?:[1-9]|[12]\d|3[01])(?:19|20)\d\d")
_MONTHS = words(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec"
)


class Dictated(NamedTuple):
    """Where a dictated digit string stands in the text, and its digits."""

    start: int
    end: int
    digits: str


class _Token(NamedTuple):
    word: str
    start: int
    end: int


class _Number(NamedTuple):
    """One number as said: its digits and the tokens that it takes."""

    digits: str
    after: int


def plain(word: str) -> str:
    """The word in lower case and without accents."""
    word = word.casefold()
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def ascii_digits(text: str) -> str:
    """The decimal digits of any script in the text, as 0 to 9."""
    return "".join(str(unicodedata.digit(c)) for c in text if c.isdecimal())


def plain_words(text: str) -> list[str]:
    """The words of the text in lower case and without accents."""
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    return [plain(word) for word in _WORD.findall(text)]


def may_dictate(spoken: Collection[str]) -> bool:
    """Whether two of these plain words are digit words, of any language: a cheap look before the search."""
    return not DIGIT_WORDS.isdisjoint(spoken) and sum(map(DIGIT_WORDS.__contains__, spoken)) > 1


def find_dictated(text: str, breathe: Callable[[], None] | None = None) -> list[Dictated]:
    """Dictated strings of six digits or more, of which two or more number words; numerals may be mixed in. ``breathe``
    is called every few words.

    Not one: a spoken date ("May fourteen, twenty twenty six"), a list of three round numbers ("ten, twenty, thirty").
    """
    tokens = [_Token(plain(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]
    if _most_digits(tokens) < MIN_DIGITS:
        return []
    spoken = {token.word for token in tokens} & DIGIT_WORDS
    languages = [
        lang for lang in LANGUAGES if any(w in lang.units or w in lang.tens or w in lang.repeats for w in spoken)
    ]
    found: list[Dictated] = []
    seen = [0] * len(languages)
    at = breathes_at = 0
    while at < len(tokens):
        if breathe is not None and at >= breathes_at:
            breathes_at = at + _WORDS_A_BREATH
            breathe()
        # What begins inside a run that was no dictation of a language is none either.
        runs = {i: _Run(text, tokens, language, at) for i, language in enumerate(languages) if seen[i] <= at}
        for i, run in runs.items():
            seen[i] = run.last + 1
        best = max((run for run in runs.values() if run.counts), key=lambda run: run.last, default=None)
        if best is None:
            at += 1
        else:
            found.append(Dictated(tokens[at].start, tokens[best.last].end, best.digits))
            at = best.last + 1
    return found


def _most_digits(tokens: Iterable[_Token]) -> int:
    """No fewer digits than these words can mean; none where fewer than two number words are among them."""
    number_words = digits = 0
    for token in tokens:
        if token.word.isdecimal():
            digits += len(token.word)
        elif most := _MOST_DIGITS.get(token.word, 0):
            number_words += 1
            digits += most
    return digits if number_words > 1 else 0


class _Run:
    """The longest dictation in one language that begins at a token."""

    def __init__(self, text: str, tokens: list[_Token], language: Language, first: int) -> None:
        self._text = text
        self._tokens = tokens
        self._language = language
        self._first = first
        self.last = first - 1
        self._numbers: list[str] = []
        self._words = 0
        self._strong = False
        self._commas = True
        at = first
        while (number := self._number(at)) is not None:
            self._note(at, number)
            at = self._next(number.after)
        self.digits = "".join(self._numbers)

    @property
    def counts(self) -> bool:
        if len(self.digits) < MIN_DIGITS or self._words < 2 or not self._strong:
            return False
        if self._commas and len(self._numbers) == 3 and all(len(number) == 2 for number in self._numbers):
            return False
        return not self._is_date()

    def _is_date(self) -> bool:
        month = self._tokens[self._first - 1].word if self._first > 0 else ""
        return month in _MONTHS and _DAY_AND_YEAR.fullmatch(self.digits) is not None

    def _note(self, at: int, number: _Number) -> None:
        if self._numbers and "," not in self._text[self._tokens[self.last].end : self._tokens[at].start]:
            self._commas = False
        self._numbers.append(number.digits)
        said = [t.word for t in self._tokens[at : number.after] if not t.word.isdecimal()]
        self._words += len(said)
        self._strong = self._strong or any(word not in self._language.weak for word in said)
        self.last = number.after - 1

    def _next(self, at: int) -> int:
        """Where the next number may begin: at the next token, or behind one or two words that fill a pause."""
        for after in range(at, min(at + 3, len(self._tokens))):
            if not self._joined(after, _BETWEEN):
                break
            if self._tokens[after].word not in self._language.pauses:
                return after
        return len(self._tokens)

    def _joined(self, at: int, gap: re.Pattern[str]) -> bool:
        """Whether only such a gap lies between this token and the one before it."""
        return gap.match(self._text, self._tokens[at - 1].end, self._tokens[at].start) is not None

    def _word(self, at: int) -> str:
        """The token's word where it follows the one before it closely, else nothing."""
        return self._tokens[at].word if at < len(self._tokens) and self._joined(at, _WITHIN) else ""

    def _number(self, at: int) -> _Number | None:
        if at >= len(self._tokens):
            return None
        language, word = self._language, self._tokens[at].word
        if word.isdecimal():
            return _Number(ascii_digits(word), at + 1)
        if (times := language.repeats.get(word)) is not None:
            digit = language.units.get(following := self._word(at + 1), following)
            return _Number(ascii_digits(digit) * times, at + 2) if len(digit) == 1 and digit.isdecimal() else None
        if language.vigesimal and word == "quatre" and self._word(at + 1) in {"vingt", "vingts"}:
            return self._tens(8, at + 2)
        if (tens := language.tens.get(word)) is not None:
            return self._tens(tens, at + 1)
        if (digits := language.units.get(word)) is None:
            return None
        if language.vigesimal and digits == "10" and (teen := self._seven_to_nine(at + 1)):
            return _Number(f"1{teen}", at + 2)
        if len(digits) == 1 and self._word(at + 1) in language.hundreds:
            return _Number(f"{digits}00", at + 2)
        return _Number(digits, at + 1)

    def _tens(self, tens: int, at: int) -> _Number:
        """Twenty to ninety with the unit that follows, if one does."""
        language = self._language
        unit_at = at + 1 if self._word(at) in language.joiners else at
        digits = language.units.get(self._word(unit_at), "")
        most = 19 if language.vigesimal and tens in {6, 8} else 9
        if digits and digits[0] != "0" and int(digits) <= most:
            if digits == "10" and (teen := self._seven_to_nine(unit_at + 1)):
                return _Number(f"{tens + 1}{teen}", unit_at + 2)
            return _Number(str(tens * 10 + int(digits)), unit_at + 1)
        return _Number(f"{tens}0", at)

    def _seven_to_nine(self, at: int) -> str:
        digits = self._language.units.get(self._word(at), "")
        return digits if digits in {"7", "8", "9"} else ""
