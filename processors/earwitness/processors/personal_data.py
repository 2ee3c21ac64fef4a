"""Finds personal data in a stretch of text: e-mail, IBAN, payment cards, phone numbers, digit strings.

Each finder yields what it found with the value freed from how it was written, so that "555 0142", "555-0142" and
"five five five zero one four two" are the same value. Pure; the order of the finders is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import phonenumbers

from earwitness.processors.spelled_email import find_spelled_emails, may_spell
from earwitness.processors.spoken_digits import MIN_DIGITS, ascii_digits, find_dictated, may_dictate, plain_words

DEFAULT_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "PT", "BR")


class Found(NamedTuple):
    """One piece of personal data: where it stands, its kind, its normalised value."""

    start: int
    end: int
    kind: str
    value: str


MOST_ASKED = 32
Finder = Callable[[str], Iterable[Found]]

_SPACE = r"\s\u00ad\u200b-\u200d\u2060"
_DASH = r"\-\u2010-\u2015\u2212"
_BETWEEN = rf"[{_SPACE}{_DASH}.()·•]{{0,4}}"
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(rf"\+?\(?\d(?:{_BETWEEN}\d){{5,}}")
_ALONE = re.compile(rf"(?<![^\W_])\+?\(?\d(?:{_BETWEEN}\d){{6,}}(?![^\W_])")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_WITH_SLASH = re.compile(rf"\+?\(?\d(?:[{_SPACE}{_DASH}./()]{{0,4}}\d){{6,}}")
_IN_GROUPS = re.compile(r"\A\d(?:\s*,\s*\d){5,}\Z|(?<!\d)0\d|(?<!\d)\d{3}\s*,\s+\d{3}\s*,\s+\d{4}(?!\d)")
_BY_COMMA = re.compile(rf"(?<!\d)\d(?:(?:{_BETWEEN}|\s*,\s+)\d){{5,}}")
_MONTH = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    "Nov(?:ember)?|Dec(?:ember)?"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINARY = re.compile(
    rf"""(?<![\d+])(?<!\d[\s.\-(])(?:
        {_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])            # 2026-05-14
      | {_DAY}\.\s?(?:0?[1-9]|1[0-2])\.\s?{_YEAR}                    # 14.05.2026
      | (?P<day_year>{_DAY},?\ {_YEAR})                              # 14 2026, behind a month
      | {_YEAR}\s?[-\u2013]\s?{_YEAR}                                # 2019-2024
      | \d{{4,5}}\.\d\d                                              # 1234.56
    )(?![\s.\-()]?\d)(?!\.\d)""",
    re.VERBOSE,
)
_MONTH_BEFORE = re.compile(rf"\b(?:{_MONTH})\.?\ \Z", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@\w[\w-]{0,62}(?:\.\w[\w-]{0,62})+")
_IBAN = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z]{{2}}\d{{2}}(?:[{_SPACE}{_DASH}]?[A-Za-z0-9]){{11,30}}")


def find_email(text: str) -> Iterator[Found]:
    """Addresses as they are written."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield Found(match.start(), match.end(), "email", match.group().lower().strip("."))


def find_spelled_email(text: str) -> Iterator[Found]:
    """Addresses as they are said: "j dot smith at example dot com"."""
    if may_spell(plain_words(text)):
        for start, end, address in find_spelled_emails(text):
            yield Found(start, end, "email", address)


def find_iban(text: str) -> Iterator[Found]:
    """International bank account numbers whose check digits are right, in groups or in one."""
    for match in _IBAN.finditer(text):
        for end in range(match.end(), match.start() + 14, -1):
            value = re.sub(r"[^A-Za-z0-9]", "", text[match.start() : end]).upper()
            if len(value) < 15:
                break
            if text[end - 1].isalnum() and not text[end : end + 1].isalnum() and _is_iban(value):
                yield Found(match.start(), end, "iban", value)
                break


class NumberFinder:
    """Payment cards, phone numbers of the given regions, and all other digit strings of six digits or more.

    Written dates, years and amounts are left alone. Whether a number is a phone's is asked for the first `MOST_ASKED`
    numbers after `begin`, since a question takes up to 0.2 ms and the call waits: what comes after those is taken out
    all the same, as ``digits``, any number with slashes among it.

    ``breathe`` is called between things that take long.
    """

    def __init__(self, regions: Sequence[str] = DEFAULT_REGIONS, *, breathe: Callable[[], None] | None = None) -> None:
        self._may_ask = MOST_ASKED
        self._breathe = breathe
        self._regions = tuple(region.upper() for region in regions)
        for region in self._regions:  # The rules of a region are read at first use, which must not be in a call.
            _is_phone("2025550142", region)

    def begin(self) -> None:
        """Another event: its numbers may be asked about."""
        self._may_ask = MOST_ASKED

    def written(self, text: str) -> Iterator[Found]:
        """Numbers in figures."""
        if len(_DIGIT.findall(text)) < MIN_DIGITS:
            return
        at = 0
        for start, end in _ordinary(text):
            yield from self._numbers(text, at, start)
            at = end
        yield from self._numbers(text, at, len(text))

    def dictated(self, text: str) -> Iterator[Found]:
        """Numbers in words, or in words and figures."""
        if may_dictate(plain_words(text)):
            for start, end, digits in find_dictated(text, self._breathe):
                yield Found(start, end, self.kind_of(digits), digits)

    def identity(self, text: str) -> Iterator[Found]:
        """Cards, and phone numbers with their country's code, in a system's id: no other digits."""
        if _UUID.fullmatch(text):
            return
        for match in _ALONE.finditer(text):
            written, digits = match.group(), ascii_digits(match.group())
            if _is_card(digits):
                yield Found(match.start(), match.end(), "card", digits)
            elif (written.startswith("+") or 10 <= len(digits) <= 15) and _is_phone(f"+{digits}", "ZZ"):
                yield Found(match.start(), match.end(), "phone", digits)

    def kind_of(self, number: str) -> str:
        """``card``, ``phone`` or ``digits``; told by the digits and a leading plus, not by how they are grouped."""
        digits = ascii_digits(number)
        if _is_card(digits):
            return "card"
        if 7 <= len(digits) <= 15 and self._may_ask > 0:
            self._may_ask -= 1
            if self._breathe is not None:
                self._breathe()
            abroad = number.lstrip().startswith("+")
            if any(_is_phone(f"+{digits}" if abroad else digits, region) for region in self._regions):
                return "phone"
        return "digits"

    def _numbers(self, text: str, start: int, end: int) -> Iterator[Found]:
        at = start
        for match in _WITH_SLASH.finditer(text, start, end):
            if "/" in match.group() and ((kind := self.kind_of(match.group())) == "phone" or self._may_ask <= 0):
                yield from self._plain(text, at, match.start())
                yield Found(match.start(), match.end(), kind, ascii_digits(match.group()))
                at = match.end()
        yield from self._plain(text, at, end)

    def _plain(self, text: str, start: int, end: int) -> Iterator[Found]:
        for match in _NUMBER.finditer(text, start, end):
            yield Found(match.start(), match.end(), self.kind_of(match.group()), ascii_digits(match.group()))

    def by_comma(self, text: str) -> Iterator[Found]:
        """Numbers that a recogniser split by commas: single digits, or groups that no list has ("555, 0142")."""
        if "," in text:
            for match in _BY_COMMA.finditer(text):
                if _IN_GROUPS.search(match.group()):
                    digits = ascii_digits(match.group())
                    yield Found(match.start(), match.end(), self.kind_of(digits), digits)


def value_of(text: str) -> str:
    """The normalised value of a number or an address that is known to be one."""
    digits = ascii_digits(text)
    return digits if len(digits) >= MIN_DIGITS and "@" not in text else text.strip().lower()


def _ordinary(text: str) -> Iterator[tuple[int, int]]:
    for match in _ORDINARY.finditer(text):
        if match["day_year"] is None or _MONTH_BEFORE.search(text, max(0, match.start() - 12), match.start()):
            yield match.span()


def _is_card(digits: str) -> bool:
    if not 13 <= len(digits) <= 19 or digits[0] not in "23456" or len(set(digits)) == 1:
        return False
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(two - 9 if two > 9 else two for two in doubled)) % 10 == 0


def _is_iban(value: str) -> bool:
    if not 15 <= len(value) <= 34 or not value.isascii():
        return False
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


def _is_phone(number: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False
